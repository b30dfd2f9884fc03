"""Adam is PyTorch's, and a training starts without what takes long to import."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch

from flode import FLODE, ModulusAdam
from flode.model import Architecture
from flode.spectral import factorize, sna
from flode.training.optimizer import Adam
from tests.configuration import ROOT

SHAPES = {"exponent": (3, 1), "weight": (3, 2, 4, 5), "unused": (3, 2)}


def loss(values, target):
    return (values["weight"].sin() * values["exponent"][..., None, None]).square().sum() - target


def test_steps_are_those_of_torch_optim_adam_bit_for_bit():
    drawn = {name: torch.randn(shape) for name, shape in SHAPES.items()}
    ours, theirs = (
        {name: value.clone().requires_grad_() for name, value in drawn.items()} for _ in range(2)
    )
    adam = Adam(ours, 0.01, 0.1, {})
    reference = torch.optim.Adam(theirs.values(), lr=0.01, weight_decay=0.1, fused=True)
    for epoch in range(20):
        for values, optimizer in ((ours, adam), (theirs, reference)):
            optimizer.zero_grad()
            loss(values, epoch).backward()
            optimizer.step()
        if epoch == 9:  # as a checkpoint does
            adam = Adam(ours, 0.01, 0.1, {}, adam.moments)
    assert not torch.equal(ours["weight"], drawn["weight"])
    for name, value in theirs.items():
        assert torch.equal(ours[name], value), name
    assert set(adam.moments) == {"exponent", "weight"}  # what had no gradient has no moments
    assert torch.equal(ours["unused"], drawn["unused"])


class Laid(torch.nn.Module):
    """Parameters whose numbers do not lie in memory one after the other."""

    def __init__(self):
        super().__init__()
        self.turned = torch.nn.Parameter(torch.arange(12.0).reshape(4, 3).T)
        self.sparse = torch.nn.Parameter(torch.arange(24.0).reshape(3, 8)[:, ::2])


def test_parameters_of_any_layout_take_the_steps_of_torch_optim_adam():
    def trained(make):
        torch.manual_seed(0)
        model = Laid()
        optimizer = make(model)
        for _ in range(5):
            model.turned.grad = torch.randn(3, 4)  # not laid out as the parameter is
            model.sparse.grad = torch.randn(3, 8)[:, ::2]
            optimizer.step()
        return model

    ours = trained(lambda model: ModulusAdam(model, 0.1))
    theirs = trained(lambda model: torch.optim.Adam(model.parameters(), 0.1))
    for name, value in theirs.named_parameters():
        torch.testing.assert_close(ours.get_parameter(name), value)


def test_a_rate_of_zero_leaves_parameters_of_any_layout_as_they_are():
    model = Laid()
    before = copy.deepcopy(model.state_dict())
    optimizer = ModulusAdam(model, 0.0)
    for value in model.parameters():
        value.grad = torch.zeros_like(value)
    optimizer.step()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in before.items())


def literal_steps(value, gradients, rate, decay):
    """Adam of complex numbers as PyTorch 1.12 has it: a second moment of ``g·conj(g)``."""
    mean = square = 0
    for step, gradient in enumerate(gradients, start=1):
        gradient = gradient + decay * value
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * (gradient * gradient.conj())
        denominator = (square / (1 - 0.999**step)).sqrt() + 1e-8
        value = value - rate / (1 - 0.9**step) * mean / denominator
    return value


@pytest.mark.parametrize(("shape", "plane"), [((3, 2, 4, 5), -3), ((3, 2), -1), ((2, 2, 2), -2)])
def test_a_complex_parameter_has_one_second_moment_of_its_modulus(shape, plane):
    start, *gradients = torch.randn(21, *shape, dtype=torch.float64)

    def joined(planes):
        return torch.complex(*planes.unbind(plane))

    expected = literal_steps(joined(start), map(joined, gradients), 0.01, 0.1)
    value = start.float().requires_grad_()
    adam = Adam({"weight": value}, 0.01, 0.1, {"weight": plane})
    for epoch, gradient in enumerate(gradients):
        value.grad = gradient.float()
        adam.step()
        assert torch.equal(value.grad, gradient.float())  # not the optimizer's to change
        if epoch == 9:
            adam = Adam({"weight": value}, 0.01, 0.1, {"weight": plane}, adam.moments)
    torch.testing.assert_close(joined(value.detach()).to(expected), expected, rtol=1e-5, atol=1e-6)
    parts = start.clone().requires_grad_()
    today = torch.optim.Adam([parts], lr=0.01, weight_decay=0.1)
    for gradient in gradients:
        parts.grad = gradient
        today.step()
    assert (joined(parts.detach()) - expected).abs().max() > 0.01


FACTORS = factorize(sna(np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), None, 4))
X = torch.randn(4, 3)


class Larger(torch.nn.Module):
    """FLODE between layers that know of no complex numbers."""

    def __init__(self):
        super().__init__()
        self.before, self.flode, self.after = torch.nn.Linear(3, 5), FLODE(5, 4, 2), torch.nn.ELU()

    def forward(self):
        return self.after(self.flode(self.before(X), FACTORS)).square().sum()


def test_an_optimizer_for_modules_is_the_papers_for_complex_numbers_and_torchs_for_others():
    model = Larger()
    optimizer = ModulusAdam(model, lr=0.01, weight_decay=0.1)
    start = model.flode.complex_parameter("encoder.0.weight")
    before = {n: v.detach().clone().requires_grad_() for n, v in model.before.named_parameters()}
    alpha = model.flode.exponent.detach().clone().requires_grad_()
    reference = torch.optim.Adam([*before.values(), alpha], lr=0.01, weight_decay=0.1)
    gradients = []
    for _ in range(3):
        optimizer.zero_grad()
        model().backward()
        gradients.append(torch.complex(*model.flode.encoder_0_weight.grad.clone()))
        for name, value in before.items():
            value.grad = getattr(model.before, name).grad.clone()
        alpha.grad = model.flode.exponent.grad.clone()
        optimizer.step()
        reference.step()
    moved = model.flode.complex_parameter("encoder.0.weight")
    torch.testing.assert_close(moved, literal_steps(start, gradients, 0.01, 0.1))
    torch.testing.assert_close(model.flode.exponent, alpha)
    for name, value in before.items():
        torch.testing.assert_close(getattr(model.before, name), value)


def test_it_goes_on_and_is_scheduled_as_pytorchs():
    torch.manual_seed(0)
    model = Larger()
    optimizer = ModulusAdam(model, lr=0.02)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def steps(model, optimizer, schedule, count):
        for _ in range(count):
            optimizer.zero_grad()
            assert optimizer.step(lambda: (loss := model(), loss.backward())[0]) > 0
            schedule.step()

    steps(model, optimizer, schedule, 3)
    again = Larger()
    again.load_state_dict(model.state_dict())
    other = ModulusAdam(again, lr=0.5)
    other_schedule = torch.optim.lr_scheduler.StepLR(other, 2, 0.5)
    states = copy.deepcopy((optimizer.state_dict(), schedule.state_dict()))
    steps(model, optimizer, schedule, 3)
    other.load_state_dict(states[0])
    other_schedule.load_state_dict(states[1])
    steps(again, other, other_schedule, 3)
    assert optimizer.param_groups[0]["lr"] == other.param_groups[0]["lr"] == 0.0025
    for one, two in zip(model.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)


def test_it_is_copied_and_follows_its_model_to_another_precision():
    model = Larger()
    optimizer = ModulusAdam(model, lr=0.02)
    model().backward()
    optimizer.step()
    copied, own = copy.deepcopy((model, optimizer))
    for one, other in ((model, optimizer), (copied, own)):
        other.zero_grad()
        one().backward()
        other.step()
    for one, two in zip(model.parameters(), copied.parameters(), strict=True):
        assert torch.equal(one, two)
    optimizer.zero_grad()
    before = model.double().flode.complex_parameter("encoder.0.weight")
    model.before(X.double()).sum().backward()
    gradient = torch.ones_like(model.flode.encoder_0_weight)
    model.flode.encoder_0_weight.grad = gradient
    optimizer.step()
    moved = model.flode.complex_parameter("encoder.0.weight")
    assert before.dtype == moved.dtype == torch.complex128 and not torch.equal(before, moved)


def test_it_refuses_what_does_not_say_which_parameters_are_complex():
    model = FLODE(2, 3, 2)
    with pytest.raises(TypeError, match="model is a generator; allowed is a module, a FLODE"):
        ModulusAdam(model.parameters())
    optimizer = ModulusAdam(model)
    with pytest.raises(ValueError, match="a group of parameters does not say which"):
        optimizer.add_param_group({"params": list(FLODE(2, 3, 2).parameters())})
    with pytest.raises(ValueError, match="not of a ModulusAdam: its groups lack 'planes'"):
        optimizer.load_state_dict(torch.optim.Adam(model.parameters()).state_dict())
    torch.nn.utils.parametrizations.weight_norm(model, "encoder_0_weight")
    with pytest.raises(ValueError, match=r"'encoder\.0\.weight' of a FLODE is parametrized"):
        ModulusAdam(model)


@pytest.mark.parametrize("name", ["lr", "weight_decay"])
def test_it_refuses_negative_numbers(name):
    with pytest.raises(ValueError, match=f"{name} is -1"):
        ModulusAdam(Larger(), **{name: -1})


@pytest.mark.parametrize("complex_valued", [True, False])
def test_planes_are_where_an_architecture_says(complex_valued):
    equation = "schroedinger" if complex_valued else "heat"
    model = Architecture(
        3, 4, 5, encoder_layers=2, decoder_layers=3, equation=equation,
        complex_valued=complex_valued, shared_weights=False, num_layers=6,
    )  # fmt: skip
    parameters, places = model.initial_parameters(0), model.complex_parameters
    assert set(places) == (set(parameters) - {"exponent"} if complex_valued else set())
    assert all(parameters[name].shape[place] == 2 for name, place in places.items())


def test_a_training_imports_no_more_than_it_needs():
    """Modules that take up to two seconds each: PyTorch's compiler, PyG, parts of SciPy."""
    code = """
import sys
import numpy as np
from flode.experiments import runs, trainings
from flode.datasets.graph import Graph
from flode.spectral import factorize, sna
edges, masks = np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), np.eye(4, dtype=bool)[:, None]
graph = Graph(np.eye(4, 2, dtype=np.float32), np.arange(4) % 2, edges, np.ones(4), *masks[:3])
operator = trainings.Operator(factorize(sna(edges, None, 4)))
settings = trainings.TrainingSettings(0.01, 0.001, 3, 3)
model = trainings.Architecture(2, 4, 2)
trained = runs.StackedTrainer(model, graph, operator, settings).train_all()
slow = ["torch._dynamo", "sympy", "torch_geometric", "pandas", "sklearn", "scipy.linalg"]
print(trained[0].epochs, [name for name in slow if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "3 []\n"
