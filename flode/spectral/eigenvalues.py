"""Extreme eigenvalues of the SNA: λ₁ of an undirected graph, Perron-Frobenius of another."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from flode.spectral.factors import Factors

#: A matrix of fewer rows is decomposed as a dense one.
DENSE_NODES = 100

#: Convergence of the iterative solvers, far below the printed digits.
_SOLVER_TOLERANCE = 1e-10

#: Steps of an inverse iteration that converges quadratically, at most.
_NODA_STEPS = 100


def smallest_eigenvalue(laplacian: sparse.csr_array, factors: Factors | None = None) -> float:
    """λ₁ of a symmetric SNA.

    Args:
        laplacian: ``(N, N)``.
        factors: its factors; they hold λ₁ unless they are truncated.
    """
    nodes = laplacian.shape[0]
    if factors is not None and not factors.truncated:
        # The eigenvalues that the factors leave out are zeros.
        zeros = [0.0] if factors.rank < nodes else []
        return min([*factors.values.tolist(), *zeros])
    if nodes < DENSE_NODES:
        return float(np.linalg.eigvalsh(laplacian.toarray())[0])
    return float(_extreme("eigsh", laplacian, "SA"))


def perron_eigenvalue(laplacian: sparse.csr_array) -> float:
    """Largest real eigenvalue of a non-negative matrix, its Perron-Frobenius eigenvalue.

    It is that of a strongly connected component: alone, a component has it as a simple
    eigenvalue, while a graph of many may have it, or the 0 of an acyclic one, in a Jordan block,
    from which rounding takes all digits.

    Raises:
        RuntimeError: no iteration finds that of a component.
    """
    from scipy.sparse.csgraph import connected_components  # as below

    count, component = connected_components(laplacian, connection="strong")
    # What is no larger component has its diagonal as eigenvalues.
    largest = float(laplacian.diagonal().max(initial=0.0))
    order = np.argsort(component, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(component, minlength=count))[:-1])
    for nodes in members:
        if len(nodes) == 1:
            continue
        block = laplacian[nodes][:, nodes]
        if len(nodes) < DENSE_NODES:
            found = np.linalg.eigvals(block.toarray()).real.max()
        else:
            found = _largest_real(block)
        largest = max(largest, float(found))
    return largest


def _largest_real(block: sparse.csr_array) -> float:
    """That of a strongly connected component. Where others lie close by on the circle of its
    modulus, as a long cycle's do, the plain iteration may not find it."""
    from scipy.sparse.linalg import ArpackNoConvergence

    try:
        return float(_extreme("eigs", block, "LR").real)
    except ArpackNoConvergence:
        return _noda(block)


def _noda(block: sparse.csr_array) -> float:
    """The same by Noda's inverse iteration, from a bound that falls to the eigenvalue: of x > 0
    all ratios (Lx)ᵢ/xᵢ enclose it."""
    from scipy.sparse.linalg import splu

    nodes = block.shape[0]
    x, eye = np.full(nodes, 1 / nodes), sparse.eye_array(nodes, format="csc")
    largest = np.inf
    for _ in range(_NODA_STEPS):
        ratios = (block @ x) / x
        largest = min(largest, ratios.max())
        if ratios.max() - ratios.min() <= _SOLVER_TOLERANCE * largest:
            return float(largest)
        # Not singular, as the bound lies above the eigenvalue by rounding at least.
        shifted = (1 + 1e-14) * largest * eye - block
        x = np.abs(splu(sparse.csc_array(shifted)).solve(x))
        x /= x.sum()
    raise RuntimeError(
        f"the largest eigenvalue of a component of {nodes} nodes was not found in {_NODA_STEPS}"
        " steps"
    )


def _extreme(solver: str, matrix: sparse.csr_array, which: str):
    """An extreme eigenvalue, from a start vector that does not depend on chance."""
    from scipy.sparse import linalg  # a training, which does without, need not wait for it

    start = np.random.default_rng(0).random(matrix.shape[0])
    return getattr(linalg, solver)(
        matrix, k=1, which=which, v0=start, tol=_SOLVER_TOLERANCE, return_eigenvectors=False
    )[0]
