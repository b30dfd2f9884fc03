"""Factorisation of the SNA: ``L = U diag(σ) Vᵀ``, or ``Q diag(λ) Qᵀ`` when L is symmetric."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from scipy import sparse

from flode.files import atomic_write, naming_damage
from flode.spectral.sna import canonical, is_symmetric
from flode.spectral.subspace import truncated_eigh, truncated_svd

#: Singular values below this fraction of the largest count as zero (0^α = 0 for every α).
TOLERANCE = 1e-6

#: Above this many nodes a truncated factorisation is one by subspace iteration.
EXACT_NODES = 6000


@dataclass(frozen=True, eq=False, repr=False)
class Factors:
    """``L = left · diag(values) · rightᵀ`` of numerical rank r, largest modulus first.

    Attributes:
        left: ``(N, r)`` left singular vectors U, or eigenvectors Q when ``right`` is None.
        values: ``(r,)`` float64, singular values (> 0) or eigenvalues (≠ 0, signed).
        right: ``(N, r)`` right singular vectors V, or None when L is symmetric.
        total_variance: ``‖L‖_F²``, the sum of all squared singular values.
        truncated: whether singular values above the tolerance were left out (or, after a
            iterative factorisation that filled its rank, may have been).
    """

    left: torch.Tensor
    values: torch.Tensor
    right: torch.Tensor | None
    total_variance: float
    truncated: bool = False

    def __repr__(self) -> str:
        kind = "symmetric" if self.symmetric else "directed"
        return f"Factors({self.num_nodes} nodes, rank {self.rank}, {kind})"

    @property
    def num_nodes(self) -> int:
        return self.left.shape[0]

    @property
    def rank(self) -> int:
        return self.values.shape[0]

    @property
    def symmetric(self) -> bool:
        return self.right is None

    @property
    def explained_variance(self) -> float:
        """``Σ σ_i² / ‖L‖_F²`` over the values kept (paper, figure of truncated SVD)."""
        return float(self.values.square().sum() / self.total_variance) if self.rank else 1.0

    def truncate(self, rank: int) -> Factors:
        """The factors of the best approximation of at most this rank."""
        if rank < 1:
            raise ValueError(f"rank is {rank}; at least 1 is allowed")
        if rank >= self.rank:
            return self
        right = None if self.right is None else self.right[:, :rank].contiguous()
        return Factors(
            self.left[:, :rank].contiguous(), self.values[:rank], right, self.total_variance, True
        )

    def holds(self, rank: int | float | None) -> bool:
        """Whether all the singular values are here that a rank asks for."""
        wanted = resolve_rank(rank, self.num_nodes)
        return wanted is None or wanted <= self.rank or not self.truncated

    def leading(self, rank: int | float | None) -> Factors:
        """The leading singular values that a rank asks for: None for all that are here, a count, or
        a fraction of N.

        Raises:
            ValueError: a rank out of bounds, or more than a truncated factorisation holds.
        """
        wanted = resolve_rank(rank, self.num_nodes)
        if wanted is None:
            return self
        if not self.holds(rank):
            raise ValueError(
                f"rank {rank} asks for {wanted} singular values, but the factors hold {self.rank}"
                " of them; factorise with a larger rank (in the workflow, the variant's)"
            )
        return self.truncate(wanted)

    def to(
        self,
        device: torch.device | str | torch.dtype | None = None,
        dtype: torch.dtype | None = None,
        non_blocking: bool = False,
    ) -> Factors:
        """The factors on a device, singular vectors in a dtype, either alone too; ``values`` stay
        float64."""
        if isinstance(device, torch.dtype):
            device, dtype = None, device
        left, right = (
            None if vectors is None else vectors.to(device, dtype, non_blocking=non_blocking)
            for vectors in (self.left, self.right)
        )
        values = self.values.to(device, non_blocking=non_blocking)
        return Factors(left, values, right, self.total_variance, self.truncated)

    def fractional_power(self, exponent: float) -> torch.Tensor:
        """Dense α-fractional graph Laplacian ``U Σ^α Vᵀ`` (paper, Section 4), ``(N, N)``.

        On a symmetric L an eigenvalue λ becomes ``sign(λ)|λ|^α``.
        """
        powers = (self.values.sign() * self.values.abs() ** exponent).to(self.left.dtype)
        right = self.left if self.right is None else self.right
        return (self.left * powers) @ right.T

    def save(self, path: str | Path) -> None:
        """Write a safetensors file, whole or not at all."""
        save_factors([self], path)

    @classmethod
    def load(cls, path: str | Path, graph: int = 0) -> Factors:
        """Read the factors of a graph from a file written by :meth:`save` or
        :func:`save_factors`; other graphs' are not touched.

        Raises:
            ValueError: the file is damaged, no factor file, or has no such graph; it is named.
        """
        with (
            naming_damage(path, f"no factor file with a graph {graph}"),
            safe_open(str(path), framework="pt") as file,
        ):
            header = json.loads(file.metadata()["graphs"])[graph]
            names = {name: f"{graph}.{name}" for name in ("left", "values", "right")}
            tensors = {
                name: file.get_tensor(stored) if stored in file.keys() else None  # noqa: SIM118
                for name, stored in names.items()
            }
            for name, checksum in header.pop("crc32").items():
                if _crc32(tensors[name]) != checksum:
                    raise ValueError(f"the checksum of {name} is wrong")
            return cls(**tensors, **header)


def save_factors(factors: Iterable[Factors], path: str | Path) -> None:
    """Write the factors of a variant's graphs to one safetensors file, whole or not at all."""
    tensors, headers = {}, []
    for graph, one in enumerate(factors):
        header = {"total_variance": one.total_variance, "truncated": one.truncated, "crc32": {}}
        for name in ("left", "values", "right"):
            if (tensor := getattr(one, name)) is not None:
                tensor = tensors[f"{graph}.{name}"] = tensor.cpu().contiguous()
                header["crc32"][name] = _crc32(tensor)
        headers.append(header)
    with atomic_write(path) as temporary:
        # One key: safetensors writes several in an order that changes from run to run.
        save_file(tensors, temporary, {"graphs": json.dumps(headers)})
        temporary.chmod(0o644)  # safetensors makes a file for its owner alone


def _crc32(tensor: torch.Tensor) -> int:
    return zlib.crc32(memoryview(tensor.numpy()).cast("B")) if tensor.numel() else 0


def resolve_rank(rank: int | float | None, num_nodes: int) -> int | None:
    """Number of singular values asked for: None for all, an int, or a fraction of N.

    Raises:
        ValueError: an int below 1, a fraction outside (0, 1] or what is neither.
    """
    if rank is None:
        return None
    if isinstance(rank, Integral) and not isinstance(rank, bool):
        if rank < 1:
            raise ValueError(f"rank is {rank}; at least 1 is allowed")
        return min(int(rank), num_nodes)
    if not isinstance(rank, Real) or isinstance(rank, bool) or not 0 < rank <= 1:
        raise ValueError(f"rank is {rank!r}; allowed are an integer and a fraction in (0, 1]")
    return max(1, round(rank * num_nodes))


def factorize(
    laplacian: sparse.csr_array,
    rank: int | float | None = None,
    tolerance: float = TOLERANCE,
    device: torch.device | str = "cpu",
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> Factors:
    """Factorise the SNA: ``eigh`` when symmetric, an SVD otherwise.

    Args:
        laplacian: ``(N, N)`` SNA, sparse.
        rank: how many singular values to keep: None for all, an int, or a fraction of N. On up to
            ``EXACT_NODES`` nodes an exact factorisation is cut; on larger graphs filtered subspace
            iteration (`flode.spectral.subspace`) is used, whose last vectors are near the best.
        tolerance: values below ``tolerance · σ₁`` are dropped with their vectors.
        device: where a dense factorisation runs. On CUDA the right singular vectors come from
            ``eigh`` of ``LᵀL``, which is much faster there; values are good to about 1e-8 · σ₁.
        seed: of the subspace iteration's start.
        dtype: that an exact factorisation computes in. In float32 values that are zero come out
            near 1e-7, and with a ``tolerance`` of 0 they are kept, as in the paper's program: a
            small α then takes them for signal.

    Returns:
        Factors in float64 on the CPU.

    Raises:
        ValueError: a matrix that is not square or not finite, a rank or a tolerance out of bounds,
            or float32 for what subspace iteration factorises.
    """
    laplacian = canonical(sparse.csr_array(laplacian, dtype=float))
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}; allowed is 0 <= tolerance < 1")
    num_nodes = laplacian.shape[0]
    if laplacian.shape != (num_nodes, num_nodes):
        raise ValueError(f"the SNA must be square, found shape {laplacian.shape}")
    if not np.all(np.isfinite(laplacian.data)):
        raise ValueError("the SNA has entries that are not finite")
    wanted = resolve_rank(rank, num_nodes)
    symmetric = is_symmetric(laplacian)
    iterative = wanted is not None and num_nodes > EXACT_NODES and wanted < num_nodes
    if iterative and dtype != torch.float64:
        raise ValueError(
            f"dtype is {dtype}; of {num_nodes} nodes and rank {wanted}, which subspace iteration"
            " factorises, torch.float64 is allowed"
        )
    if iterative:
        left, values, right = _subspace(laplacian, wanted, symmetric, seed)
    else:
        left, values, right = _exact(laplacian, symmetric, device, dtype)
    kept = values.abs() > tolerance * values.abs().max() if len(values) else values > 0
    keep = int(kept.sum())
    truncated = wanted is not None and (wanted < keep or (iterative and wanted == keep))
    if wanted is not None:
        keep = min(keep, wanted)
    return Factors(
        left[:, :keep].contiguous(),
        values[:keep].clone(),
        None if right is None else right[:, :keep].contiguous(),
        float(np.square(laplacian.data).sum()),
        truncated,
    )


def _exact(laplacian, symmetric, device, dtype):
    dense = torch.from_numpy(laplacian.toarray()).to(device, dtype)
    right = None
    if symmetric:
        # Exactly symmetric input: eigh reads one triangle only.
        values, vectors = torch.linalg.eigh((dense + dense.T) / 2)
        order = values.abs().argsort(descending=True, stable=True)
        left, values = vectors[:, order], values[order]
    elif dense.device.type == "cpu" or dtype != torch.float64:
        left, values, right = torch.linalg.svd(dense, full_matrices=False)
        right = right.T
    else:
        left, values, right = _svd_by_gram(dense)
    left, values, right = (
        part if part is None else part.cpu().double() for part in (left, values, right)
    )
    return left, values, right


def _svd_by_gram(dense):
    """SVD from ``eigh`` of ``LᵀL``, of orthonormal vectors."""
    right = torch.linalg.eigh(dense.T @ dense).eigenvectors
    scaled = dense @ right
    # Norms, not roots of eigenvalues: a root turns rounding, 1e-16, into a value of 1e-8.
    values = scaled.norm(dim=0)
    order = values.argsort(descending=True, stable=True)
    # Not divided by norms: vectors of small values would not be orthogonal, those of zero nothing.
    left, triangle = torch.linalg.qr(scaled[:, order])
    left = left * torch.where(triangle.diagonal() < 0, -1.0, 1.0)
    return left, values[order], right[:, order]


def _subspace(laplacian, rank, symmetric, seed):
    found = (truncated_eigh if symmetric else truncated_svd)(laplacian, rank, seed)
    left, values, *right = map(torch.from_numpy, found)
    return left, values, right[0] if right else None
