"""Planetoid's files for Cora, Citeseer and Pubmed (Yang, Cohen and Salakhutdinov, 2016)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy import sparse

from flode.datasets.readers.pickles import load_array, load_neighbours, load_sparse
from flode.datasets.readers.raw import (
    RawFileError,
    RawGraph,
    check_finite,
    check_shape,
    plain_integer,
)
from flode.datasets.readers.splits import read_splits


def read_planetoid(files: Mapping[str, Path | list[Path]]) -> RawGraph:
    """Read features and labels of ``allx``, ``ally`` (nodes 0, 1, ...) and of ``tx``, ``ty``, whose
    rows belong to the nodes that ``test_index`` lists, line by line; and the neighbour lists.

    ``x`` and ``y`` repeat the first rows of ``allx`` and ``ally`` and are not read. A node between
    the first and the last test node that ``test_index`` leaves out (15 in Citeseer) has features
    of zero and the label -1.

    Args:
        files: the roles ``allx``, ``tx``, ``ally``, ``ty``, ``graph``, ``test_index`` and, unless
            no masks are wanted, ``splits`` (geom-gcn's).

    Raises:
        RawFileError: a malformed file, or files that do not fit each other.
    """
    blocks = {role: load_sparse(files[role]) for role in ("allx", "tx")}
    for role, block in blocks.items():
        check_finite(files[role], role, block)
    first, listed = blocks["allx"].shape[0], blocks["tx"].shape[0]
    check_shape(files["tx"], "tx", blocks["tx"], (None, blocks["allx"].shape[1]))
    test_nodes = _read_test_nodes(files["test_index"], first, listed)
    num_nodes = int(test_nodes.max()) + 1
    edge_index = read_neighbours(files["graph"], num_nodes)

    one_hot = {role: load_array(files[role]) for role in ("ally", "ty")}
    check_shape(files["ally"], "ally", one_hot["ally"], (first, None))
    check_shape(files["ty"], "ty", one_hot["ty"], (listed, one_hot["ally"].shape[1]))
    labels = np.full(num_nodes, -1, dtype=np.int64)
    labels[:first] = _classes(files["ally"], "ally", one_hot["ally"])
    labels[test_nodes] = _classes(files["ty"], "ty", one_hot["ty"])

    known, tested = blocks["allx"].tocoo(), blocks["tx"].tocoo()
    rows = np.concatenate([known.row, test_nodes[tested.row]])
    columns = np.concatenate([known.col, tested.col])
    values = np.concatenate([known.data, tested.data])
    shape = (num_nodes, blocks["allx"].shape[1])
    masks = read_splits(files["splits"], num_nodes) if "splits" in files else ()
    return RawGraph(
        sparse.coo_array((values, (rows, columns)), shape=shape).tocsr(),
        labels,
        edge_index,
        *masks,
    )


def read_neighbours(path: str | Path, num_nodes: int) -> np.ndarray:
    """The edges of a pickled dictionary of neighbour lists, as listed.

    Args:
        path: a file ``ind.<name>.graph``. Edges stand in both directions, some more than once.
        num_nodes: number of nodes N.

    Returns:
        ``(2, E)`` int64, from the node to its neighbour.

    Raises:
        RawFileError: no such dictionary, not one list a node, or a node outside ``0..N-1``.
    """
    graph = load_neighbours(path)
    if len(graph) != num_nodes:
        raise RawFileError(
            f"{path}: neighbours of {len(graph)} nodes; allowed are {num_nodes}, as many as the"
            " other files have"
        )
    edges = [(node, neighbour) for node, listed in graph.items() for neighbour in listed]
    # Python integers may be too large for an array, so the range is checked first.
    for edge in edges:
        if not 0 <= min(edge) <= max(edge) < num_nodes:
            raise RawFileError(
                f"{path}: edge {edge} is out of range; nodes are 0 to {num_nodes - 1}"
            )
    return np.array(edges, dtype=np.int64).reshape(-1, 2).T.copy()


def _read_test_nodes(path: Path, first: int, listed: int) -> np.ndarray:
    lines = Path(path).read_text(encoding="latin1").splitlines()
    for number, line in enumerate(lines, start=1):
        node = plain_integer(line.strip())
        if node is None or node < first:
            raise RawFileError(
                f"{path}, line {number}: {line[:60]!r}; allowed are integers from {first}, the"
                " first node that allx leaves"
            )
    nodes = np.array([int(line) for line in lines], dtype=np.int64)
    if len(nodes) != listed or not listed:
        raise RawFileError(f"{path}: {len(nodes)} nodes; allowed are {listed}, the rows of tx")
    values, counts = np.unique(nodes, return_counts=True)
    if counts.max() > 1:
        raise RawFileError(f"{path}: node {values[counts.argmax()]} is listed twice")
    return nodes


def _classes(path: Path, name: str, one_hot: np.ndarray) -> np.ndarray:
    """Classes of one-hot rows; -1 for a row of zeros."""
    wrong = ~np.isin(one_hot, (0, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise RawFileError(
            f"{path}: {name}[{row}, {column}] is {one_hot[row, column]}; allowed are 0 and 1"
        )
    totals = one_hot.sum(axis=1)
    if np.any(totals > 1):
        row = int(np.flatnonzero(totals > 1)[0])
        raise RawFileError(f"{path}: {name}[{row}] names {totals[row]} classes; allowed is one")
    return np.where(totals == 1, one_hot.argmax(axis=1), -1)
