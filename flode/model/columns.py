"""Models whose initial states are of low rank: a product of few columns propagates, normalised
layers included."""

from __future__ import annotations

import torch
from torch import Tensor

from flode.model.architecture import Architecture
from flode.model.network import (
    Masks,
    Parameters,
    Product,
    affine,
    drops_encoder,
    drops_input,
    encode,
)
from flode.model.operator import Features, Operator, times
from flode.model.path import Path, affine_columns
from flode.paths import obstacle

#: Norms are at least this when states are divided by them, as PyTorch's ``normalize`` has it.
EPSILON = 1e-12


class Columns(Path):
    """States kept as a product ``x_t = Θ_t B_t`` of ``(C, m)`` and ``(m, N)``, m few.

    L^α and the normalisation act on nodes, W on channels, so that a layer is
    ``B ← [B, L^α B] / ‖Θ B‖`` and ``Θ ← [Θ, Θ c]`` (without the ODE ``L^α B`` and ``Θ c``), exact,
    and what L^α costs is m columns' in place of C. The first columns are ``[X, 1]`` of a linear
    encoder. Of a deeper one without dropout they are indicators, one for each distinct row of the
    features: nodes of equal features start from equal states.

    A state of exactly 0 has no direction, and stays as it is.
    """

    name = "columns"

    def __init__(self, architecture, operator, features, once=False):
        super().__init__(architecture, operator, features, once)
        self.rows = None
        channels = architecture.planes * architecture.hidden_channels
        if architecture.encoder_layers == 1:
            self.columns = affine_columns(features, None)
        elif features.count_distinct(channels) < channels:
            self.rows, kinds = features.distinct
            indicators = torch.nn.functional.one_hot(kinds, self.rows.num_nodes).T
            self.columns = indicators.to(operator.left.dtype)[None]

    def start(self, parameters: Parameters, masks: Masks | None) -> tuple[Tensor, Tensor]:
        """Θ ``(S, C, m)`` and B ``(S or 1, m, N)`` of x_0."""
        if self.architecture.encoder_layers == 1:
            dropped = drops_input(masks)
            columns = affine_columns(self.features, masks) if dropped else self.columns
            return affine(parameters).flatten(1, 2), columns
        if self.rows is not None and not drops_encoder(masks):
            return encode(self.architecture, parameters, self.rows, None), self.columns
        # Nothing is gained: the states themselves are the columns.
        x = encode(self.architecture, parameters, self.features, masks)
        every = torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
        return every.expand(len(x), -1, -1), x

    def code(self, parameters, masks):
        weights, columns = self.start(parameters, masks)
        mixed = moved = columns  # of the layer before, when there is one
        for layer, (powers, c) in enumerate(self.layers(parameters)):
            if layer:
                moved = times(moved, self.operator.left.T)
                weights, columns = self.join(weights, columns, mixed, moved)
                if self.architecture.normalize_layers:
                    weights, columns = self.normalize(weights, columns)
            mixed = self.mix(weights, c)
            moved = times(columns, self.operator.right) * powers
        return weights, columns, mixed, moved

    def normalize(self, weights: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Θ and B of states divided by their norms, or by ``EPSILON`` where these are smaller.

        A node's norm is that of its column b of B under ΘᵀΘ: ``‖Θb‖² = bᵀ(ΘᵀΘ)b``, in float64, as
        squares lose twice the digits where terms cancel. A factor of Θ cancels in what it is
        divided by: without it no power of W can leave float32.
        """
        size = weights.detach().abs().amax(dim=(1, 2), keepdim=True)
        size = torch.where(size > 0, size, 1)
        weights = weights / size
        wide, tall = weights.double(), columns.double()
        gram = wide.transpose(1, 2) @ wide
        squares = (tall * (gram @ tall)).sum(dim=1, keepdim=True)
        norms = torch.where(squares > 0, squares, 1).sqrt().to(columns.dtype)
        divisors = torch.where(squares > 0, torch.maximum(norms, EPSILON / size), 1)
        return weights, columns / divisors

    def read(self, code, nodes):
        weights, columns, mixed, moved = code
        return Product(*self.join(weights, nodes.take(columns), mixed, nodes.read(moved)))

    def join(self, weights: Tensor, columns: Tensor, mixed: Tensor, moved: Tensor):
        """Θ and B after a layer."""
        if not self.architecture.ode:
            return mixed, moved
        columns = columns.expand(len(moved), -1, -1)
        return torch.cat([weights, mixed], dim=2), torch.cat([columns, moved], dim=1)


def is_cheaper(architecture: Architecture, operator: Operator, features: Features) -> bool:
    """Whether fewer operations a node than the general path's make a training step.

    Either takes two products with N × r matrices a layer, and as many backwards; the norms take
    three products with ΘᵀΘ, in float64, which costs twice as much.
    """
    layers, ode = architecture.num_layers, architecture.ode
    channels = architecture.planes * architecture.hidden_channels
    if obstacle(Columns.name, vars(architecture), operator.symmetric, features.learned):
        return False
    if architecture.encoder_layers == 1:
        first = features.num_features + 1
    elif architecture.input_dropout or architecture.decoder_dropout:
        return False
    else:
        first = features.count_distinct(channels)
    columns = [first * (2**layer if ode else 1) for layer in range(layers)]
    norms = 12 * sum(m**2 for m in columns[1:]) if architecture.normalize_layers else 0
    return 8 * operator.rank * sum(columns) + norms < 8 * operator.rank * channels * layers
