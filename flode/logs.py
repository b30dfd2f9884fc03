"""Logs of workflow jobs: lines to a file, and to the terminal without tracebacks."""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path


def start_log(path: str | Path, name: str = "") -> logging.Logger:
    """Log this process to a file and to standard error.

    An uncaught exception goes to the file with its traceback and to the terminal as one message.
    Call it before heavy imports, so that their errors are logged too.

    Args:
        path: the log file; overwritten.
        name: of the job, written before each line on the terminal.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    file = logging.FileHandler(path, mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setFormatter(logging.Formatter(f"{name}: %(message)s" if name else "%(message)s"))
    logger = logging.getLogger("flode")
    logger.setLevel(logging.INFO)
    logger.handlers = [file, terminal]

    def on_exception(kind, error, trace):
        file.stream.write("".join(traceback.format_exception(kind, error, trace)))
        file.flush()
        told = isinstance(error, (ValueError, OSError, RuntimeError, MemoryError)) and str(error)
        print(f"{name}: {kind.__name__}: {told or repr(error)}", file=sys.stderr)
        print(f"{name}: the traceback is in {path}", file=sys.stderr)

    sys.excepthook = on_exception
    return logger
