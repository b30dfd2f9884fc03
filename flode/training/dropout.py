"""Dropout masks of stacked splits, each a function of seed, place and epoch alone.

Every split starts from the same seed, so the masks over all nodes are the same for all splits, and
do not depend on which splits are trained together, on when a run was killed and resumed, or on how
many epochs are drawn ahead.
"""

from __future__ import annotations

import torch
from torch import Tensor

from flode.model.architecture import Architecture
from flode.model.network import Masks
from flode.model.path import Path
from flode.model.powers import Powers

#: Epochs whose input masks are projected in one product, and the entries of such a block at most.
BLOCK_EPOCHS = 64
BLOCK_ENTRIES = 2**23

_MULTIPLIER = 0x9E3779B97F4A7C15


class Dropout:
    """Draws the masks of a training step.

    Args:
        architecture: the model.
        path: its propagation; masked features are projected ahead for the powers path.
        seed: of the run.
        sizes: number of training nodes of each split.
    """

    def __init__(self, architecture: Architecture, path: Path, seed: int, sizes: list[int]):
        self.architecture = architecture
        self.path = path
        self.seed = seed
        self.sizes = sizes
        self.device = path.operator.left.device
        self.dtype = path.operator.left.dtype
        self.generator = torch.Generator(self.device)
        features = path.features
        entries = features.num_features * features.num_nodes
        ahead = 1 if features.is_sparse else BLOCK_ENTRIES // max(entries, 1)
        self.block_epochs = max(1, min(BLOCK_EPOCHS, ahead))
        self.block = (-1, None, None)

    def masks(self, epoch: int) -> Masks | None:
        """Masks of an epoch; None when the model drops nothing."""
        architecture = self.architecture
        if architecture.input_dropout == 0 and architecture.decoder_dropout == 0:
            return None
        hidden, dropout = architecture.hidden_channels, architecture.decoder_dropout
        dropped, projected = self._input(epoch)
        encoder, decoder = [], []
        for layer in range(1, architecture.encoder_layers):
            mask = self._draw(dropout, epoch, layer, (hidden, self.path.operator.num_nodes))
            encoder.append(None if mask is None else mask[None])
        for layer in range(architecture.decoder_layers):
            decoder.append(self._decoder_mask(dropout, epoch, -1 - layer, hidden))
        return Masks(dropped, encoder, decoder, projected)

    def _input(self, epoch: int) -> tuple[Tensor | None, Tensor | None]:
        probability, features = self.architecture.input_dropout, self.path.features
        if probability == 0:
            return None, None
        shape = features.mask_shape
        if not isinstance(self.path, Powers) or features.is_sparse:
            return self._draw(probability, epoch, 0, shape)[None], None
        index, offset = divmod(epoch, self.block_epochs)
        if self.block[0] != index:
            first = index * self.block_epochs
            epochs = range(first, first + self.block_epochs)
            masks = torch.stack([self._draw(probability, e, 0, shape) for e in epochs])
            self.block = (index, masks, self.path.project_masked(masks))
        return self.block[1][offset][None], self.block[2][offset][None]

    def _decoder_mask(self, probability: float, epoch: int, place: int, hidden: int):
        if probability == 0:
            return None
        # One draw for each number of nodes: a split alone draws what it draws among others.
        drawn = {
            size: self._draw(probability, epoch, place, (hidden, size)) for size in set(self.sizes)
        }
        if len(drawn) == 1:
            return drawn[self.sizes[0]][None]
        widest = max(self.sizes)
        padded = [torch.nn.functional.pad(drawn[size], (0, widest - size)) for size in self.sizes]
        return torch.stack(padded)

    def _draw(self, probability: float, epoch: int, place: int, shape) -> Tensor | None:
        if probability == 0:
            return None
        self.generator.manual_seed(_mix(self.seed, place, epoch))
        uniform = torch.rand(shape, generator=self.generator, device=self.device, dtype=self.dtype)
        return (uniform >= probability).to(self.dtype)


def _mix(*numbers: int) -> int:
    """A 63-bit seed from several integers (splitmix64's finaliser over each in turn)."""
    state = 0
    for number in numbers:
        state = (state ^ (number & 0xFFFFFFFFFFFFFFFF)) + _MULTIPLIER & 0xFFFFFFFFFFFFFFFF
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 31
    return state >> 1
