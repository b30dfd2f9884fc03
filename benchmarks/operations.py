"""Floating-point operations of the matrix products of one epoch with its evaluation, path by path.

An epoch of :class:`flode.training.trainer.StackedTrainer`: states of training and validation nodes,
gradients, nothing for other nodes. Products alone are counted, two operations a multiply and add;
a sparse matrix counts by its stored entries. Divided by a machine's measured rate of matrix
products this is a floor on an epoch's time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from flode.model import Architecture


@dataclass(frozen=True)
class Sizes:
    """What the counts depend on.

    Attributes:
        nodes, rank: N and r.
        entries: stored entries of the features; N · F where they are dense.
        distinct: distinct rows of the features.
        train, validation: nodes a split.
        splits: trained side by side.
        architecture: the model.
        symmetric: whether L is.
    """

    nodes: int
    rank: int
    entries: int
    distinct: int
    train: int
    validation: int
    splits: int
    architecture: Architecture
    symmetric: bool

    @property
    def features(self) -> int:
        return self.architecture.in_channels

    @property
    def channels(self) -> int:
        """Real channels: planes times K."""
        return self.architecture.planes * self.architecture.hidden_channels

    @property
    def passes(self) -> int:
        """Forward passes of an epoch: step and evaluation share one unless the encoder drops."""
        model = self.architecture
        hidden = model.encoder_layers > 1 and model.decoder_dropout > 0
        return 2 if model.input_dropout > 0 or hidden else 1


def spectral(sizes: Sizes) -> int:
    """``Q[gain ⊙ (Qᵀx_0)]``: two products with Q, whatever T."""
    return sizes.splits * (_encode(sizes) + _project(sizes) + _read(sizes) + _decode(sizes))


def reduced(sizes: Sizes) -> int:
    """The spectral path's products, and r² a channel for each layer but the last, and back."""
    recurrence = 2 * sizes.channels * sizes.rank**2 * (sizes.architecture.num_layers - 1)
    return spectral(sizes) + sizes.splits * (sizes.passes + 1) * recurrence


def general(sizes: Sizes) -> int:
    """Two products with N × r matrices a layer, and back."""
    layer = 2 * 2 * sizes.channels * sizes.nodes * sizes.rank
    layers = (sizes.passes + 1) * sizes.architecture.num_layers * layer
    return sizes.splits * (_encode(sizes) + layers + _decode(sizes))


def powers(sizes: Sizes) -> int:
    """r² a layer for each column of ``[X, 1]`` and each derivative; gradients never touch M."""
    model, columns = sizes.architecture, sizes.features + 1
    dropped = sizes.features if model.input_dropout else 0
    moved = columns + dropped + (columns if model.learn_exponent else 0)
    advance = 0 if sizes.symmetric else 2 * moved * sizes.rank**2 * (model.num_layers - 1)
    read = 2 * sizes.rank * model.num_layers * columns
    read *= sizes.train * (2 if model.learn_exponent else 1) + sizes.validation
    # One mask for all splits.
    masked = 2 * dropped * sizes.nodes * sizes.rank
    terms = (model.num_layers + 1) * columns
    return masked + sizes.splits * (advance + read + _combine(sizes, terms))


def columns(sizes: Sizes) -> int:
    """Two products a layer as on the general path, of m columns that double with each layer, and
    the norms between layers, of m × m matrices. The first ones are the same for all splits."""
    model, nodes, rank = sizes.architecture, sizes.nodes, sizes.rank
    linear = model.encoder_layers == 1
    whole = not linear and (sizes.passes > 1 or sizes.distinct >= sizes.channels)
    first = sizes.features + 1 if linear else sizes.channels if whole else sizes.distinct
    counts = [first * (2**layer if model.ode else 1) for layer in range(model.num_layers + 1)]
    total = 2 * counts[0] * nodes * rank * (sizes.passes + 1 if whole else sizes.passes)
    total //= 1 if whole else sizes.splits
    total += (sizes.passes + 1) * sum(2 * m * nodes * rank for m in counts[1:-1])
    total += (sizes.passes + 1) * sum(2 * m * nodes * rank for m in counts[:-2])
    normalised = counts[1:-1] if model.normalize_layers else []
    total += sum(2 * m**2 * ((sizes.passes + 2) * (nodes + sizes.channels)) for m in normalised)
    if not (model.learn_exponent or whole or model.num_layers == 1):
        # The first columns and what L^α makes of them are constant.
        total -= 2 * counts[0] * nodes * rank
        total -= 2 * counts[1] ** 2 * nodes if model.normalize_layers else 0
    total += 2 * counts[-2] * rank * (2 * sizes.train + sizes.validation)
    rows = sizes if whole else replace(sizes, nodes=first, entries=first * sizes.features)
    encoder = 0 if linear else _encode(rows)
    # Columns divided by norms have a gradient even where α has none.
    moving = replace(sizes, architecture=replace(model, learn_exponent=True))
    return sizes.splits * (total + encoder + _combine(moving, counts[-1]))


def literal(sizes: Sizes) -> int:
    """Algorithm 1 with dense complex tensors over all nodes, one split after another."""
    model, nodes, width = sizes.architecture, sizes.nodes, sizes.architecture.hidden_channels
    first = nodes * sizes.features * width
    inner = (model.encoder_layers - 1) * nodes * width**2
    layers = model.num_layers * 2 * nodes * sizes.rank * width
    mixing = model.num_layers * nodes * width**2
    decoder = sum(nodes * a * b for a, b in _decoder_shapes(model))
    forward = first + inner + layers + mixing + decoder
    # U, V and the features need no gradient.
    backward = first + layers + 2 * (inner + mixing + decoder)
    # A complex product is four real ones.
    return sizes.splits * 8 * (2 * forward + backward)


OPERATIONS: dict[str, Callable[[Sizes], int]] = {
    path.__name__: path for path in (literal, general, columns, reduced, powers, spectral)
}


def _encode(sizes: Sizes) -> int:
    """``x_0`` of all nodes, and the gradient of its weights."""
    first = 2 * sizes.channels * sizes.entries
    inner = 2 * sizes.channels**2 * sizes.nodes * (sizes.architecture.encoder_layers - 1)
    return sizes.passes * (first + inner) + first + 2 * inner


def _project(sizes: Sizes) -> int:
    """``Vᵀx_0``; of a linear encoder from ``[X, 1]ᵀV``, kept, where that is smaller."""
    model, rank = sizes.architecture, sizes.rank
    full = 2 * sizes.channels * sizes.nodes * rank
    kept = 2 * sizes.channels * (sizes.features + 1) * rank
    if model.encoder_layers > 1 or sizes.features >= sizes.nodes:
        return (sizes.passes + 1) * full
    if not model.input_dropout:
        return 2 * kept
    if sizes.entries < sizes.nodes * sizes.features:
        # Of sparse features those dropped are projected anew, one mask for all splits.
        return 3 * kept + round(2 * model.input_dropout * sizes.entries * rank / sizes.splits)
    return 2 * full + kept


def _read(sizes: Sizes) -> int:
    return 2 * sizes.channels * sizes.rank * (2 * sizes.train + sizes.validation)


def _decode(sizes: Sizes) -> int:
    both = sum(2 * a * b for a, b in _real(sizes, _decoder_shapes(sizes.architecture)))
    return both * (3 * sizes.train + sizes.validation)


def _combine(sizes: Sizes, terms: int) -> int:
    """Decoding of states that are ``(C, terms) · (terms, n)``: weights first where fewer."""
    model, channels = sizes.architecture, sizes.channels
    (_, out), *_ = _real(sizes, _decoder_shapes(model))
    folds = terms < channels
    total = 0
    for nodes, backward in ((sizes.train, True), (sizes.validation, False)):
        weights, columns = 2 * out * channels * terms, 2 * out * terms * nodes
        if not folds or (backward and model.decoder_dropout):
            weights, columns = 2 * out * channels * nodes, 2 * channels * terms * nodes
        # A fixed α leaves the propagated columns without a gradient.
        back = 1 + model.learn_exponent if backward else 0
        total += weights * (3 if backward else 1) + columns * (1 + back)
    rest = sum(2 * a * b for a, b in _real(sizes, _decoder_shapes(model)[1:]))
    return total + rest * (3 * sizes.train + sizes.validation)


def _decoder_shapes(model: Architecture) -> list[tuple[int, int]]:
    return list(pairwise(model.decoder_channels))


def _real(sizes: Sizes, shapes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    planes = sizes.architecture.planes
    return [(planes * a, planes * b) for a, b in shapes]
