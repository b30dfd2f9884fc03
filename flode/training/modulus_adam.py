"""The paper's Adam as a PyTorch optimizer, for FLODE in a training loop of one's own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from flode.model import FLODE
from flode.training.optimizer import Adam, Moments


class ModulusAdam(torch.optim.Optimizer):
    """Adam whose second moment is of the modulus of complex numbers, as PyTorch 1.12 has it, with
    which the paper's program was run; ``torch.optim.Adam`` has one each for real and imaginary
    parts. Of real parameters both are the same.

    Args:
        model: a module that is a FLODE or has some among its parts: all of its parameters are
            trained, those that hold the planes of FLODE's complex numbers as such.
        lr: learning rate.
        weight_decay: L2, added to the gradient.

    Raises:
        TypeError: parameters in place of a module, which do not say which of them are complex.
        ValueError: a negative ``lr`` or ``weight_decay``, a FLODE whose parameters are computed
            from others (``torch.nn.utils.parametrize``), a parameter of complex numbers, a group
            added later, or the state of another optimizer.
    """

    def __init__(self, model: nn.Module, lr: float = 1e-3, weight_decay: float = 0.0):
        for name, value in (("lr", lr), ("weight_decay", weight_decay)):
            if not value >= 0:
                raise ValueError(f"{name} is {value}; a number of at least 0 is allowed")
        if not isinstance(model, nn.Module):
            raise TypeError(
                f"model is a {type(model).__name__}; allowed is a module, a FLODE or one with some"
                " among its parts, whose parameters tell which of them are complex"
            )
        known: dict[Tensor, int] = {}
        for part in model.modules():
            if isinstance(part, FLODE):
                own, places = part.parameters_by_name(), part.architecture.complex_parameters
                if computed := part.computed_parameters():
                    raise ValueError(
                        f"parameter {computed[0]!r} of a FLODE is parametrized: what is trained in"
                        " its place has no modulus; remove the parametrization, or take"
                        " torch.optim.Adam"
                    )
                known |= {own[name]: plane for name, plane in places.items()}
        parameters = list(model.parameters())
        if any(value.is_complex() and value.requires_grad for value in parameters):
            raise ValueError(
                "a parameter is of complex numbers; allowed are real ones, and the planes in which"
                " a FLODE holds its complex numbers"
            )
        # Kept in the group, as copies and saved states of an optimizer have its groups.
        group = {"params": parameters, "planes": [known.get(value) for value in parameters]}
        super().__init__([group], {"lr": lr, "weight_decay": weight_decay, "planes": []})

    def add_param_group(self, param_group: dict) -> None:
        if "planes" not in param_group:
            raise ValueError(
                "a group of parameters does not say which of them are complex; make a ModulusAdam"
                " of a module that has them all (its group's lr and weight_decay can be changed)"
            )
        super().add_param_group(param_group)

    def load_state_dict(self, state_dict: dict) -> None:
        if any("planes" not in group for group in state_dict["param_groups"]):
            raise ValueError(
                "the state is not of a ModulusAdam: its groups lack 'planes', the dimensions that"
                " hold the planes of complex parameters"
            )
        super().load_state_dict(state_dict)

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """One step on the gradients there are; returns the loss of ``closure``, where given."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            values = dict(enumerate(group["params"]))
            planes = {n: plane for n, plane in enumerate(group["planes"]) if plane is not None}
            adam = Adam(values, float(group["lr"]), group["weight_decay"], planes)
            adam.moments = {
                number: _like(value, self.state[value])
                for number, value in values.items()
                if value in self.state
            }
            adam.step()
            for number, moments in adam.moments.items():
                self.state[values[number]] = moments
        return loss


def _like(value: Tensor, moments: Moments) -> Moments:
    """Moments where a parameter is, in its precision: both may have changed, or been loaded."""
    return {
        name: moment.to(value.device, moment.dtype if name == "step" else value.dtype)
        for name, moment in moments.items()
    }
