"""Readers of raw graphs, one module a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from flode.datasets.readers.geom_gcn import read_geom_gcn
from flode.datasets.readers.heterophilous import read_heterophilous
from flode.datasets.readers.planetoid import read_planetoid
from flode.datasets.readers.raw import RawFileError, RawGraph

__all__ = ["READERS", "RawFileError", "RawGraph", "read_raw"]

#: Format → reader. A reader takes the paths of the raw files by role (the roles of each format
#: stand in :data:`flode.datasets.registry.FORMATS`) and returns a :class:`RawGraph`.
READERS: Mapping[str, Callable[[Mapping[str, Path | list[Path]]], RawGraph]] = {
    "planetoid": read_planetoid,
    "heterophilous": read_heterophilous,
    "geom_gcn": read_geom_gcn,
}


def read_raw(format: str, files: Mapping[str, Path | list[Path]]) -> RawGraph:
    """Read a raw graph of a known format.

    Args:
        format: a key of :data:`READERS`.
        files: role → path; for the role ``splits`` a list, one path a split.

    Raises:
        ValueError: an unknown format.
        RawFileError: a malformed file; the message names it, the line or array at fault, what was
            found and what is allowed.
    """
    if format not in READERS:
        raise ValueError(f"format is {format!r}; allowed are {', '.join(READERS)}")
    return READERS[format](files)
