"""Spectral core: SNA, factorisation, fractional power, Dirichlet energy, homophily."""

from flode.spectral.factors import Factors, factorize
from flode.spectral.measures import (
    dirichlet_energy,
    node_homophily,
    normalized_dirichlet_energy,
)
from flode.spectral.sna import adjacency, is_symmetric, sna, symmetrically_normalize

__all__ = [
    "Factors",
    "adjacency",
    "dirichlet_energy",
    "factorize",
    "is_symmetric",
    "node_homophily",
    "normalized_dirichlet_energy",
    "sna",
    "symmetrically_normalize",
]
