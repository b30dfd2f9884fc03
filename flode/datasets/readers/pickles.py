"""Planetoid's pickles, written by Python 2, read without running what they name.

A pickle may name any function for its reader to call. Here only arrays, dtypes, lists, defaultdicts
and the state of sparse matrices are known; a file that names anything else is refused.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from flode.datasets.readers.raw import RawFileError


class _SparseState:
    """Stands in for ``csr_matrix``, whose module and attributes change between SciPy versions."""


_RECONSTRUCT = np.empty(0).__reduce__()[0]

_ALLOWED = {
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
    ("collections", "defaultdict"): defaultdict,
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("scipy.sparse.csr", "csr_matrix"): _SparseState,
    ("scipy.sparse._csr", "csr_matrix"): _SparseState,
}


class _Unpickler(pickle.Unpickler):
    def __init__(self, path, file):
        # latin1 maps each byte of a Python 2 string to one character, which NumPy maps back.
        super().__init__(file, encoding="latin1")
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            allowed = ", ".join(".".join(known) for known in _ALLOWED)
            raise RawFileError(
                f"{self._path}: names {module}.{name}; allowed are {allowed}"
            ) from None


def _load(path: str | Path) -> Any:
    with open(path, "rb") as file:
        try:
            return _Unpickler(path, file).load()
        except RawFileError:
            raise
        # A damaged pickle can fail in almost any way.
        except Exception as error:
            raise RawFileError(
                f"{path}: not a pickle, or damaged ({type(error).__name__}: {error})"
            ) from error


def load_array(path: str | Path) -> np.ndarray:
    """A pickled array of numbers; RawFileError for anything else."""
    array = _load(path)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        kind = getattr(array, "dtype", type(array).__name__)
        raise RawFileError(f"{path}: holds {kind}; allowed is an array of numbers")
    return array


def load_sparse(path: str | Path) -> sparse.csr_array:
    """A pickled ``csr_matrix`` of numbers; RawFileError for anything else."""
    state = _load(path)
    if not isinstance(state, _SparseState):
        raise RawFileError(f"{path}: holds {type(state).__name__}; allowed is a csr_matrix")
    try:
        parts = state.data, state.indices, state.indptr
        matrix = sparse.csr_array(parts, shape=tuple(int(size) for size in state._shape))
        matrix.check_format(full_check=True)
        if matrix.dtype.kind not in "biuf":
            raise ValueError(f"dtype {matrix.dtype}")
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise RawFileError(f"{path}: not a csr_matrix of numbers ({error})") from error
    return matrix


def load_neighbours(path: str | Path) -> dict[int, list[int]]:
    """A pickled dictionary from a node to the list of its neighbours; else RawFileError."""
    graph = _load(path)
    if not isinstance(graph, dict):
        raise RawFileError(f"{path}: holds {type(graph).__name__}; allowed is a dictionary")
    for node, neighbours in graph.items():
        if type(node) is not int or not isinstance(neighbours, list):
            raise RawFileError(
                f"{path}: entry {node!r} holds {type(neighbours).__name__}; allowed is a number of"
                " a node, and a list"
            )
        for neighbour in neighbours:
            if type(neighbour) is not int:
                raise RawFileError(
                    f"{path}: node {node} has the neighbour {neighbour!r}; allowed are integers"
                )
    return graph
