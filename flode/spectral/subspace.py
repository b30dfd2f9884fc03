"""Leading singular vectors of a large sparse matrix, of which a dense copy would not fit.

Chebyshev-filtered subspace iteration: products with a sparse L cost next to nothing beside making
N × k vectors orthonormal, so a polynomial of L that damps what is to be left out lets a few such
rounds do what takes a power iteration dozens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import scipy
import torch
from scipy import sparse

#: Degree of all filters together; each is as steep as rounding allows.
TOTAL_DEGREE = 24

#: How much a filter may enlarge the largest singular value over those at the cut: what is enlarged
#: by more than 1 / rounding would hide the rest.
MAX_GROWTH = 1e12

#: Directions kept besides those asked for, of which the last are not yet good.
OVERSAMPLING = 1.05

#: Random vectors, and Lanczos steps from each, that tell where to cut.
PROBES, LANCZOS_STEPS = 16, 80
#: The cut is below this fraction of the largest squared singular value, however many lie above it:
#: what lies at it is not enlarged.
HIGHEST_CUT = 0.9
#: A Ritz vector of a larger residual, relative to the largest singular value, is not yet an
#: eigenvector.
MAX_RESIDUAL = 1e-2
#: A cut below this fraction of the largest squared singular value is none: the matrix has no more.
NO_CUT = 1e-10

#: Entries of a block of vectors that is worked on at a time.
_BLOCK_ENTRIES = 2**25

Apply = Callable[[np.ndarray], np.ndarray]


def truncated_eigh(
    laplacian: sparse.csr_array, rank: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors ``(N, rank)`` and eigenvalues of largest modulus of a symmetric matrix."""
    basis = _right_subspace(laplacian, rank, seed)
    values, vectors = _ritz(laplacian, basis)
    # The subspace is one of L². Where it holds λ and −λ, and of neither all, L leads out of it.
    basis = _rotated(basis, vectors)
    left_out = _residuals(laplacian, basis, values)
    if left_out.shape[1]:
        basis = _qr(np.hstack([basis, left_out]))[0]
        values, vectors = _ritz(laplacian, basis)
        basis = _rotated(basis, vectors)
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    return np.ascontiguousarray(basis[:, order]), values[order]


def _ritz(laplacian: sparse.csr_array, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of ``Bᵀ L B``."""
    small = _in_blocks(basis, lambda block: basis.T @ (laplacian @ block))
    return scipy.linalg.eigh((small + small.T) / 2, overwrite_a=True, driver="evd")


def _residuals(laplacian: sparse.csr_array, vectors: np.ndarray, values: np.ndarray) -> np.ndarray:
    """``L v − λ v`` of the vectors that are not yet eigenvectors, ``(N, few)``, of norm 1."""
    limit, found = MAX_RESIDUAL * np.abs(values).max(initial=0.0), []
    for part in _parts(vectors.shape[1], vectors.shape[0]):
        block = np.ascontiguousarray(vectors[:, part])
        block = laplacian @ block - block * values[part]
        norms = np.linalg.norm(block, axis=0)
        found.append(block[:, norms > limit] / norms[norms > limit])
    return np.hstack(found)


def truncated_svd(
    laplacian: sparse.csr_array, rank: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U ``(N, rank)``, the largest singular values, and V ``(N, rank)``."""
    basis = _right_subspace(laplacian, rank, seed)
    image, triangle = _qr(_in_blocks(basis, lambda block: laplacian @ block))
    left, values, right = scipy.linalg.svd(triangle, overwrite_a=True)
    return (
        _rotated(image, left[:, :rank]),
        values[:rank],
        _rotated(basis, right[:rank].T),
    )


def _right_subspace(laplacian: sparse.csr_array, rank: int, seed: int) -> np.ndarray:
    """Orthonormal vectors that span the leading right singular directions, and some more."""
    nodes = laplacian.shape[0]
    size = min(nodes, math.ceil(rank * OVERSAMPLING) + 10)
    transposed = laplacian.T.tocsr()
    generator = np.random.default_rng(seed)

    def gram(block):
        return transposed @ (laplacian @ block)

    largest, cut = _cut(gram, nodes, size, generator)
    cut = min(cut, HIGHEST_CUT * largest)
    basis = generator.standard_normal((size, nodes)).T
    if cut <= NO_CUT * largest:
        return _qr(_in_blocks(basis, lambda block: transposed @ block))[0]
    spread = math.acosh(max(2 * largest / cut - 1, 1 + 1e-9))
    degree = min(max(2, int(math.acosh(MAX_GROWTH) / spread)), TOTAL_DEGREE)
    for _ in range(math.ceil(TOTAL_DEGREE / degree)):
        _in_blocks(basis, lambda block: _filtered(gram, block, cut, degree), out=basis)
        basis = _qr(basis)[0]
    return basis


def _filtered(gram: Apply, block: np.ndarray, cut: float, degree: int) -> np.ndarray:
    """Chebyshev polynomial of the Gram matrix: at most 1 on [0, cut], steep above."""

    def mapped(block):
        return gram(block) * (2 / cut) - block

    before, now = block, mapped(block)
    for _ in range(degree - 1):
        before, now = now, 2 * mapped(now) - before
    return now


def _cut(gram: Apply, nodes: int, size: int, generator) -> tuple[float, float]:
    """The largest squared singular value, and the one above which there are about ``size``:
    stochastic Lanczos quadrature of their density."""
    found = [_lanczos(gram, generator.choice([-1.0, 1.0], nodes)) for _ in range(PROBES)]
    values = np.concatenate([ritz for ritz, _ in found])
    weights = np.concatenate([weight for _, weight in found])
    order = np.argsort(-values)
    counted = np.cumsum(weights[order]) * nodes / PROBES
    place = min(int(np.searchsorted(counted, size)), len(order) - 1)
    return float(values.max()), max(0.0, float(values[order[place]]))


def _lanczos(gram: Apply, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ritz values and their shares of a start vector."""
    vectors = [start / np.linalg.norm(start)]
    diagonal, beside = [], []
    for _ in range(min(LANCZOS_STEPS, len(start))):
        image = gram(vectors[-1])
        diagonal.append(image @ vectors[-1])
        known = np.array(vectors)
        for _ in range(2):  # once leaves rounding of the order of the first product
            image = image - known.T @ (known @ image)
        norm = np.linalg.norm(image)
        if norm < 1e-12:
            break
        beside.append(norm)
        vectors.append(image / norm)
    ritz, components = scipy.linalg.eigh_tridiagonal(diagonal, beside[: len(diagonal) - 1])
    return ritz, components[0] ** 2


def _qr(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q and R; PyTorch's is twice as fast as SciPy's."""
    q, r = torch.linalg.qr(torch.from_numpy(block))
    return q.numpy(), r.numpy()


def _in_blocks(vectors: np.ndarray, apply: Apply, out: np.ndarray | None = None) -> np.ndarray:
    """``apply`` to the columns, some at a time; into ``out``, or a new array stored by columns."""
    for part in _parts(vectors.shape[1], vectors.shape[0]):
        block = apply(np.ascontiguousarray(vectors[:, part]))
        if out is None:
            out = np.empty((block.shape[0], vectors.shape[1]), order="F")
        out[:, part] = block
    return out


def _rotated(basis: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """``basis @ rotation``, stored by rows."""
    return np.ascontiguousarray(basis @ rotation)


def _parts(total: int, length: int) -> Iterator[slice]:
    step = max(1, _BLOCK_ENTRIES // max(1, length))
    for first in range(0, total, step):
        yield slice(first, min(first + step, total))
