"""Seconds of an epoch, contestants side by side, and the rate of matrix products among them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import torch

#: A contestant whose epoch takes longer than this many seconds is timed once.
SLOW = 5.0


class Products:
    """The measure of the floor: square float32 products, timed in the contestants' own rounds."""

    name = "matrix products"

    def __init__(self, device: torch.device, size: int | None = None):
        size = size or (8192 if device.type == "cuda" else 1536)
        self.operations = 2 * size**3
        generator = torch.Generator(device).manual_seed(0)
        self.a, self.b = torch.randn(2, size, size, generator=generator, device=device)
        self.out = torch.empty_like(self.a)

    def step(self) -> None:
        torch.mm(self.a, self.b, out=self.out)


def seconds_per_epoch(
    contestants: Sequence, device: torch.device, rounds: int, target: float
) -> list[float]:
    """Median seconds of ``step()`` of each contestant.

    Rounds of the contestants alternate, so that another load on the machine meets them alike.

    Args:
        contestants: have ``step()``.
        device: theirs.
        rounds: of each.
        target: seconds of a contestant's round, about.
    """

    def timed(contestant, count):
        _wait(device)
        started = time.perf_counter()
        for _ in range(count):
            contestant.step()
        _wait(device)
        return (time.perf_counter() - started) / count

    counts, seconds = [], []
    for contestant in contestants:
        # The first steps allocate, and a trainer evaluates from its second on.
        once = timed(contestant, 1)
        if once < SLOW:
            once = timed(contestant, 2)
        counts.append(max(1, round(target / once)))
    for number in range(rounds):
        for place, (contestant, count) in enumerate(zip(contestants, counts, strict=True)):
            if number == 0:
                seconds.append([timed(contestant, count)])
            elif seconds[place][0] < SLOW:
                seconds[place].append(timed(contestant, count))
    return [statistics.median(values) for values in seconds]


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
