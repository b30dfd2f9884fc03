"""The FLODE model and its exact fast propagation."""

from flode.model.architecture import Architecture
from flode.model.flode import FLODE
from flode.model.operator import Features, Nodes, Operator
from flode.model.path import Request
from flode.model.propagation import PATHS, choose_path, make_path

__all__ = [
    "FLODE",
    "PATHS",
    "Architecture",
    "Features",
    "Nodes",
    "Operator",
    "Request",
    "choose_path",
    "make_path",
]
