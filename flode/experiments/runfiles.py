"""Run files: one JSON object of what was run and a record a split, read and written.

Light on purpose: the Snakefile reads some, so nothing here imports torch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flode.files import write_text_atomic
from flode.jsonfiles import naming_remedy, read_json, require

#: Layout of a run file.
SCHEMA = 1

#: Metrics that a run file holds as fractions, and a table shows in percent.
PERCENT_METRICS = ("accuracy", "auroc")

_NAME = re.compile(r"splits-(0|[1-9]\d*)-(0|[1-9]\d*)\.json")

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


def read_run(path: str | Path, remedy: str | None = None) -> dict[str, Any]:
    """The content of a run file.

    Args:
        path: the file.
        remedy: what to do about a damaged file, see `naming_remedy`.

    Raises:
        ValueError: the file cannot be read or is not a run file of this schema; the message names
            it.
    """
    content = read_json(path, remedy)
    with naming_remedy(path, remedy):
        _check_content(path, content)
    return content


def _check_content(path: str | Path, content: Mapping[str, Any]) -> None:
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
    _check_splits(Path(path), content)


def save_run(document: Mapping, path: str | Path) -> None:
    """Write a run file, one record a line, whole or not at all."""
    head = {key: value for key, value in document.items() if key != "records"}
    records = ",\n  ".join(map(json.dumps, document["records"]))
    text = f'{json.dumps(head, indent=1)[:-2]},\n "records": [\n  {records}\n ]\n}}\n'
    write_text_atomic(path, text)


def settings_of(content: Mapping) -> dict[str, Any]:
    """Those of ``Catalogue.run_settings`` that a run was made with and its file holds.

    Args:
        content: of a run file.
    """
    keys = ("variant", "configuration", "dataset", "hyperparameters", "quick", "origin", "model")
    settings = {key: content[key] for key in keys if key in content} | content["training"]
    if "training_stage" in content.get("versions", {}):
        settings["version"] = content["versions"]["training_stage"]
    return settings


def has_settings(content: Mapping, settings: Mapping) -> bool:
    """Whether a run was made with all of these settings.

    Args:
        content: of a run file.
        settings: ``Catalogue.run_settings``, of these splits and perhaps others.
    """
    wanted = {key: value for key, value in settings.items() if key != "graphs"}
    known = wanted["origin"].get("splits", {})
    numbers = [str(one["split"]) for one in content["records"] if str(one["split"]) in known]
    return _of_splits(settings_of(content), numbers) == _of_splits(wanted, numbers)


def of_all_splits(content: Mapping) -> dict:
    """Of what a run file's graph and factors were made, without what is each split's own."""
    origin = content.get("origin", {})
    return {key: value for key, value in origin.items() if key != "splits"}


def _of_splits(settings: Mapping, numbers: Iterable[str]) -> dict:
    """Settings with the raw files of these splits only, where each has its own."""
    origin = settings.get("origin", {})
    hashes = {number: origin.get("splits", {}).get(number) for number in numbers}
    return {**settings, "origin": {**origin, "splits": hashes}}


def is_run_file(path: str | Path) -> bool:
    """Whether a file is called as run files are."""
    return _NAME.fullmatch(Path(path).name) is not None


def split_range(path: str | Path) -> range:
    """The splits that a run file's name says, ``splits-<first>-<last>.json``."""
    _, first, last = Path(path).stem.split("-")
    return range(int(first), int(last) + 1)


def first_split(path: str | Path) -> int:
    """To sort run files by."""
    return split_range(path).start


def run_files_in(folder: str | Path) -> list[Path]:
    """The run files of a configuration's folder, those of most splits first."""
    found = filter(is_run_file, Path(folder).glob("splits-*.json"))
    return sorted(found, key=lambda file: (-len(split_range(file)), first_split(file)))


def of_settings(files: Iterable[str | Path], settings: Mapping) -> tuple[list[Path], list[Path]]:
    """Of run files, those that are there and were made with these settings, and those of others.

    Args:
        files: of one configuration.
        settings: ``Catalogue.run_settings`` of all splits.

    Returns:
        Both in the order given. A damaged file is among the first: whoever reads it names it.
    """
    groups: tuple[list[Path], list[Path]] = ([], [])
    for path in filter(Path.exists, map(Path, files)):
        try:
            fits = has_settings(read_run(path), settings)
        except ValueError:
            fits = True
        groups[not fits].append(path)
    return groups


def most_splits(
    candidates: Iterable[Iterable[str | Path]], settings: Mapping
) -> tuple[list[Path], list[Path]]:
    """Of several groups of run files, the one that holds most splits with these settings.

    Args:
        candidates: groups, of as many splits the first is taken; in a group, of two files that
            share a split the first.
        settings: ``Catalogue.run_settings`` of all splits.

    Returns:
        Files that share no split, and all files of other settings.
    """
    best: list[Path] = []
    outdated: list[Path] = []
    for files in candidates:
        right, others = of_settings(files, settings)
        found: list[Path] = []
        for path in right:
            if all(set(split_range(path)).isdisjoint(split_range(other)) for other in found):
                found.append(path)
        best = max(best, found, key=lambda group: sum(map(len, map(split_range, group))))
        outdated += others
    return best, outdated


def _check_name(path: Path, content: Mapping[str, Any]) -> None:
    """``<variant>/<configuration>/splits-<first>-<last>.json`` must hold what it says."""
    if not _NAME.fullmatch(path.name) or len(path.parts) < 3:
        return
    for key, expected in zip(("configuration", "variant"), path.parts[-2:-4:-1], strict=True):
        if content[key] != expected:
            raise ValueError(
                f"{path}: {key} is {content[key]!r}, but the file's path says {expected!r}"
            )


def _check_splits(path: Path, content: Mapping[str, Any]) -> None:
    """Each split once, and those that the file's name says."""
    found = sorted(record["split"] for record in content["records"])
    if len(set(found)) < len(found):
        twice = next(split for split in found if found.count(split) > 1)
        raise ValueError(f"{path}: records has split {twice} twice; allowed: each split once")
    if _NAME.fullmatch(path.name) and found != list(split_range(path)):
        raise ValueError(
            f"{path}: records has splits {', '.join(map(str, found))}, not those that the file's"
            " name says"
        )


def _check_record(record: Any, where: str) -> None:
    if not isinstance(record, dict):
        raise ValueError(f"{where} is {record!r}; allowed: a JSON object")
    require(record, "split", int, where, lambda split: split >= 0, "an integer from 0")
    require(record, "epochs", int, where, lambda epochs: epochs >= 1, "an integer from 1")
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
