"""A graph of a study: read when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scipy import sparse

from flode.datasets.graph import Graph
from flode.spectral import Factors, sna


@dataclass(frozen=True)
class StudyGraph:
    """A variant's (first) graph and its factors.

    Attributes:
        label: what the study calls it.
        graph_file, factor_file: of the variant.
        flow: how information moves along edges, see `flode.spectral.sna`.
    """

    label: str
    graph_file: str
    factor_file: str
    flow: str

    @cached_property
    def graph(self) -> Graph:
        return Graph.load(self.graph_file)

    @cached_property
    def factors(self) -> Factors:
        return Factors.load(self.factor_file)

    @cached_property
    def laplacian(self) -> sparse.csr_array:
        """The SNA, ``(N, N)``."""
        graph = self.graph
        return sna(graph.edge_index, graph.edge_weight, graph.num_nodes, self.flow)
