"""One way to compute the final states of a model on a graph: what all propagation paths share.

Parameters carry the split axis first, ``(S, …)``: see ``Architecture.initial_parameters``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from flode.model.architecture import Architecture
from flode.model.network import Masks, Parameters, States, decode, drops_encoder
from flode.model.operator import Features, Nodes, Operator
from flode.model.planes import multiply


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
        once: whether it serves one pass only, so that nothing is worth making ready for others.
    """

    name: str

    def __init__(
        self,
        architecture: Architecture,
        operator: Operator,
        features: Features,
        once: bool = False,
    ):
        self.architecture = architecture
        self.operator = operator
        self.features = features
        self.once = once

    def states(self, parameters: Parameters, requests: list[Request]) -> list[States]:
        """Final states ``(S, C, n)`` of each request.

        Requests whose encoder drops nothing share one pass.
        """
        shared = None
        results: list[States | None] = [None] * len(requests)
        # A pass with gradients first, so that one without can use it.
        for place, request in sorted(enumerate(requests), key=lambda entry: not entry[1].gradient):
            masks = request.masks
            plain = not drops_encoder(masks)
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

    def layers(self, parameters: Parameters):
        """``(f_α, c)`` of each layer in turn: ``(S, 1, r)`` and ``(S, P, K, 1)``."""
        c = coefficients(self.architecture, parameters).unsqueeze(-1)
        powers = self.operator.powers(parameters["exponent"])
        for layer in range(self.architecture.num_layers):
            index = 0 if self.architecture.shared_weights else layer
            yield powers[:, index, None], c[:, :, index]

    def mix(self, states: Tensor, c: Tensor) -> Tensor:
        """``states · diag(c)`` on ``(S, C, ·)``."""
        return multiply(states.unflatten(1, (self.architecture.planes, -1)), c).flatten(1, 2)


def coefficients(architecture: Architecture, parameters: Parameters) -> Tensor:
    """c of each layer, ``s·h·diag(W)`` or without the ODE ``s·diag(W)``, ``(S, P, layers, K)``; one
    layer stands for all with shared weights."""
    mixing = parameters["channel_mixing"].transpose(1, 2)
    if architecture.ode:
        mixing = multiply(mixing, parameters["step_size"].transpose(1, 2).unsqueeze(-1))
    if architecture.equation == "schroedinger":  # times i
        re, im = mixing.unbind(1)
        mixing = torch.stack([-im, re], dim=1)
    return mixing * architecture.sign


def affine_columns(features: Features, masks: Masks | None) -> Tensor:
    """``[X, 1]ᵀ``, ``(S or 1, F + 1, N)``, features dropped by the input's mask if there is one:
    what a linear encoder's weights multiply."""
    x = features.dropped(masks.input if masks else None)
    x = x if x.dim() == 3 else x[None]
    return torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
