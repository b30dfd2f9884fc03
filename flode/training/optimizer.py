"""Adam with L2 weight decay, as the paper's program has it and as PyTorch has it today.

Of a complex parameter with gradient ``g`` Adam keeps a second moment. In PyTorch 1.12, with which
the paper's program was run, it is of the modulus, ``|g|²``: real and imaginary part are divided by
the same number. Since PyTorch 1.13 each has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.optim.adam import adam

from flode.model.network import Parameters

#: Of what a complex parameter's second moment is.
SECOND_MOMENTS = ("modulus", "parts")

_BETAS = (0.9, 0.999)
_EPS = 1e-8

#: Of one parameter: ``step`` (0-dimensional), ``exp_avg`` and ``exp_avg_sq``, on its device.
Moments = dict[str, Tensor]


class Adam:
    """Adam of parameters by name, the moments kept under these names.

    Of real numbers it is PyTorch's by its functional form: the class ``torch.optim.Adam`` imports
    PyTorch's compiler at its first step, which takes a second or two of every job; the function
    that it calls does not. Nothing here waits for a GPU.

    Args:
        parameters: those to train, by name.
        learning_rate, weight_decay: of Adam.
        planes: along which dimension a parameter holds real and imaginary parts of numbers whose
            second moment is of the modulus. All other parameters are real numbers.
        moments: to go on from; copied, to the parameters' device.
    """

    def __init__(
        self,
        parameters: Parameters,
        learning_rate: float,
        weight_decay: float,
        planes: Mapping[str, int],
        moments: Mapping[str, Moments] | None = None,
    ):
        self.parameters = parameters
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.planes = dict(planes)
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
                self.moments[name] = self._no_moments(name, value)
        real = [name for name in reached if name not in self.planes]
        if real:
            self._step_real(real)
        for name, value in reached.items():
            if name in self.planes:
                self._step_by_modulus(value, self.moments[name], self.planes[name])

    def _step_real(self, names: Sequence[str]) -> None:
        """PyTorch's fused step, which reads memory in order: of what lies otherwise it gets a copy,
        and that is copied back."""
        given = {
            "values": [self.parameters[name] for name in names],
            "gradients": [self.parameters[name].grad for name in names],
            "means": [self.moments[name]["exp_avg"] for name in names],
            "squares": [self.moments[name]["exp_avg_sq"] for name in names],
        }
        laid = {key: [tensor.contiguous() for tensor in own] for key, own in given.items()}
        adam(
            *laid.values(),
            [],
            [self.moments[name]["step"] for name in names],
            fused=True,
            amsgrad=False,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            lr=self.learning_rate,
            weight_decay=self.weight_decay,
            eps=_EPS,
            maximize=False,
        )
        for key, own in given.items():
            for tensor, copy in zip(own, laid[key], strict=True):
                if copy is not tensor and key != "gradients":
                    tensor.copy_(copy)

    def _no_moments(self, name: str, value: Tensor) -> Moments:
        by_modulus = name in self.planes
        second = value.narrow(self.planes[name], 0, 1) if by_modulus else value
        # PyTorch's function wants a step in single precision.
        dtype = torch.float64 if by_modulus else torch.float32
        return {
            "step": torch.zeros((), dtype=dtype, device=value.device),
            "exp_avg": torch.zeros_like(value),
            "exp_avg_sq": torch.zeros_like(second, memory_format=torch.contiguous_format),
        }

    def _step_by_modulus(self, value: Tensor, moments: Moments, plane: int) -> None:
        gradient = value.grad.add(value, alpha=self.weight_decay)
        step = moments["step"].add_(1)
        first, second = (1 - beta**step for beta in _BETAS)
        mean = moments["exp_avg"].lerp_(gradient, 1 - _BETAS[0])
        modulus = gradient.square_().sum(plane, keepdim=True)
        square = moments["exp_avg_sq"].lerp_(modulus, 1 - _BETAS[1])
        # The correction of the mean is folded in here, where a tensor on a GPU can be.
        scale = square.div(second).sqrt_().add_(_EPS).mul_(-first / self.learning_rate)
        value.addcdiv_(mean, scale)
