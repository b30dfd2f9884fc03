"""What a GPU takes part in, on an emulated one: each tensor lies where it belongs, and results are
a processor's. Trainings, step by step, are in ``test_capture``."""

import contextlib
import copy

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from flode import FLODE, FactorizeSNA, devices
from flode.experiments.catalogue import Run
from flode.experiments.factorization import factorize_graphs
from flode.experiments.models import TrainedModels
from flode.experiments.runs import Checkpoint, StackedTrainer, run_configuration
from flode.spectral import factorize, sna
from flode.training.module import ModuleTrainer
from tests.configuration import TINY, catalogue
from tests.emulated_gpu import GPU, emulated_gpu
from tests.unit.trainings import tiny_files

VARIANT = "dsbm-alpha0.1-beta0.2"
NODES = 40
EDGES = torch.randint(NODES, (2, 150), generator=torch.Generator().manual_seed(0))
X = torch.randn(NODES, 5, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(devices.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(devices, "_claims", [])
    devices.resolve_device.cache_clear()
    with emulated_gpu(monkeypatch) as graphs:
        yield graphs
    devices.resolve_device.cache_clear()


def test_the_emulation_tells_devices_apart(gpu):
    """Were it not for this, the tests of what runs on it could not fail."""
    here, there = torch.ones(3), torch.ones(3, device=GPU)
    assert (here.device, there.device) == (torch.device("cpu"), GPU)
    assert (there * 2)[1:].device == (here.to(GPU) + there.sum()).device == GPU
    assert there.cpu().device == there.to(here).device == torch.device("cpu")
    for mix in (lambda: here + there, lambda: torch.stack([here, there]), lambda: there[here > 0]):
        with pytest.raises(RuntimeError, match="on the same device"):
            mix()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        there.numpy()
    leaf = there.clone().requires_grad_(True)
    (leaf * there).sum().backward()
    assert leaf.grad.device == GPU and leaf.grad.tolist() == [1.0] * 3


@pytest.mark.parametrize("undirected", [False, True], ids=["directed", "undirected"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_factors_of_a_gpu_are_of_the_same_matrix(gpu, undirected, dtype):
    edges = EDGES if not undirected else torch.cat([EDGES, EDGES.flip(0)], dim=1)
    laplacian = sna(edges.numpy(), None, NODES)
    one, other = (factorize(laplacian, 10, device=d, dtype=dtype) for d in ("cpu", "cuda"))
    assert other.left.device == torch.device("cpu") and other.left.dtype == torch.float64
    torch.testing.assert_close(other.values, one.values, rtol=0, atol=1e-6)
    right = [f.left if f.right is None else f.right for f in (one, other)]
    products = [f.left * f.values @ r.T for f, r in zip((one, other), right, strict=True)]
    torch.testing.assert_close(*products, rtol=0, atol=1e-5)


OPTIONS = {"powers": {}, "reduced": {"encoder_layers": 2}, "columns": {"normalize_layers": True}}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_model_moves_to_a_gpu_and_back(gpu, kind, options):
    data = FactorizeSNA(device="cuda")(Data(x=X, edge_index=EDGES, num_nodes=NODES))
    model = FLODE(5, 8, 3, 2, input_dropout=0.2, decoder_dropout=0.2, **options)
    model.reset_parameters(0)
    index = torch.tensor([3, 1, 7])
    x = X if kind == "dense" else sparse.csr_array(np.where(X > 0, X, 0))
    here, moved = copy.deepcopy(model).eval(), model.to("cuda").eval()
    there = data.to("cuda")
    assert there.factors.left.device == moved.channel_mixing.device == GPU
    on_gpu = x if kind == "sparse" else x.to("cuda")
    logits = moved(on_gpu, there.factors, index.to("cuda"))
    assert logits.device == GPU
    torch.testing.assert_close(logits.cpu(), here(x, data.factors, index), rtol=1e-4, atol=1e-5)
    moved.train()(on_gpu, there.factors).square().sum().backward()
    learned = [p for p in moved.parameters() if p.requires_grad]
    assert learned and all(parameter.grad.device == GPU for parameter in learned)
    assert moved.trajectory(on_gpu, there.factors)[-1].device == GPU
    assert moved.cpu()(x, data.cpu().factors).device == torch.device("cpu")


def test_a_run_on_a_gpu_killed_and_resumed_is_a_processors(gpu, tmp_path, monkeypatch):
    settings, files = catalogue(TINY).run_settings(Run(VARIANT)), tiny_files(tmp_path, VARIANT)
    expected = run_configuration(settings, *files, [0, 1], device="cpu")
    monkeypatch.setattr(Checkpoint, "save_sometimes", Checkpoint.save)
    step, steps = StackedTrainer.step, []

    def killed(trainer):
        assert trainer.device == GPU
        steps.append(trainer)
        if len(steps) == 6:
            raise KeyboardInterrupt
        step(trainer)

    monkeypatch.setattr(StackedTrainer, "step", killed)
    side, models = tmp_path / "side.pt", TrainedModels()
    for _ in range(2):
        try:
            document = run_configuration(
                settings, *files, [0, 1], device="auto", checkpoint=side, models=models
            )
        except KeyboardInterrupt:
            continue
    assert document["device"] == "an emulated GPU"
    assert all(tensor.device == torch.device("cpu") for tensor in models.tensors.values())
    for one, other in zip(document["records"], expected["records"], strict=True):
        assert one == other | {"seconds": one["seconds"]}


def test_another_model_on_a_gpu_killed_and_resumed_is_a_processors(gpu, tmp_path, monkeypatch):
    found, run = catalogue(TINY), Run(VARIANT, "model=gcn")
    settings, graphs = found.run_settings(run), tiny_files(tmp_path, VARIANT)[0]
    options = {"model_class": found.model_class(run)}
    expected = run_configuration(settings, graphs, None, [0, 1], device="cpu", **options)
    monkeypatch.setattr(Checkpoint, "save_sometimes", Checkpoint.save)
    # The emulated GPU draws from the processor's generator.
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: torch.get_rng_state())
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: None)
    step, steps = ModuleTrainer.step, []

    def killed(trainer):
        assert all(value.device == GPU for value in trainer.model.parameters())
        steps.append(trainer)
        if len(steps) == 6:
            raise KeyboardInterrupt
        step(trainer)

    monkeypatch.setattr(ModuleTrainer, "step", killed)
    options |= {"checkpoint": tmp_path / "side.pt", "models": TrainedModels()}
    for _ in range(2):
        with contextlib.suppress(KeyboardInterrupt):
            document = run_configuration(settings, graphs, None, [0, 1], device="auto", **options)
    assert document["device"] == "an emulated GPU" and len(steps) > 6
    tensors = options["models"].tensors.values()
    assert all(tensor.device == torch.device("cpu") for tensor in tensors)
    for one, other in zip(document["records"], expected["records"], strict=True):
        assert one == other | {"seconds": one["seconds"]}


def test_the_stage_of_factors_leaves_nothing_on_the_gpu(gpu, tmp_path):
    settings = catalogue(TINY).factor_settings(VARIANT)
    for factors in factorize_graphs(tiny_files(tmp_path, VARIANT)[0], settings, "auto"):
        assert factors.left.device == factors.values.device == torch.device("cpu")
        assert factors.left.dtype == torch.float32
