"""Run files: one JSON of records (one a split) a configuration, or several that share it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flode.reporting.jsonfiles import read_json, require

#: Version of the run files that this module reads.
SCHEMA = 1

#: Metrics that a run file holds as fractions, and a table shows in percent.
PERCENT_METRICS = ("accuracy", "auroc")

_KEYS: dict[str, type | tuple[type, ...]] = {
    "variant": str,
    "configuration": str,
    "dataset": str,
    "metric": str,
    "hyperparameters": dict,
    "training": dict,
    "seed": int,
    "quick": bool,
    "records": list,
}
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
        content = _read(path)
        key = content["variant"], content["configuration"]
        loaded.setdefault(key, []).append((path, content))
    return {key: _join(files) for key, files in loaded.items()}


def settings_of(path: str | Path) -> dict[str, Any]:
    """Those of ``Catalogue.run_settings`` that a run file was made with and holds.

    Raises:
        ValueError: as `load_runs`.
    """
    content = _read(path)
    settings = {
        key: content[key] for key in ("variant", "configuration", "dataset", "hyperparameters")
    }
    settings |= {"quick": content.get("quick", False), **content["training"]}
    if "origin" in content:
        settings["origin"] = content["origin"]
    if "training_stage" in content.get("versions", {}):
        settings["version"] = content["versions"]["training_stage"]
    return settings


def _join(files: list[tuple[str, dict[str, Any]]]) -> Runs:
    files = sorted(files, key=lambda item: min(record["split"] for record in item[1]["records"]))
    first_path, first = files[0]
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


def _read(path: str | Path) -> dict[str, Any]:
    content = read_json(path)
    schema = content.get("schema")
    if schema != SCHEMA:
        raise ValueError(f"{path}: schema is {schema!r}; allowed: {SCHEMA}")
    for key, kind in _KEYS.items():
        require(content, key, kind, str(path))
    _check_name(Path(path), content)
    if content["metric"] not in PERCENT_METRICS:
        allowed = " or ".join(PERCENT_METRICS)
        raise ValueError(f"{path}: metric is {content['metric']!r}; allowed: {allowed}")
    if not content["records"]:
        raise ValueError(f"{path}: records is empty; allowed: one record a split, at least one")
    for index, record in enumerate(content["records"]):
        _check_record(record, f"{path}: records[{index}]")
    return content


def _check_name(path: Path, content: Mapping[str, Any]) -> None:
    """``<variant>/<configuration>/splits-<first>-<last>.json`` must hold what it says."""
    if not re.fullmatch(r"splits-\d+-\d+\.json", path.name) or len(path.parts) < 3:
        return
    for key, expected in zip(("configuration", "variant"), path.parts[-2:-4:-1], strict=True):
        if content[key] != expected:
            raise ValueError(
                f"{path}: {key} is {content[key]!r}, but the file's path says {expected!r}; delete"
                " the file to have it made again"
            )


def _check_record(record: Any, where: str) -> None:
    if not isinstance(record, dict):
        raise ValueError(f"{where} is {record!r}; allowed: a JSON object")
    require(record, "split", int, where, lambda split: split >= 0, "an integer from 0")
    if record.get("diverged_at") is not None:
        require(
            record, "diverged_at", int, where, lambda epoch: epoch >= 1, "an epoch from 1, or null"
        )
        if record.get("best_epoch") is None:  # it ended before it had a result
            for subset in ("train", "validation", "test"):
                allowed = "null, as the split has no best_epoch"
                require(record, subset, type(None), where, allowed=allowed)
            return
    for subset in ("train", "validation", "test"):
        require(
            record, subset, (int, float), where, lambda x: 0 <= x <= 1, "a fraction from 0 to 1"
        )
