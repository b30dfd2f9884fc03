"""Logs of workflow jobs: lines to a file, and to the terminal without tracebacks."""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path


class _LogFile(logging.FileHandler):
    """A log that cannot be written, on a full disk say, is said once and stops no job."""

    obstacle: Exception | None = None

    def write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.flush()
        except OSError as error:
            self._say(error)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            self._say(error)
        else:
            super().handleError(record)

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:
            self._say(error)

    def _say(self, error: OSError) -> None:
        if self.obstacle is None:
            print(f"{self.baseFilename}: {error.strerror}; the log ends here", file=sys.stderr)
        self.obstacle = error


def start_log(path: str | Path, name: str = "") -> logging.Logger:
    """Log this process to a file and to standard error.

    An uncaught exception goes to the file with its traceback and to the terminal as one message;
    Ctrl-C, which is no fault, to both in its own words. Call it before heavy imports, so that their
    errors are logged too.

    Args:
        path: the log file; overwritten.
        name: of the job, written before each line on the terminal.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    file = _LogFile(path, mode="w", encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    terminal = logging.StreamHandler(sys.stderr)
    prefix = f"{name}: " if name else ""
    terminal.setFormatter(logging.Formatter(f"{prefix.replace('%', '%%')}%(message)s"))
    logger = logging.getLogger("flode")
    logger.setLevel(logging.INFO)
    logger.handlers = [file, terminal]

    def on_exception(kind, error, trace):
        if issubclass(kind, KeyboardInterrupt):
            logger.info(str(error) or "interrupted; the next call does this job again")
            return
        file.write("".join(traceback.format_exception(kind, error, trace)))
        told = isinstance(error, (ValueError, OSError, RuntimeError, MemoryError)) and str(error)
        print(f"{prefix}{kind.__name__}: {told or repr(error)}", file=sys.stderr)
        if file.obstacle is None:
            print(f"{prefix}the traceback is in {path}", file=sys.stderr)

    sys.excepthook = on_exception
    return logger
