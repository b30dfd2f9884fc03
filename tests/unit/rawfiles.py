"""Makers of tiny raw files in the published formats, for tests and quick runs without data.

``write_mirror`` makes every raw file of a configuration, under the paths that it names, and their
manifest: the result serves as ``data.mirror``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import pickle
import struct
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy import sparse

from flode.datasets.manifest import COLUMNS, ManifestRow
from flode.datasets.registry import Dataset

REPOSITORY_CONFIG = Path(__file__).resolve().parents[2] / "config" / "datasets.yaml"


@dataclass(frozen=True, eq=False)
class Example:
    """A tiny graph.

    Attributes:
        features: ``(N, F)``, 0 or 1.
        labels: ``(N,)``.
        edge_index: ``(2, E)``, row 0 the sources, row 1 the targets.
        train, validation, test: ``(S, N)`` bool.
    """

    features: np.ndarray
    labels: np.ndarray
    edge_index: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def example(
    num_nodes: int = 30,
    num_features: int = 8,
    num_classes: int = 3,
    num_splits: int = 2,
    acyclic: bool = False,
    seed: int = 0,
) -> Example:
    """A connected random graph whose features and edges tell something about its labels.

    Args:
        num_nodes: at least 10, so that each mask of a split holds nodes.
        acyclic: list each edge with source < target, as the heterophilous graphs do.
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(num_nodes) % num_classes)
    features = (rng.random((num_nodes, num_features)) < 0.3).astype(np.float32)
    features[np.arange(num_nodes), labels % num_features] = 1
    chance = np.where(labels[:, None] == labels, 6, 2) / num_nodes
    matrix = rng.random((num_nodes, num_nodes)) < chance
    matrix[np.arange(num_nodes - 1), np.arange(1, num_nodes)] = True  # a path through all nodes
    np.fill_diagonal(matrix, False)
    matrix = np.triu(matrix | matrix.T) if acyclic else matrix
    masks = np.zeros((3, num_splits, num_nodes), dtype=bool)
    for split in range(num_splits):
        order, half, quarter = rng.permutation(num_nodes), num_nodes // 2, num_nodes // 4
        masks[0, split, order[:half]] = True
        masks[1, split, order[half : half + quarter]] = True
        masks[2, split, order[half + quarter :]] = True
    return Example(features, labels, np.stack(np.nonzero(matrix)), *masks)


def write_heterophilous(path: Path, graph: Example, **changed: np.ndarray) -> None:
    """An npz archive of the heterophilous graphs; ``changed`` puts other arrays in."""
    arrays = {
        "node_features": graph.features,
        "node_labels": graph.labels,
        "edges": graph.edge_index.T,
        "train_masks": graph.train,
        "val_masks": graph.validation,
        "test_masks": graph.test,
    }
    _write_npz(path, **arrays | changed)


def write_splits(paths: list[Path], graph: Example) -> None:
    """Geom-gcn's npz archives, one a split, masks as uint8."""
    for path, *masks in zip(paths, graph.train, graph.validation, graph.test, strict=True):
        names = ("train_mask", "val_mask", "test_mask")
        _write_npz(
            path, **{name: mask.astype(np.uint8) for name, mask in zip(names, masks, strict=True)}
        )


def write_geom_gcn(edges: Path, features: Path, graph: Example) -> None:
    """Geom-gcn's text files as it has them for Film; the last node comes first."""
    lines = [f"node_id\tfeature(feature_amount:{graph.features.shape[1] - 1})\tlabel"]
    for node in reversed(range(len(graph.labels))):
        listed = ",".join(str(index) for index in np.flatnonzero(graph.features[node]))
        lines.append(f"{node}\t{listed}\t{graph.labels[node]}")
    _write(features, "\n".join(lines) + "\n")
    pairs = [f"{source}\t{target}" for source, target in graph.edge_index.T]
    _write(edges, "\n".join(["node_id\tnode_id", *pairs]) + "\n")


def write_planetoid(
    files: Mapping[str, Path], graph: Example, num_test: int = 9, missing: tuple[int, ...] = ()
) -> None:
    """Planetoid's pickles, as Python 2 wrote them, and the text file ``test_index``.

    Args:
        files: role → path.
        graph: its edges are written in both directions; its labels must use every class.
        num_test: the last nodes, listed in ``test_index`` in another order.
        missing: nodes among them, not the last one, that no file describes.
    """
    nodes, classes = len(graph.labels), graph.labels.max() + 1
    first = nodes - num_test
    tested = np.setdiff1d(np.arange(first, nodes), missing)
    tested = np.random.default_rng(0).permutation(tested)
    one_hot = np.eye(classes, dtype=np.int32)[graph.labels]
    neighbours = defaultdict(list, {node: [] for node in range(nodes)})
    for source, target in graph.edge_index.T.tolist():
        neighbours[source].append(target)
        neighbours[target].append(source)
    _write(files["allx"], python2_pickle(graph.features[:first], as_sparse=True))
    _write(files["tx"], python2_pickle(graph.features[tested], as_sparse=True))
    _write(files["ally"], python2_pickle(one_hot[:first]))
    _write(files["ty"], python2_pickle(one_hot[tested]))
    _write(files["graph"], python2_pickle(neighbours))
    _write(files["test_index"], "".join(f"{node}\n" for node in tested))


def write_dataset(dataset: Dataset, root: Path, graph: Example | None = None) -> Example:
    """Every raw file of a dataset, at ``root/<source>/<path>``; returns what they describe.

    Args:
        graph: the graph; an :func:`example` of its own with the dataset's number of splits if None.
    """
    if graph is None:
        graph = example(
            num_classes=2 if dataset.metric == "auroc" else 3,
            num_splits=dataset.splits,
            acyclic=dataset.format == "heterophilous" and dataset.metric == "auroc",
            seed=int(hashlib.sha256(dataset.name.encode()).hexdigest()[:8], 16),
        )
    files = dataset.local_files(root)
    if "splits" in files:
        write_splits(files["splits"], graph)
    if dataset.format == "planetoid":
        write_planetoid(files, graph)
    elif dataset.format == "geom_gcn":
        write_geom_gcn(files["edges"], files["features"], graph)
    else:
        write_heterophilous(files["archive"], graph)
    return graph


def write_mirror(config: Mapping, root: Path) -> Path:
    """Every raw file of every dataset of a configuration; returns the path of their manifest."""
    for name, entry in config["datasets"].items():
        write_dataset(Dataset.from_config(name, entry), root)
    files = [path for source in config["sources"] for path in sorted((root / source).rglob("*.*"))]
    manifest = root / "manifest.csv"
    with manifest.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for path in files:
            source, *parts = path.relative_to(root).parts
            row = row_of(path.read_bytes(), source, "/".join(parts))
            writer.writerow([row.source, row.path, row.bytes, row.sha256, row.git_blob_sha1])
    return manifest


def row_of(content: bytes, source: str = "source", path: str = "folder/file") -> ManifestRow:
    """The manifest's row of a file with this content."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return ManifestRow(source, path, len(content), hashlib.sha256(content).hexdigest(), blob)


class _SparseMatrix:
    """Pickled under the name that SciPy's csr_matrix had."""

    def __init__(self, matrix):
        csr = sparse.csr_array(matrix)
        self.format, self._shape, self.maxprint = "csr", csr.shape, 50
        self.indptr, self.indices, self.data = csr.indptr, csr.indices, csr.data


_RECONSTRUCT = np.empty(0).__reduce__()[0]


class _Python2Pickler(pickle._Pickler):
    """Writes what Python 2 wrote: byte strings and the module names of its time, protocol 2."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, protocol=2)

    def save_string(self, text):
        content = text.encode("latin1") if isinstance(text, str) else text
        if len(content) < 256:
            self.write(pickle.SHORT_BINSTRING + bytes([len(content)]) + content)
        else:
            self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(text)

    dispatch[bytes] = dispatch[str] = save_string

    def save_global(self, obj, name=None):
        if obj is _RECONSTRUCT:
            self._named(obj, "numpy.core.multiarray", "_reconstruct")
        elif obj is _SparseMatrix:
            self._named(obj, "scipy.sparse.csr", "csr_matrix")
        else:
            super().save_global(obj, name)

    def _named(self, obj, module, name):
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_type(self, obj):
        self.save_global(obj)

    dispatch[type] = save_type


def python2_pickle(obj, as_sparse: bool = False) -> bytes:
    """An object's pickle by Python 2; ``as_sparse`` makes a csr_matrix of it."""
    buffer = io.BytesIO()
    _Python2Pickler(buffer).dump(_SparseMatrix(obj) if as_sparse else obj)
    return buffer.getvalue()


def _write_npz(path: Path, **arrays: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    _write(path, buffer.getvalue())


def _write(path: Path, content: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
