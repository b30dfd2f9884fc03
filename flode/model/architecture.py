"""What a FLODE model is made of: its hyperparameters, checked, and its parameters, drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real

import numpy as np
import torch
from torch import Tensor

from flode.model.philox import gpu_normal

EQUATIONS = ("schroedinger", "heat")

_SWITCHES = (
    "ode", "complex_valued", "shared_weights", "normalize_layers", "learn_exponent",
    "learn_step_size",
)  # fmt: skip


def check_count(name: str, value) -> int:
    """A count of at least 1, NumPy's too.

    Raises:
        ValueError: names the hyperparameter, its value and what is allowed.
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; an integer of at least 1 is allowed")
    return int(value)


@dataclass(frozen=True)
class Architecture:
    """Hyperparameters of FLODE (paper, Section 6 and Appendix A).

    One layer is the explicit Euler step ``x ← x + s·h·L^α x W`` or, without the ODE,
    ``x ← s·L^α x W``, where s is ``sign`` times i (Schrödinger) or 1 (heat) and W is diagonal.

    Attributes:
        in_channels, hidden_channels, out_channels: features, width K, classes.
        num_layers: number of graph layers T.
        encoder_layers, decoder_layers: linear layers of the two MLPs.
        equation: ``schroedinger`` or ``heat``.
        sign: -1 (the paper's experiments: ``x' = −i L^α x W``, ``x' = −L^α x W``) or 1.
        ode: whether a layer is an Euler step.
        complex_valued: complex weights and states, or real ones (heat only).
        shared_weights: one W, α and h for all layers, or one each.
        normalize_layers: divide each node's state by its L2 norm after every layer but the last. A
            state that is zero but for rounding, as without the ODE that of a node with no row in L,
            is divided too: what it then is, and its gradients, depend on path and machine.
        input_dropout, decoder_dropout: probabilities of dropping a unit; kept units are not
            rescaled. The encoder's input gets the first, every other linear layer's the second.
        exponent, step_size: initial (or fixed) α and h.
        learn_exponent, learn_step_size: whether training moves them.
    """

    in_channels: int
    hidden_channels: int
    out_channels: int
    num_layers: int = 1
    encoder_layers: int = 1
    decoder_layers: int = 1
    equation: str = "schroedinger"
    sign: int = -1
    ode: bool = True
    complex_valued: bool = True
    shared_weights: bool = True
    normalize_layers: bool = False
    input_dropout: float = 0.0
    decoder_dropout: float = 0.0
    exponent: float = 1.0
    step_size: float = 1.0
    learn_exponent: bool = True
    learn_step_size: bool = True

    def __post_init__(self):
        """Raises ValueError naming the hyperparameter, its value and what is allowed."""
        counts = ("in_channels", "hidden_channels", "out_channels")
        for name in (*counts, "num_layers", "encoder_layers", "decoder_layers"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))
        for name in _SWITCHES:
            if not isinstance(value := getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"{name} is {value!r}; True or False is allowed")
        for name in ("input_dropout", "decoder_dropout"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= value < 1:
                raise ValueError(f"{name} is {value!r}; allowed is a number, 0 <= p < 1")
        for name in ("exponent", "step_size"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
                raise ValueError(
                    f"{name} is {value!r}; allowed is a finite number (learn_{name} says whether"
                    " training moves it)"
                )
        if self.equation not in EQUATIONS:
            raise ValueError(f"equation is {self.equation!r}; allowed are {', '.join(EQUATIONS)}")
        if self.sign not in (-1, 1) or isinstance(self.sign, bool):
            raise ValueError(f"sign is {self.sign!r}; allowed are -1, 1")
        if self.equation == "schroedinger" and not self.complex_valued:
            raise ValueError(
                "complex_valued is False, but the Schrödinger equation needs complex numbers"
            )

    @property
    def planes(self) -> int:
        """Real planes a number takes: 2 when complex, 1 when real."""
        return 2 if self.complex_valued else 1

    @property
    def complex_parameters(self) -> dict[str, int]:
        """Of a complex model, the dimension along which each parameter holds its planes, from the
        last; α, which is real, has none."""
        if not self.complex_valued:
            return {}
        places = {"channel_mixing": -2, "step_size": -1}
        for part, layers in (("encoder", self.encoder_layers), ("decoder", self.decoder_layers)):
            for i in range(layers):
                places |= {f"{part}.{i}.weight": -3, f"{part}.{i}.bias": -2}
        return places

    @property
    def weight_sets(self) -> int:
        """How many W, α and h there are."""
        return 1 if self.shared_weights else self.num_layers

    @property
    def encoder_channels(self) -> list[int]:
        """Channels before, between and after the encoder's layers."""
        return [self.in_channels] + [self.hidden_channels] * self.encoder_layers

    @property
    def decoder_channels(self) -> list[int]:
        """Channels before, between and after the decoder's layers."""
        return [self.hidden_channels] * self.decoder_layers + [self.out_channels]

    @property
    def fixed_parameters(self) -> set[str]:
        """Parameters that training leaves alone; without the ODE there is no step."""
        fixed = set() if self.learn_exponent else {"exponent"}
        return fixed if self.learn_step_size and self.ode else fixed | {"step_size"}

    def initial_parameters(self, seed: int | None = None) -> dict[str, Tensor]:
        """Draw the parameters as the paper's program does: linear layers are PyTorch's, in order,
        from the CPU's generator; W, normal, is the diagonal of a matrix that a GPU's draws, real
        parts before imaginary ones; α and h at their initial values.

        So models of one width start from the same W on every graph, as those of the paper's do.

        Args:
            seed: of both generators; None takes one from PyTorch's global generator.

        Returns:
            float32 tensors by name, planes first: ``encoder.0.weight`` ``(P, out, in)``,
            ``encoder.0.bias`` ``(P, out)``, …, ``channel_mixing`` ``(weight sets, P, K)``,
            ``exponent`` ``(weight sets,)``, ``step_size`` ``(weight sets, P)``.
        """
        seed = int(torch.randint(2**31, (), device="cpu")) if seed is None else seed
        generator = torch.Generator().manual_seed(seed)
        as_drawn = {"dtype": torch.float32, "device": "cpu"}  # whatever the defaults are
        parameters = {}
        parts = {"encoder": self.encoder_channels, "decoder": self.decoder_channels}
        for part, channels in parts.items():
            for i, (fan_in, fan_out) in enumerate(pairwise(channels)):
                bound = 1 / math.sqrt(fan_in)
                for name, shape in (("weight", (fan_out, fan_in)), ("bias", (fan_out,))):
                    uniform = torch.empty(*shape, self.planes, **as_drawn)
                    uniform.uniform_(-bound, bound, generator=generator)
                    parameters[f"{part}.{i}.{name}"] = uniform.movedim(-1, 0).contiguous()
        parameters["channel_mixing"] = self._initial_mixing(seed)
        parameters["exponent"] = torch.full((self.weight_sets,), float(self.exponent), **as_drawn)
        step_size = torch.zeros(self.weight_sets, self.planes, **as_drawn)
        step_size[:, 0] = self.step_size
        parameters["step_size"] = step_size
        return parameters

    def _initial_mixing(self, seed: int) -> Tensor:
        """W's diagonal, ``(weight sets, P, K)``, out of ``(weight sets, K, K)`` numbers a plane."""
        width = self.hidden_channels
        places = np.arange(self.weight_sets)[:, None] * width**2 + np.arange(width) * (width + 1)
        size = self.weight_sets * width**2
        planes = [
            gpu_normal(seed, places.ravel(), size, draw=plane).reshape(places.shape)
            for plane in range(self.planes)
        ]
        return torch.from_numpy(np.stack(planes, axis=1)).float()
