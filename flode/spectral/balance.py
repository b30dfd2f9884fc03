"""Balanced and weakly balanced graphs (paper, Section 3)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

#: Relative size below which a singular value or a difference of degrees is rounding.
_ROUNDING = 1e-9


def is_balanced(matrix: sparse.csr_array | np.ndarray) -> bool:
    """Whether every node has equal in- and out-degree (paper, Definition 3.4).

    Args:
        matrix: ``(N, N)`` adjacency, non-negative.
    """
    matrix = sparse.csr_array(matrix, dtype=float)
    rows, columns = matrix.sum(axis=1), matrix.sum(axis=0)
    return bool(np.all(np.abs(rows - columns) <= _ROUNDING * (rows + columns)))


def is_weakly_balanced(matrix: sparse.csr_array | np.ndarray) -> bool:
    """Whether some ``k ≠ 0`` has ``Σ_j a_ij (k_j / √d_j^out − k_i / √d_i^in) = 0`` for all i.

    The condition as printed (Definition 3.4). Where every in-degree is positive it says that
    ``Lk = k``. A node of zero in-degree makes its own equation empty, so that such a graph is
    always weakly balanced, whether 1 is an eigenvalue of its SNA or not.

    Args:
        matrix: ``(N, N)`` adjacency, non-negative; decomposed as a dense matrix.

    Raises:
        ValueError: a graph without nodes.
    """
    matrix = sparse.csr_array(matrix, dtype=float)
    if matrix.shape[0] == 0:
        raise ValueError("the graph has 0 nodes; at least 1 is allowed")
    rows, columns = matrix.sum(axis=1), matrix.sum(axis=0)
    if not rows.all():
        return True
    # Row i divided by √d_i^in, which changes no solution: the entries are at most 2.
    scale = np.zeros_like(columns)
    np.power(columns, -0.5, out=scale, where=columns > 0)
    conditions = matrix.toarray() * scale / np.sqrt(rows)[:, None]
    conditions[np.diag_indices_from(conditions)] -= 1
    return bool(np.linalg.svd(conditions, compute_uv=False)[-1] <= _ROUNDING)
