"""Runs that were trained before, perhaps elsewhere: taken in place of a training, and collected.

A folder of them is laid out as ``results/runs``. Which run file is of a configuration its settings
say (`Catalogue.run_settings`): hyperparameters, how graph and factors were made, from which raw
bytes, and the versions of these stages.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.runfiles import (
    first_split,
    has_settings,
    most_splits,
    of_settings,
    read_run,
    run_files_in,
    save_run,
    split_range,
)
from flode.experiments.validation import ConfigurationError
from flode.files import write_text_atomic
from flode.jsonfiles import RESTORE, read_json

logger = logging.getLogger("flode.measured")

#: Name of the statistics of a variant in its folder.
STATISTICS = "statistics.json"

#: By what they are known.
_STATISTICS_KEYS = ("variant", "dataset", "title", "published", "version", "origin")

#: Who trained: of a run file, or of a record of it where its splits come from several files.
_FACTS = ("versions", "device", "threads", "commit")

#: Key of a run file that was not trained here: the files it was taken from.
TAKEN = "taken_from"


def measured_files(catalogue: Catalogue, run: Run, first: str, last: str) -> list[str]:
    """Files of ``measured`` that a run file can be taken from.

    Args:
        first, last: of the splits asked for.

    Returns:
        Files that hold these splits together. None where the folder is not given, lacks a split, or
        has it of other settings only; where the run's models are to be kept; and where the run has
        been trained here with its settings. A damaged file is not left out: a training for hours is
        no way to tell of it.
    """
    folder = catalogue.config["measured"]
    if not folder:
        return []
    try:
        settings = catalogue.run_settings(run)
        left = set(catalogue.splits(run.variant, first, last))
    except ConfigurationError:  # the training says what is wrong
        return []
    own = Path(catalogue.results, "runs", *_folder(run), f"splits-{first}-{last}.json")
    if catalogue.keeps_models(run) or any(map(_made_here, of_settings([own], settings)[0])):
        return []
    found = []
    for path in of_settings(run_files_in(Path(folder, *_folder(run))), settings)[0]:
        if left & set(split_range(path)):
            found.append(path)
            left -= set(split_range(path))
    return [] if left else [str(path) for path in sorted(found, key=first_split)]


def trained_files(
    catalogue: Catalogue, run: Run, results: str | Path | None = None
) -> tuple[list[Path], list[Path]]:
    """What there is of a run, whole or not: of the files that tables ask for, of other ranges of
    splits, and of ``measured``, those that hold most splits.

    Args:
        results: folder of the run files; the configuration's.

    Returns:
        As `most_splits`.
    """
    own = Path(results or catalogue.results, "runs", *_folder(run))
    candidates = [[own / Path(name).name for name in catalogue.run_files(run)], run_files_in(own)]
    if folder := catalogue.config["measured"]:
        candidates.append(run_files_in(Path(folder, *_folder(run))))
    return most_splits(candidates, catalogue.run_settings(run))


def measured_statistics(catalogue: Catalogue, variant: str) -> str | None:
    """The file of ``measured`` that a variant's statistics can be taken from; None as for runs.

    Args:
        variant: of the catalogue.
    """
    folder = catalogue.config["measured"]
    if not folder:
        return None
    settings = catalogue.statistics_settings(variant)
    own = _statistics_or_damaged(catalogue.statistics_file(variant), settings)
    if own is not None and TAKEN not in own:
        return None
    path = Path(folder, variant, STATISTICS)
    return str(path) if _statistics_or_damaged(path, settings) is not None else None


def known_statistics(catalogue: Catalogue, variant: str) -> str | None:
    """The file of a variant's statistics with its present settings: its own, or one of
    ``measured``; None where there is none."""
    own, settings = catalogue.statistics_file(variant), catalogue.statistics_settings(variant)
    if _statistics_or_damaged(own, settings) is not None:
        return own
    return measured_statistics(catalogue, variant)


def _statistics_or_damaged(path: str | Path, settings: Mapping) -> dict | None:
    """As `_statistics`, empty where the file is damaged: that is left to its reader."""
    try:
        return _statistics(path, settings)
    except ValueError:
        return {}


def take_statistics(file: str, output: str | Path) -> None:
    """Write a statistics file from another, and which that is.

    Raises:
        ValueError: a damaged file, named.
    """
    _save_json({**read_json(file, RESTORE), TAKEN: [file]}, output)
    logger.info("taken from %s", file)


def take_run(files: Sequence[str], splits: Iterable[int], output: str | Path) -> None:
    """Write a run file of splits of others, and which files these are.

    Args:
        files: see :func:`measured_files`; a split that several hold is the first one's. What the
            trainings differ in, such as the commit, the record of each split says.
        splits: those to take.

    Raises:
        ValueError: a damaged file, named.
    """
    records: dict[int, tuple[Mapping, Mapping]] = {}
    documents = [read_run(path, RESTORE) for path in files]
    for document in documents:
        for record in document["records"]:
            facts = _facts(document) | _facts(record)
            records.setdefault(record["split"], (record, facts))
    chosen = [records[split] for split in splits]
    common = chosen[0][1]
    document = {key: value for key, value in documents[0].items() if key not in _FACTS}
    document["origin"] = _joined_origin([document["origin"] for document in documents], splits)
    document |= common | {TAKEN: list(files)}
    document["records"] = [
        {key: value for key, value in record.items() if key not in _FACTS}
        | {key: value for key, value in facts.items() if value != common.get(key)}
        for record, facts in chosen
    ]
    save_run(document, output)
    logger.info("%d splits taken from %s", len(chosen), ", ".join(files))


def collect_runs(catalogue: Catalogue, folder: str | Path) -> dict[str, int]:
    """Copy what was trained under ``results/runs`` to a folder of measured runs, and the statistics
    of these and other graphs.

    Of a configuration that is there, more splits replace fewer; else what is there stays, so that a
    number once shown keeps its run.

    Args:
        folder: made where it is missing.

    Returns:
        How many run files were added, were replaced by them, were there already, have no place as
        the folder has other settings of that run, and were left out: quick runs, those of other
        settings than the configuration's, of variants it does not have, taken ones, and those that
        no commit says how to make.

    Raises:
        ValueError: a damaged file in either folder, named, after all others were collected.
    """
    counts = dict.fromkeys(("added", "replaced", "there", "no_place", "left_out"), 0)
    source, damaged = Path(catalogue.results) / "runs", []
    for own in sorted({path.parent for path in source.glob("*/*/splits-*.json")}):
        run = Run(*own.relative_to(source).parts)
        settings = _settings(catalogue, run)
        for path in run_files_in(own):
            try:
                if settings is None or not _is_kept(path, settings):
                    counts["left_out"] += 1
                else:
                    _collect(path, Path(folder, *_folder(run)), settings, counts)
            except ValueError as error:
                damaged.append(str(error))
    statistics = 0
    for name in catalogue.variants:
        try:
            statistics += _collect_statistics(catalogue, name, folder)
        except ValueError as error:
            damaged.append(str(error))
    logger.info("%s: files of statistics added: %d", folder, statistics)
    logger.info(
        "%s: run files added: %d; replaced by these: %d; there already: %d; in the way of others:"
        " %d; left out: %d",
        folder, *counts.values(),
    )  # fmt: skip
    if damaged:
        raise ValueError("; ".join(damaged))
    return counts


def _collect(path: Path, folder: Path, settings: Mapping, counts: dict[str, int]) -> None:
    there, others = of_settings(run_files_in(folder), settings)
    if others:
        counts["no_place"] += 1
        logger.warning(
            "%s is not collected: %s is of other settings. Remove it to have the new one",
            path,
            others[0],
        )
        return
    splits = set(split_range(path))
    if splits <= {split for other in there for split in _splits(other)}:
        counts["there"] += 1
        return
    save_run(read_run(path), folder / path.name)
    counts["added"] += 1
    for other in there:
        if set(split_range(other)) <= splits:
            other.unlink()
            counts["replaced"] += 1


def _collect_statistics(catalogue: Catalogue, variant: str, folder: str | Path) -> bool:
    """Whether there were any to copy: those of a graph with its present settings, anew, or in place
    of others of which no commit says how they were made."""
    settings, copy = catalogue.statistics_settings(variant), Path(folder, variant, STATISTICS)
    if settings.get("generated", False):
        return False
    there = _statistics(copy, settings, RESTORE)
    if there is not None and _is_committed(there):
        return False
    own = _statistics(path := catalogue.statistics_file(variant), settings)
    if own is None or TAKEN in own or not _is_committed(own, path):
        return False
    _save_json(own, copy)
    return True


def _statistics(path: str | Path, settings: Mapping, remedy: str | None = None) -> dict | None:
    """Content of a statistics file; None where there is none, or one of other settings."""
    if not Path(path).is_file():
        return None
    content = read_json(path, remedy)
    same = all(key in content and content[key] == settings[key] for key in _STATISTICS_KEYS)
    return content if same else None


def _save_json(content: Mapping, path: str | Path) -> None:
    write_text_atomic(path, json.dumps(content, indent=1) + "\n")


def _splits(path: Path) -> list[int]:
    """Of a measured run."""
    return [record["split"] for record in read_run(path, RESTORE)["records"]]


def _made_here(path: Path) -> bool:
    """A damaged file is left to its reader."""
    try:
        return TAKEN not in read_json(path)
    except ValueError:
        return True


def _is_kept(path: Path, settings: Mapping) -> bool:
    content = read_run(path)
    committed, right = _is_committed(content, path), has_settings(content, settings)
    return committed and right and TAKEN not in content and not content["quick"]


def _is_committed(content: Mapping, collected: str | Path | None = None) -> bool:
    """Whether a commit says how a file was made; if not, of one to be collected, a warning."""
    committed = re.fullmatch("[0-9a-f]{40}", str(content.get("commit"))) is not None
    if collected and not committed:
        logger.warning("%s is not collected: commit is %s", collected, content.get("commit"))
    return committed


def _facts(content: Mapping) -> dict:
    return {key: content[key] for key in _FACTS if key in content}


def _joined_origin(origins: Sequence[Mapping], splits: Iterable[int]) -> dict:
    """They differ in the splits whose raw files they name."""
    hashes = {key: value for one in origins for key, value in one.get("splits", {}).items()}
    if not hashes:
        return dict(origins[0])
    return {**origins[0], "splits": {str(split): hashes[str(split)] for split in splits}}


def _settings(catalogue: Catalogue, run: Run) -> dict | None:
    try:
        return catalogue.run_settings(run)
    except ConfigurationError:  # a variant or a hyperparameter that is no more
        return None


def _folder(run: Run) -> tuple[str, str]:
    return run.variant, run.configuration
