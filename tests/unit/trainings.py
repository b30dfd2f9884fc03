"""What the tests of trainings share."""

import torch


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
