"""Adam is PyTorch's, and a training starts without what takes long to import."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from flode import FLODE
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


def test_a_module_is_trained_with_it_too():
    model = FLODE(3, 4, 2)
    optimizer = Adam(model.parameters_by_name(), 0.01, 0.1, model.architecture.complex_parameters)
    factors = factorize(sna(np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), None, 4))
    model(torch.randn(4, 3), factors).square().sum().backward()
    start = model.complex_parameter("encoder.0.weight")
    gradient = torch.complex(*model.encoder_0_weight.grad)
    optimizer.step()
    moved = model.complex_parameter("encoder.0.weight")
    torch.testing.assert_close(moved, literal_steps(start, [gradient], 0.01, 0.1))


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
