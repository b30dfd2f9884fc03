"""Exact fast forms of T layers ``x ← x + s·h·L^α x W`` (or ``x ← s·L^α x W`` without the ODE).

W is diagonal and the singular vectors are real, so a layer need not cost two products with
``N × r`` matrices. With ``c = s·h·diag(W)`` (without the ODE ``c = s·diag(W)``):

* :class:`Spectral`, symmetric ``L = QΛQᵀ``:
  ``x_T = x_0 + Q[(∏_t(1 + c_t f_{α_t}(Λ)) − 1) ⊙ Qᵀx_0]``; the cost does not depend on T.
* :class:`Reduced`, directed: a recurrence of size r in the right singular basis with ``VᵀU``.
* :class:`flode.model.powers.Powers`, linear encoder with few features: propagates the columns of
  ``[X, 1]`` in place of the states, and carries their derivative by α forward.
* :class:`flode.model.columns.Columns`, normalised layers, linear encoder with few features or few
  distinct rows of features: propagates a product of few columns.
* :class:`General`: layer by layer over all nodes, for any other normalised layers.

:func:`choose_path` is the one place that picks.
"""

from __future__ import annotations

import torch
from torch import Tensor

from flode import paths
from flode.model.architecture import Architecture
from flode.model.columns import Columns, is_cheaper
from flode.model.network import Parameters, affine, drops_input, encode
from flode.model.operator import Features, Operator, times
from flode.model.path import Path
from flode.model.planes import integer_power, multiply, one_plus
from flode.model.powers import Powers


class _Basis(Path):
    """Paths that work in the (right singular) basis: the code is ``x_0`` and what U adds to it."""

    def __init__(self, architecture, operator, features, once=False):
        super().__init__(architecture, operator, features, once)
        # A linear encoder commutes with Vᵀ: with fewer features than nodes, project those once.
        self.projected = None
        if architecture.encoder_layers == 1 and features.num_features < self._most_features():
            self.projected = features.project(operator)

    def _most_features(self) -> int:
        """Fewer are worth projecting: than nodes for many passes, or sparse features; for one pass
        over dense features than channels of the states."""
        if self.once and not self.features.is_sparse:
            return self.architecture.planes * self.architecture.hidden_channels
        return self.operator.num_nodes

    def code(self, parameters, masks):
        projected = self.projected
        if projected is not None and drops_input(masks):
            projected = None
            if self.features.is_sparse:  # one mask for all splits drops few entries: cheap anew
                masked = self.features.project_masked(self.operator, masks.input, self.projected)
                projected = masked[0]
        x = None
        if self.architecture.ode or projected is None:
            x = encode(self.architecture, parameters, self.features, masks)
        if projected is not None:
            z = times(affine(parameters).flatten(1, 2), projected)
        else:
            z = times(x, self.operator.right)
        added = self.evolve(parameters, z)
        return (x, added) if self.architecture.ode else (added,)

    def read(self, code, nodes):
        added = nodes.read(code[-1])
        return nodes.take(code[0]) + added if self.architecture.ode else added

    def evolve(self, parameters: Parameters, z: Tensor) -> Tensor:
        """From ``Vᵀx_0`` to what U is multiplied with, both ``(S, C, r)``."""
        raise NotImplementedError


class Spectral(_Basis):
    """Symmetric L in closed form: cost independent of the number of layers."""

    name = "spectral"

    def evolve(self, parameters, z):
        architecture = self.architecture
        gain = None
        for powers, c in self.layers(parameters):
            factor = c * powers.unsqueeze(1)
            factor = one_plus(factor) if architecture.ode else factor
            if architecture.shared_weights:
                gain = integer_power(factor, architecture.num_layers)
                break
            gain = factor if gain is None else multiply(gain, factor)
        if architecture.ode:
            gain = torch.cat([gain[:, :1] - 1, gain[:, 1:]], dim=1)
        return self.mix(z, gain)


class Reduced(_Basis):
    """Directed L: ``z ← z + VᵀU Σ^α z diag(c)``, r² a layer in place of 2Nr."""

    name = "reduced"

    def evolve(self, parameters, z):
        total = None
        last = self.architecture.num_layers - 1
        for layer, (powers, c) in enumerate(self.layers(parameters)):
            moved = self.mix(z * powers, c)
            if not self.architecture.ode:
                z = times(moved, self.operator.transition) if layer < last else moved
                continue
            total = moved if total is None else total + moved
            if layer < last:
                z = z + times(moved, self.operator.transition)
        return total if self.architecture.ode else z


class General(Path):
    """Layer by layer over all nodes; serves every model."""

    name = "general"

    def code(self, parameters, masks):
        x = encode(self.architecture, parameters, self.features, masks)
        return (self.trajectory(parameters, x)[-1],)

    def read(self, code, nodes):
        return nodes.take(code[0])

    def trajectory(self, parameters: Parameters, x: Tensor) -> list[Tensor]:
        """States ``(S, C, N)`` before the first layer and as each layer's update leaves them,
        before any normalisation: ``num_layers + 1`` of them."""
        states = [x]
        last = self.architecture.num_layers - 1
        for layer, (powers, c) in enumerate(self.layers(parameters)):
            moved = times(times(x, self.operator.right) * powers, self.operator.left.T)
            moved = self.mix(moved, c)
            x = x + moved if self.architecture.ode else moved
            states.append(x)
            if self.architecture.normalize_layers and layer < last:
                x = torch.nn.functional.normalize(x, dim=1)
        return states


PATHS: dict[str, type[Path]] = {
    path.name: path for path in (Spectral, Reduced, Powers, Columns, General)
}


def choose_path(architecture: Architecture, operator: Operator, features: Features) -> str:
    """Name of the path that serves a model on a graph, from cost and numerical range."""
    if architecture.normalize_layers:
        cheaper = is_cheaper(architecture, operator, features)
        return Columns.name if cheaper else General.name
    channels = architecture.planes * architecture.hidden_channels
    few_features = features.num_features + 1 < channels
    unfit = paths.obstacle(Powers.name, vars(architecture), operator.symmetric, features.learned)
    if few_features and not unfit:
        return Powers.name
    return Spectral.name if operator.symmetric else Reduced.name


def make_path(
    architecture: Architecture,
    operator: Operator,
    features: Features,
    name: str = "auto",
    once: bool = False,
) -> Path:
    """The propagation of a model on a graph.

    Args:
        name: ``auto``, or one of ``PATHS`` to force it.
        once: whether it is for one pass only.

    Raises:
        ValueError: an unknown path, or one that cannot serve the model; the message says why.
    """
    if features.num_nodes != operator.num_nodes:
        raise ValueError(
            f"features have {features.num_nodes} rows, the factors {operator.num_nodes} nodes"
        )
    if features.num_features != architecture.in_channels:
        raise ValueError(
            f"in_channels is {architecture.in_channels}, the features have {features.num_features}"
        )
    if name == "auto":
        name = choose_path(architecture, operator, features)
    if name not in PATHS:
        raise ValueError(f"path is {name!r}; allowed are auto, {', '.join(PATHS)}")
    model = vars(architecture)
    if reason := paths.obstacle(name, model, operator.symmetric, features.learned):
        raise ValueError(f"path {name!r} cannot serve this model: {reason}")
    return PATHS[name](architecture, operator, features, once)
