"""Feature normalisations (design of the paper's program, not told in the paper)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

Features = np.ndarray | sparse.csr_array


def normalize_features(features: Features, how: str) -> Features:
    """Normalise features; divisors are clamped from below at 1.

    Args:
        features: ``(N, F)`` dense or sparse.
        how: ``column_l2`` divides each column by its L2 norm, ``row_max`` each row by its largest
            absolute value, ``none`` leaves them.

    Returns:
        float32 features of the same kind and shape.

    Raises:
        ValueError: an unknown normalisation, or features that are not finite.
    """
    if how not in NORMALIZATIONS:
        raise ValueError(f"normalisation is {how!r}; allowed are {', '.join(NORMALIZATIONS)}")
    is_sparse = sparse.issparse(features)
    matrix = sparse.csr_array(features, dtype=float) if is_sparse else np.asarray(features, float)
    _check_finite(matrix)
    row_scale, column_scale = NORMALIZATIONS[how](matrix)
    if is_sparse:
        scaled = sparse.diags_array(row_scale) @ matrix @ sparse.diags_array(column_scale)
    else:
        scaled = matrix * row_scale[:, None] * column_scale
    with np.errstate(over="ignore"):
        normalized = scaled.astype(np.float32)
    _check_finite(normalized)
    return sparse.csr_array(normalized) if is_sparse else normalized


def _check_finite(matrix):
    if not np.all(np.isfinite(matrix.data if sparse.issparse(matrix) else matrix)):
        raise ValueError(f"features hold values that are not finite in {matrix.dtype}")


def _none(matrix):
    return np.ones(matrix.shape[0]), np.ones(matrix.shape[1])


def _column_l2(matrix):
    with np.errstate(over="ignore"):
        norms = np.sqrt(np.asarray((abs(matrix) ** 2).sum(axis=0)).ravel())
    _check_finite(norms)
    return np.ones(matrix.shape[0]), 1 / np.maximum(norms, 1)


def _row_max(matrix):
    largest = abs(matrix).max(axis=1)
    largest = largest.toarray() if sparse.issparse(largest) else largest
    return 1 / np.maximum(np.asarray(largest).ravel(), 1), np.ones(matrix.shape[1])


NORMALIZATIONS = {"none": _none, "column_l2": _column_l2, "row_max": _row_max}
