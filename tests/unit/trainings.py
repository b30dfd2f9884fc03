"""What the tests of trainings share."""

import torch

from flode.datasets.dsbm import generate_graphs
from flode.datasets.graph import save_graphs
from flode.experiments.factorization import factorize_graphs
from flode.spectral.factors import save_factors
from tests.configuration import TINY, catalogue


def tiny_files(folder, variant):
    """Graphs and factors of a generated variant, as the stages before a training write them."""
    found = catalogue(TINY)
    paths = folder / "graphs.npz", folder / "factors.safetensors"
    settings = found.graph_settings(variant)
    save_graphs(generate_graphs(settings["generator"], settings["seed"]), paths[0])
    save_factors(factorize_graphs(paths[0], found.factor_settings(variant), "cpu"), paths[1])
    return paths


def assert_same_trainings(trained, expected):
    """The same splits, ended alike, with parameters equal bit for bit."""
    for one, other in zip(trained, expected, strict=True):
        assert (one.split, one.best_epoch, one.epochs, one.validation, one.diverged_at) == (
            other.split,
            other.best_epoch,
            other.epochs,
            other.validation,
            other.diverged_at,
        )
        assert all(torch.equal(one.parameters[n], other.parameters[n]) for n in one.parameters)
