"""Locks that end with the process that holds them, however it ends: none is ever left behind.

Snakemake's own do not last as long: any other call in the same working directory, one of
``partial`` say, removes them when it ends.
"""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path


def hold(folder: str | Path, shared: bool = False) -> bool:
    """Lock a folder until this process ends.

    It needs no file and no right to write. On a network file system it tells the processes of one
    machine only.

    Args:
        folder: the folder.
        shared: with all that lock it so.

    Returns:
        False where another process has locked it. True also where it cannot be locked.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return True
    if _take(descriptor, shared):
        return True  # it stays open
    os.close(descriptor)
    return False


def claim(path: str | Path) -> str | None:
    """Make a file that is locked until this process ends, and may be deleted then.

    Returns:
        The process that has locked it already; else None, also where it cannot be locked.
    """
    path, held = Path(path), False
    with contextlib.suppress(OSError):  # a full disk, a folder that is read-only
        while not held:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            if not _take(descriptor):
                return _owner(descriptor)
            # Else the process that had it deleted it meanwhile.
            held = path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {platform.node()}".encode())
    return None


def holder(path: str | Path) -> str | None:
    """The process that has claimed a file, or None."""
    descriptor = os.open(path, os.O_RDWR)
    if not _take(descriptor):
        return _owner(descriptor)
    os.close(descriptor)
    return None


def _owner(descriptor: int) -> str:
    with os.fdopen(descriptor, encoding="utf-8") as file:
        return file.read() or "another process"


def _take(descriptor: int, shared: bool = False) -> bool:
    """Lock what is open until it is closed; also true where there are no such locks, on some
    network file systems and on Windows."""
    try:
        import fcntl

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True
