"""The graph a model is trained on: features, labels, weighted directed edges and splits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from flode.files import atomic_write, naming_damage

_MASKS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Graph:
    """A node-classification graph.

    Attributes:
        features: ``(N, F)`` float32, a dense array or a ``scipy.sparse.csr_array``.
        labels: ``(N,)`` int64, classes ``0..C-1``; -1 where unknown.
        edge_index: ``(2, E)`` int64 directed edges, row 0 the sources, row 1 the targets.
        edge_weight: ``(E,)`` float64, positive and finite.
        train, validation, test: ``(S, N)`` bool, one row a split.
        metric: ``accuracy``, or ``auroc`` of classes 0 and 1.
    """

    features: np.ndarray | sparse.csr_array
    labels: np.ndarray
    edge_index: np.ndarray
    edge_weight: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    metric: str = "accuracy"

    def __post_init__(self):
        """Check what every later stage relies on.

        Raises:
            ValueError: shapes or dtypes that do not fit, features that are not finite, endpoints
                out of range, weights that are not positive and finite, overlapping masks or an
                empty one, labels missing under a mask; of metric auroc, other classes than 0 and 1,
                or a mask without one of the two.
        """
        self._check_features_and_labels(self.num_nodes)
        self._check_edges(self.num_nodes)
        if self.metric not in ("accuracy", "auroc"):
            raise ValueError(f"metric is {self.metric!r}; allowed are accuracy, auroc")
        self._check_masks(self.num_nodes)
        if self.metric == "auroc":
            self._check_two_classes()

    def _check_features_and_labels(self, nodes: int) -> None:
        if self.features.ndim != 2 or self.features.shape[0] != nodes:
            raise ValueError(
                f"features must have shape ({nodes}, F), one row a label, found"
                f" {self.features.shape}"
            )
        if sparse.issparse(self.features) and self.features.format != "csr":
            raise ValueError(
                f"features are sparse of format {self.features.format}; allowed are csr, and dense"
                " arrays"
            )
        if np.issubdtype(self.features.dtype, np.complexfloating):
            raise ValueError(f"features are {self.features.dtype}; real numbers are allowed")
        stored = self.features.data if sparse.issparse(self.features) else self.features
        if not np.isfinite(stored).all():
            raise ValueError("features hold what is not finite; finite numbers are allowed")
        if self.labels.ndim != 1 or self.labels.dtype != np.int64:
            raise ValueError(
                f"labels must be an int64 array of shape (N,), found {self.labels.dtype}"
                f" {self.labels.shape}"
            )

    def _check_edges(self, nodes: int) -> None:
        if self.edge_index.ndim != 2 or self.edge_index.shape[0] != 2:
            raise ValueError(f"edge_index must have shape (2, E), found {self.edge_index.shape}")
        if not np.issubdtype(self.edge_index.dtype, np.integer):
            raise ValueError(f"edge_index is {self.edge_index.dtype}; integers are allowed")
        if self.edge_weight.shape != (self.edge_index.shape[1],):
            raise ValueError(
                f"edge_weight must have shape ({self.edge_index.shape[1]},), found"
                f" {self.edge_weight.shape}"
            )
        if self.edge_index.size and not (
            self.edge_index.min() >= 0 and self.edge_index.max() < nodes
        ):
            raise ValueError(
                f"edge_index spans {self.edge_index.min()} to {self.edge_index.max()}; nodes are"
                f" 0 to {nodes - 1}"
            )
        wrong = np.flatnonzero(~((self.edge_weight > 0) & np.isfinite(self.edge_weight)))
        if len(wrong):
            raise ValueError(
                f"edge_weight[{wrong[0]}] is {self.edge_weight[wrong[0]]}; weights must be positive"
                " and finite"
            )

    def _check_masks(self, nodes: int) -> None:
        for name in _MASKS:
            mask = getattr(self, name)
            if mask.dtype != bool or mask.ndim != 2 or mask.shape[1] != nodes:
                raise ValueError(
                    f"{name} must be a boolean array of shape (S, {nodes}), found {mask.dtype}"
                    f" {mask.shape}"
                )
            empty = np.flatnonzero(~mask.any(axis=1))
            if len(empty):
                raise ValueError(f"split {empty[0]} has no {name} nodes")
            if np.any(self.labels[mask.any(axis=0)] < 0):
                node = int(np.flatnonzero(mask.any(axis=0) & (self.labels < 0))[0])
                raise ValueError(f"node {node} is in a {name} mask but has no label")
        if not len(self.train) == len(self.validation) == len(self.test):
            raise ValueError("train, validation and test must hold the same number of splits")
        overlap = np.argwhere(
            self.train.astype(int) + self.validation + self.test > 1,
        )
        if len(overlap):
            split, node = overlap[0]
            raise ValueError(f"split {split}: node {node} is in two of train, validation and test")

    def _check_two_classes(self) -> None:
        """An AUROC is of the nodes of one class against those of the other."""
        if (classes := np.unique(self.labels[self.labels >= 0])).tolist() != [0, 1]:
            found = ", ".join(map(str, classes[:5])) + (", ..." if len(classes) > 5 else "")
            raise ValueError(f"metric auroc is of the classes 0 and 1; labels have {found}")
        for name in _MASKS:
            for split, mask in enumerate(getattr(self, name)):
                if len(found := np.unique(self.labels[mask])) < 2:
                    raise ValueError(
                        f"split {split}: its {name} nodes are all of class {found[0]}; metric auroc"
                        " needs nodes of class 0 and of class 1"
                    )

    @property
    def num_nodes(self) -> int:
        return len(self.labels)

    @property
    def num_features(self) -> int:
        return self.features.shape[1]

    @property
    def num_classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def num_splits(self) -> int:
        return len(self.train)

    def to_data(self):
        """The graph as a ``torch_geometric.data.Data`` with ``(N, S)`` masks, as PyG keeps them."""
        import torch
        from torch_geometric.data import Data

        dense = self.features.toarray() if sparse.issparse(self.features) else self.features
        return Data(
            x=torch.from_numpy(np.array(dense)),  # copies: this graph does not change with them
            y=torch.from_numpy(self.labels.copy()),
            edge_index=torch.from_numpy(self.edge_index.copy()),
            edge_weight=torch.from_numpy(self.edge_weight.astype(np.float32)),
            train_mask=torch.from_numpy(self.train.T.copy()),
            val_mask=torch.from_numpy(self.validation.T.copy()),
            test_mask=torch.from_numpy(self.test.T.copy()),
        )

    def save(self, path: str | Path) -> None:
        """Write a compressed npz file without pickles, whole or not at all."""
        save_graphs([self], path)

    @classmethod
    def load(cls, path: str | Path, graph: int = 0) -> Graph:
        """Read a graph of a file written by :meth:`save` or :func:`save_graphs`.

        Raises:
            ValueError: the file is damaged, no graph file, or has no such graph; it is named.
        """
        with naming_damage(path, f"no graph file with a graph {graph}"):
            with np.load(path, allow_pickle=False) as stored:
                prefix = f"{graph}."
                arrays = {
                    name.removeprefix(prefix): stored[name]
                    for name in stored.files
                    if name.startswith(prefix)
                }
            if "features" not in arrays:
                csr = (arrays.pop(f"features_{part}") for part in ("data", "indices", "indptr"))
                shape = tuple(int(size) for size in arrays.pop("features_shape"))
                arrays["features"] = sparse.csr_array(tuple(csr), shape=shape)
            return cls(**(arrays | {"metric": str(arrays["metric"])}))


def save_graphs(graphs: Iterable[Graph], path: str | Path) -> None:
    """Write the graphs of a variant to one compressed npz file without pickles, whole or not at
    all; :meth:`Graph.load` reads one of them."""
    arrays = {}
    for number, graph in enumerate(graphs):
        for name, array in _arrays(graph).items():
            arrays[f"{number}.{name}"] = array
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def count_graphs(path: str | Path) -> int:
    """How many graphs a file written by :func:`save_graphs` holds.

    Raises:
        ValueError: the file is damaged or holds none; it is named.
    """
    with naming_damage(path, "no graph file"), np.load(path, allow_pickle=False) as stored:
        count = sum(name.endswith(".labels") for name in stored.files)
        if not count:
            raise ValueError("no graph in it")
        return count


def _arrays(graph: Graph) -> dict[str, np.ndarray]:
    names = ("labels", "edge_index", "edge_weight", *_MASKS)
    arrays = {name: getattr(graph, name) for name in names}
    arrays["metric"] = np.array(graph.metric)
    if not sparse.issparse(graph.features):
        return arrays | {"features": graph.features}
    csr = graph.features
    return arrays | {
        "features_data": csr.data,
        "features_indices": csr.indices,
        "features_indptr": csr.indptr,
        "features_shape": np.array(csr.shape),
    }
