"""What propagation multiplies with: the factors, the features and the nodes asked for.

States are kept channels first, ``(S, C, ·)``: S splits side by side, C real channels (planes times
hidden channels), then nodes or singular directions. With a matrix that all splits share the first
two axes are the rows of one product.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from flode.spectral.factors import Factors


def times(states: Tensor, matrix: Tensor) -> Tensor:
    """``(S, C, a) @ (a, b)``, one product for all splits, or ``(S, C, a) @ (S, a, b)``."""
    if matrix.dim() == 2:
        return (states.flatten(0, 1) @ matrix).unflatten(0, states.shape[:2])
    return states @ matrix


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes at which states are asked for.

    Attributes:
        index: ``(n,)`` for all splits alike, ``(S, n)`` for each its own, None for all nodes.
        left: rows of U (or Q) at these nodes, transposed: ``(r, n)`` or ``(S, r, n)``.
    """

    index: Tensor | None
    left: Tensor

    def take(self, states: Tensor) -> Tensor:
        """Columns of ``(S or 1, C, N)`` states at these nodes: ``(S or 1, C, n)``."""
        if self.index is None:
            return states
        if self.index.dim() == 1:
            return states[..., self.index]
        splits, channels = self.index.shape[0], states.shape[1]
        index = self.index[:, None].expand(-1, channels, -1)
        return states.expand(splits, -1, -1).gather(2, index)


class Operator:
    """Factors made ready to propagate: float32 (or the dtype given) on one device.

    Attributes:
        left: ``(N, r)``; right: ``(N, r)``, the same tensor when L is symmetric.
        log_values: ``(r,)`` logarithm of |values|; sign: ``(r,)`` their signs, None without a
            negative one.
    """

    def __init__(self, factors: Factors, dtype: torch.dtype = torch.float32, device=None):
        device = device or factors.left.device
        self.symmetric = factors.symmetric
        self.left = factors.left.to(device, dtype)
        self.right = self.left if factors.right is None else factors.right.to(device, dtype)
        values = factors.values.to(device)
        # Logarithms in float64 before the cast: σ^α then is good to the last digit.
        self.log_values = values.abs().log().to(dtype)
        self.sign = values.sign().to(dtype) if bool((values < 0).any()) else None

    @property
    def num_nodes(self) -> int:
        return self.left.shape[0]

    @property
    def rank(self) -> int:
        return self.left.shape[1]

    @cached_property
    def transition(self) -> Tensor:
        """``(VᵀU)ᵀ = UᵀV``, ``(r, r)``: one directed layer in the right singular basis."""
        return self.left.T @ self.right

    @cached_property
    def all_nodes(self) -> Nodes:
        return Nodes(None, self.left.T)

    def nodes(self, index: Tensor) -> Nodes:
        """Make node subsets ready: ``(n,)`` or ``(S, n)`` int64."""
        index = index.to(self.left.device)
        return Nodes(index, self.left[index].transpose(-1, -2).contiguous())

    def powers(self, exponent: Tensor) -> Tensor:
        """``f_α`` of the values, ``(..., r)`` from ``(...)`` exponents: σ^α, or sign(λ)|λ|^α."""
        powers = torch.exp(exponent[..., None] * self.log_values)
        return powers if self.sign is None else powers * self.sign


_OPERATORS: WeakKeyDictionary[Factors, dict] = WeakKeyDictionary()


def operator_of(factors: Factors, dtype: torch.dtype, device: torch.device) -> Operator:
    """The operator of these factors, made once and kept as long as they live."""
    made = _OPERATORS.setdefault(factors, {})
    if (dtype, device) not in made:
        made[dtype, device] = Operator(factors, dtype, device)
    return made[dtype, device]


class Features:
    """Node features, dense or sparse, transposed: F rows, N columns.

    Args:
        features: ``(N, F)`` dense tensor or array, or a scipy sparse array.
    """

    def __init__(self, features, dtype: torch.dtype = torch.float32, device=None):
        if sparse.issparse(features):
            csr = sparse.csr_array(features)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
                self.matrix = torch.sparse_csr_tensor(
                    torch.from_numpy(csr.indptr.astype(np.int64)),
                    torch.from_numpy(csr.indices.astype(np.int64)),
                    torch.from_numpy(csr.data).to(dtype),
                    size=csr.shape,
                    device=device,
                    check_invariants=False,
                )
        else:
            features = torch.as_tensor(features)
            self.matrix = features.T.to(device or features.device, dtype).contiguous()

    @property
    def is_sparse(self) -> bool:
        return self.matrix.layout == torch.sparse_csr

    @property
    def num_features(self) -> int:
        return self.matrix.shape[1 if self.is_sparse else 0]

    @property
    def num_nodes(self) -> int:
        return self.matrix.shape[0 if self.is_sparse else 1]

    @cached_property
    def dense(self) -> Tensor:
        """``(F, N)``."""
        return self.matrix.to_dense().T.contiguous() if self.is_sparse else self.matrix

    def linear(self, weight: Tensor, mask: Tensor | None = None) -> Tensor:
        """``(S, C, F)`` real weights times the features, ``(S, C, N)``; the mask, ``(S, F, N)``
        zeros and ones, drops features."""
        if mask is not None:
            return weight @ (self.dense * mask)
        if self.is_sparse:
            product = self.matrix @ weight.flatten(0, 1).T
            return product.T.unflatten(0, weight.shape[:2])
        return times(weight, self.matrix)
