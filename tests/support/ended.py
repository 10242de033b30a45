"""When a process counts as ended, in tests."""

import psutil


def ended(process: psutil.Process) -> bool:
    """Gone or a zombie: whether somebody has read the exit status yet is not the point."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
