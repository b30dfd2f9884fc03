"""Lines that tell how far a training is, for a terminal and a log file alike."""

from __future__ import annotations

import logging
import time

from flode.training.module import ModuleTrainer
from flode.training.trainer import StackedTrainer

logger = logging.getLogger("flode.progress")

#: Seconds between two lines.
INTERVAL = 15.0


class Progress:
    """Logs a line every ``INTERVAL`` seconds while a trainer runs.

    Args:
        title: what is trained.
        total: number of splits of the job; done: how many are finished when it starts.
    """

    def __init__(self, title: str, total: int, done: int = 0, interval: float = INTERVAL):
        self.title, self.total, self.done = title, total, done
        self.interval = interval
        self.started = self.last = time.monotonic()
        self.first_epoch: int | None = None
        self.offset = 0

    def start_group(self, offset: int = 0) -> None:
        """A trainer starts whose split 0 is the job's split ``offset``."""
        self.started, self.first_epoch, self.offset = time.monotonic(), None, offset

    def __call__(self, trainer: StackedTrainer | ModuleTrainer) -> None:
        """Report on a trainer if the last line is old enough."""
        now = time.monotonic()
        if self.first_epoch is None:
            self.first_epoch = trainer.epoch
        if now - self.last < self.interval or trainer.done:
            return
        self.last = now
        speed = max(trainer.epoch - self.first_epoch, 1) / max(now - self.started, 1e-9)
        left = (trainer.settings.epochs - trainer.epoch) / speed
        best = trainer.best.mean().item()
        logger.info(
            "%s: split %s, epoch %d of at most %d, best validation %.2f %% (epoch %d),"
            " %s, at most %s left for these; %d of %d splits done",
            self.title,
            _ranges([split + self.offset for split in trainer.splits]),
            trainer.epoch,
            trainer.settings.epochs,
            100 * best,
            trainer.best_epoch.max().item(),
            rate(speed),
            duration(left),
            self.done + len(trainer.finished),
            self.total,
        )


def duration(seconds: float) -> str:
    """Seconds as ``42 s``, ``3 min 10 s`` or ``2 h 05 min``."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def rate(speed: float) -> str:
    """Epochs a second as ``2.7 epochs/s``, below one as ``14.2 s/epoch``."""
    return f"{speed:.1f} epochs/s" if speed >= 1 else f"{1 / speed:.1f} s/epoch"


def _ranges(numbers: list[int]) -> str:
    """``0, 2-4`` from sorted integers."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)
