"""The two MLPs around the propagation: complex linear layers on stacked planes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from flode.model.architecture import Architecture
from flode.model.operator import Features
from flode.model.planes import block_matrix, logits

NEGATIVE_SLOPE = 0.01

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Masks:
    """Dropout masks of one training step, zeros and ones; None where nothing is dropped.

    Attributes:
        input: ``(S, F, N)``.
        projected: features so dropped, in the right singular basis, ``(S, F, r)``, where a path
            has computed them ahead.
        encoder: one ``(S, K, N)`` for each hidden layer of the encoder.
        decoder: one ``(S, K, n)`` for each layer of the decoder.
    """

    input: Tensor | None
    encoder: list[Tensor | None]
    decoder: list[Tensor | None]
    projected: Tensor | None = None


def drops_input(masks: Masks | None) -> bool:
    """Whether these masks drop input features."""
    return masks is not None and masks.input is not None


def drops_encoder(masks: Masks | None) -> bool:
    """Whether these masks drop anything before the propagation."""
    return drops_input(masks) or (
        masks is not None and any(mask is not None for mask in masks.encoder)
    )


def affine(parameters: Parameters) -> Tensor:
    """The encoder's first layer, weights and then bias: ``(S, P, K, F + 1)``."""
    weight, bias = parameters["encoder.0.weight"], parameters["encoder.0.bias"]
    return torch.cat([weight, bias.unsqueeze(-1)], dim=-1)


@dataclass(frozen=True)
class Product:
    """States that are a product, ``left @ right``, kept apart: ``(S, C, J)`` and ``(S, J, n)``."""

    left: Tensor
    right: Tensor

    def dense(self) -> Tensor:
        return self.left @ self.right


States = Tensor | Product


def encode(
    architecture: Architecture, parameters: Parameters, features: Features, masks: Masks | None
) -> Tensor:
    """Initial states ``x_0`` of all nodes, ``(S, C, N)``."""
    x = features.linear(
        parameters["encoder.0.weight"].flatten(1, 2), masks.input if masks else None
    ) + parameters["encoder.0.bias"].flatten(1, 2).unsqueeze(-1)
    for i in range(1, architecture.encoder_layers):
        x = F.leaky_relu(x, NEGATIVE_SLOPE)
        x = _linear(parameters, f"encoder.{i}", _drop(x, masks.encoder[i - 1] if masks else None))
    return x


def decode(
    architecture: Architecture, parameters: Parameters, states: States, masks: Masks | None
) -> Tensor:
    """Logits ``(S, classes, n)`` of final states ``(S, C, n)``."""
    for i in range(architecture.decoder_layers):
        mask = masks.decoder[i] if masks else None
        if i:
            states = F.leaky_relu(states, NEGATIVE_SLOPE)
        states = _linear(parameters, f"decoder.{i}", _drop(states, mask))
    return logits(states.unflatten(1, (architecture.planes, -1)))


def _drop(states: States, mask: Tensor | None) -> States:
    if mask is None:
        return states
    dense = states.dense() if isinstance(states, Product) else states
    # One mask serves both planes.
    return (dense.unflatten(1, (-1, mask.shape[1])) * mask[:, None]).flatten(1, 2)


def _linear(parameters: Parameters, name: str, states: States) -> Tensor:
    weight = block_matrix(parameters[f"{name}.weight"])
    bias = parameters[f"{name}.bias"].flatten(1, 2).unsqueeze(-1)
    if isinstance(states, Product):
        if states.left.shape[2] < states.left.shape[1]:  # few columns: fold the weights first
            return torch.baddbmm(bias, weight @ states.left, states.right)
        states = states.dense()
    return torch.baddbmm(bias, weight, states)
