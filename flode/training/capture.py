"""A training step on a GPU, captured once as a CUDA graph and replayed.

A step is some hundred small kernels, which take a processor longer to launch than a GPU to run; a
replay launches them all at once. What is captured must work on tensors that stay where they are,
read no plain number that changes, and never wait for the GPU. Masks are drawn outside, since a
generator cannot be seeded inside, and copied to where the graph reads them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from flode.model.network import Masks

logger = logging.getLogger("flode.capture")

#: Steps as usual before the capture: libraries set themselves up in the first ones.
WARM_UP = 3


class CapturedStep:
    """Calls a step: a few times as it is, then by replaying its CUDA graph.

    All calls run on one stream of their own, as a capture needs it. Where a step cannot be
    captured a note is logged, and it goes on being called as it is.

    Args:
        step: works in place on tensors that outlive it, returns nothing, and does not depend on
            Python numbers that change from one call to the next.
        device: a CUDA device.
    """

    def __init__(self, step: Callable[[Masks | None], None], device: torch.device):
        self.step = step
        self.stream = torch.cuda.Stream(device)
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.masks: Masks | None = None

    def __call__(self, masks: Masks | None) -> None:
        self.calls += 1
        self.stream.wait_stream(torch.cuda.current_stream(self.stream.device))
        with torch.cuda.stream(self.stream):
            if self.calls == WARM_UP + 1:
                self._capture(masks)
            if self.graph is None:
                self.step(masks)
            else:
                for static, drawn in zip(_tensors(self.masks), _tensors(masks), strict=True):
                    static.copy_(drawn)
                self.graph.replay()
        torch.cuda.current_stream(self.stream.device).wait_stream(self.stream)

    def _capture(self, masks: Masks | None) -> None:
        """Record a step without running it."""
        self.masks = None if masks is None else _copied(masks)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.stream):
                self.step(self.masks)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            logger.warning("no CUDA graph of the training step, which is slower now: %s", error)
            return
        self.graph = graph


def _tensors(masks: Masks | None) -> list[Tensor]:
    if masks is None:
        return []
    every = (masks.input, masks.projected, *masks.encoder, *masks.decoder)
    return [mask for mask in every if mask is not None]


def _copied(masks: Masks) -> Masks:
    def copy(mask: Tensor | None) -> Tensor | None:
        return None if mask is None else mask.clone()

    return replace(
        masks,
        input=copy(masks.input),
        projected=copy(masks.projected),
        encoder=[copy(mask) for mask in masks.encoder],
        decoder=[copy(mask) for mask in masks.decoder],
    )
