"""Dirichlet energy and homophily."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from flode.spectral.sna import canonical


def dirichlet_energy(laplacian: sparse.csr_array | np.ndarray, x: np.ndarray) -> float:
    """Dirichlet energy ``½ Re tr(xᴴ (I − L) x)`` (paper, Proposition 3.6).

    Args:
        laplacian: ``(N, N)`` SNA ``L``, sparse or dense.
        x: ``(N, K)`` or ``(N,)`` features, real or complex.

    Returns:
        The energy, not normalised; see :func:`normalized_dirichlet_energy`. The paper's edge sum
        (its first definition) equals it only where no node has a degree of zero.
    """
    x = _double(x)
    return float(0.5 * np.real(np.vdot(x, x) - np.vdot(x, laplacian @ x)))


def normalized_dirichlet_energy(laplacian: sparse.csr_array | np.ndarray, x: np.ndarray) -> float:
    """Dirichlet energy of ``x / ‖x‖_F``; 0 for ``x = 0``. Lies in ``[0, ‖I − L‖/2]``."""
    x = _double(x)
    norm = np.linalg.norm(x)
    if not 1e-100 < norm < 1e100:  # else squares may have overflowed or vanished
        if (largest := np.abs(x).max(initial=0.0)) == 0:
            return 0.0
        x = x / largest
        norm = np.linalg.norm(x)
    return dirichlet_energy(laplacian, x / norm)


def _double(x: np.ndarray) -> np.ndarray:
    """x in double precision: a smooth state's energy is a difference of nearly equal numbers, and
    the square of a large float32 overflows."""
    x = np.asarray(x)
    return x.astype(np.result_type(x.dtype, np.float64), copy=False)


def node_homophily(adjacency: sparse.csr_array, labels: np.ndarray) -> float:
    """Mean share of a node's neighbours that carry its label (paper, Section 2).

    Nodes without neighbours are left out; weights do not count, only ``a_ij != 0``.

    Args:
        adjacency: ``(N, N)``; row i holds what node i gathers from.
        labels: ``(N,)`` class labels.

    Returns:
        A number in [0, 1]; nan when no node has a neighbour.
    """
    edges = canonical(adjacency).tocoo()
    rows, columns = edges.row[edges.data != 0], edges.col[edges.data != 0]
    labels = np.asarray(labels)
    neighbours = np.bincount(rows, minlength=len(labels))
    same = np.bincount(rows, weights=labels[rows] == labels[columns], minlength=len(labels))
    counted = neighbours > 0
    return float(np.mean(same[counted] / neighbours[counted])) if counted.any() else float("nan")
