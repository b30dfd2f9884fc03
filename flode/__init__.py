"""FLODE: fractional graph Laplacian neural ODEs, computed exactly and fast.

The names below are loaded when first used, so that ``import flode`` is cheap: a workflow that only
reads a version or validates a configuration does not import torch.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "FLODE": "flode.model",
    "Factors": "flode.spectral",
    "FactorizeSNA": "flode.model.transforms",
    "Graph": "flode.datasets.graph",
    "ModulusAdam": "flode.training.modulus_adam",
    "dirichlet_energy": "flode.spectral",
    "factorize": "flode.spectral",
    "load_model": "flode.experiments.models",
    "load_parameters": "flode.experiments.models",
    "load_predictions": "flode.experiments.models",
    "node_homophily": "flode.spectral",
    "normalized_dirichlet_energy": "flode.spectral",
    "sna": "flode.spectral",
}

__all__ = sorted(_HOMES)


def __dir__():
    return [*globals(), *_HOMES]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'flode' has no attribute {name!r}")
