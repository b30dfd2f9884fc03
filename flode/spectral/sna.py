"""Symmetrically normalised adjacency (SNA) of a weighted directed graph."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy import sparse

#: How information moves along an edge, in PyTorch Geometric's terms. The paper's text reads
#: ``source_to_target``; its numbers need ``target_to_source`` (a node gathers from the nodes it
#: points to).
FLOWS = ("target_to_source", "source_to_target")


def canonical(matrix) -> sparse.csr_array:
    """A sparse matrix with sorted entries, none given twice; the caller's stays as it is."""
    matrix = sparse.csr_array(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def adjacency(
    edge_index: np.ndarray,
    edge_weight: np.ndarray | None,
    num_nodes: int,
    flow: str = "target_to_source",
) -> sparse.csr_array:
    """Weighted adjacency matrix, repeated edges summed.

    Args:
        edge_index: ``(2, E)`` integers, row 0 the sources, row 1 the targets.
        edge_weight: ``(E,)`` non-negative weights, or None for ones.
        num_nodes: number of nodes N.
        flow: ``target_to_source`` gives ``A[source, target]``, the reading that reproduces the
            paper's numbers; ``source_to_target`` gives ``A[target, source]``, the paper's text
            (Section 2: ``a_ij = 1`` for an edge from j to i).

    Returns:
        ``(N, N)`` CSR array, float64.

    Raises:
        ValueError: an endpoint outside ``0..N-1``, a weight that is negative or not finite,
            endpoints that are no integers, shapes that do not fit, a number of nodes that is none,
            weights that require a gradient, or an unknown flow.
    """
    if not isinstance(num_nodes, Integral) or num_nodes < 0:
        raise ValueError(f"num_nodes is {num_nodes!r}; allowed is an integer of at least 0")
    if getattr(edge_weight, "requires_grad", False):
        raise ValueError("edge_weight requires a gradient, which ends here; give its detach()")
    edge_index = np.asarray(edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape (2, E), found {edge_index.shape}")
    if flow not in FLOWS:
        raise ValueError(f"flow is {flow!r}; allowed are {', '.join(FLOWS)}")
    num_edges = edge_index.shape[1]
    if num_edges and not np.issubdtype(edge_index.dtype, np.integer):
        raise ValueError(f"edge_index must hold integers, found {edge_index.dtype}")
    if num_edges and (edge_index.min() < 0 or edge_index.max() >= num_nodes):
        bad = edge_index[(edge_index < 0) | (edge_index >= num_nodes)][0]
        raise ValueError(f"edge_index names node {bad}; allowed are 0 to {num_nodes - 1}")
    weight = np.ones(num_edges) if edge_weight is None else np.asarray(edge_weight, dtype=float)
    if weight.shape != (num_edges,):
        raise ValueError(f"edge_weight must have shape ({num_edges},), found {weight.shape}")
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        edge = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise ValueError(
            f"edge_weight[{edge}] is {weight[edge]}; weights must be finite and non-negative"
        )
    rows, columns = edge_index if flow == "target_to_source" else edge_index[::-1]
    matrix = sparse.coo_array((weight, (rows, columns)), shape=(num_nodes, num_nodes)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def symmetrically_normalize(matrix: sparse.csr_array) -> sparse.csr_array:
    """SNA ``L = D_in^(-1/2) A D_out^(-1/2)`` (paper, Section 3), with ``0^(-1/2) = 0``.

    Args:
        matrix: ``(N, N)`` adjacency; ``D_in`` holds its row sums, ``D_out`` its column sums.

    Returns:
        ``(N, N)`` CSR array, float64. Every eigenvalue and singular value is at most 1 in modulus.

    Raises:
        ValueError: a degree beyond float64.
    """
    matrix = sparse.csr_array(matrix, dtype=float)
    with np.errstate(over="ignore"):  # what overflows is refused below
        degrees = [matrix.sum(axis=axis) for axis in (1, 0)]
    row_scale, column_scale = map(_inverse_square_root, degrees)
    return sparse.csr_array(
        sparse.diags_array(row_scale) @ matrix @ sparse.diags_array(column_scale)
    )


def sna(
    edge_index: np.ndarray,
    edge_weight: np.ndarray | None,
    num_nodes: int,
    flow: str = "target_to_source",
) -> sparse.csr_array:
    """SNA of weighted directed edges: :func:`adjacency`, then :func:`symmetrically_normalize`."""
    return symmetrically_normalize(adjacency(edge_index, edge_weight, num_nodes, flow))


def is_symmetric(matrix: sparse.csr_array) -> bool:
    """Whether ``A = Aᵀ`` to rounding, that is, whether the graph is undirected."""
    difference = abs(matrix - matrix.T)
    return difference.nnz == 0 or difference.max() <= 1e-12 * max(abs(matrix).max(), 1e-300)


def _inverse_square_root(degree: np.ndarray) -> np.ndarray:
    degree = np.asarray(degree, dtype=float).ravel()
    if len(overflowing := np.flatnonzero(~np.isfinite(degree))):
        raise ValueError(
            f"the weights of node {overflowing[0]} sum to {degree[overflowing[0]]}; divide all"
            " weights by one number, on which the SNA does not depend"
        )
    scale = np.zeros_like(degree)
    np.power(degree, -0.5, out=scale, where=degree > 0)
    return scale
