"""Where the numbers of tables come from: by which commit, with what and on what their runs were
trained."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from flode.experiments.runfiles import read_run
from flode.reporting.tidy import files_behind

#: Digits of a commit that are shown.
_SHORT = 10


@dataclass
class Source:
    """What was trained by one commit, with one PyTorch, on one device.

    Attributes:
        files: run files.
        splits: trained splits.
        hours: on a CPU hours of one core, else of the device.
    """

    files: set[str] = field(default_factory=set)
    splits: int = 0
    hours: float = 0.0


def sources(frames: Iterable[pd.DataFrame]) -> dict[tuple[str, str, str], Source]:
    """``(commit, PyTorch, device)`` of the runs that tables rest on, in the order of appearance.

    A run file that has gone meanwhile is left out; what a file does not say is ``unknown``.

    Raises:
        ValueError: a damaged run file, named.
    """
    found: dict[tuple[str, str, str], Source] = defaultdict(Source)
    for path in dict.fromkeys(file for frame in frames for file in files_behind(frame)):
        # Some numbers are of a graph's statistics.
        if not Path(path).name.startswith("splits-") or not Path(path).is_file():
            continue
        content = read_run(path)
        for record in content["records"]:
            facts = {**content, **record}  # a record says what is its own
            commit = str(facts.get("commit", "unknown"))
            torch = facts.get("versions", {}).get("torch", "unknown")
            device = str(facts.get("device", "unknown"))
            source = found[commit, torch, device]
            source.files.add(path)
            source.splits += 1
            cores = facts.get("threads", 1) if device == "cpu" else 1
            source.hours += cores * record.get("seconds", 0) / 3600
    return dict(found)


def source_rows(frames: Iterable[pd.DataFrame]) -> list[list[str]]:
    """A row a source: commit, PyTorch, device, run files, splits and hours, in words."""
    rows = []
    for (commit, torch, device), source in sources(frames).items():
        digits, plus, changes = commit.partition("+")
        counts = [str(len(source.files)), str(source.splits), f"{source.hours:.1f}"]
        rows.append([digits[:_SHORT] + plus + changes, torch, device, *counts])
    return rows
