"""Trained models kept beside a run: what is loaded gives the run file's numbers."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from scipy import sparse

import flode
from flode.datasets.dsbm import generate_graphs
from flode.datasets.graph import Graph, save_graphs
from flode.experiments import runs
from flode.experiments.catalogue import Run
from flode.experiments.factorization import factorize_graphs
from flode.experiments.models import TrainedModels
from flode.experiments.validation import ConfigurationError
from flode.spectral.factors import save_factors
from flode.training.metrics import METRICS
from tests.configuration import TINY, catalogue, merge
from tests.unit.test_training import random_graph

VARIANT = "dsbm-alpha0.1-beta0.2"

HYPERPARAMETERS = {
    "powers": {"input_dropout": 0.2, "decoder_dropout": 0.1},
    "deep encoder": {"encoder_layers": 2, "decoder_layers": 2},
    "unshared": {"shared_weights": False, "num_layers": 2},
    "normalised": {"normalize_layers": True},
    "normalised, deep encoder": {"normalize_layers": True, "encoder_layers": 2},
    "real, without the ODE": {"equation": "heat", "complex_valued": False, "ode": False},
    "fixed": {"exponent": 0.5, "step_size": 0.3},
    "rank": {"rank": 0.25},
    "forced path": {"path": "general"},
}


def settings_of(graphs=1, **hyperparameters):
    """Settings of a run of three layers and twelve epochs."""
    settings = catalogue(TINY).run_settings(Run(VARIANT))
    short = {"num_layers": 3, "epochs": 12, "patience": 12, "seed": 2}
    settings["hyperparameters"] |= short | hyperparameters
    return settings | {"graphs": graphs}


def put_graph(folder, graphs):
    save_graphs(graphs, folder / "graphs.npz")
    factor_settings = catalogue(TINY).factor_settings(VARIANT)
    factors = factorize_graphs(folder / "graphs.npz", factor_settings, "cpu")
    save_factors(factors, folder / "factors.safetensors")


def train(folder, settings, splits, checkpoint=None):
    """Train and write both files, as the workflow's script does; the run file's content."""
    models = TrainedModels()
    inputs = (folder / "graphs.npz", folder / "factors.safetensors")
    document = runs.run_configuration(
        settings, *inputs, splits, device="cpu", checkpoint=checkpoint, models=models
    )
    models.save(folder / "models.safetensors", document)
    runs.write_run(document, folder / "run.json", checkpoint)
    return json.loads((folder / "run.json").read_text())


def assert_reproduced(folder, document, number=lambda split: 0, row=lambda split: split):
    """Loaded models give the metrics of a run file; stored logits are those of the models."""
    for record in document["records"]:
        split = record["split"]
        graph = Graph.load(folder / "graphs.npz", number(split))
        factors = flode.Factors.load(folder / "factors.safetensors", number(split))
        model = flode.load_model(folder / "models.safetensors", split=split)
        with torch.no_grad():
            logits = model(graph.features, factors)
        stored = flode.load_predictions(folder / "models.safetensors", split=split)
        torch.testing.assert_close(logits, stored, rtol=1e-4, atol=1e-5)
        labels = torch.from_numpy(graph.labels)[None]
        for name in ("train", "validation", "test"):
            mask = torch.from_numpy(getattr(graph, name)[row(split)])[None]
            for found in (logits, stored):
                metric = METRICS[graph.metric](found.T[None], labels, mask).item()
                assert metric == pytest.approx(record[name], abs=1e-3), name
        exponent = model.parameters_by_name()["exponent"].tolist()
        assert exponent == pytest.approx(record["exponent"])


@pytest.mark.parametrize("undirected", [False, True], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_a_loaded_model_gives_the_run_files_metrics(tmp_path, name, undirected):
    put_graph(tmp_path, [random_graph(undirected, metric="auroc" if undirected else "accuracy")])
    settings = settings_of(**HYPERPARAMETERS[name])
    document = train(tmp_path, settings, [0, 1, 3])
    assert_reproduced(tmp_path, document)
    best = {record["best_epoch"] for record in document["records"]}
    assert best != {12}, "a best epoch that is not the last is needed to tell them apart"


def test_models_of_different_splits_differ(tmp_path):
    put_graph(tmp_path, [random_graph()])
    train(tmp_path, settings_of(), [0, 1])
    first, second = (
        flode.load_predictions(tmp_path / "models.safetensors", split) for split in (0, 1)
    )
    assert (first - second).abs().max() > 1e-3


def test_sparse_features(tmp_path):
    graph = random_graph()
    rare = np.where(np.abs(graph.features) > 1, graph.features, 0)
    put_graph(tmp_path, [replace(graph, features=sparse.csr_array(rare))])
    assert_reproduced(tmp_path, train(tmp_path, settings_of(), [0, 1]))


def test_a_file_says_what_it_is_and_keeping_models_changes_no_number(tmp_path):
    put_graph(tmp_path, [random_graph()])
    settings = settings_of()
    kept = train(tmp_path, settings, [0, 1])
    inputs = (tmp_path / "graphs.npz", tmp_path / "factors.safetensors")
    plain = json.loads(json.dumps(runs.run_configuration(settings, *inputs, [0, 1], device="cpu")))
    for document in (kept, plain):
        for record in document["records"]:
            assert record.pop("seconds") > 0
    assert kept == plain
    with safe_open(str(tmp_path / "models.safetensors"), framework="pt") as file:
        assert json.loads(file.metadata()["run"]) == plain
        assert all(file.get_tensor(name).dtype == torch.float32 for name in file.keys())  # noqa: SIM118


class KilledError(Exception):
    pass


@pytest.mark.parametrize("steps", [3, 15], ids=["in the first graph", "in the second graph"])
def test_a_resumed_run_keeps_the_undisturbed_models(tmp_path, monkeypatch, steps):
    """Killed after some epochs of all graphs, each saved; finished graphs are in the side file."""
    found = catalogue(TINY)
    generator = found.graph_settings(VARIANT)
    settings = settings_of(graphs=2)
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        put_graph(tmp_path / name, generate_graphs(generator["generator"], generator["seed"]))
    document = train(tmp_path / "undisturbed", settings, [0, 1])
    side_file = tmp_path / "killed" / "side.pt"
    left = iter(range(steps))

    def save_and_fail(checkpoint, trainer):
        checkpoint.save(trainer)
        if next(left, None) is None:
            raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(runs.Checkpoint, "save_sometimes", save_and_fail)
        with pytest.raises(KilledError):
            train(tmp_path / "killed", settings, [0, 1], side_file)
    done = torch.load(side_file, weights_only=True)
    assert done["seconds"] > 0
    done["seconds"] += 1000
    torch.save(done, side_file)
    assert bool(done["models"]) == (steps == 15)
    resumed = train(tmp_path / "killed", settings, [0, 1], side_file)
    assert not side_file.exists()
    seconds = [record["seconds"] for record in resumed["records"]]
    assert sorted(1000 < each < 1100 for each in seconds) == [False, True]  # the graph at work
    assert [r["test"] for r in resumed["records"]] == [r["test"] for r in document["records"]]
    assert_reproduced(tmp_path / "killed", resumed, lambda split: split, lambda split: 0)
    for split in (0, 1):
        expected, logits = (
            flode.load_predictions(tmp_path / name / "models.safetensors", split)
            for name in ("undisturbed", "killed")
        )
        assert torch.equal(logits, expected)


def test_a_side_file_without_models_is_not_resumed_from(tmp_path, monkeypatch):
    put_graph(tmp_path, [random_graph()])
    side_file = tmp_path / "side.pt"
    inputs = (tmp_path / "graphs.npz", tmp_path / "factors.safetensors")
    settings = settings_of()
    monkeypatch.setattr(runs, "write_run", lambda *_: None)
    runs.run_configuration(settings, *inputs, [0], device="cpu", checkpoint=side_file)
    assert side_file.exists()
    models = TrainedModels()
    runs.run_configuration(
        settings, *inputs, [0], device="cpu", checkpoint=side_file, models=models
    )
    assert "0.logits" in models.tensors


def test_factors_of_too_low_a_rank_are_refused(tmp_path):
    put_graph(tmp_path, [random_graph()])
    train(tmp_path, settings_of(rank=20), [0])
    graph = Graph.load(tmp_path / "graphs.npz")
    factors = flode.Factors.load(tmp_path / "factors.safetensors").truncate(19)
    with pytest.raises(ValueError, match=r"rank 20 asks for 20 singular values, .* hold 19"):
        flode.load_model(tmp_path / "models.safetensors")(graph.features, factors)


def test_a_split_without_a_result_has_no_model(tmp_path):
    put_graph(tmp_path, [random_graph()])
    document = train(tmp_path, settings_of(initial_step_size=1e30), [0])
    assert document["records"][0]["test"] is None
    with pytest.raises(ValueError, match=r"models\.safetensors: split 0 diverged"):
        flode.load_model(tmp_path / "models.safetensors")


def test_bad_files_and_splits_are_named(tmp_path):
    put_graph(tmp_path, [random_graph()])
    train(tmp_path, settings_of(), [0, 2])
    path = tmp_path / "models.safetensors"
    with pytest.raises(ValueError, match=r"models\.safetensors: no split 1; there are 0, 2"):
        flode.load_model(path, split=1)
    with pytest.raises(ValueError, match=r"factors\.safetensors: damaged, or no file of trained"):
        flode.load_predictions(tmp_path / "factors.safetensors")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"models\.safetensors: damaged"):
        flode.load_model(path)
    with pytest.raises(FileNotFoundError):
        flode.load_model(tmp_path / "none.safetensors")


def kept(*names):
    return merge(TINY, {"training": {"save_models": list(names)}})


def test_which_runs_keep_their_models():
    found = catalogue(kept(VARIANT, "dsbm-alpha0.1-beta0.3/layers=2"))
    other = "dsbm-alpha0.1-beta0.3"
    chosen = [Run(VARIANT), Run(VARIANT, "layers=4"), Run(other, "layers=2")]
    not_chosen = [Run(other), Run("dsbm-alpha0.1-beta0.4")]
    assert all(map(found.keeps_models, chosen))
    assert not any(map(found.keeps_models, not_chosen))
    assert found.model_files([*chosen, *not_chosen]) == [
        f"results/tiny/models/{run.variant}/{run.configuration}/splits-0-1.safetensors"
        for run in chosen
    ]
    # A value that is the variant's own, in a name of the configuration files, changes nothing.
    assert catalogue(kept(f"{VARIANT}/layers=3")).keeps_models(Run(VARIANT))
    assert all(map(catalogue({"training": {"save_models": "all"}}).keeps_models, not_chosen))
    assert not any(map(catalogue().keeps_models, chosen))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["dsbm-alpha0.1-beta2"], "did you mean 'dsbm-alpha0.1-beta0.2'"),
        ([f"{VARIANT}/layrs=3"], "did you mean 'layers'"),
        ([f"{VARIANT}/"], "save_models: 'dsbm-alpha0.1-beta0.2/'"),
        ("some", "training.save_models"),
    ],
)
def test_bad_names_of_runs_are_refused(names, words):
    with pytest.raises(ConfigurationError, match=r"training\.save_models") as error:
        catalogue({"training": {"save_models": names}})
    assert words in str(error.value)


def test_a_split_that_the_graph_does_not_have_is_refused(tmp_path):
    put_graph(tmp_path, [random_graph(splits=2)])
    with pytest.raises(ValueError, match=r"split 2 .*graphs\.npz, .* 2 splits, 0 to 1; datasets\."):
        train(tmp_path, settings_of(), [1, 2])
