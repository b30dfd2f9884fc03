"""Models whose initial states are of low rank: a product of few columns propagates, normalised
layers included."""

from __future__ import annotations

import torch
from torch import Tensor

from flode.model.architecture import Architecture
from flode.model.network import Masks, Parameters, Product, affine, drops_encoder, encode
from flode.model.operator import Features, times
from flode.model.path import Path

#: The columns double with each layer of an ODE, and cancel like the powers path's: to here they are
#: good in float32.
MAX_COLUMNS_LAYERS = 8


class Columns(Path):
    """States kept as a product ``x_t = Θ_t B_t`` of ``(C, m)`` and ``(m, N)``, m few.

    L^α and the normalisation act on nodes, W on channels, so that a layer is
    ``B ← [B, L^α B] / ‖Θ B‖`` and ``Θ ← [Θ, Θ c]`` (without the ODE ``L^α B`` and ``Θ c``), exact,
    and what L^α costs is m columns' in place of C. The first columns are ``[X, 1]`` of a linear
    encoder. Of a deeper one without dropout they are indicators, one for each distinct row of the
    features: nodes of equal features start from equal states.
    """

    name = "columns"

    def __init__(self, architecture, operator, features):
        super().__init__(architecture, operator, features)
        self.rows = None
        channels = architecture.planes * architecture.hidden_channels
        if architecture.encoder_layers > 1 and features.num_distinct < channels:
            self.rows, kinds = features.distinct
            indicators = torch.nn.functional.one_hot(kinds, self.rows.num_nodes).T
            self.indicators = indicators.to(operator.left.dtype)[None]

    def start(self, parameters: Parameters, masks: Masks | None) -> tuple[Tensor, Tensor]:
        """Θ ``(S, C, m)`` and B ``(S or 1, m, N)`` of x_0."""
        if self.architecture.encoder_layers == 1:
            dropped = self.features.dropped(masks.input if masks else None)
            dropped = dropped if dropped.dim() == 3 else dropped[None]
            return affine(parameters).flatten(1, 2), torch.cat(
                [dropped, torch.ones_like(dropped[:, :1])], dim=1
            )
        if self.rows is not None and not drops_encoder(masks):
            return encode(self.architecture, parameters, self.rows, None), self.indicators
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
                columns = self.normalize(weights, columns)
            mixed = self.mix(weights, c)
            moved = times(columns, self.operator.right) * powers
        return weights, columns, mixed, moved

    def normalize(self, weights: Tensor, columns: Tensor) -> Tensor:
        """Columns of states divided by their norms, as torch's ``normalize`` divides."""
        if not self.architecture.normalize_layers:
            return columns
        norms = torch.linalg.vector_norm(weights @ columns, dim=1, keepdim=True)
        return columns / norms.clamp_min(1e-12)

    def read(self, code, nodes):
        weights, columns, mixed, moved = code
        return Product(*self.join(weights, nodes.take(columns), mixed, nodes.read(moved)))

    def join(self, weights: Tensor, columns: Tensor, mixed: Tensor, moved: Tensor):
        """Θ and B after a layer."""
        if not self.architecture.ode:
            return mixed, moved
        columns = columns.expand(len(moved), -1, -1)
        return torch.cat([weights, mixed], dim=2), torch.cat([columns, moved], dim=1)


def propagated_columns(architecture: Architecture, features: Features) -> float:
    """How many columns L^α acts on in all layers; infinite where nothing is gained."""
    layers = architecture.num_layers
    if architecture.encoder_layers == 1:
        first = features.num_features + 1
    elif architecture.input_dropout or architecture.decoder_dropout:
        return float("inf")
    else:
        first = features.num_distinct
    if layers > MAX_COLUMNS_LAYERS:
        return float("inf")
    return first * (2**layers - 1 if architecture.ode else layers)
