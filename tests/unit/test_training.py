"""Stacked training: each split as if alone, early stopping, resumption, honest failures."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import flode.model.operator as operator_module
from flode import FLODE
from flode.datasets.graph import Graph
from flode.model import Architecture, Features, Operator, Request, make_path
from flode.spectral import factorize, normalized_dirichlet_energy, sna
from flode.training.evaluation import RESULTS, evaluate, states_and_logits
from flode.training.metrics import accuracy, auroc
from flode.training.trainer import StackedTrainer, TrainingSettings
from tests.unit.trainings import assert_same_trainings

SETTINGS = TrainingSettings(learning_rate=0.01, weight_decay=1e-3, epochs=40, patience=15, seed=21)


def random_graph(undirected=False, splits=4, nodes=60, features=3, metric="accuracy", seed=0):
    """Two noisy clusters; the splits have training sets of different sizes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, nodes)
    probability = np.where(labels[:, None] == labels, 0.2, 0.05)
    edges = np.stack(np.nonzero(rng.random((nodes, nodes)) < probability))
    if undirected:
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    masks = np.zeros((3, splits, nodes), dtype=bool)
    for split in range(splits):
        order = rng.permutation(nodes)
        train, validation, test = np.split(order, [20 + 2 * split, 40])
        masks[0, split, train] = masks[1, split, validation] = masks[2, split, test] = True
    x = (rng.normal(size=(nodes, features)) + labels[:, None]).astype(np.float32)
    return Graph(x, labels, edges, np.ones(edges.shape[1]), *masks, metric=metric)


def architecture(graph, **options):
    options = {"num_layers": 3, "decoder_layers": 2} | options
    return Architecture(graph.num_features, 8, graph.num_classes, **options)


def trainer_of(graph, splits=None, settings=SETTINGS, path="auto", device=None, **options):
    factors = factorize(sna(graph.edge_index, graph.edge_weight, graph.num_nodes))
    operator = Operator(factors, device=device)
    return StackedTrainer(architecture(graph, **options), graph, operator, settings, splits, path)


MODELS = {
    "powers": {"input_dropout": 0.2, "decoder_dropout": 0.1},
    "powers, no dropout": {},
    "reduced": {"encoder_layers": 2, "decoder_dropout": 0.2, "input_dropout": 0.1},
    "spectral": {"encoder_layers": 2, "undirected": True},
    "columns": {"normalize_layers": True, "decoder_dropout": 0.1, "input_dropout": 0.1},
    "general": {"normalize_layers": True, "encoder_layers": 2, "decoder_dropout": 0.1},
    "real, no ODE": {"equation": "heat", "complex_valued": False, "ode": False},
    "fixed": {"learn_exponent": False, "learn_step_size": False, "exponent": 0.5},
}


@pytest.fixture(params=MODELS, ids=lambda name: name.replace(", ", "-").replace(" ", "-"))
def model(request):
    options = dict(MODELS[request.param])
    graph = random_graph(options.pop("undirected", False))
    return graph, options


def test_a_split_among_others_trains_as_if_alone(model):
    graph, options = model
    together, alone = trainer_of(graph, **options), trainer_of(graph, [2], **options)
    for _ in range(10):
        together.step()
        alone.step()
    for name, value in alone.values.items():
        torch.testing.assert_close(together.values[name][2:3], value, rtol=1e-5, atol=1e-5)


def test_splits_of_other_sizes_beside_a_node_without_label():
    """The smaller split is padded: with what has a label, and is as finite as its own nodes."""
    graph = random_graph()
    graph.labels[0] = -1
    masks = {name: getattr(graph, name).copy() for name in ("train", "validation", "test")}
    for mask in masks.values():
        mask[:, 0] = False
    graph = replace(graph, **masks)
    together = trainer_of(graph)
    for _ in range(5):
        together.step()
    for split in range(4):
        alone = trainer_of(graph, [split])
        for _ in range(5):
            alone.step()
        for name, value in alone.values.items():
            torch.testing.assert_close(
                together.values[name][split : split + 1], value, rtol=1e-5, atol=1e-5
            )


def test_the_same_training_twice_is_equal_bit_for_bit(model):
    graph, options = model
    first, second = (trainer_of(graph, **options).train_all() for _ in range(2))
    assert_same_trainings(first, second)


def test_a_resumed_training_is_equal_bit_for_bit(model, tmp_path):
    graph, options = model
    undisturbed = trainer_of(graph, **options).train_all()
    killed = trainer_of(graph, **options)
    for _ in range(27):
        killed.step()
    torch.save(killed.state_dict(), tmp_path / "state.pt")
    resumed = trainer_of(graph, **options)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert_same_trainings(undisturbed, resumed.train_all())


@pytest.mark.parametrize("complex_valued", [True, False])
def test_the_second_moment_is_a_matter_of_complex_numbers(complex_valued):
    graph, parts = random_graph(), replace(SETTINGS, second_moment="parts")
    options = {"equation": "heat", "complex_valued": complex_valued}
    trainers = [trainer_of(graph, settings=one, **options) for one in (SETTINGS, parts)]
    for trainer in trainers:
        for _ in range(5):
            trainer.step()
    by_modulus, by_parts = (trainer.values["channel_mixing"] for trainer in trainers)
    assert torch.equal(by_modulus, by_parts) != complex_valued


@pytest.mark.parametrize(
    ("name", "value"), [("second_moment", "both"), ("epochs", 0), ("epochs", -1), ("patience", 1.5)]
)
def test_settings_of_a_training_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value!r}"):
        replace(SETTINGS, **{name: value})


def test_every_path_trains_alike():
    graph = random_graph(undirected=True)
    options = {"input_dropout": 0.2, "decoder_dropout": 0.1}
    trainers = [
        trainer_of(graph, path=path, **options)
        for path in ("powers", "spectral", "reduced", "general")
    ]
    for _ in range(10):
        for trainer in trainers:
            trainer.step()
    for trainer in trainers[1:]:
        for name, value in trainers[0].values.items():
            torch.testing.assert_close(trainer.values[name], value, rtol=1e-4, atol=1e-4)


def test_early_stopping_follows_its_definition():
    """Against a plain loop: evaluate after each step, keep the strictly best, stop by patience."""
    graph = random_graph(splits=1)
    history, parameters = [], []
    unlimited = trainer_of(graph, settings=TrainingSettings(0.01, 1e-3, 40, 1000))
    while not unlimited.done:
        unlimited.step()
        if unlimited.splits:
            parameters.append(copy.deepcopy({n: v.detach() for n, v in unlimited.values.items()}))
    path = unlimited.path

    mask = torch.from_numpy(graph.validation)
    for values in parameters:
        with torch.no_grad():
            logits = path.logits(values, [Request(path.operator.all_nodes)])[0]
        labels = torch.from_numpy(graph.labels)[None]
        history.append(accuracy(logits, labels, mask).item())
    patience = 5
    best, best_epoch, stopped = -1.0, 0, len(history)
    for epoch, value in enumerate(history, start=1):
        if value > best:
            best, best_epoch = value, epoch
        if epoch - best_epoch >= patience:
            stopped = epoch
            break
    trained = trainer_of(graph, settings=TrainingSettings(0.01, 1e-3, 40, patience)).train_all()[0]
    assert (trained.best_epoch, trained.epochs) == (best_epoch, stopped)
    assert stopped < 40, "patience must strike for the test to say anything"
    assert trained.validation == pytest.approx(best)
    for name, value in trained.parameters.items():
        torch.testing.assert_close(value, parameters[best_epoch - 1][name][0])


def test_results_do_not_depend_on_when_they_are_looked_at(monkeypatch):
    """On a GPU the trainer looks at its results every few epochs only."""
    graph = random_graph()
    often = trainer_of(graph, decoder_dropout=0.1).train_all()
    rarely = trainer_of(graph, decoder_dropout=0.1)
    monkeypatch.setattr(rarely, "_sync", lambda: rarely.epoch % 7 == 0)
    for one, other in zip(often, rarely.train_all(), strict=True):
        assert (one.split, one.best_epoch, one.epochs) == (
            other.split,
            other.best_epoch,
            other.epochs,
        )


def test_finished_splits_leave_the_stack():
    graph = random_graph()
    trainer = trainer_of(graph, settings=TrainingSettings(0.01, 1e-3, 200, 10))
    widths = []
    trainer.train_all(lambda trainer: widths.append(len(trainer.splits)))
    assert widths[0] == 4 and widths[-1] == 0
    assert len(set(widths)) > 2


def test_a_split_whose_loss_is_not_finite_ends_there_without_a_result():
    graph = random_graph()
    trainer = trainer_of(graph, path="reduced", num_layers=60, step_size=1e4)
    trained = trainer.train_all()
    assert [(one.diverged_at, one.best_epoch, one.epochs) for one in trained] == [(1, 0, 1)] * 4
    laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes)
    report = evaluate(trainer.path, trained[0], graph, laplacian)
    assert report["test"] is None and report["dirichlet_energy"] is None
    assert (report["epochs"], report["diverged_at"]) == (1, 1)


def test_a_split_that_diverges_late_keeps_its_best_epoch_and_the_others_go_on(monkeypatch):
    graph = random_graph()
    trainer, undisturbed = trainer_of(graph), trainer_of(graph)
    losses = StackedTrainer._losses

    def diverging(self, logits):
        found = losses(self, logits)
        if self is trainer and self.epoch == 7:
            found = found * torch.where(torch.arange(len(found)) == 2, torch.nan, 1.0)
        return found

    monkeypatch.setattr(StackedTrainer, "_losses", diverging)
    trained, expected = trainer.train_all(), undisturbed.train_all()
    assert [one.diverged_at for one in trained] == [None, None, 8, None]
    assert 1 <= trained[2].best_epoch <= 7 and trained[2].epochs == 8
    assert all(value.isfinite().all() for value in trained[2].parameters.values())
    for split in (0, 1, 3):
        assert trained[split].best_epoch == expected[split].best_epoch


def test_logits_that_are_no_numbers_never_count_as_the_best():
    graph = random_graph()
    trainer = trainer_of(graph)
    for _ in range(3):
        trainer.step()
    before = trainer.best.clone()
    trainer.best.fill_(-torch.inf)
    logits = torch.full((4, 2, trainer.validation.labels.shape[1]), torch.nan)
    logits[1] = 0.0
    trainer._evaluate(logits)
    assert trainer.best.isinf().tolist() == [True, False, True, True]
    assert before.isfinite().all()


def test_evaluation_reports_the_best_epoch():
    graph = random_graph()
    trainer = trainer_of(graph)
    trained = trainer.train_all()
    laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes)
    for one in trained:
        report = evaluate(trainer.path, one, graph, laplacian)
        initial, _, logits = states_and_logits(trainer.path, one)
        labels = torch.from_numpy(graph.labels)[None]
        recomputed = {
            name: accuracy(logits, labels, torch.from_numpy(mask[one.split][None])).item()
            for name, mask in (("validation", graph.validation), ("test", graph.test))
        }
        assert report["validation"] == one.validation == recomputed["validation"]
        assert report["test"] == recomputed["test"]
        assert 0 <= report["test"] <= 1 and 0 <= report["train"] <= 1
        assert 0 <= report["dirichlet_energy"] <= 1
        expected = normalized_dirichlet_energy(laplacian, initial)
        assert 0 < expected == report["initial_dirichlet_energy"] != report["dirichlet_energy"]
        assert report["diverged_at"] is None
        assert len(report["exponent"]) == 1 and len(report["channel_mixing"][0]) == 8


@pytest.mark.parametrize("options", [{}, {"equation": "heat", "complex_valued": False}])
def test_evaluation_reports_what_a_model_of_the_same_parameters_has(options):
    graph = random_graph()
    factors = factorize(sna(graph.edge_index, graph.edge_weight, graph.num_nodes))
    trainer = trainer_of(graph, shared_weights=False, **options)
    one = trainer.train_all()[0]
    laplacian = sna(graph.edge_index, graph.edge_weight, graph.num_nodes)
    report = evaluate(trainer.path, one, graph, laplacian)
    model = FLODE(3, 8, 2, 3, decoder_layers=2, shared_weights=False, **options)
    model.load_parameters(one.parameters)
    states = [state.numpy() for state in model.trajectory(graph.features, factors)]
    energies = [normalized_dirichlet_energy(laplacian, state) for state in states]
    assert report["initial_dirichlet_energy"] == pytest.approx(energies[0], rel=1e-4)
    assert report["dirichlet_energy"] == pytest.approx(energies[-1], rel=1e-4)
    assert report["exponent"] == pytest.approx(one.parameters["exponent"].tolist())
    for name in ("step_size", "channel_mixing"):
        expected = model.complex_parameter(name).numpy()
        parts = np.array(report[name])
        found = parts[..., 0] + 1j * parts[..., 1] if parts.shape[-1] == 2 else parts[..., 0]
        assert np.array_equal(found, expected), name
        assert len(found) == 3 and np.iscomplexobj(expected) == (not options)


@pytest.mark.parametrize("metric", ["accuracy", "auroc"])
def test_a_split_whose_logits_are_no_numbers_has_no_result(metric):
    graph = random_graph(metric=metric)
    trainer = trainer_of(graph)
    one = trainer.train_all()[0]
    node = int(np.flatnonzero(graph.test[0])[0])
    graph.features[node] = 3e38
    operator = trainer.path.operator
    path = make_path(trainer.architecture, operator, Features(graph.features), "general")
    report = evaluate(path, one, graph, sna(graph.edge_index, None, graph.num_nodes))
    assert all(report[name] is None for name in RESULTS)
    assert report["diverged_at"] == one.best_epoch and report["epochs"] == one.epochs


def test_what_is_no_number_is_not_ranked_and_has_no_class():
    logits = torch.tensor([[[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]]]).repeat(2, 1, 1)
    labels = torch.tensor([[1, 0, 0]]).repeat(2, 1)
    counted = torch.ones(2, 3, dtype=torch.bool)
    assert auroc(logits, labels, counted).tolist() == [1, 1]
    logits[0, 1, 1] = torch.nan
    assert auroc(logits, labels, counted).isnan().tolist() == [True, False]
    assert accuracy(logits, labels, counted).tolist() == [2 / 3, 1]
    counted[0, 1] = False
    assert auroc(logits, labels, counted).tolist() == [1, 1]


def test_a_trainer_goes_on_from_anothers_state_without_touching_it():
    graph = random_graph()
    undisturbed = trainer_of(graph).train_all()
    donor, other = trainer_of(graph), trainer_of(graph, settings=replace(SETTINGS, patience=3))
    for _ in range(2):
        donor.step()
    other.load_state_dict(donor.state_dict())
    other.train_all()
    assert_same_trainings(donor.train_all(), undisturbed)
    with pytest.raises(RuntimeError, match="all splits have stopped"):
        donor.step()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("infinite", [False, True])
def test_auroc_agrees_with_scikit_learn(seed, infinite):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randint(-3, 4, (3, 2, 50), generator=generator).float()  # with ties
    if infinite:  # scikit-learn refuses such scores: a larger one than all others ranks alike
        logits[:, 1, ::7], logits[:, 0, ::7] = torch.inf, 0
    labels = torch.randint(0, 2, (3, 50), generator=generator)
    counted = torch.rand(3, 50, generator=generator) > 0.3
    ours = auroc(logits, labels, counted)
    for row in range(3):
        chosen = counted[row]
        scores = (logits[row, 1] - logits[row, 0])[chosen].clamp(max=100)
        assert ours[row].item() == pytest.approx(roc_auc_score(labels[row][chosen], scores))


def test_accuracy_counts_only_what_counts():
    logits = torch.tensor([[[2.0, 0.0, 5.0, 1.0], [1.0, 3.0, 0.0, 2.0]]])
    labels = torch.tensor([[0, 1, 1, 0]])
    assert accuracy(logits, labels, torch.tensor([[True, True, True, False]])).item() == 2 / 3


def test_rows_too_many_to_keep_are_gathered_at_each_use(model, monkeypatch):
    graph, options = model
    expected = trainer_of(graph, **options)
    monkeypatch.setattr(operator_module, "MAX_GATHERED", 0)
    streamed = trainer_of(graph, **options)
    assert expected.train.nodes.gathered and not streamed.train.nodes.gathered
    for _ in range(5):
        expected.step()
        streamed.step()
    for name, value in expected.values.items():
        torch.testing.assert_close(streamed.values[name], value, rtol=1e-5, atol=1e-6)
