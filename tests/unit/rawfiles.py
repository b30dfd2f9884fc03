"""Tiny raw graphs for tests, and their files in the published formats.

``write_mirror`` makes every raw file of a configuration, under the paths that it names, and their
manifest: the result serves as ``data.mirror``.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from flode.datasets.manifest import COLUMNS, ManifestRow
from flode.datasets.readers import RawGraph
from flode.datasets.registry import Dataset
from flode.datasets.writers import write_raw

REPOSITORY_CONFIG = Path(__file__).resolve().parents[2] / "config" / "datasets.yaml"


def example(
    num_nodes: int = 30,
    num_features: int = 8,
    num_classes: int = 3,
    num_splits: int = 2,
    acyclic: bool = False,
    seed: int = 0,
) -> RawGraph:
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
    return RawGraph(features, labels, np.stack(np.nonzero(matrix)), *masks)


def write_dataset(dataset: Dataset, root: Path, graph: RawGraph | None = None) -> RawGraph:
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
    write_raw(dataset.format, dataset.local_files(root), graph)
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
