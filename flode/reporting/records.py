"""Run files: one JSON of records (one a split) a configuration, or several that share it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flode.experiments.runfiles import is_run_file, of_all_splits, read_run, split_range

#: What the files of one configuration must agree on (device, versions and commit may differ).
_SHARED = ("dataset", "metric", "hyperparameters", "training", "seed", "quick")


@dataclass(frozen=True)
class Summary:
    """Mean and population standard deviation of ``n`` values, in the unit they are shown in."""

    mean: float
    std: float
    n: int


@dataclass(frozen=True)
class Runs:
    """All splits of one configuration on one variant.

    Attributes:
        metric: "accuracy" or "auroc"; the records hold it as a fraction.
        hyperparameters: as the run files state them, the same for all splits.
        quick: whether this was a quick run, which is not the paper's protocol.
        records: one mapping a split, sorted by split.
        files: the run files the records came from, sorted by their first split.
    """

    variant: str
    configuration: str
    dataset: str
    metric: str
    hyperparameters: Mapping[str, Any]
    quick: bool
    records: tuple[Mapping[str, Any], ...]
    files: tuple[str, ...]

    @property
    def diverged(self) -> str | None:
        """Which splits ended without a result, in words; None where all have one."""
        found = [
            f"split {record['split']} at epoch {record['diverged_at']}"
            for record in self.records
            if record["test"] is None
        ]
        return f"its training diverged ({', '.join(found)})" if found else None

    def score(self, subset: str = "test") -> Summary:
        """The metric over the splits, in percent; ``subset``: train, validation or test."""
        return summarise([100.0 * record[subset] for record in self.records])

    @property
    def splits(self) -> set[int]:
        """Those that there are records of."""
        return {record["split"] for record in self.records}

    def of_splits(self, splits: Set[int]) -> Runs:
        """The records of these splits alone."""
        return replace(
            self, records=tuple(record for record in self.records if record["split"] in splits)
        )

    def setting(self, key: str) -> float:
        """The hyperparameter ``key``, a number.

        Raises:
            ValueError: the run files do not state it, or it is no number.
        """
        if key not in self.hyperparameters:
            raise ValueError(
                f"{self.files[0]}: hyperparameters lack {key!r}; "
                f"found: {', '.join(sorted(self.hyperparameters))}"
            )
        value = self.hyperparameters[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(
                f"{self.files[0]}: hyperparameter {key} is {value!r}; allowed: a number"
            )
        return float(value)

    def learned(self, key: str) -> Summary | None:
        """``exponent``, real part of ``step_size`` or ``dirichlet_energy`` over the splits.

        Layers that do not share the parameter are averaged within a split first. None when the
        model has no such number (no step size without the ODE).

        Raises:
            ValueError: a split lacks the key or holds something else than finite numbers.
        """
        values = []
        for record in self.records:
            found = record.get(key)
            if found is None or found == []:
                continue
            layers = found if isinstance(found, list) else [found]
            try:
                real = [float(x[0] if isinstance(x, list) else x) for x in layers]
            except (TypeError, IndexError, ValueError):
                real = [math.nan]
            if not all(map(math.isfinite, real)):
                raise ValueError(
                    f"{self.files[0]}: split {record['split']}: {key} is {found!r}; "
                    "allowed: a finite number, or a list of them or of [real, imaginary] pairs"
                )
            values.append(float(np.mean(real)))
        if values and len(values) < len(self.records):
            raise ValueError(
                f"{self.files[0]}: {key} is given for {len(values)} of {len(self.records)} splits; "
                "allowed: all splits or none"
            )
        return summarise(values) if values else None


def splits_of(runs: str) -> frozenset[int]:
    """The splits of the run files among the files of a table's cell, ``a.json;b.json``."""
    files = filter(is_run_file, runs.split(";"))
    return frozenset(split for file in files for split in split_range(file))


def splits_in_words(splits: Iterable[int]) -> str:
    """``0 to 2, 5``."""
    ordered = sorted(splits)
    runs = [
        [one for _, one in group]
        for _, group in itertools.groupby(enumerate(ordered), lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def summarise(values: Iterable[float]) -> Summary:
    """Mean and population standard deviation (``ddof=0``, as the paper prints it).

    Raises:
        ValueError: there is no value.
    """
    array = np.asarray(list(values), dtype=float)
    if array.size == 0:
        raise ValueError("no values to summarise; allowed: one or more")
    return Summary(float(array.mean()), float(array.std()), array.size)


def load_runs(paths: Iterable[str | Path]) -> dict[tuple[str, str], Runs]:
    """Read run files, joining those of one (variant, configuration).

    Returns:
        ``{(variant, configuration): Runs}`` in the order of first appearance.

    Raises:
        ValueError: a file is not a run file of schema 1, files of one configuration disagree, or a
            split comes twice; the message names the file.
    """
    loaded: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {}
    # A run that serves two columns of a table may be listed twice.
    for path in dict.fromkeys(map(str, paths)):
        content = read_run(path)
        key = content["variant"], content["configuration"]
        loaded.setdefault(key, []).append((path, content))
    return {key: _join(files) for key, files in loaded.items()}


def _join(files: list[tuple[str, dict[str, Any]]]) -> Runs:
    files = sorted(files, key=lambda item: min(record["split"] for record in item[1]["records"]))
    first_path, first = files[0]
    origin = of_all_splits(first)
    owner: dict[int, str] = {}
    records = []
    for path, content in files:
        for key in _SHARED:
            if content[key] != first[key]:
                raise ValueError(
                    f"{path}: {key} is {content[key]!r}, but {first[key]!r} in {first_path}, "
                    f"a run of the same configuration {first['configuration']!r} on "
                    f"{first['variant']!r}; allowed: one value for all of its splits"
                )
        if of_all_splits(content) != origin:
            raise ValueError(
                f"{path}: origin (raw files, settings of the graph and of its factors) is another"
                f" than in {first_path}; allowed: one for all splits of a configuration"
            )
        for record in content["records"]:
            if record["split"] in owner:
                raise ValueError(
                    f"{path}: split {record['split']} is already in {owner[record['split']]}; "
                    f"allowed: each split of {first['variant']!r}, {first['configuration']!r} once"
                )
            owner[record["split"]] = path
            records.append(record)
    return Runs(
        variant=first["variant"],
        configuration=first["configuration"],
        dataset=first["dataset"],
        metric=first["metric"],
        hyperparameters=first["hyperparameters"],
        quick=first["quick"],
        records=tuple(sorted(records, key=lambda record: record["split"])),
        files=tuple(path for path, _ in files),
    )
