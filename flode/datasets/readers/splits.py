"""The ten splits of geom-gcn: one npz archive a split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flode.datasets.readers.raw import check_disjoint, check_mask, read_archive

_ARRAYS = ("train_mask", "val_mask", "test_mask")


def read_splits(paths: Sequence[str | Path], num_nodes: int) -> tuple[np.ndarray, ...]:
    """Masks of training, validation and test, one row a split.

    Args:
        paths: one npz archive a split, each with ``train_mask``, ``val_mask`` and ``test_mask``
            of shape ``(N,)``, boolean or 0 and 1.
        num_nodes: number of nodes N.

    Returns:
        Three ``(S, N)`` bool arrays.

    Raises:
        RawFileError: an array that is missing or no such mask, or a node in two masks.
    """
    splits = []
    for path in paths:
        arrays = read_archive(path, _ARRAYS)
        masks = {name: check_mask(path, name, arrays[name], (num_nodes,)) for name in _ARRAYS}
        check_disjoint(path, masks)
        splits.append(list(masks.values()))
    return tuple(np.stack(masks) for masks in zip(*splits, strict=True))
