"""Runs that were trained before, perhaps elsewhere: taken in place of a training, and collected.

A folder of them is laid out as ``results/runs``. Which run file is of a configuration its settings
say (`Catalogue.run_settings`): hyperparameters, how graph and factors were made, from which raw
bytes, and the versions of these stages.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.runfiles import (
    fitting,
    read_run,
    run_files_in,
    save_run,
    settings_of,
    split_range,
)
from flode.experiments.validation import ConfigurationError

logger = logging.getLogger("flode.measured")

#: Facts of a training by which no run is known.
_FACTS = ("device", "threads", "commit")

#: Key of a run file that was not trained here: the files it was taken from.
_TAKEN = "taken_from"


def measured_files(catalogue: Catalogue, run: Run, first: str, last: str) -> list[str]:
    """Files of ``measured`` that a run file can be taken from.

    Args:
        first, last: of the splits asked for.

    Returns:
        Files that hold these splits together, each split once. None where the folder is not given,
        lacks a split, or has them of other settings only; where the run's models are to be kept;
        and where the run has been trained here.

    Raises:
        ConfigurationError: a damaged file; it is named.
    """
    folder, settings = catalogue.config["measured"], catalogue.run_settings(run)
    if not folder or catalogue.keeps_models(run):
        return []
    wanted = set(catalogue.splits(run.variant, first, last))
    own = Path(catalogue.results, "runs", *_folder(run), f"splits-{first}-{last}.json")
    if any(map(_trained_here, fitting([own], settings)[0])):
        return []
    found, _ = fitting(run_files_in(Path(folder, *_folder(run))), settings)
    found = [path for path in found if wanted & set(split_range(path))]
    if not wanted <= {split for path in found for split in split_range(path)}:
        return []
    for path in found:
        try:
            read_run(path)
        except ValueError as error:
            raise ConfigurationError(f"measured: {error}") from error
    return list(map(str, found))


def take_run(files: Sequence[str], splits: Iterable[int], output: str | Path) -> None:
    """Write a run file of splits of others, and which they are.

    Args:
        files: see :func:`measured_files`. What they do not agree on, such as the commit, is listed
            in their order.
        splits: those to take.

    Raises:
        ValueError: a damaged file, named.
    """
    documents, wanted = [read_run(path) for path in files], set(splits)
    records = [record for document in documents for record in document["records"]]
    facts = {key: _common([document.get(key) for document in documents]) for key in _FACTS}
    versions = [document.get("versions", {}) for document in documents]
    facts["versions"] = {key: _common([each.get(key) for each in versions]) for key in versions[0]}
    chosen = sorted(
        (record for record in records if record["split"] in wanted), key=lambda one: one["split"]
    )
    save_run({**documents[0], **facts, _TAKEN: list(files), "records": chosen}, output)
    logger.info("%d splits taken from %s", len(chosen), ", ".join(files))


def collect_runs(catalogue: Catalogue, folder: str | Path) -> dict[str, int]:
    """Copy what was trained under ``results/runs`` to a folder of measured runs.

    Of a configuration that is there with its present settings, more splits replace fewer; else what
    is there stays, so that a number once shown keeps its run. What is there of other settings goes.

    Args:
        folder: made where it is missing.

    Returns:
        How many run files were added, were there already, were removed, and were left out: of
        quick runs, of other settings than the configuration's, and of variants it does not have.

    Raises:
        ValueError: a damaged file, named.
    """
    counts = dict.fromkeys(("added", "there", "removed", "left_out"), 0)
    source = Path(catalogue.results) / "runs"
    for own in sorted({path.parent for path in source.glob("*/*/splits-*.json")}):
        run = Run(*own.relative_to(source).parts)
        files = run_files_in(own)
        settings = _settings(catalogue, run)
        found = [
            path
            for path in (fitting(files, settings)[0] if settings else [])
            if _trained_here(path) and _complete(read_run(path))
        ]
        counts["left_out"] += len(files) - len(found)
        for path in found:
            _collect(path, Path(folder, *_folder(run)), settings, counts)
    logger.info(
        "%s: run files added: %d; there already: %d; removed: %d; left out: %d",
        folder, *counts.values(),
    )  # fmt: skip
    return counts


def _collect(path: Path, folder: Path, settings: Mapping, counts: dict[str, int]) -> None:
    there, outdated = fitting(run_files_in(folder), settings)
    splits = set(split_range(path))
    shared = [other for other in there if splits & set(split_range(other))]
    narrower = [other for other in shared if set(split_range(other)) < splits]
    if shared and shared != narrower:
        counts["there"] += 1
        return
    save_run(read_run(path), folder / path.name)
    counts["added"] += 1
    for other in [*outdated, *narrower]:
        if other.name != path.name:
            other.unlink()
            counts["removed"] += 1


def _trained_here(path: Path) -> bool:
    """A damaged file is left to its reader."""
    try:
        return _TAKEN not in read_run(path)
    except ValueError:
        return True


def _complete(content: Mapping) -> bool:
    """Whether a run file says all by which it can be known elsewhere."""
    return not content["quick"] and {"origin", "version"} <= settings_of(content).keys()


def _settings(catalogue: Catalogue, run: Run) -> dict | None:
    try:
        return catalogue.run_settings(run)
    except ConfigurationError:  # a variant or a hyperparameter that is no more
        return None


def _folder(run: Run) -> tuple[str, str]:
    return run.variant, run.configuration


def _common(values: list):
    """The value that all have, or all of them."""
    return values[0] if all(value == values[0] for value in values) else values
