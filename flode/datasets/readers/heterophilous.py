"""The heterophilous graphs' npz archives (Platonov et al., 2023): one archive a graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from flode.datasets.readers.raw import (
    RawFileError,
    RawGraph,
    check_disjoint,
    check_finite,
    check_mask,
    check_range,
    check_shape,
    read_archive,
)

_MASKS = ("train_masks", "val_masks", "test_masks")


def read_heterophilous(files: Mapping[str, Path]) -> RawGraph:
    """Read an archive of ``node_features`` ``(N, F)``, ``node_labels`` ``(N,)``, ``edges``
    ``(E, 2)`` and the masks ``train_masks``, ``val_masks``, ``test_masks``, each ``(S, N)``.

    Args:
        files: the role ``archive``.

    Raises:
        RawFileError: an array that is missing, of another shape or kind, or out of range.
    """
    path = files["archive"]
    arrays = read_archive(path, ("node_features", "node_labels", "edges", *_MASKS))
    check_shape(path, "node_labels", arrays["node_labels"], (None,))
    nodes = len(arrays["node_labels"])
    if not nodes:
        raise RawFileError(f"{path}: node_labels is empty; at least one node is needed")
    check_shape(path, "node_features", arrays["node_features"], (nodes, None))
    check_finite(path, "node_features", arrays["node_features"])
    check_shape(path, "edges", arrays["edges"], (None, 2))
    check_shape(path, "train_masks", arrays["train_masks"], (None, nodes))
    splits = arrays["train_masks"].shape[:1]
    masks = {name: check_mask(path, name, arrays[name], (*splits, nodes)) for name in _MASKS}
    check_disjoint(path, masks)
    return RawGraph(
        features=arrays["node_features"],
        # More classes than nodes would be another array under this name.
        labels=check_range(path, "node_labels", arrays["node_labels"], 0, nodes - 1),
        edge_index=np.ascontiguousarray(
            check_range(path, "edges", arrays["edges"], 0, nodes - 1).T
        ),
        train=masks["train_masks"],
        validation=masks["val_masks"],
        test=masks["test_masks"],
    )
