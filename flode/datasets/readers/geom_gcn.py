"""Geom-gcn's text files as it has them for Film: an edge list, and sets of features."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from scipy import sparse

from flode.datasets.readers.raw import RawFileError, RawGraph, check_range, plain_integer
from flode.datasets.readers.splits import read_splits


def read_geom_gcn(files: Mapping[str, Path | list[Path]]) -> RawGraph:
    """Read an edge list, a file of features and labels, and splits.

    Args:
        files: the roles ``edges`` (a header, then ``source<TAB>target``), ``features`` (a header,
            then ``node<TAB>i,j,...<TAB>label``: features i, j, ... are 1, others 0) and, unless
            no masks are wanted, ``splits``.

    Raises:
        RawFileError: a malformed line, a node listed twice or not at all, a number out of range.
    """
    features, labels = _read_nodes(files["features"])
    masks = read_splits(files["splits"], len(labels)) if "splits" in files else ()
    return RawGraph(features, labels, _read_edges(files["edges"], len(labels)), *masks)


def _read_nodes(path: Path) -> tuple[sparse.csr_array, np.ndarray]:
    header, lines = _lines(path, 3)
    rows: dict[int, tuple[list[int], int]] = {}
    for where, (node, indices, label) in lines:
        node = _integer(where, "node", node)
        if node in rows:
            raise RawFileError(f"{where}: node {node} is listed a second time")
        listed = [_integer(where, "feature", index) for index in indices.split(",") if indices]
        rows[node] = listed, _integer(where, "label", label)
    if not rows:
        raise RawFileError(f"{path}: no node is listed")
    nodes = len(rows)
    if max(rows) >= nodes:
        missing = next(node for node in range(nodes) if node not in rows)
        raise RawFileError(
            f"{path}: {nodes} nodes are listed, {max(rows)} is one of them, {missing} is not;"
            f" nodes are 0 to {nodes - 1}"
        )
    labels = np.array([rows[node][1] for node in range(nodes)], dtype=np.int64)
    check_range(path, "label", labels, 0, nodes - 1)
    sets = [np.unique(np.array(rows[node][0], dtype=np.int64)) for node in range(nodes)]
    indices = np.concatenate(sets)
    size = int(indices.max(initial=-1)) + 1
    # Film's header tells the largest index, by the name of `feature_amount`.
    declared = re.search(r"feature_amount:(\d+)", header)
    if declared and size > int(declared[1]) + 1:
        raise RawFileError(
            f"{path}: feature {size - 1} is listed; the header allows 0 to {declared[1]}"
        )
    size = int(declared[1]) + 1 if declared else size
    starts = np.concatenate([[0], np.cumsum([len(listed) for listed in sets])])
    ones = np.ones(len(indices), dtype=np.float32)
    return sparse.csr_array((ones, indices, starts), shape=(nodes, size)), labels


def _read_edges(path: Path, num_nodes: int) -> np.ndarray:
    edges = []
    header, lines = _lines(path, 2)
    if all(plain_integer(field) is not None for field in header.split("\t")):
        raise RawFileError(f"{path}, line 1: {header[:60]!r} is an edge; a header is needed")
    for where, fields in lines:
        edge = [_integer(where, "node", field) for field in fields]
        if max(edge) >= num_nodes:
            raise RawFileError(
                f"{where}: node {max(edge)} is out of range; nodes are 0 to {num_nodes - 1}"
            )
        edges.append(edge)
    return np.array(edges, dtype=np.int64).reshape(-1, 2).T.copy()


def _lines(path: Path, num_fields: int) -> tuple[str, Iterator[tuple[str, list[str]]]]:
    """The header, and for each further line where it stands and its fields."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise RawFileError(f"{path}: not a text file ({error})") from error
    if not lines:
        raise RawFileError(f"{path}: empty; a header and one line a row are needed")

    def fields_of_lines():
        for number, line in enumerate(lines[1:], start=2):
            where, fields = f"{path}, line {number}", line.split("\t")
            if len(fields) != num_fields:
                raise RawFileError(
                    f"{where}: {line[:60]!r} has {len(fields)} fields; allowed are {num_fields},"
                    " set apart by tabs"
                )
            yield where, fields

    return lines[0], fields_of_lines()


def _integer(where: str, name: str, field: str) -> int:
    number = plain_integer(field)
    if number is None:
        raise RawFileError(f"{where}: {name} is {field[:60]!r}; allowed are integers from 0")
    return number
