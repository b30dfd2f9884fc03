"""Exact fast forms of T layers ``x ← x + s·h·L^α x W`` (or ``x ← s·L^α x W`` without the ODE).

W is diagonal and the singular vectors are real, so a layer need not cost two products with
``N × r`` matrices. With ``c = s·h·diag(W)`` (without the ODE ``c = s·diag(W)``):

* :class:`Spectral`, symmetric ``L = QΛQᵀ``:
  ``x_T = x_0 + Q[(∏_t(1 + c_t f_{α_t}(Λ)) − 1) ⊙ Qᵀx_0]``; the cost does not depend on T.
* :class:`Reduced`, directed: a recurrence of size r in the right singular basis with ``VᵀU``.
* :class:`Powers`, linear encoder with few features: propagates the columns of ``[X, 1]`` in place
  of the states, and carries their derivative by α forward.
* :class:`General`: layer by layer over all nodes, for normalised layers.

:func:`choose_path` is the one place that picks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from flode.model.architecture import Architecture
from flode.model.network import (
    Masks,
    Parameters,
    Product,
    States,
    affine,
    decode,
    drops_input,
    encode,
)
from flode.model.operator import Features, Nodes, Operator, times
from flode.model.planes import integer_power, multiply, one_plus

#: The binomial sum of :class:`Powers` cancels as T grows; to here it is good in float32.
MAX_POWERS = 8


@dataclass(frozen=True)
class Request:
    """States asked for at some nodes.

    Attributes:
        nodes: where.
        masks: dropout of a training step; None for an evaluation.
        gradient: whether gradients are wanted.
    """

    nodes: Nodes
    masks: Masks | None = None
    gradient: bool = False


class Path:
    """One way to compute the final states of a model on one graph.

    Args:
        architecture: the model.
        operator: its graph, factorised.
        features: the nodes' features.
    """

    name: str

    def __init__(self, architecture: Architecture, operator: Operator, features: Features):
        self.architecture = architecture
        self.operator = operator
        self.features = features

    def states(self, parameters: Parameters, requests: list[Request]) -> list[States]:
        """Final states ``(S, C, n)`` of each request.

        Parameters carry the split axis first: ``(S, …)``, see ``Architecture.initial_parameters``.
        Requests whose encoder drops nothing share one pass.
        """
        shared = None
        results: list[States | None] = [None] * len(requests)
        # A pass with gradients first, so that one without can use it.
        for place, request in sorted(enumerate(requests), key=lambda entry: not entry[1].gradient):
            masks = request.masks
            plain = masks is None or (
                masks.input is None and not any(mask is not None for mask in masks.encoder)
            )
            with torch.set_grad_enabled(request.gradient and torch.is_grad_enabled()):
                if not plain or shared is None:
                    code = self.code(parameters, masks)
                    shared = code if plain else shared
                else:
                    code = shared if request.gradient else tuple(p.detach() for p in shared)
                results[place] = self.read(code, request.nodes)
        return results

    def logits(self, parameters: Parameters, requests: list[Request]) -> list[Tensor]:
        """Logits ``(S, classes, n)`` of each request."""
        all_states = self.states(parameters, requests)
        results = []
        for request, states in zip(requests, all_states, strict=True):
            with torch.set_grad_enabled(request.gradient and torch.is_grad_enabled()):
                results.append(decode(self.architecture, parameters, states, request.masks))
        return results

    def code(self, parameters: Parameters, masks: Masks | None) -> tuple[Tensor, ...]:
        """What the states of any node can be read from."""
        raise NotImplementedError

    def read(self, code: tuple[Tensor, ...], nodes: Nodes) -> States:
        """Final states at nodes from what :meth:`code` returned."""
        raise NotImplementedError

    def coefficients(self, parameters: Parameters) -> Tensor:
        """c of each layer, ``(S, P, layers, K)``; one layer stands for all with shared weights."""
        mixing = parameters["channel_mixing"].transpose(1, 2)
        if self.architecture.ode:
            mixing = multiply(mixing, parameters["step_size"].transpose(1, 2).unsqueeze(-1))
        if self.architecture.equation == "schroedinger":  # times i
            re, im = mixing.unbind(1)
            mixing = torch.stack([-im, re], dim=1)
        return mixing * self.architecture.sign

    def layers(self, parameters: Parameters):
        """``(f_α, c)`` of each layer in turn: ``(S, 1, r)`` and ``(S, P, K, 1)``."""
        c = self.coefficients(parameters).unsqueeze(-1)
        powers = self.operator.powers(parameters["exponent"])
        for layer in range(self.architecture.num_layers):
            index = 0 if self.architecture.shared_weights else layer
            yield powers[:, index, None], c[:, :, index]

    def mix(self, states: Tensor, c: Tensor) -> Tensor:
        """``states · diag(c)`` on ``(S, C, ·)``."""
        return multiply(states.unflatten(1, (self.architecture.planes, -1)), c).flatten(1, 2)


class _Basis(Path):
    """Paths that work in the (right singular) basis: the code is ``x_0`` and what U adds to it."""

    def __init__(self, architecture, operator, features):
        super().__init__(architecture, operator, features)
        # A linear encoder commutes with Vᵀ: with fewer features than nodes, project those once.
        self.projected = None
        if architecture.encoder_layers == 1 and features.num_features < operator.num_nodes:
            self.projected = project(features, operator)

    def code(self, parameters, masks):
        projected = self.projected
        if projected is not None and drops_input(masks):
            projected = None
            if self.features.is_sparse:  # few entries, and one mask for all splits: cheap anew
                columns = self.features.project(self.operator, masks.input)[0]
                projected = torch.cat([columns, self.projected[-1:]])
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
    """Layer by layer over all nodes; the only path for normalised layers."""

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


class _WithDerivative(torch.autograd.Function):
    """Values ``(S, ·, n)`` as they are, whose derivative by α ``(S,)`` is known."""

    @staticmethod
    def forward(ctx, values, derivative, exponent):
        ctx.save_for_backward(derivative)
        return values.clone()

    @staticmethod
    @once_differentiable  # the second derivative is not known
    def backward(ctx, gradient):
        (derivative,) = ctx.saved_tensors
        return None, None, (gradient * derivative).sum(dim=(1, 2))


class Powers(Path):
    """Linear encoder with few features: ``x_T = Σ_j C(T,j) c^j ⊙ (Θ P_j)`` with
    ``P_j = [X, 1]ᵀ(L^α)ʲ``.

    The columns P_j depend on the parameters through the scalar α alone: dP_j/dα is carried forward
    beside them, so that one pass over ``VᵀU`` serves the training step, its gradient and the
    evaluation, and backpropagation never touches it.
    """

    name = "powers"

    def __init__(self, architecture, operator, features):
        super().__init__(architecture, operator, features)
        self.plain = project(features, operator)
        dense = features.dropped(None)
        self.columns = torch.cat([dense, torch.ones_like(dense[:1])])

    def project_masked(self, mask: Tensor) -> Tensor:
        """Features dropped by masks ``(..., F, N)``, in the right singular basis, ``(..., F, r)``.

        Masks do not depend on the parameters: many epochs' masks at once make one product.
        """
        return self.features.project(self.operator, mask)

    def states(self, parameters, requests):
        exponent = parameters["exponent"][:, 0]
        learned = self.architecture.learn_exponent and torch.is_grad_enabled()
        # Block 0 is the bias; then the features, once plain and once for each dropout mask.
        blocks, own, tracked = [self.plain[-1:]], [], []
        plain = None
        for request in requests:
            masked = drops_input(request.masks)
            if masked or plain is None:
                own.append(len(blocks))
                blocks.append(self._projected(request.masks) if masked else self.plain[:-1])
                plain = plain if masked else own[-1]
            else:
                own.append(plain)
            if learned and request.gradient and own[-1] not in tracked:
                tracked.append(own[-1])
        blocks = [block.expand(len(exponent), -1, -1) for block in blocks]
        with torch.no_grad():
            moved, derivative = self._advance(blocks, tracked, exponent)
        results = []
        for request, block in zip(requests, own, strict=True):
            propagated = self._at(moved, block, request.nodes)
            if request.gradient and tracked:
                # The value is unchanged; the gradient by α is the derivative carried along.
                slope = self._at(derivative, 1 + tracked.index(block), request.nodes)
                propagated = _WithDerivative.apply(propagated, slope, exponent)
            with torch.set_grad_enabled(request.gradient and torch.is_grad_enabled()):
                results.append(self._combine(parameters, request, propagated))
        return results

    def _projected(self, masks: Masks) -> Tensor:
        return self.project_masked(masks.input) if masks.projected is None else masks.projected

    def _advance(
        self, blocks: list[Tensor], tracked: list[int], exponent: Tensor
    ) -> tuple[Tensor, Tensor]:
        """``σ^α`` times each power's columns, as U reads them: ``(S, powers, C, r)``, and the
        derivatives by α of the bias and the tracked blocks."""
        operator, layers = self.operator, self.architecture.num_layers
        powers = operator.powers(exponent)[:, None]
        width = self.features.num_features
        z = torch.cat(blocks, dim=1)

        def chosen(z):
            parts = [self._block(z, block, width) for block in tracked]
            return torch.cat([z[:, :1], *parts], dim=1) if parts else z[:, :0]

        slope = torch.zeros_like(chosen(z))
        values, slopes = [], []
        for layer in range(1, layers + 1):
            slope = powers * (operator.log_values * chosen(z) + slope)
            z = powers * z
            if self.architecture.ode or layer == layers:
                values.append(z)
                slopes.append(slope)
            if layer < layers and not operator.symmetric:
                both = times(torch.cat([z, slope], dim=1), operator.transition)
                z, slope = both.split([z.shape[1], slope.shape[1]], dim=1)
        return torch.stack(values, dim=1), torch.stack(slopes, dim=1)

    @staticmethod
    def _block(columns: Tensor, block: int, width: int) -> Tensor:
        """One block of features at axis -2: slices, as a list of indices would be copied to the
        device in every step, which a CUDA graph cannot hold."""
        return columns.narrow(-2, 1 + (block - 1) * width, width)

    def _at(self, moved: Tensor, block: int, nodes: Nodes) -> Tensor:
        """A block's columns and the bias's of ``(S, powers, C, r)``, read at nodes:
        ``(S, powers · (F + 1), n)``."""
        features = self._block(moved, block, self.features.num_features)
        return nodes.read(torch.cat([features, moved[:, :, :1]], dim=2).flatten(1, 2))

    def _combine(self, parameters: Parameters, request: Request, propagated: Tensor) -> Product:
        weight = affine(parameters)
        c = self.coefficients(parameters).transpose(2, 3)  # (S, P, K, 1)
        layers = self.architecture.num_layers
        if not self.architecture.ode:
            return Product(multiply(integer_power(c, layers), weight).flatten(1, 2), propagated)
        terms = [weight]
        for j in range(1, layers + 1):
            terms.append(multiply(terms[-1], c) * ((layers - j + 1) / j))
        start = self.columns
        if drops_input(request.masks):
            dropped = self.features.dropped(request.masks.input)
            start = torch.cat([dropped, start[-1:].expand(len(dropped), 1, -1)], dim=1)
        start = request.nodes.take(start if start.dim() == 3 else start[None])
        right = torch.cat([start.expand(len(propagated), -1, -1), propagated], dim=1)
        return Product(torch.cat(terms, dim=-1).flatten(1, 2), right)


def project(features: Features, operator: Operator) -> Tensor:
    """``[X, 1]ᵀ V``, ``(F + 1, r)``."""
    return torch.cat([features.project(operator), operator.right.sum(0, keepdim=True)])


PATHS: dict[str, type[Path]] = {path.name: path for path in (Spectral, Reduced, Powers, General)}


def choose_path(architecture: Architecture, operator: Operator, features: Features) -> str:
    """Name of the path that serves a model on a graph, from cost and numerical range."""
    if architecture.normalize_layers:
        return General.name
    channels = architecture.planes * architecture.hidden_channels
    few_features = features.num_features + 1 < channels
    linear = architecture.encoder_layers == 1 and architecture.shared_weights
    if linear and not features.learned and few_features and architecture.num_layers <= MAX_POWERS:
        return Powers.name
    return Spectral.name if operator.symmetric else Reduced.name


def make_path(
    architecture: Architecture, operator: Operator, features: Features, name: str = "auto"
) -> Path:
    """The propagation of a model on a graph.

    Args:
        name: ``auto``, or one of ``PATHS`` to force it.

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
    reasons = {
        "normalised layers need the general path": architecture.normalize_layers
        and name != General.name,
        "the spectral path needs a symmetric operator": name == Spectral.name
        and not operator.symmetric,
        "the powers path has no gradient by the features": name == Powers.name and features.learned,
        "the powers path needs a linear encoder": name == Powers.name
        and architecture.encoder_layers > 1,
        "the powers path needs shared weights": name == Powers.name
        and not architecture.shared_weights,
    }
    for reason, holds in reasons.items():
        if holds:
            raise ValueError(f"path {name!r} cannot serve this model: {reason}")
    return PATHS[name](architecture, operator, features)
