"""PyTorch Geometric transforms."""

from __future__ import annotations

import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.transforms import BaseTransform

from flode.spectral import factorize, sna
from flode.spectral.factors import TOLERANCE, resolve_rank


class FactorizeSNA(BaseTransform):
    """Attach the factorised SNA of a graph as ``data.factors``, for :class:`flode.FLODE`.

    Args:
        rank: singular values to keep: None for all, an int, or a fraction of N.
        flow: ``target_to_source`` (a node gathers from the nodes it points to, as the paper's
            numbers need) or ``source_to_target``.
        device: where to factorise.
        tolerance, seed, dtype: of :func:`flode.factorize`.

    Edge weights are ``data.edge_weight`` if present; no gradient reaches them. Factors are float32,
    as training uses them, whatever they are computed in (for others, :func:`flode.factorize` and
    ``Factors.to``). A ``Batch`` of graphs is one graph: transform the batch, not its parts.
    Factors are of the edges there are: put this after transforms that change edges.

    Raises:
        ValueError: a rank that is none; when called, a HeteroData, no ``edge_index``, and what
            :func:`flode.spectral.sna` and :func:`flode.factorize` raise.
    """

    def __init__(
        self,
        rank: int | float | None = None,
        flow: str = "target_to_source",
        device: torch.device | str = "cpu",
        tolerance: float = TOLERANCE,
        seed: int = 0,
        dtype: torch.dtype = torch.float64,
    ):
        resolve_rank(rank, 1)  # refuses what is no rank of any graph
        self.rank = rank
        self.flow = flow
        self.options = {"tolerance": tolerance, "device": device, "seed": seed, "dtype": dtype}

    def __repr__(self) -> str:
        tolerance = self.options["tolerance"]
        return f"FactorizeSNA(rank={self.rank}, flow={self.flow!r}, tolerance={tolerance})"

    def forward(self, data: Data) -> Data:
        if isinstance(data, HeteroData):
            raise ValueError(
                "the graph is a HeteroData; allowed is a Data, of one type of nodes and of edges"
                " (data.to_homogeneous() makes one)"
            )
        if data.edge_index is None:
            raise ValueError(
                "the graph has no edge_index; allowed is (2, E) int64, as PyTorch Geometric keeps"
                " edges (of a SparseTensor, without the transform ToSparseTensor)"
            )
        weight = data.edge_weight.detach().cpu() if "edge_weight" in data else None
        if weight is not None:  # NumPy has no bfloat16
            weight = (weight.double() if weight.is_floating_point() else weight).numpy()
        laplacian = sna(data.edge_index.cpu().numpy(), weight, data.num_nodes, self.flow)
        factors = factorize(laplacian, self.rank, **self.options)
        data.factors = factors.to(data.edge_index.device, torch.float32)
        # A Batch of graphs with factors of their own tells where theirs were, to take it apart.
        for name in ("_slice_dict", "_inc_dict"):
            if places := getattr(data, name, None):
                setattr(data, name, {key: of for key, of in places.items() if key != "factors"})
        return data
