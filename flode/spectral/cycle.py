"""The undirected cycle graph C_N in closed form (paper, appendix on the cycle graph)."""

from __future__ import annotations

from math import gcd

import numpy as np
from scipy import sparse

from flode.fractional import fractional
from flode.spectral.sna import adjacency


def cycle_adjacency(nodes: int) -> sparse.csr_array:
    """Adjacency of C_N, ``(N, N)``.

    Raises:
        ValueError: fewer than 3 nodes.
    """
    if nodes < 3:
        raise ValueError(f"nodes is {nodes}; a cycle has at least 3")
    ring = np.arange(nodes)
    forth = np.stack([ring, (ring + 1) % nodes])
    return adjacency(np.concatenate([forth, forth[::-1]], axis=1), None, nodes)


def cycle_eigenvalue(nodes: int, frequency: int) -> float:
    """``λ_j = cos(2πj/N)`` of the SNA; exactly 0 where ``4j = N`` or ``4j = 3N``."""
    if (4 * frequency) % nodes == 0 and (4 * frequency // nodes) % 2:
        return 0.0
    return float(np.cos(2 * np.pi * frequency / nodes))


def cycle_eigenvectors(nodes: int, frequency: int) -> tuple[np.ndarray, np.ndarray]:
    """``Re v_j`` and ``Im v_j``, ``(N,)`` each: a basis of λ_j's eigenspace.

    ``Im v_j`` is zero, and no eigenvector, for ``j = 0`` and ``j = N/2``. Norms are the paper's.
    """
    # Whole turns taken off first, and rounded: zeros are zeros, which signs and colours show.
    angle = 2 * np.pi * (frequency * np.arange(nodes) % nodes) / nodes
    return tuple((np.round(f(angle), 14) + 0.0) / np.sqrt(nodes) for f in (np.cos, np.sin))


def cycle_labels(nodes: int, frequency: int) -> np.ndarray:
    """Two classes, 1 and −1: signs of an eigenvector of λ_j without zeros, ``(N,)``.

    ``cos(2πjn/N − φ)``, with φ such that the cosine's zeros lie midway between the angles that
    occur; for ``j = N/4`` it is the paper's ``Re v_j + Im v_j``. Their homophily is ``1 − 2j/N``
    for ``0 ≤ j ≤ N/2``.
    """
    distinct = nodes // gcd(2 * frequency, nodes)
    phase = np.pi / 2 - np.pi / (2 * distinct)
    wave = np.cos(2 * np.pi * frequency * np.arange(nodes) / nodes - phase)
    return np.where(wave > 0, 1, -1)


def cycle_fractional_power(nodes: int, exponent: float) -> np.ndarray:
    """``(L^α)_mn = (1/N) Σ_j sign(λ_j)|λ_j|^α cos(2πj(m − n)/N)``, with ``0^α = 0``; ``(N, N)``."""
    values = np.array([cycle_eigenvalue(nodes, j) for j in range(nodes)])
    lags = np.arange(nodes)
    waves = np.cos(2 * np.pi * np.outer(lags, lags) / nodes)
    entries = waves @ fractional(values, exponent) / nodes
    return entries[(lags[:, None] - lags) % nodes]
