"""What a training says while it runs."""

from types import SimpleNamespace

import pytest
import torch

from flode.experiments.progress import Progress, duration, rate


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (190, "3 min 10 s"), (7530, "2 h 05 min")],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("speed", "words"), [(12.34, "12.3 epochs/s"), (1, "1.0 epochs/s"), (0.07, "14.3 s/epoch")]
)
def test_slow_trainings_say_seconds_an_epoch(speed, words):
    assert rate(speed) == words


def trainer(epoch, done=False):
    return SimpleNamespace(
        epoch=epoch,
        done=done,
        best=torch.tensor([0.5, 0.6]),
        best_epoch=torch.tensor([3, 7]),
        splits=[0, 1, 3],
        finished=[2],
        settings=SimpleNamespace(epochs=100),
    )


def test_a_line_says_what_is_trained_and_how_far(caplog):
    progress = Progress("cora/default", total=10, done=4, interval=0)
    progress.start_group(offset=4)
    with caplog.at_level("INFO", logger="flode.progress"):
        progress(trainer(10))
        progress(trainer(20, done=True))  # what is done is told elsewhere
    (line,) = caplog.messages
    assert line.startswith("cora/default: split 4-5, 7, epoch 10 of at most 100, ")
    assert "best validation 55.00 % (epoch 7)" in line
    assert line.endswith("; 5 of 10 splits done")


def test_lines_keep_their_distance(caplog):
    progress = Progress("cora/default", total=1, interval=1000)
    with caplog.at_level("INFO", logger="flode.progress"):
        progress(trainer(10))
    assert not caplog.messages
