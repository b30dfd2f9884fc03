"""Removing what the workflow computed, and nothing else.

Only files are removed whose names the configuration gives, so that a results folder that also holds
other things, or was named by mistake, loses none of them.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from flode.experiments.catalogue import Catalogue, one_of
from flode.experiments.hyperparameters import CONFIGURATION
from flode.locks import hold, holder

logger = logging.getLogger("flode.cleaning")

#: Under which name `flode.files.atomic_write` leaves a file that a killed job has half written.
_TEMPORARY = re.compile(r"\.(?P<stem>.+)\.\d+-[0-9a-f]{8}\.tmp(?P<suffix>\.\w+)")

#: The results folder itself, without those in it.
_TOP = "."

#: Where Snakemake notes, a name a line, which files its running calls read and make.
LOCKS = Path(".snakemake/locks")

#: Logs that are left: what the rule that cleans writes meanwhile, and those of raw files.
_OTHER_LOG = re.compile(r"logs/(clean\.log|download/.*)")


def computed_files(catalogue: Catalogue) -> dict[str, str]:
    """Folders under ``results`` and, for each, a regular expression of the files in it that the
    workflow makes of this configuration, raw files and their logs not among them."""
    variant = f"({one_of(catalogue.variants)})"
    run = rf"{variant}/({CONFIGURATION})/splits-\d+-\d+"
    names = {
        folder: f"({one_of(catalogue.config[key])})"
        for folder, key in (
            ("search", "searches"),
            ("studies", "studies"),
            ("tables", "tables"),
            ("figures", "figures"),
        )
    }
    pages = rf"tables/{names['tables']}|search/{names['search']}"
    stages = {"graphs": variant, "factors": variant, "statistics": variant, "runs": run, **names}
    return {
        "graphs": rf"{variant}\.npz",
        "factors": rf"{variant}\.safetensors",
        "statistics": rf"{variant}\.json",
        "runs": rf"{run}\.json",
        "models": rf"{run}\.safetensors",
        ".partial": rf"{run}\.(pt|lock)",
        "search": rf"{names['search']}\.csv",
        "studies": rf"{names['studies']}\.csv",
        "tables": rf"{names['tables']}\.(csv|tex)",
        "figures": rf"{names['figures']}\.(pdf|svg|csv)",
        "report": rf"({pages})\.html",
        "logs": "|".join(rf"{stage}/{name}\.log" for stage, name in stages.items())
        + rf"|partial\.log|collect\.log|generated\.log|report/(summary|report|{pages})\.log",
        "benchmarks": rf"factors/{variant}\.tsv|runs/{run}\.tsv",
        # Raw files that are generated, not fetched: outside a quick run there are none.
        "generated": one_of(
            str(Path(file).relative_to(catalogue.generated_raw_folder))
            for file in catalogue.generated_raw_files()
        ),
        _TOP: r"summary\.rst|report\.html",
    }


def raw_files(catalogue: Catalogue) -> list[str]:
    """Every raw file that may have been fetched."""
    folder = catalogue.config["data"]["folder"]
    return [f"{folder}/{source}/{path}" for source, path in catalogue.manifest]


def announce_work(results: str | Path, raw_folder: str | Path) -> None:
    """Have other calls clean neither folder until this process ends.

    Raises:
        RuntimeError: another call cleans one of them at the moment.
    """
    with contextlib.suppress(OSError):  # the first job says so, and what it could not write
        Path(results).mkdir(parents=True, exist_ok=True)
    for folder in (results, raw_folder):
        if not hold(folder, shared=True):
            raise RuntimeError(
                f"{folder}: another call of Snakemake removes files there. Wait until it has ended"
            )


def refuse_files_in_use(folders: Iterable[str | Path], locks: Path = LOCKS) -> None:
    """The lock of a rule that declares no files, and that Snakemake's own lock therefore ignores.

    Where nothing is in use, no other call starts to work in these folders until this process ends.

    Args:
        folders: those that files are to be removed from.
        locks: Snakemake's, of the working directory.

    Raises:
        RuntimeError: another call of Snakemake makes or reads files there, or was killed hard.
    """
    folders = [Path(folder) for folder in folders]
    for folder in folders:
        if not hold(folder):
            raise RuntimeError(
                f"nothing is removed: {folder} is in use by another call of Snakemake. Wait until"
                " it has ended"
            )
        _refuse_trainings_at_work(folder / ".partial")
    for lock in sorted(locks.glob("*.lock")):
        for name in lock.read_text(encoding="utf-8").splitlines():
            if any(Path(name).is_relative_to(folder) for folder in folders):
                raise RuntimeError(
                    f"nothing is removed: {name} is in use by another call of Snakemake ({lock})."
                    " Wait until it has ended; where it was killed, call snakemake --unlock first"
                )


def _refuse_trainings_at_work(claims: Path) -> None:
    """Some outlive a call that was killed hard, and on a cluster they are of other machines."""
    for path in sorted(claims.rglob("*.lock")):
        if process := holder(path):
            raise RuntimeError(
                f"nothing is removed: a training is at work, {process} ({path}). Wait until it has"
                " ended"
            )


def remove_computed(results: str | Path, patterns: Mapping[str, str]) -> int:
    """Remove files that were computed, half-written ones too, and folders that are empty then.

    Args:
        results: the prefix of all of them.
        patterns: see :func:`computed_files`.

    Returns:
        How many files were removed. Files of other names in the same folders are left, and logged.
    """
    removed, left = 0, []
    for folder, pattern in patterns.items():
        for path in _files(Path(results) / folder, below=folder != _TOP):
            name = path.relative_to(Path(results) / folder)
            if half_written := _TEMPORARY.fullmatch(name.name):
                name = name.with_name(half_written["stem"] + half_written["suffix"])
            if re.fullmatch(pattern, name.as_posix()):
                _remove(path, Path(results))
                removed += 1
            elif folder != _TOP and not _OTHER_LOG.fullmatch(f"{folder}/{name.as_posix()}"):
                left.append(path)
    logger.info("%s: files removed: %d", results, removed)
    if left:
        logger.warning(
            "%s: files left that this configuration does not make: %d, such as %s",
            results,
            len(left),
            left[0],
        )
    return removed


def remove_raw(files: Iterable[str], folder: str | Path) -> int:
    """Remove raw files, and folders that are empty then.

    Returns:
        How many files were removed.
    """
    there = [path for path in map(Path, files) if path.is_file()]
    for path in there:
        _remove(path, Path(folder))
    logger.info("%s: raw files removed: %d", folder, len(there))
    return len(there)


def _files(folder: Path, below: bool) -> Iterator[Path]:
    """Files in a folder and, if asked for, those below it; links to folders are not followed."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            if below:
                yield from _files(path, below)
        elif path.is_file() or path.is_symlink():
            yield path


def _remove(path: Path, root: Path) -> None:
    path.unlink()
    for parent in path.parents:
        if parent == root:
            return
        try:
            parent.rmdir()
        except OSError:  # other files are in it
            return
