"""The benchmarks: operation counts against PyTorch's, and a run on tiny sizes. No time asserted."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import flode.training.dropout as dropout_module
from benchmarks import speed
from benchmarks.cases import ALL, Case, Entry, named, sweeps
from benchmarks.contestants import Literal, check_agreement, trainer
from benchmarks.graphs import graph_of
from benchmarks.measure import measure
from benchmarks.operations import OPERATIONS, Sizes
from benchmarks.timing import seconds_per_epoch
from flode.model import Features, Operator

CPU = torch.device("cpu")
TINY = Case("tiny", nodes=60, channels=8, layers=3, entries=ALL, rank=40, features=3)


def counted(contestant):
    contestant.step()  # a trainer evaluates from its second step on
    with FlopCounterMode(display=False) as counter:
        contestant.step()
    return counter.get_total_flops()


def sizes_of(graph, factors, model, splits=1, rank=None):
    train, validation = (
        int(mask[:splits].sum(axis=1).max()) for mask in (graph.train, graph.validation)
    )
    return Sizes(
        graph.num_nodes,
        rank or factors.rank,
        graph.features.size,
        Features(graph.features).distinct[0].num_nodes,
        train,
        validation,
        splits,
        model,
        factors.symmetric,
    )


#: Of each path: few features and many, with dropout and without, one split and several.
MODELS = [
    {},
    {"features": 30, "splits": 3},
    {"dropout": 0.2, "splits": 2},
    {"features": 30, "dropout": 0.2, "layers": 1},
    {"layers": 5, "symmetric": True},
]

#: Of paths for normalised layers, and a deeper encoder.
NORMALISED = [
    {"normalize_layers": True} | options
    for options in (
        {},
        {"splits": 3, "dropout": 0.2},
        {"distinct": 5, "encoder_layers": 2, "splits": 3},
        {"distinct": 5, "encoder_layers": 2, "layers": 1},
        {"encoder_layers": 2, "splits": 2},
        {"encoder_layers": 2, "dropout": 0.2, "splits": 2},
        {"learn_exponent": False},
        {"learn_exponent": False, "distinct": 5, "encoder_layers": 2, "splits": 2},
    )
]
COUNTED = [
    *((path, options) for path in ("reduced", "powers", "spectral") for options in MODELS),
    *(("general", options) for options in (*MODELS, *NORMALISED)),
    *(("columns", options) for options in NORMALISED),
]


@pytest.mark.parametrize(
    ("path", "options"),
    [pytest.param(*pair, id="-".join([pair[0], *pair[1]])) for pair in COUNTED],
)
def test_operations_are_those_that_pytorch_counts(path, options, monkeypatch):
    # One mask an epoch, as counted: the trainer projects those of many epochs at once.
    monkeypatch.setattr(dropout_module, "BLOCK_EPOCHS", 1)
    options = {"symmetric": path == "spectral", "splits": 1, "dropout": 0.0} | options
    splits, dropout = options.pop("splits"), options.pop("dropout")
    learn_exponent = options.pop("learn_exponent", True)
    case = replace(TINY, entries=(Entry(path, splits),), **options)
    graph, factors, _ = graph_of(case, None)
    model = case.architecture(graph.num_features, graph.num_classes, dropout)
    model = replace(model, learn_exponent=learn_exponent)
    contestant = trainer(model, graph, Operator(factors), path, splits)
    expected = OPERATIONS[path](sizes_of(graph, factors, model, splits))
    assert expected == pytest.approx(counted(contestant), rel=0.02)


def test_operations_of_the_literal_algorithm_are_those_that_pytorch_counts():
    graph, factors, _ = graph_of(TINY, None)
    model = TINY.architecture(graph.num_features, graph.num_classes)
    contestant = Literal(model, graph, factors, graph.num_nodes, CPU)
    expected = OPERATIONS["literal"](sizes_of(graph, factors, model, rank=graph.num_nodes))
    # PyTorch counts a complex product as a real one; it is four.
    assert expected == pytest.approx(4 * counted(contestant), rel=0.02)


def test_sparse_features_count_by_their_entries():
    graph, factors, _ = graph_of(replace(TINY, features=30), None)
    model = TINY.architecture(30, graph.num_classes)
    dense = sizes_of(graph, factors, model)
    few = replace(dense, entries=100)
    for path in ("general", "reduced", "spectral"):
        saved = OPERATIONS[path](dense) - OPERATIONS[path](few)
        assert saved == 2 * 2 * few.channels * (dense.entries - 100)
    # Under a mask only what it drops is projected, for all splits at once.
    masked = replace(few, splits=4, architecture=replace(model, input_dropout=0.25))
    less = OPERATIONS["spectral"](masked) - OPERATIONS["spectral"](replace(masked, entries=20))
    assert less == 80 * (4 * 3 * 2 * few.channels + 2 * 0.25 * few.rank)


def test_cost_follows_the_formulas():
    """Flat in T on the symmetric path; r² a layer on the directed one."""
    model = TINY.architecture(3, 5)
    sizes = Sizes(60, 40, 180, 60, 29, 19, 1, model, True)
    deep = replace(sizes, architecture=replace(model, num_layers=256))
    assert OPERATIONS["spectral"](deep) == OPERATIONS["spectral"](sizes)
    grown = OPERATIONS["reduced"](deep) - OPERATIONS["reduced"](sizes)
    assert grown == 2 * 2 * 16 * 40**2 * (256 - 3)
    twice = replace(sizes, splits=2)
    for path in ("general", "reduced", "spectral"):
        assert OPERATIONS[path](twice) == 2 * OPERATIONS[path](sizes)


class Counter:
    def __init__(self):
        self.steps = 0

    def step(self):
        self.steps += 1


def test_contestants_are_timed_in_turn():
    first, second = Counter(), Counter()
    seconds = seconds_per_epoch([first, second], CPU, rounds=2, target=1e-4)
    assert len(seconds) == 2
    assert all(math.isfinite(value) and value > 0 for value in seconds)
    assert first.steps >= 5 and second.steps >= 5


def test_a_disagreement_is_an_error():
    graph, factors, _ = graph_of(TINY, None)
    model = TINY.architecture(3, graph.num_classes)
    other = replace(factors, values=2 * factors.values)  # noqa: PD011, no frame
    contestant = trainer(model, graph, Operator(other), "reduced", 1)
    with pytest.raises(RuntimeError, match="reduced path and the literal algorithm differ"):
        check_agreement(Literal(model, graph, factors, 60, CPU), contestant)


def test_named_cases_have_the_papers_sizes():
    found = {case.name: (case.nodes, case.rank, case.layers, case.channels) for case in named()}
    assert found == {
        "dsbm": (2500, None, 3, 256),
        "chameleon-directed": (2277, 753, 5, 64),
        "chameleon-undirected": (2277, 1147, 4, 64),
        "cora": (2485, None, 2, 64),
        "minesweeper": (2000, None, 4, 512),
        "chameleon-undirected-deep": (2277, 1147, 256, 64),
    }


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_sparse_case(symmetric):
    case = Case(
        "tiny", 40, 8, 2, (Entry("auto"), Entry("auto", 2)), rank=20, features=35, per_node=2,
        symmetric=symmetric,
    )  # fmt: skip
    frame = measure(case, CPU, rounds=1, target=1e-3, products=32)
    assert list(frame["path"]) == ["literal", *["spectral" if symmetric else "reduced"] * 2]
    assert list(frame["splits"]) == [1, 1, 2]
    assert list(frame["rank"]) == [40, 20, 20]  # the literal algorithm drops no zeros


def test_quick_mode(tmp_path, monkeypatch, capsys):
    """Prints, and writes table and figure."""
    tiny = [replace(case, nodes=40, rank=case.rank and 20, channels=8) for case in sweeps(True)]
    # The first and the last point of each sweep.
    chosen = list({case.name: case for case in tiny}.values())
    fixed = [
        replace(case, nodes=150, rank=case.rank and 50, channels=8, layers=2)
        for case in named(True)
    ]
    monkeypatch.setattr(speed, "sweeps", lambda quick: chosen)
    monkeypatch.setattr(speed, "named", lambda quick: fixed)
    threads = str(torch.get_num_threads())
    speed.main(
        ["--quick", "--device", "cpu", "--output", str(tmp_path / "s"), "--threads", threads]
    )
    printed = capsys.readouterr().out
    assert "library, spectral path" in printed and "time/floor" in printed
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".pdf", ".svg"}
    frame = pd.read_csv(tmp_path / "s.csv")
    assert set(frame["case"]) == {case.name for case in (*chosen, *fixed)}
    numbers = frame.select_dtypes("number")
    assert np.isfinite(numbers).all().all()
    split_seconds = frame["seconds_per_epoch"] / frame["splits"]
    assert frame["ratio"].to_numpy() == pytest.approx(
        (frame["literal_seconds"] / split_seconds).to_numpy()
    )


def test_an_unknown_case_is_named():
    with pytest.raises(SystemExit, match="no 'coral'; there are dsbm"):
        speed.main(["--cases", "coral"])
