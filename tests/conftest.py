"""What every test needs of its process."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell starts what it runs in the background so, and all that tests start and
    # interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
