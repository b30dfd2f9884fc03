"""Spectral core: SNA, factorisation, fractional power, Dirichlet energy, homophily,
fractional heat and Schrödinger equations."""

from flode.fractional import fractional, frequency_dominance
from flode.spectral.balance import is_balanced, is_weakly_balanced
from flode.spectral.distances import (
    alternating_distances,
    graph_distances,
    virtual_edge_bound,
)
from flode.spectral.dynamics import Dynamics, dominant_energy
from flode.spectral.eigenvalues import perron_eigenvalue, smallest_eigenvalue
from flode.spectral.factors import Factors, factorize
from flode.spectral.measures import (
    dirichlet_energy,
    node_homophily,
    normalized_dirichlet_energy,
)
from flode.spectral.sna import adjacency, is_symmetric, sna, symmetrically_normalize

__all__ = [
    "Dynamics",
    "Factors",
    "adjacency",
    "alternating_distances",
    "dirichlet_energy",
    "dominant_energy",
    "factorize",
    "fractional",
    "frequency_dominance",
    "graph_distances",
    "is_balanced",
    "is_symmetric",
    "is_weakly_balanced",
    "node_homophily",
    "normalized_dirichlet_energy",
    "perron_eigenvalue",
    "smallest_eigenvalue",
    "sna",
    "symmetrically_normalize",
    "virtual_edge_bound",
]
