"""Run files: one JSON object of what was run and a record a split, read and written.

Light on purpose: the Snakefile reads some, so nothing here imports torch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flode.files import atomic_write
from flode.jsonfiles import read_json, require

#: Layout of a run file.
SCHEMA = 1

#: Metrics that a run file holds as fractions, and a table shows in percent.
PERCENT_METRICS = ("accuracy", "auroc")

_NAME = re.compile(r"splits-\d+-\d+\.json")

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


def read_run(path: str | Path) -> dict[str, Any]:
    """The content of a run file.

    Raises:
        ValueError: the file cannot be read or is not a run file of this schema; the message names
            it.
    """
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


def save_run(document: Mapping, path: str | Path) -> None:
    """Write a run file, one record a line, whole or not at all."""
    head = {key: value for key, value in document.items() if key != "records"}
    records = ",\n  ".join(map(json.dumps, document["records"]))
    text = f'{json.dumps(head, indent=1)[:-2]},\n "records": [\n  {records}\n ]\n}}\n'
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def settings_of(content: Mapping) -> dict[str, Any]:
    """Those of ``Catalogue.run_settings`` that a run was made with and its file holds.

    Args:
        content: of a run file.
    """
    settings = {
        key: content[key] for key in ("variant", "configuration", "dataset", "hyperparameters")
    }
    settings |= {"quick": content.get("quick", False), **content["training"]}
    if "origin" in content:
        settings["origin"] = content["origin"]
    if "training_stage" in content.get("versions", {}):
        settings["version"] = content["versions"]["training_stage"]
    return settings


def split_range(path: str | Path) -> range:
    """The splits that a run file's name says, ``splits-<first>-<last>.json``."""
    _, first, last = Path(path).stem.split("-")
    return range(int(first), int(last) + 1)


def run_files_in(folder: str | Path) -> list[Path]:
    """The run files of a configuration's folder, by their first split, the widest first."""
    found = (file for file in Path(folder).glob("splits-*.json") if _NAME.fullmatch(file.name))
    return sorted(found, key=lambda file: (split_range(file).start, -len(split_range(file))))


def fitting(files: Iterable[str | Path], settings: Mapping) -> tuple[list[Path], list[Path]]:
    """Run files that are there, share no split, and were made with these settings.

    Args:
        files: of one configuration; of two that share a split the earlier is taken.
        settings: ``Catalogue.run_settings``.

    Returns:
        Those files, and those of other settings. A damaged one is left to its reader, which names
        it.
    """
    found: list[Path] = []
    others: list[Path] = []
    splits: set[int] = set()
    for path in filter(Path.exists, map(Path, files)):
        own = set(split_range(path))
        if not _describes(path, settings):
            others.append(path)
        elif not own & splits:
            found.append(path)
            splits |= own
    return found, others


def _describes(path: Path, settings: Mapping) -> bool:
    try:
        return settings_of(read_run(path)).items() <= settings.items()
    except ValueError:
        return True


def _check_name(path: Path, content: Mapping[str, Any]) -> None:
    """``<variant>/<configuration>/splits-<first>-<last>.json`` must hold what it says."""
    if not _NAME.fullmatch(path.name) or len(path.parts) < 3:
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
