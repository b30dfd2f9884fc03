"""Adam with L2 weight decay, as ``torch.optim.Adam(fused=True)`` computes it."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.optim.adam import adam

from flode.model.network import Parameters

#: Of one parameter: ``step`` (0-dimensional), ``exp_avg`` and ``exp_avg_sq``, on its device.
Moments = dict[str, Tensor]


class Adam:
    """PyTorch's Adam by its functional form, the moments kept under the parameters' names.

    The class ``torch.optim.Adam`` imports PyTorch's compiler at its first step, which takes a
    second or two of every job; the function that it calls does not. Nothing here waits for a GPU.

    Args:
        parameters: those to train, by name.
        learning_rate, weight_decay: of Adam.
        moments: to go on from; copied, to the parameters' device.
    """

    def __init__(
        self,
        parameters: Parameters,
        learning_rate: float,
        weight_decay: float,
        moments: Mapping[str, Moments] | None = None,
    ):
        self.parameters = parameters
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.moments = {
            name: {
                key: value.to(parameters[name].device, copy=True) for key, value in of_one.items()
            }
            for name, of_one in (moments or {}).items()
        }

    def zero_grad(self) -> None:
        for value in self.parameters.values():
            value.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step on the gradients there are; a parameter without one stays as it is."""
        reached = {n: value for n, value in self.parameters.items() if value.grad is not None}
        for name, value in reached.items():
            if name not in self.moments:
                self.moments[name] = {
                    "step": torch.zeros((), dtype=torch.float32, device=value.device),
                    "exp_avg": torch.zeros_like(value),
                    "exp_avg_sq": torch.zeros_like(value),
                }
        moments = [self.moments[name] for name in reached]
        adam(
            list(reached.values()),
            [value.grad for value in reached.values()],
            *([of_one[key] for of_one in moments] for key in ("exp_avg", "exp_avg_sq")),
            [],
            [of_one["step"] for of_one in moments],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
            eps=1e-8,
            maximize=False,
        )
