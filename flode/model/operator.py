"""What propagation multiplies with: the factors, the features and the nodes asked for.

States are kept channels first, ``(S, C, ·)``: S splits side by side, C real channels (planes times
hidden channels), then nodes or singular directions. With a matrix that all splits share the first
two axes are the rows of one product.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.autograd import forward_ad

from flode.spectral.factors import Factors, resolve_rank
from flode.spectral.sna import canonical


def times(states: Tensor, matrix: Tensor) -> Tensor:
    """``(S, C, a) @ (a, b)``, one product for all splits, or ``(S, C, a) @ (S, a, b)``."""
    if matrix.dim() == 2:
        return (states.flatten(0, 1) @ matrix).unflatten(0, states.shape[:2])
    return states @ matrix


#: Bytes of rows of U that a set of nodes keeps ready; more are gathered at each use.
MAX_GATHERED = 2 * 2**30


class _GatherAndMultiply(torch.autograd.Function):
    """``states[s] @ left[index[s]].T``, split by split, without keeping the gathered rows."""

    @staticmethod
    def forward(ctx, states, left, index):
        ctx.save_for_backward(left, index)
        return torch.stack([x @ left[i].T for x, i in zip(states, index, strict=True)])

    @staticmethod
    def backward(ctx, gradient):
        left, index = ctx.saved_tensors
        return torch.stack([g @ left[i] for g, i in zip(gradient, index, strict=True)]), None, None


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes at which states are asked for.

    Attributes:
        index: ``(n,)`` for all splits alike, ``(S, n)`` for each its own, None for all nodes.
        left: rows of U (or Q) at these nodes, transposed: ``(r, n)`` or ``(S, r, n)``; where they
            would take more than ``MAX_GATHERED``, U itself, ``(N, r)``.
        gathered: which of the two ``left`` is.
    """

    index: Tensor | None
    left: Tensor
    gathered: bool = True

    def read(self, states: Tensor) -> Tensor:
        """From ``(S, C, r)`` to these nodes, ``(S, C, n)``: times Uᵀ's columns."""
        if self.gathered:
            return times(states, self.left)
        return _GatherAndMultiply.apply(states, self.left, self.index)

    def take(self, states: Tensor) -> Tensor:
        """Columns of ``(S or 1, C, N)`` states at these nodes: ``(S or 1, C, n)``."""
        if self.index is None:
            return states
        if self.index.dim() == 1:
            return states[..., self.index]
        splits, channels = self.index.shape[0], states.shape[1]
        index = self.index[:, None].expand(-1, channels, -1)
        return states.expand(splits, -1, -1).gather(2, index)


@contextmanager
def _kept():
    """For what is made once for calls to come, whatever it is asked for in: no inference mode, and
    no transform of ``torch.func``, which ends before it."""
    with torch.inference_mode(False), temporarily_clear_interpreter_stack():
        yield


def as_tensor(values) -> Tensor:
    """A tensor as it is, an array on the processor, wherever PyTorch makes new ones."""
    return values if isinstance(values, Tensor) else torch.as_tensor(values, device="cpu")


def _for_gradients(values: Tensor) -> Tensor:
    """A tensor that a gradient may be taken through; one made in inference mode may not."""
    return values.clone() if values.is_inference() else values


class Operator:
    """Factors made ready to propagate: float32 (or the dtype given) on one device.

    Attributes:
        left: ``(N, r)``; right: ``(N, r)``, the same tensor when L is symmetric.
        log_values: ``(r,)`` logarithm of |values|; sign: ``(r,)`` their signs, None without a
            negative one.
    """

    @_kept()
    def __init__(self, factors: Factors, dtype: torch.dtype = torch.float32, device=None):
        device = device or factors.left.device
        self.symmetric = factors.symmetric
        self.left = _for_gradients(factors.left.to(device, dtype))
        self.right = self.left
        if factors.right is not None:
            self.right = _for_gradients(factors.right.to(device, dtype))
        values = factors.values.to(device)
        # Logarithms in float64 before the cast: σ^α then is good to the last digit.
        self.log_values = values.abs().log().to(dtype)
        self.sign = values.sign().to(dtype) if bool((factors.values < 0).any()) else None

    @property
    def num_nodes(self) -> int:
        return self.left.shape[0]

    @property
    def rank(self) -> int:
        return self.left.shape[1]

    @cached_property
    @_kept()
    def transition(self) -> Tensor:
        """``(VᵀU)ᵀ = UᵀV``, ``(r, r)``: one directed layer in the right singular basis."""
        return self.left.T @ self.right

    @cached_property
    @_kept()
    def all_nodes(self) -> Nodes:
        return Nodes(None, self.left.T)

    def nodes(self, index: Tensor) -> Nodes:
        """Make node subsets ready: ``(n,)`` or ``(S, n)`` int64."""
        index = index.to(self.left.device)
        size = index.numel() * self.rank * self.left.element_size()
        if index.dim() == 2 and size > MAX_GATHERED:
            return Nodes(index, self.left, gathered=False)
        return Nodes(index, self.left[index].transpose(-1, -2).contiguous())

    def powers(self, exponent: Tensor) -> Tensor:
        """``f_α`` of the values, ``(..., r)`` from ``(...)`` exponents: σ^α, or sign(λ)|λ|^α."""
        powers = torch.exp(exponent[..., None] * self.log_values)
        return powers if self.sign is None else powers * self.sign


_OPERATORS: WeakKeyDictionary[Factors, dict] = WeakKeyDictionary()


def operator_of(
    factors: Factors,
    dtype: torch.dtype,
    device: torch.device,
    rank: int | float | None = None,
) -> Operator:
    """The operator of (the leading ``rank`` of) these factors, made once and kept as long as they
    live."""
    made = _OPERATORS.setdefault(factors, {})
    rank = resolve_rank(rank, factors.num_nodes)  # 1 is not 1.0
    key = (dtype, device, rank)
    if key not in made:
        made[key] = Operator(factors.leading(rank), dtype, device)
    return made[key]


class Features:
    """Node features, dense or sparse.

    Dropout masks are zeros and ones: ``(S or 1, F, N)`` for dense features, ``(1, entries)`` over
    the stored entries of sparse ones, alike for all splits.

    Args:
        features: ``(N, F)`` dense tensor or array, or a scipy sparse array.

    Attributes:
        num_nodes, num_features: N and F.
        learned: whether gradients by them are wanted: they come from another module's parameters,
            or, as may be, from a transform of ``torch.func``.
        dtype, device: of what is computed with them.
        mask_shape: shape of one mask, ``(F, N)`` or ``(entries,)``.
    """

    def __init__(self, features, dtype: torch.dtype = torch.float32, device=None):
        self.is_sparse = sparse.issparse(features)
        self.dtype = dtype
        features = features if self.is_sparse else as_tensor(features)
        self.num_nodes, self.num_features = features.shape
        transformed = torch._C._functorch.peek_interpreter_stack() is not None
        if self.is_sparse and transformed:
            raise ValueError(
                "x is sparse, which transforms of torch.func do not take; allowed is a dense tensor"
            )
        self.learned = not self.is_sparse and torch.is_grad_enabled() and features.requires_grad
        # Inside torch.func and forward-mode differentiation nothing tells what is differentiated.
        self.learned |= transformed or forward_ad._current_level >= 0
        if not self.is_sparse:
            self._given = features.detach()
            self.device = device or features.device
            self._dense = features.T.to(self.device, dtype).contiguous()
            if not torch.is_inference_mode_enabled():
                self._dense = _for_gradients(self._dense)
            self.mask_shape = tuple(self._dense.shape)
            return
        csr = canonical(features)
        self._given, self.device = csr, device
        # Where each entry of the transposed matrix stands among those of the matrix.
        turned = sparse.csr_array(
            sparse.csr_array((np.arange(1, csr.nnz + 1), csr.indices, csr.indptr), csr.shape).T
        )
        self._values = torch.from_numpy(csr.data).to(device, dtype)
        self._by_node, self._by_feature = (
            [torch.from_numpy(part.astype(np.int64)).to(device) for part in (m.indptr, m.indices)]
            for m in (csr, turned)
        )
        self._turn = torch.from_numpy(turned.data.astype(np.int64) - 1).to(device)
        self._turned = self._values[self._turn]
        self.mask_shape = (csr.nnz,)
        with warnings.catch_warnings():  # torch says once a process that these are in beta
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            self._matrix(None)

    def _matrix(self, mask: Tensor | None, by_feature: bool = False) -> Tensor:
        """Sparse ``(N, F)``, or ``(F, N)``, with its entries masked."""
        if by_feature:
            values = self._turned if mask is None else self._turned * mask[0][self._turn]
            return _csr(*self._by_feature, values, (self.num_features, self.num_nodes))
        values = self._values if mask is None else self._values * mask[0]
        return _csr(*self._by_node, values, (self.num_nodes, self.num_features))

    @property
    def on_gpu(self) -> bool:
        return self.device is not None and torch.device(self.device).type == "cuda"

    @cached_property
    def distinct(self) -> tuple[Features, Tensor]:
        """The distinct rows alone, and which of them each node's is, ``(N,)`` int64."""
        kinds, count = _kinds(self._given)
        example = torch.zeros(count, dtype=torch.int64, device=kinds.device)
        example[kinds] = torch.arange(len(kinds), device=kinds.device)  # any of those alike
        rows = self._given[example.numpy() if self.is_sparse else example]
        return Features(rows, self.dtype, self.device), kinds.to(self.device)

    def count_distinct(self, limit: int) -> int:
        """How many distinct rows there are; of more than ``limit`` some number above it, told
        from few rows."""
        few = _kinds(self._given[: 2 * limit + 1])[1]
        return few if few > limit else self.distinct[0].num_nodes

    def linear(self, weight: Tensor, mask: Tensor | None = None) -> Tensor:
        """``(S, C, F)`` real weights times the (masked) features: ``(S, C, N)``."""
        if self.is_sparse:
            product = self._matrix(mask) @ weight.flatten(0, 1).T
            return product.T.unflatten(0, weight.shape[:2])
        return times(weight, self._dense) if mask is None else weight @ self.dropped(mask)

    def project(self, operator: Operator) -> Tensor:
        """``[X, 1]`` in the right singular basis, ``[X, 1]ᵀ V``: ``(F + 1, r)``."""
        matrix = self._matrix(None, by_feature=True) if self.is_sparse else self._dense
        return torch.cat([matrix @ operator.right, operator.right.sum(0, keepdim=True)])

    def project_masked(self, operator: Operator, mask: Tensor, plain: Tensor) -> Tensor:
        """Masked features in the right singular basis, ``(…, F, r)``, from ``plain`` of features as
        they are: of sparse ones only the entries that the mask drops are multiplied, and a row for
        the bias stays as it is."""
        if self.is_sparse:
            lost = self._lost(mask[0], rows=len(plain))
            return torch.addmm(plain, lost, operator.right, alpha=-1)[None]
        return self.dropped(mask) @ operator.right

    def _lost(self, mask: Tensor, rows: int) -> Tensor:
        """Sparse ``(rows, N)`` of the entries that a mask drops; rows beyond F are empty."""
        (ends, nodes), values = self._by_feature, self._turned
        lost = mask[self._turn] == 0
        if self.on_gpu:  # how many they are is not known there without waiting for it
            values = values * lost
        else:
            before = torch.nn.functional.pad(lost.cumsum(0), (1, 0))
            ends, nodes, values = before[ends], nodes[lost], values[lost]
        ends = torch.cat([ends, ends[-1:].expand(rows - self.num_features)])
        return _csr(ends, nodes, values, (rows, self.num_nodes))

    def dropped(self, mask: Tensor | None) -> Tensor:
        """Dense (masked) features, ``(F, N)`` or ``(S, F, N)``."""
        if self.is_sparse:
            dense = self._matrix(mask, by_feature=True).to_dense()
            return dense if mask is None else dense[None]
        return self._dense if mask is None else self._dense * mask


def _csr(ends: Tensor, indices: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    return torch.sparse_csr_tensor(
        ends, indices, values, size=size, device=values.device, check_invariants=False
    )


def _kinds(rows) -> tuple[Tensor, int]:
    """Which of the distinct rows each is, ``(n,)``, and how many there are; dense or sparse."""
    if not sparse.issparse(rows):
        unique, kinds = torch.unique(rows, dim=0, return_inverse=True)
        return kinds, len(unique)
    places: dict[bytes, int] = {}
    entries = (slice(*ends) for ends in pairwise(rows.indptr))
    keys = (rows.indices[own].tobytes() + rows.data[own].tobytes() for own in entries)
    kinds = [places.setdefault(key, len(places)) for key in keys]
    return torch.tensor(kinds, dtype=torch.int64, device="cpu"), len(places)
