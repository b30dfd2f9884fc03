"""Distances in a directed graph, and how large a virtual edge can be across them (Section 4)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

#: Jackson's constant, as Theorem 4.1 uses it.
JACKSON = 1 + np.pi**2 / 2


def graph_distances(matrix: sparse.csr_array) -> np.ndarray:
    """``d(i, j)``: the least m with ``(Lᵐ)_ij ≠ 0``, the number of edges from one node to another.

    Args:
        matrix: ``(N, N)`` adjacency or SNA; only which entries are zero counts.

    Returns:
        ``(N, N)`` float32; 0 on the diagonal, infinite where no directed path leads.
    """
    from scipy.sparse.csgraph import shortest_path  # slow to import, and trainings need none

    pattern = sparse.csr_array(matrix, dtype=float, copy=True)
    pattern.eliminate_zeros()
    return shortest_path(pattern, method="D", unweighted=True).astype(np.float32)


def alternating_distances(matrix: sparse.csr_array) -> np.ndarray:
    """The least odd m with ``((LLᵀ)^((m−1)/2) L)_ij ≠ 0``: edges taken forwards and backwards in
    turn.

    Singular values see these walks, not directed ones: polynomials of L in the singular value
    calculus are odd and alternate L with Lᵀ. On an undirected graph it is at least ``d(i, j)``.

    Args:
        matrix: ``(N, N)`` adjacency or SNA; only which entries are zero counts.

    Returns:
        ``(N, N)`` float32, odd; infinite where no alternating walk leads.
    """
    from scipy.sparse.csgraph import shortest_path  # slow to import, and trainings need none

    pattern = sparse.csr_array(matrix, dtype=float, copy=True)
    pattern.eliminate_zeros()
    nodes = pattern.shape[0]
    cover = sparse.block_array([[None, pattern], [pattern.T, None]], format="csr")
    from_rows = shortest_path(
        cover, method="D", directed=False, unweighted=True, indices=np.arange(nodes)
    )
    return from_rows[:, nodes:].astype(np.float32)


def virtual_edge_bound(
    distance: np.ndarray | float, exponent: float, norm: float = 1.0
) -> np.ndarray:
    """Theorem 4.1's bound of ``|(L^α)_ij|``: ``(1 + π²/2) (‖L‖ / (2(d − 1)))^α``.

    It holds for ``0 < α ≤ 1`` on undirected graphs, and on directed ones with
    `alternating_distances` in place of ``d(i, j)``. Odd polynomials of degree below d vanish at
    (i, j), and on [−‖L‖, ‖L‖] ``sign(t)|t|^α − t`` has a modulus of continuity below
    ``2(t/2)^α``, so that by Jackson's theorem (E_n ≤ ω(π/(n + 1)) on [−1, 1]) ``2(π‖L‖/(2d))^α``
    bounds the entry. That is no more than the printed bound for α up to 0.95, and beyond it
    ``2s^α − 2s`` is, the modulus of continuity itself, with s the smaller of ``π‖L‖/(2d)`` and
    where it is largest, ``α^(1/(1−α)) ‖L‖``.
    With directed distances it can fail: a virtual edge does not see how long a detour is.

    Args:
        distance: of any shape; infinite gives 0.
        exponent: α.
        norm: ``‖L‖``, 1 for every graph with an edge.

    Returns:
        float64 of distance's shape; infinite where ``d < 2``, of which the theorem says nothing.

    Raises:
        ValueError: an exponent outside (0, 1], for which the theorem is false.
    """
    if not 0 < exponent <= 1:
        raise ValueError(f"exponent is {exponent}; the bound holds for 0 < exponent <= 1")
    distance = np.asarray(distance, dtype=float)
    bound = np.full(distance.shape, np.inf)
    far = distance >= 2
    bound[far] = JACKSON * (norm / (2 * (distance[far] - 1))) ** exponent
    return bound
