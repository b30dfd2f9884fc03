"""Spectral core: SNA, factorisation, fractional power, Dirichlet energy, homophily,
fractional heat and Schrödinger equations."""

from flode.spectral.dynamics import Dynamics, dominant_energy
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
    "dirichlet_energy",
    "dominant_energy",
    "factorize",
    "is_symmetric",
    "node_homophily",
    "normalized_dirichlet_energy",
    "sna",
    "symmetrically_normalize",
]
