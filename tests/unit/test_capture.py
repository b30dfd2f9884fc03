"""The step that a CUDA graph holds, on a machine without a GPU: see ``tests.cuda_graphs``.

The GPU is that of ``tests.emulated_gpu``. An emulated capture has no effect and keeps every tensor
and number of the step it records, and a replay runs that on the same tensors. So a step that
depended on the epoch, made a tensor anew that is read later, looked at a result or drew a mask
inside would not train alike, or is refused.
"""

import dataclasses
import logging

import numpy as np
import pytest
import torch
from scipy import sparse

from flode.training.capture import WARM_UP, CapturedStep
from flode.training.trainer import StackedTrainer
from tests.cuda_graphs import Recording
from tests.emulated_gpu import GPU, emulated_gpu
from tests.unit.test_training import MODELS, SETTINGS, random_graph, trainer_of
from tests.unit.trainings import assert_same_trainings

CASES = {name: {"metric": "accuracy", **options} for name, options in MODELS.items()}
CASES["auroc"] = {"metric": "auroc"}
CASES["sparse"] = {"metric": "accuracy", "sparse": True, "encoder_layers": 1, "input_dropout": 0.2}
CASES["sparse, reduced"] = CASES["sparse"] | {"encoder_layers": 2}

#: An emulated step takes ten times as long as another.
SHORT = dataclasses.replace(SETTINGS, epochs=25)


def made(case, device=None):
    options = dict(CASES[case])
    graph = random_graph(options.pop("undirected", False), metric=options.pop("metric"))
    if options.pop("sparse", False):
        kept = np.where(graph.features > 0, graph.features, 0)
        graph = dataclasses.replace(graph, features=sparse.csr_array(kept))
    return trainer_of(graph, settings=SHORT, device=device, **options)


@pytest.fixture
def graphs(monkeypatch):
    with emulated_gpu(monkeypatch) as made_graphs:
        yield made_graphs


@pytest.mark.parametrize("case", CASES)
def test_a_replayed_training_is_equal_bit_for_bit(case, graphs, monkeypatch):
    expected = made(case).train_all()
    assert not graphs
    monkeypatch.setattr("flode.training.trainer.GPU_SYNC_EPOCHS", 1)
    trained = made(case, GPU).train_all()
    # A graph for every number of splits side by side that lasted longer than the warm-up.
    ends = sorted({one.epochs for one in expected})
    lasted = np.diff([0, *ends]) > WARM_UP + 1
    assert len(graphs) >= lasted.sum() and sum(graph.replays for graph in graphs) > 10
    assert_same_trainings(trained, expected)


def test_a_replayed_training_can_be_resumed(graphs, tmp_path):
    undisturbed = made("reduced", GPU).train_all()
    killed = made("reduced", GPU)
    for _ in range(12):
        killed.step()
    torch.save(killed.state_dict(), tmp_path / "state.pt")
    resumed = made("reduced", GPU)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert_same_trainings(undisturbed, resumed.train_all())


def test_a_graph_is_captured_after_the_warm_up_and_given_up_with_its_stack(graphs):
    trainer = made("powers", GPU)
    for _ in range(WARM_UP):
        trainer.step()
    assert not graphs
    trainer.step()
    assert [graph.replays for graph in graphs] == [1]
    trainer.train_all()
    assert trainer._run is None


def test_where_a_step_cannot_be_captured_it_is_called_as_it_is(graphs, monkeypatch, caplog):
    evaluate = StackedTrainer._evaluate

    def looking(self, logits):
        assert logits.sum().item() is not None
        evaluate(self, logits)

    expected = made("general").train_all()
    monkeypatch.setattr(StackedTrainer, "_evaluate", looking)
    with caplog.at_level(logging.WARNING, "flode.capture"):
        trained = made("general", GPU).train_all()
    assert not graphs
    assert "no CUDA graph of the training step" in caplog.text and "reads a number" in caplog.text
    assert_same_trainings(trained, expected)


def test_a_capture_that_runs_out_of_memory_is_no_reason_to_go_on(graphs):
    def step(masks):
        if step.calls == WARM_UP:
            raise torch.OutOfMemoryError("CUDA out of memory")
        step.calls += 1

    step.calls = 0
    captured = CapturedStep(step, torch.device("cpu"))
    for _ in range(WARM_UP):
        captured(None)
    with pytest.raises(torch.OutOfMemoryError):
        captured(None)


def test_the_emulation_sees_a_number_that_changes():
    """Were it not for this, the tests above could not fail."""
    total, number = torch.zeros(()), 1.0

    def add():
        total.add_(number)

    recording = Recording()
    with recording:
        add()
    recording.undo()
    assert total == 0
    number = 10.0
    recording.replay()
    assert total == 1  # as on a GPU: what it was when captured
    with pytest.raises(RuntimeError, match="reads a number"), Recording():
        total.item()


def test_steps_without_a_gpu_are_not_captured():
    trainer = made("spectral")
    assert not trainer.on_gpu and trainer._run == trainer._advance
    assert SETTINGS.epochs > WARM_UP
