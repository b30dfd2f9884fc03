"""What every reader returns, and the checks that readers share."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse


class RawFileError(ValueError):
    """A raw file that is not what its format says."""


@dataclass(frozen=True, eq=False)
class RawGraph:
    """A graph as its raw files give it.

    Attributes:
        features: ``(N, F)``, a dense array or a ``scipy.sparse.csr_array``.
        labels: ``(N,)`` int64, classes ``0..C-1``; -1 where unknown.
        edge_index: ``(2, E)`` int64 in the order of the file, repetitions included; row 0 the
            sources, row 1 the targets.
        train, validation, test: ``(S, N)`` bool, or None where the files hold no splits.
    """

    features: np.ndarray | sparse.csr_array
    labels: np.ndarray
    edge_index: np.ndarray
    train: np.ndarray | None = None
    validation: np.ndarray | None = None
    test: np.ndarray | None = None

    @property
    def num_nodes(self) -> int:
        return len(self.labels)


def read_archive(path: str | Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The named arrays of an npz archive without pickles.

    Raises:
        RawFileError: no archive, a damaged one, an array missing or made of Python objects.
    """
    try:
        archive = np.load(path, allow_pickle=False)
        if not hasattr(archive, "files"):
            raise RawFileError(f"{path}: not an npz archive, but a single array")
        with archive:
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise RawFileError(
                    f"{path}: array {missing[0]} is missing; found {', '.join(archive.files)}"
                )
            return {name: archive[name] for name in names}
    except (FileNotFoundError, RawFileError):
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise RawFileError(f"{path}: not an npz archive, or damaged ({error})") from error


def plain_integer(text: str) -> int | None:
    """The number that plain digits say, below 10¹⁸; None of anything else, of which ``int`` takes
    "1_0", " 1" and "-1"."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def check_shape(path: Path, name: str, array, shape: Sequence[int | None]) -> None:
    """Refuse an array of another shape; None allows any length."""
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    if not fits:
        allowed = ", ".join("any" if wanted is None else str(wanted) for wanted in shape)
        raise RawFileError(f"{path}: {name} has shape {array.shape}; allowed is ({allowed})")


def check_finite(path: Path, name: str, matrix: np.ndarray | sparse.csr_array) -> None:
    """Refuse features, dense or sparse, that are no finite real numbers."""
    matrix = matrix.tocoo() if sparse.issparse(matrix) else matrix
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype.kind not in "biuf":
        raise RawFileError(f"{path}: {name} has dtype {values.dtype}; allowed are real numbers")
    wrong = ~np.isfinite(values)
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0])
        where = [part[first] for part in matrix.coords] if sparse.issparse(matrix) else first
        raise RawFileError(
            f"{path}: {name}{[int(index) for index in where]} is {values[first]}; allowed are"
            " finite numbers"
        )


def check_range(path: Path, name: str, array: np.ndarray, low: int, high: int) -> np.ndarray:
    """The array as int64; refuse one that is not of integers from ``low`` to ``high``."""
    if array.dtype.kind not in "iu":
        raise RawFileError(f"{path}: {name} has dtype {array.dtype}; allowed are integers")
    wrong = (array < low) | (array > high)
    if wrong.any():
        where = np.argwhere(wrong)[0].tolist()
        raise RawFileError(
            f"{path}: {name}{where} is {array[tuple(where)]}; allowed are {low} to {high}"
        )
    return array.astype(np.int64)


def check_mask(path: Path, name: str, array: np.ndarray, shape: Sequence[int | None]) -> np.ndarray:
    """The array as bool; refuse another shape, or values other than 0 and 1."""
    check_shape(path, name, array, shape)
    return array if array.dtype == bool else check_range(path, name, array, 0, 1).astype(bool)


def check_disjoint(path: Path, masks: dict[str, np.ndarray]) -> None:
    """Refuse masks, each ``(..., N)``, that share a node."""
    shared = np.argwhere(sum(mask.astype(int) for mask in masks.values()) > 1)
    if len(shared):
        where = shared[0].tolist()
        names = [name for name, mask in masks.items() if mask[tuple(where)]]
        raise RawFileError(f"{path}: {' and '.join(names)} both hold {where}; a node is in one")
