"""What every command that runs passes needs around it, looked at before all else.

Nothing heavy is imported and nothing of the user's is touched: what cannot begin says
so within a second, and leaves nothing behind.
"""

import os


def check_surroundings(*, weighs: bool) -> None:
    """Raise where a run could not keep its files, or not tell what memory it takes.

    Args:
        weighs: whether configs are weighed.

    Raises:
        UsageError: there is no folder for logs, or no temporary one, or what processes
            take cannot be read.
    """
    from autoloader.measure.memory import MemoryMeter
    from autoloader.trial.aftercare import make_tmp, remove_folder
    from autoloader.trial.workplace import check_workplace

    check_workplace()
    remove_folder(make_tmp())
    if weighs:
        MemoryMeter(trial_pid=os.getpid(), host_pid=None).weigh()
