"""A graph of a study: read when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
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
        """Of the graph's SNA.

        Raises:
            ValueError: the file is damaged, or of another graph; names it.
        """
        factors, laplacian = Factors.load(self.factor_file), self.laplacian
        own = (laplacian.shape[0], float(np.square(laplacian.data).sum()))
        if factors.num_nodes != own[0] or not np.isclose(factors.total_variance, own[1]):
            raise ValueError(
                f"{self.factor_file}: factors of a graph of {factors.num_nodes} nodes and variance"
                f" {factors.total_variance:.6g}; allowed: {own[0]} and {own[1]:.6g}, as"
                f" {self.graph_file} has; delete the factor file to have it made again"
            )
        return factors

    @cached_property
    def laplacian(self) -> sparse.csr_array:
        """The SNA, ``(N, N)``."""
        graph = self.graph
        return sna(graph.edge_index, graph.edge_weight, graph.num_nodes, self.flow)
