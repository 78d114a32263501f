"""What every test needs of its process."""

import atexit
import os
import signal
import tempfile
from pathlib import Path

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell starts what it runs in the background so, and all that tests start and
    # interrupt would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# one that measures at a time, but neither beside other tests' processes nor beside
# whatever people measure on this machine meanwhile
LOCK = Path(tempfile.gettempdir()) / f"autoloader-tests-{os.getpid()}.lock"
os.environ["AUTOLOADER_LOCK"] = str(LOCK)
atexit.register(LOCK.unlink, missing_ok=True)
