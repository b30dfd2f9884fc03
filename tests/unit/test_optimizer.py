"""Adam is PyTorch's, and a training starts without what takes long to import."""

import subprocess
import sys

import torch

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
    adam = Adam(ours, 0.01, 0.1)
    reference = torch.optim.Adam(theirs.values(), lr=0.01, weight_decay=0.1, fused=True)
    for epoch in range(20):
        for values, optimizer in ((ours, adam), (theirs, reference)):
            optimizer.zero_grad()
            loss(values, epoch).backward()
            optimizer.step()
        if epoch == 9:  # as a checkpoint does
            adam = Adam(ours, 0.01, 0.1, adam.moments)
    assert not torch.equal(ours["weight"], drawn["weight"])
    for name, value in theirs.items():
        assert torch.equal(ours[name], value), name
    assert set(adam.moments) == {"exponent", "weight"}  # what had no gradient has no moments
    assert torch.equal(ours["unused"], drawn["unused"])


def test_a_training_imports_no_more_than_it_needs():
    """Modules that take up to two seconds each: PyTorch's compiler, PyG, parts of SciPy."""
    code = """
import sys
import numpy as np
from flode.experiments import runs
from flode.datasets.graph import Graph
from flode.spectral import factorize, sna
edges, masks = np.array([[0, 1, 2, 3], [1, 2, 3, 0]]), np.eye(4, dtype=bool)[:, None]
graph = Graph(np.eye(4, 2, dtype=np.float32), np.arange(4) % 2, edges, np.ones(4), *masks[:3])
operator = runs.Operator(factorize(sna(edges, None, 4)))
settings = runs.TrainingSettings(0.01, 0.001, 3, 3)
trained = runs.StackedTrainer(runs.Architecture(2, 4, 2), graph, operator, settings).train_all()
slow = ["torch._dynamo", "sympy", "torch_geometric", "pandas", "sklearn", "scipy.linalg"]
print(trained[0].epochs, [name for name in slow if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout == "3 []\n"
