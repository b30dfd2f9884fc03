"""Writers of raw graphs in the published formats, the inverse of :mod:`flode.datasets.readers`.

They write what quick runs and tests read in place of the published files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from flode.datasets.readers import RawGraph
from flode.datasets.writers.pickles import python2_pickle
from flode.files import atomic_write, write_text_atomic

__all__ = [
    "WRITERS",
    "heterophilous_arrays",
    "python2_pickle",
    "write_geom_gcn",
    "write_heterophilous",
    "write_npz",
    "write_planetoid",
    "write_raw",
    "write_splits",
]


def write_raw(
    format: str, files: Mapping[str, str | Path | Sequence[str | Path]], graph: RawGraph
) -> None:
    """Write a raw graph in a known format.

    Args:
        format: a key of :data:`WRITERS`.
        files: role → path; for the role ``splits`` a list, one path a split.
        graph: with splits.

    Raises:
        ValueError: an unknown format, or a graph that the format cannot hold.
    """
    if format not in WRITERS:
        raise ValueError(f"format is {format!r}; allowed are {', '.join(WRITERS)}")
    WRITERS[format](files, graph)


def write_heterophilous(files: Mapping[str, str | Path], graph: RawGraph) -> None:
    """The npz archive of the heterophilous graphs, role ``archive``."""
    _check_labels(graph, "heterophilous")
    write_npz(files["archive"], heterophilous_arrays(graph))


def heterophilous_arrays(graph: RawGraph) -> dict[str, np.ndarray]:
    """The arrays of such an archive, by name."""
    return {
        "node_features": _dense(graph.features),
        "node_labels": graph.labels,
        "edges": graph.edge_index.T,
        "train_masks": graph.train,
        "val_masks": graph.validation,
        "test_masks": graph.test,
    }


def write_splits(paths: Sequence[str | Path], graph: RawGraph) -> None:
    """Geom-gcn's npz archives, one a split, masks as uint8."""
    for path, train, validation, test in zip(
        paths, graph.train, graph.validation, graph.test, strict=True
    ):
        masks = {"train_mask": train, "val_mask": validation, "test_mask": test}
        write_npz(path, {name: mask.astype(np.uint8) for name, mask in masks.items()})


def write_geom_gcn(files: Mapping, graph: RawGraph) -> None:
    """Geom-gcn's text files as it has them for Film; the last node comes first.

    Args:
        files: roles ``edges``, ``features`` and ``splits``.
        graph: features of 0 and 1 that name each node's set.
    """
    _check_labels(graph, "geom_gcn")
    features = _dense(graph.features)
    lines = [f"node_id\tfeature(feature_amount:{features.shape[1] - 1})\tlabel"]
    for node in reversed(range(graph.num_nodes)):
        listed = ",".join(str(index) for index in np.flatnonzero(features[node]))
        lines.append(f"{node}\t{listed}\t{graph.labels[node]}")
    write_text_atomic(files["features"], "\n".join(lines) + "\n")
    pairs = [f"{source}\t{target}" for source, target in graph.edge_index.T]
    write_text_atomic(files["edges"], "\n".join(["node_id\tnode_id", *pairs]) + "\n")
    write_splits(files["splits"], graph)


def write_planetoid(files: Mapping, graph: RawGraph) -> None:
    """Planetoid's pickles, as Python 2 wrote them, the text file ``test_index``, and splits.

    The last three tenths of the nodes are the test nodes, listed in another order; a node without
    a label is one that no file describes.

    Args:
        files: the roles of the format.
        graph: its edges are written in both directions.

    Raises:
        ValueError: a node without a label is not among the test nodes, or is the last one, or
            a class has no node.
    """
    nodes, first = graph.num_nodes, graph.num_nodes - graph.num_nodes * 3 // 10
    missing = np.flatnonzero(graph.labels < 0)
    if np.any((missing < first) | (missing == nodes - 1)):
        raise ValueError(
            f"nodes without a label are {missing.tolist()}; format planetoid allows {first} to"
            f" {nodes - 2}"
        )
    classes = int(graph.labels.max()) + 1
    if absent := sorted(set(range(classes)) - set(graph.labels.tolist())):
        raise ValueError(f"class {absent[0]} has no node; classes are 0 to {classes - 1}")
    tested = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(first, nodes), missing))
    one_hot, features = np.eye(classes, dtype=np.int32)[graph.labels], _dense(graph.features)
    neighbours = defaultdict(list, {node: [] for node in range(nodes)})
    for source, target in graph.edge_index.T.tolist():
        neighbours[source].append(target)
        neighbours[target].append(source)
    contents = {
        "allx": python2_pickle(features[:first], as_sparse=True),
        "tx": python2_pickle(features[tested], as_sparse=True),
        "ally": python2_pickle(one_hot[:first]),
        "ty": python2_pickle(one_hot[tested]),
        "graph": python2_pickle(neighbours),
    }
    for role, content in contents.items():
        with atomic_write(files[role]) as temporary:
            temporary.write_bytes(content)
    write_text_atomic(files["test_index"], "".join(f"{node}\n" for node in tested))
    write_splits(files["splits"], graph)


def write_npz(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """An npz archive; the same arrays give the same bytes."""
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


#: Format → writer, ``(files, graph) -> None``.
WRITERS: Mapping[str, Callable[[Mapping, RawGraph], None]] = {
    "planetoid": write_planetoid,
    "heterophilous": write_heterophilous,
    "geom_gcn": write_geom_gcn,
}


def _dense(features: np.ndarray | sparse.csr_array) -> np.ndarray:
    return features.toarray() if sparse.issparse(features) else features


def _check_labels(graph: RawGraph, format: str) -> None:
    missing = np.flatnonzero(graph.labels < 0)
    if len(missing):
        raise ValueError(f"node {missing[0]} has no label; format {format} needs one of each node")
