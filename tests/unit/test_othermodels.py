"""Models that are not FLODE: how they are trained, named, kept and refused."""

import copy
import datetime
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCN

import flode
from flode.datasets.graph import Graph
from flode.experiments import runs
from flode.experiments.catalogue import Run
from flode.experiments.models import TrainedModels
from flode.experiments.othermodels import load_class, own_file, package_versions
from flode.experiments.validation import ConfigurationError, check_removed
from flode.training.metrics import METRICS
from flode.training.module import ModuleTrainer, graph_inputs
from flode.training.trainer import TrainingSettings
from tests.configuration import ROOT, TINY, catalogue, configuration, merge
from tests.own_model import OwnModel
from tests.unit.test_training import random_graph
from tests.unit.trainings import tiny_files

VARIANT = "dsbm-alpha0.1-beta0.2"
OWN = {"models": {"own": {"class": "tests/own_model.py:OwnModel"}}}
OVERLAY = merge(TINY, OWN)
GRAPH = random_graph()
CPU = torch.device("cpu")


def trainer_of(make=None, graph=GRAPH, split=0, names=("x", "edge_index"), **settings):
    settings = {"learning_rate": 0.02, "weight_decay": 0.01, "epochs": 30, "patience": 8} | settings
    inputs = graph_inputs(graph, names, "target_to_source", CPU)
    make = make or (lambda: OwnModel(graph.num_features, graph.num_classes))
    return ModuleTrainer(make, inputs, graph, TrainingSettings(**settings), split, CPU)


def train(settings, overlay=OVERLAY, configuration="model=own", splits=(0, 1), **options):
    """A run on tiny graphs, as the rule makes it."""
    found, run = catalogue(overlay), Run(VARIANT, configuration)
    factors = settings.get("factors") if "factors" in found.training_inputs(run) else None
    return runs.run_configuration(
        found.train_settings(run),
        settings["graphs"],
        factors,
        list(splits),
        device="cpu",
        model_class=found.model_class(run),
        **options,
    )


@pytest.fixture
def files(tmp_path):
    return dict(zip(("graphs", "factors"), tiny_files(tmp_path, VARIANT), strict=True))


@pytest.mark.parametrize("metric", ["accuracy", "auroc"])
def test_training_is_the_usual_loop(metric):
    """Written out: Adam on the training nodes, the epoch of the best validation metric."""
    graph = random_graph(metric=metric)
    trainer = trainer_of(graph=graph, split=2, seed=5)
    (trained,) = trainer.train_all()
    record = trainer.record(trained)
    torch.manual_seed(5)
    model = OwnModel(graph.num_features, graph.num_classes)
    x, edges = torch.from_numpy(graph.features), torch.from_numpy(graph.edge_index).flip(0)
    labels = torch.from_numpy(graph.labels)
    masks = [torch.from_numpy(m[2]) for m in (graph.train, graph.validation, graph.test)]
    adam = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=0.01)
    best, waited, epoch = {"validation": -1.0}, 0, 0
    while waited < 8 and epoch < 30:
        model.train()
        adam.zero_grad()
        torch.nn.functional.cross_entropy(model(x, edges)[masks[0]], labels[masks[0]]).backward()
        adam.step()
        model.eval()
        epoch += 1
        with torch.no_grad():
            logits = model(x, edges)
        found = [float(METRICS[metric](logits.T[None], labels[None], mask[None])) for mask in masks]
        waited += 1
        if found[1] > best["validation"]:
            best = dict(zip(("train", "validation", "test"), found, strict=True))
            best["best_epoch"], waited = epoch, 0
    assert record == best | {"epochs": epoch, "diverged_at": None}
    assert 0 < best["best_epoch"] < epoch


@pytest.mark.parametrize("stop", [1, 7, 15])
def test_a_training_goes_on_bit_for_bit(tmp_path, stop):
    (expected,) = trainer_of(seed=3, patience=30).train_all()
    part = trainer_of(seed=3, patience=30)
    for _ in range(stop):
        part.step()
    torch.save(part.state_dict(), tmp_path / "state.pt")
    for _ in range(3):
        part.step()  # what is saved does not change with it
    torch.manual_seed(99)
    again = trainer_of(seed=3, patience=30)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert again.epoch == stop
    (found,) = again.train_all()
    assert (found.best_epoch, found.validation) == (expected.best_epoch, expected.validation)
    for name, value in expected.parameters.items():
        assert torch.equal(value, found.parameters[name]), name


class KilledError(BaseException):
    pass


def test_a_killed_run_ends_with_the_same_records(files, tmp_path, monkeypatch):
    expected = train(files)
    side = tmp_path / "side" / "own" / "splits-0-1.pt"
    monkeypatch.setattr(runs.Checkpoint, "save_sometimes", runs.Checkpoint.save)
    steps, step = [], ModuleTrainer.step

    def killed(self):
        if len(steps) == 6:  # in the second split: of each there are three epochs or four
            raise KilledError
        steps.append(1)
        step(self)

    monkeypatch.setattr(ModuleTrainer, "step", killed)
    with pytest.raises(KilledError):
        train(files, checkpoint=side)
    assert side.exists()
    monkeypatch.setattr(ModuleTrainer, "step", lambda self: (steps.append(1), step(self)))
    found = train(files, checkpoint=side)
    assert len(steps) == sum(record["epochs"] for record in expected["records"])
    for document in (found, expected):
        for record in document["records"]:
            assert record.pop("seconds") > 0
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(expected))


@pytest.mark.parametrize("configuration", ["model=gcn", "model=gat", "model=mlp"])
def test_models_of_the_repository_train(files, configuration):
    document = train(files, configuration=configuration)
    assert document["hyperparameters"]["model"] == configuration.partition("=")[2]
    assert [record["split"] for record in document["records"]] == [0, 1]
    assert all(0 <= record["test"] <= 1 for record in document["records"])


def test_a_model_may_take_the_factors(files, tmp_path):
    (tmp_path / "filters.py").write_text(
        "import torch\n"
        "class Filter(torch.nn.Module):\n"
        "    def __init__(self, in_channels, out_channels):\n"
        "        super().__init__()\n"
        "        self.linear = torch.nn.Linear(in_channels, out_channels)\n"
        "    def forward(self, x, factors):\n"
        "        assert factors.left.dtype == factors.right.dtype == torch.float32\n"
        "        values = factors.values.to(x)\n"
        "        return self.linear(x + factors.left * values @ (factors.right.T @ x))\n"
    )
    entry = {"class": f"{tmp_path}/filters.py:Filter", "inputs": ["x", "factors"]}
    overlay = merge(TINY, {"models": {"filter": entry}})
    document = train(files, overlay, "model=filter")
    assert document["origin"]["factors"]["flow"] == "target_to_source"
    assert document["model"]["class"] == "filters.py:Filter"


@pytest.mark.parametrize("flow", ["target_to_source", "source_to_target"])
def test_messages_move_as_those_of_flode(flow):
    """A node's sum over its neighbours is its row of the adjacency that the SNA normalises."""
    x, edges, weights = graph_inputs(GRAPH, ["x", "edge_index", "edge_weight"], flow, CPU)
    found = torch.zeros_like(x).index_add(0, edges[1], weights[:, None] * x[edges[0]])
    laplacian = flode.sna(GRAPH.edge_index, GRAPH.edge_weight, GRAPH.num_nodes, flow)
    adjacency = np.zeros((GRAPH.num_nodes,) * 2)
    rows, columns = GRAPH.edge_index if flow == "target_to_source" else GRAPH.edge_index[::-1]
    np.add.at(adjacency, (rows, columns), GRAPH.edge_weight)
    assert ((adjacency > 0) == (laplacian.toarray() > 0)).all()
    np.testing.assert_allclose(found, adjacency @ GRAPH.features, rtol=1e-4, atol=1e-5)


def test_kept_parameters_give_the_kept_logits(files, tmp_path):
    models = TrainedModels()
    document = train(files, models=models)
    models.save(tmp_path / "models.safetensors", document)
    for record in document["records"]:
        split = record["split"]
        graph = Graph.load(files["graphs"], split)
        model = OwnModel(graph.num_features, graph.num_classes)
        model.load_state_dict(flode.load_parameters(tmp_path / "models.safetensors", split))
        names = ("x", "edge_index")
        logits = model.eval()(*graph_inputs(graph, names, "target_to_source", CPU))
        stored = flode.load_predictions(tmp_path / "models.safetensors", split)
        torch.testing.assert_close(logits.detach(), stored)
        labels, mask = torch.from_numpy(graph.labels), torch.from_numpy(graph.test[0])
        right = (stored.argmax(dim=1) == labels)[mask].float().mean()
        assert float(right) == pytest.approx(record["test"])
    with pytest.raises(ValueError, match=r"its model is own, own_model\.py:OwnModel"):
        flode.load_model(tmp_path / "models.safetensors")


def test_parameters_are_kept_as_they_are(tmp_path):
    """Those that share their memory, of any type, and one with the name of the logits."""
    models = TrainedModels()
    weight = torch.randn(4, 4, dtype=torch.float64)
    own = {"one": weight, "other": weight.T, "count": torch.tensor(3), "logits": torch.ones(2)}
    models.add(0, {f"parameters.{name}": value for name, value in own.items()}, torch.zeros(2, 2))
    document = {"records": [{"split": 0}], "hyperparameters": {"model": "own"}}
    models.save(tmp_path / "models.safetensors", document)
    found = flode.load_parameters(tmp_path / "models.safetensors")
    assert set(found) == set(own)
    for name, value in own.items():
        assert torch.equal(found[name], value) and found[name].dtype == value.dtype
    with pytest.raises(ValueError, match="edges is a sparse tensor"):
        models.add(1, {"edges": torch.eye(2).to_sparse()}, torch.zeros(2, 2))


def test_keywords_are_the_models_own():
    keywords = {"rows": {"a": None}, "models": {"b": None}, "norm": None}
    overlay = {"models": {"own": OWN["models"]["own"] | {"keywords": keywords}}}
    found = catalogue(overlay)
    check_removed(configuration(overlay), [])
    assert found.run_settings(Run("cora", "model=own"))["model"]["keywords"] == keywords


def test_a_module_of_ones_own_counts_by_its_bytes_and_an_installed_one_by_its_version(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").touch()
    (tmp_path / "mine" / "net.py").write_text("class Net: pass\n")
    (tmp_path / "alone.py").write_text("class Net: pass\n")
    assert own_file("mine.net:Net") == Path("mine/net.py")
    assert own_file("alone:Net") == Path("alone.py")
    assert own_file("torch_geometric.nn:GCN") is None and own_file("json:JSONDecoder") is None
    assert own_file("not_there.net:Net") is None
    assert set(package_versions("torch_geometric.nn:GCN")) == {"torch-geometric"}
    assert set(package_versions("sklearn.base:X")) == {"torch-geometric", "scikit-learn"}


def test_a_file_hides_no_installed_package(tmp_path):
    (tmp_path / "numpy.py").write_text("import neighbour, random\nclass Net: pass\n")
    (tmp_path / "random.py").write_text("raise RuntimeError\n")
    (tmp_path / "neighbour.py").write_text("import numpy\nassert numpy.ndarray\n")
    before = list(sys.path)
    try:
        assert load_class(f"{tmp_path}/numpy.py:Net").__name__ == "Net"
    finally:
        sys.path[:] = before
    assert sys.modules["numpy"] is np


def test_who_made_it_says_so(files, tmp_path):
    code = (ROOT / "tests" / "own_model.py").read_text()
    (tmp_path / "own_model.py").write_text(code)
    overlay = merge(TINY, {"models": {"own": {"class": f"{tmp_path}/own_model.py:OwnModel"}}})
    theirs, ours = train(files, overlay), train(files)
    assert theirs["model"] == ours["model"]
    assert theirs["commit"].endswith("+untracked") and not ours["commit"].endswith("+untracked")
    assert "torch-geometric" in ours["versions"]


class Random(OwnModel):
    """Draws from all global generators."""

    def forward(self, x, edge_index):
        if self.training:
            x = x * (1 + 0.1 * np.random.rand() + 0.1 * random.random())  # noqa: NPY002
        return super().forward(x, edge_index)


def test_all_generators_start_from_the_seed_and_go_on(tmp_path):
    def trainer(seed):
        return trainer_of(lambda: Random(3, 2), seed=seed, patience=30)

    (expected,), (another,) = trainer(3).train_all(), trainer(4).train_all()
    part = trainer(3)
    for _ in range(5):
        part.step()
    torch.save(part.state_dict(), tmp_path / "state.pt")
    again = trainer(5)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    (found,) = again.train_all()
    weights = [one.parameters["decoder.weight"] for one in (expected, found, another)]
    assert torch.equal(*weights[:2]) and not torch.equal(*weights[1:])


class Diverging(OwnModel):
    """Its logits are no numbers from some training step on."""

    def forward(self, x, edge_index):
        self.steps = getattr(self, "steps", 0) + self.training
        return super().forward(x, edge_index) * (torch.nan if self.steps > 4 else 1)


@pytest.mark.parametrize("after", [4, 0])
def test_a_loss_that_is_no_number_ends_a_split(after):
    trainer = trainer_of(lambda: Diverging(3, 2))
    trainer.model.steps = 4 - after
    (trained,) = trainer.train_all()
    record = trainer.record(trained)
    assert record["diverged_at"] == after + 1 == record["epochs"]
    if after:
        trainer.model.steps = 0
        record = trainer.record(trained)
        assert 0 < record["best_epoch"] <= after and record["test"] is not None
    else:
        assert record["best_epoch"] is None and record["test"] is None


def test_names_say_model_and_training_only():
    found = catalogue(OVERLAY)
    run = found.run(VARIANT, {"model": "gcn", "weight_decay": 0.0005, "patience": 7})
    assert run.configuration == "model=gcn,patience=7"  # the entry's own weight decay goes unsaid
    assert found.hyperparameters(run) == {
        "model": "gcn", "learning_rate": 0.01, "weight_decay": 0.0005, "epochs": 4, "patience": 7,
        "seed": 1000,
    }  # fmt: skip
    assert set(found.training_inputs(run)) == {"graphs"}
    assert set(found.training_inputs(Run(VARIANT))) == {"graphs", "factors"}
    assert "model" not in found.run_settings(Run(VARIANT))
    assert "factors" not in found.run_settings(run)["origin"]


def test_a_model_may_be_another_on_some_graphs():
    variants = {"cora": {"keywords": {"width": 16}, "hyperparameters": {"learning_rate": 0.1}}}
    entry = OWN["models"]["own"] | {
        "keywords": {"width": 4, "dropout": 0.1},
        "hyperparameters": {"learning_rate": 0.2, "weight_decay": 0.3},
        "variants": variants,
    }
    found = catalogue({"models": {"own": entry}})
    for variant, width, rate in (("cora", 16, 0.1), ("citeseer", 4, 0.2)):
        settings = found.run_settings(Run(variant, "model=own"))
        assert settings["model"]["keywords"] == {"width": width, "dropout": 0.1}
        assert settings["hyperparameters"]["learning_rate"] == rate
        assert settings["hyperparameters"]["weight_decay"] == 0.3
    assert found.run("cora", {"model": "own", "learning_rate": 0.1}).configuration == "model=own"


def test_a_search_may_choose_among_models():
    grid = {"model": ["flode", "gcn"], "learning_rate": [0.01, 0.02]}
    search = {"searches": {"own": {"grid": grid, "variants": ["cora"]}}}
    names = [run.configuration for run in catalogue(search).searched_runs("own")]
    assert names == ["default", "learning_rate=0.02", "model=gcn", "model=gcn,learning_rate=0.02"]


def test_a_run_depends_on_the_bytes_of_its_models_file(tmp_path):
    file = tmp_path / "code.py"
    overlay = {"models": {"own": {"class": f"{file}:OwnModel"}}}
    hashes = []
    for text in ("class OwnModel: pass\n", "class OwnModel: pass  # changed\n"):
        file.write_text(text)
        settings = catalogue(overlay).run_settings(Run("cora", "model=own"))
        assert settings["model"]["class"] == "code.py:OwnModel"
        hashes.append(settings["model"]["sha256"])
    assert hashes[0] != hashes[1]


def test_a_models_file_is_found_in_the_workflows_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = catalogue(OWN).model_class(Run("cora", "model=own"))
    assert Path(found) == ROOT / "tests" / "own_model.py:OwnModel"
    assert load_class(found).__name__ == "OwnModel"


REFUSED = {
    "unknown model": ("model=gnc", r"no 'gnc' among models \(did you mean 'gcn'\?\)"),
    "no text": ("model=3", "model is 3"),
    "FLODE's hyperparameter": ("model=gcn,layers=3", "num_layers is a hyperparameter of FLODE"),
    "another order": ("learning_rate=0.1,model=gcn", "called 'model=gcn,learning_rate=0.1'"),
    "out of bounds": ("model=gcn,epochs=0", "epochs is 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_names_that_are_refused(case):
    configuration, message = REFUSED[case]
    with pytest.raises(ConfigurationError, match=message):
        catalogue(OWN).hyperparameters(Run("cora", configuration))


DATE = datetime.date(2020, 1, 1)
UNDIRECTED = {
    "undirected": {"columns": {"Cora": {"variant": "cora", "configuration": "model=gcn"}}}
}
WRONG = {
    "a default": ({"variants": {"cora": {"hyperparameters": {"model": "gcn"}}}}, "not allowed"),
    "a default of all": ({"hyperparameters": {"model": "gcn"}}, "not allowed here"),
    "FLODE's name": ({"models": {"flode": {"class": "a:B"}}}, "this name is taken"),
    "no name in YAML": ({"models": {"yes": {"class": "a:B"}}}, "YAML reads it"),
    "no class": ({"models": {"own": {"class": "torch.nn.Linear"}}}, "a colon, and the name"),
    "no file": ({"models": {"own": {"class": "mien.py:Own"}}}, "mien.py is no file"),
    "unknown input": ({"models": {"own": {"class": "a:B", "inputs": ["y"]}}}, "edge_weight"),
    "an unknown graph": (
        {"models": {"gcn": {"variants": {"coraa": {}}}}}, "'coraa' among variants .*'cora'",
    ),
    "FLODE's depth": (
        {"models": {"own": {"class": "a:B", "hyperparameters": {"num_layers": 2}}}},
        "num_layers",
    ),
    "an unknown row": ({"tables": {"baselines": {"rows": ["GNC"]}}}, "a row is 'GNC'"),
    "an unknown model": ({"tables": {"baselines": {"models": {"A": "gnc"}}}}, "no 'gnc' among"),
    "FLODE's row": ({"tables": {"baselines": {"models": {"FLODE": "gcn"}}}}, "row is taken"),
    "another kind": ({"tables": {"hyperparameters": {"models": {"A": "gcn"}}}}, "not allowed"),
    "a column of another": (
        {"tables": {"hyperparameters": {"subtables": UNDIRECTED}}},
        "is no run of FLODE",
    ),
    "a column that a row has too": (
        {"tables": {"baselines": {"subtables": UNDIRECTED}}}, "cora, model=gcn, is no run of FLODE",
    ),
    "FLODE's name, nearly": ({"models": {"Flode": {"class": "a:B"}}}, "this name is taken"),
    "a long name": ({"models": {"m" * 65: {"class": "a:B"}}}, "must match"),
    "a date": ({"models": {"own": {"class": "a:B", "keywords": {"since": DATE}}}}, "a date"),
    "FLODE's depth in a search": (
        {"searches": {"own": {"candidates": {"cora": [{"model": "gcn", "num_layers": 2}]}}}},
        "num_layers is a hyperparameter of FLODE",
    ),
    "an ablation's choice": (
        {"tables": {"ablation": {"choose": {"model": ["gcn"]}}}}, "the key is not allowed here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_configurations_that_are_refused(case):
    overlay, message = WRONG[case]
    with pytest.raises(ConfigurationError, match=message):
        catalogue(overlay)


@pytest.mark.parametrize(
    "text",
    [
        "class Own: pass",
        "try:\n    from theirs import Net as Own\nexcept ImportError:\n    Own = None",
        "if True:\n    class Own: pass",
        "Other = Own = make()",
        "Own: type = make()",
        "from theirs import *",
        "def __getattr__(name): return type(name, (), {})",
    ],
)
def test_a_file_may_define_or_import_its_class_in_any_way(tmp_path, text):
    (tmp_path / "own.py").write_text(text)
    catalogue({"models": {"own": {"class": f"{tmp_path}/own.py:Own"}}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "class Own2: pass\nraise RuntimeError",
            r"has no 'Own' \(did you mean 'Own2'\?\); allowed",
        ),
        ("class Other:\n    Own = 3", "has no 'Own'; allowed is a class that it"),
        ("def other():\n    Own = 3", "has no 'Own'"),
        ("import Own.other as other", "has no 'Own'"),
        ("class Own(:", "is no Python: invalid syntax"),
        ("\0", "is no Python"),
    ],
)
def test_a_file_without_the_class_is_refused_before_any_job(tmp_path, text, message):
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(ConfigurationError, match=rf"(?s)models.own.class is .*own.py {message}"):
        catalogue({"models": {"own": {"class": f"{tmp_path}/own.py:Own"}}})


CODE = {
    "in training only": (
        "import torch\nclass Own(torch.nn.Linear):\n"
        "    def __init__(self, in_channels, out_channels): super().__init__(in_channels, 5)\n"
        "    def forward(self, x, edge_index):\n"
        "        return (super().forward(x),) if self.training else super().forward(x)\n",
        "it returns a tuple",
    ),
    "whole numbers": (
        "import torch\nclass Own(torch.nn.Linear):\n"
        "    def __init__(self, in_channels, out_channels): super().__init__(in_channels, 5)\n"
        "    def forward(self, x, edge_index): return super().forward(x).long()\n",
        "it returns torch.int64",
    ),
    "in place": (
        "import torch\nclass Own(torch.nn.Linear):\n"
        "    def __init__(self, in_channels, out_channels): super().__init__(in_channels, 5)\n"
        "    def forward(self, x, edge_index): return super().forward(x.mul_(2))\n",
        "changes what it is given",
    ),
    "in place in training": (
        "import torch\nclass Own(torch.nn.Linear):\n"
        "    def __init__(self, in_channels, out_channels):\n"
        "        super().__init__(in_channels, 5)\n"
        "        self.dropout = torch.nn.Dropout(0.5, inplace=True)\n"
        "    def forward(self, x, edge_index): return super().forward(self.dropout(x))\n",
        "changes what it is given",
    ),
    "import": (
        "import not_there\nclass Own: pass\n", "ModuleNotFoundError: No module named 'not_there'",
    ),
    "name": ("Own = 3\n", "no class 'Own' in it"),
    "no module": ("class Own: pass\n", "TypeError: Own is no torch.nn.Module"),
    "keywords": (
        "import torch\nclass Own(torch.nn.Module):\n    pass\n", "unexpected keyword argument",
    ),
    "shape": (
        "import torch\nclass Own(torch.nn.Linear):\n"
        "    def __init__(self, in_channels, out_channels): super().__init__(in_channels, 7)\n"
        "    def forward(self, x, edge_index): return super().forward(x)\n",
        r"it returns torch.float32 of shape \(60, 7\); allowed are logits, .* \(60, 5\)",
    ),
    "no parameters": (
        "import torch\nclass Own(torch.nn.Module):\n"
        "    def __init__(self, in_channels, out_channels): super().__init__()\n"
        "    def forward(self, x, edge_index): return x[:, :1].repeat(1, 5)\n",
        "it has no parameter to train",
    ),
    "forward": (
        "import torch\nclass Own(torch.nn.Linear):\n"
        "    def __init__(self, in_channels, out_channels): super().__init__(in_channels, 5)\n"
        "    def forward(self, x, edge_index): return x @ x\n",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CODE)
def test_code_that_does_not_do_names_its_model(files, tmp_path, case):
    text, message = CODE[case]
    (tmp_path / "own_code.py").write_text(text)
    overlay = merge(TINY, {"models": {"own": {"class": f"{tmp_path}/own_code.py:Own"}}})
    with pytest.raises(ValueError, match=f"(?s)models.own, own_code.py:Own: .*{message}"):
        train(files, overlay)


def test_code_that_changes_the_factors_names_its_model(files, tmp_path):
    text, _ = CODE["in place"]
    text = text.replace("edge_index", "factors").replace(
        "x.mul_(2)", "x + factors.left.mul_(2).sum()"
    )
    (tmp_path / "own_code.py").write_text(text)
    entry = {"class": f"{tmp_path}/own_code.py:Own", "inputs": ["x", "factors"]}
    with pytest.raises(
        ValueError, match=r"models.own, own_code.py:Own: .*changes what it is given"
    ):
        train(files, merge(TINY, {"models": {"own": entry}}))


def test_a_model_may_change_its_keywords(files, tmp_path):
    """Those of the next split are the configured ones."""
    (tmp_path / "own_code.py").write_text(
        "import torch\n"
        "class Own(torch.nn.Sequential):\n"
        "    def __init__(self, in_channels, out_channels, widths):\n"
        "        widths.insert(0, in_channels)\n"
        "        widths.append(out_channels)\n"
        "        super().__init__(*map(torch.nn.Linear, widths, widths[1:]))\n"
    )
    entry = {"class": f"{tmp_path}/own_code.py:Own", "inputs": ["x"], "keywords": {"widths": [8]}}
    document = train(files, merge(TINY, {"models": {"own": entry}}), splits=[0, 1])
    assert len(document["records"]) == 2
    assert document["model"]["keywords"] == {"widths": [8]}


def test_logits_by_chance_are_told_of(caplog):
    trainer_of(lambda: Chance(3, 2))
    assert "differ between two evaluations" in caplog.text


class Chance(OwnModel):
    def forward(self, x, edge_index):
        return super().forward(x, edge_index) + torch.rand(())


def test_lazy_layers_get_their_sizes():
    trainer = trainer_of(lambda: GCN(-1, 4, 2, 2))
    (trained,) = trainer.train_all()
    assert trained.best_epoch > 0


def test_a_stopped_split_takes_no_further_step():
    trainer = trainer_of(epochs=2)
    trainer.train_all()
    with pytest.raises(RuntimeError, match="nothing left to train"):
        trainer.step()


def test_the_graphs_tensors_are_the_models_own():
    before = copy.deepcopy(GRAPH)
    inputs = graph_inputs(GRAPH, ["x", "edge_weight"], "source_to_target", CPU)
    for tensor in inputs:
        tensor.zero_()
    assert np.array_equal(before.features, GRAPH.features) and (GRAPH.edge_weight > 0).all()
