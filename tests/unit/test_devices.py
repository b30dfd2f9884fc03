"""Devices: what may be asked for, which GPU a job takes, TF32, and words where memory is out."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

import flode.experiments.factorization as factorization
import flode.experiments.runs as runs
from flode import devices
from flode.datasets.graph import Graph
from flode.experiments.catalogue import Run
from flode.experiments.factorization import factorize_graphs
from flode.experiments.runs import run_configuration
from tests.configuration import ROOT, TINY, catalogue
from tests.unit.trainings import tiny_files

VARIANT = "dsbm-alpha0.1-beta0.2"
OUT_OF_MEMORY = {
    "of a GPU": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.\nMore"),
    "of PyTorch's on a processor": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory:"
        " you tried to allocate 400000000000000 bytes."
    ),
    "of PyTorch's on Windows": RuntimeError("DefaultCPUAllocator: not enough memory: you tried"),
    "of cuSOLVER": RuntimeError("cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling"),
    "of NumPy": MemoryError("Unable to allocate 7.11 PiB"),
    "of Python": MemoryError(),
}


@pytest.fixture(autouse=True)
def _nothing_remembered():
    devices.resolve_device.cache_clear()
    yield
    devices.resolve_device.cache_clear()


@pytest.fixture
def gpus(monkeypatch, tmp_path):
    """A machine on which torch sees two GPUs."""

    def properties(number):
        return SimpleNamespace(uuid=f"GPU-{number}")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", properties)
    monkeypatch.setattr(devices.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(devices, "_claims", [])
    return tmp_path


def test_names_of_devices(gpus):
    assert devices.resolve_device("cpu") == torch.device("cpu")
    assert devices.resolve_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(ValueError, match=r"device is 'cuda:2', but torch sees cuda:0 to cuda:1"):
        devices.resolve_device("cuda:2")
    for name in ("gpu", "mps", "cuda:x"):
        with pytest.raises(ValueError, match=rf"device is '{name}'; allowed are auto, cpu, cuda,"):
            devices.resolve_device(name)


def test_without_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.resolve_device("auto") == torch.device("cpu")
    for name in ("cuda", "cuda:0"):
        with pytest.raises(ValueError, match=rf"device is '{name}', but torch sees no GPU.*cpu"):
            devices.resolve_device(name)


def test_jobs_take_gpus_in_turn_and_keep_theirs(gpus):
    def other_process():
        """As a process of its own, which shares no claim with this one."""
        devices.resolve_device.cache_clear()
        return devices.resolve_device("cuda").index

    first = devices.resolve_device("auto")
    assert first == devices.resolve_device("auto") == torch.device("cuda", 0)
    assert [other_process() for _ in range(4)] == [1, 0, 1, 0]
    devices._claims[1].close()  # that process ends
    assert other_process() == 1


def test_a_gpu_is_free_again_when_its_process_ends(gpus):
    code = (
        "import fcntl, sys; lock = open(sys.argv[1], 'w'); fcntl.flock(lock, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    folder = gpus / f"flode-gpus-{devices.os.getuid()}"
    folder.mkdir()
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(folder / "GPU-0-0")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout.readline() == "held\n"
    assert devices.resolve_device("cuda").index == 1
    holder.kill()
    holder.communicate()
    devices.resolve_device.cache_clear()
    assert devices.resolve_device("cuda").index == 0


@pytest.mark.parametrize(
    ("device", "driver", "build", "expected"),
    [
        ("auto", True, "2.13.0", True),
        ("auto", True, "2.13.0+cpu", False),
        ("auto", False, "2.13.0", False),
        ("cuda:1", False, "2.13.0+cpu", True),
        ("cpu", True, "2.13.0", False),
    ],
)
def test_which_jobs_take_a_gpu(device, driver, build, expected, monkeypatch):
    monkeypatch.setattr(devices.shutil, "which", lambda name: "/bin/x" if driver else None)
    monkeypatch.setattr(devices, "version", lambda name: build)
    assert devices.wants_gpu(device) is expected


def test_tf32_by_the_new_name_and_by_the_old(monkeypatch):
    new, old = SimpleNamespace(fp32_precision="none"), SimpleNamespace(allow_tf32=True)
    for products, name, values in ((new, "fp32_precision", ("tf32", "ieee")),
                                   (old, "allow_tf32", (True, False))):  # fmt: skip
        monkeypatch.setattr(torch.backends.cuda, "matmul", products)
        for allowed, value in zip((True, False), values, strict=True):
            devices.set_tf32(allowed)
            assert getattr(products, name) == value
        assert len(vars(products)) == 1


@pytest.fixture
def files(tmp_path):
    return tiny_files(tmp_path, VARIANT)


def raising(error):
    def raises(*arguments, **options):
        raise error

    return raises


@pytest.mark.parametrize("error", OUT_OF_MEMORY.values(), ids=OUT_OF_MEMORY)
def test_a_training_without_memory_says_what_to_lower(error, files, monkeypatch):
    monkeypatch.setattr(runs.StackedTrainer, "step", raising(error))
    settings = catalogue(TINY).run_settings(Run(VARIANT))
    with pytest.raises(MemoryError) as caught:
        run_configuration(settings, *files, [0, 1], device="cpu")
    message = str(caught.value)
    assert message.startswith(f"{VARIANT}/default on cpu: out of memory. Lower rank (all")
    assert "hidden_channels (4)" in message
    assert "splits_per_job" not in message  # these splits are graphs, one after another
    assert caught.value.__cause__ is error
    assert "\n" not in message


def test_splits_side_by_side_and_a_gpu_are_named_where_there_are_such():
    settings = catalogue().run_settings(Run("chameleon-directed"))
    message = runs._advice(settings, range(10), torch.device("cuda", 0))
    assert message.startswith("Lower training.splits_per_job (10 splits side by side), or lower")
    assert message.endswith("or set device: cpu.")
    assert "splits_per_job" not in runs._advice(settings, [3], torch.device("cpu"))


def test_a_factorisation_without_memory_says_what_to_lower(files, monkeypatch):
    monkeypatch.setattr(factorization, "factorize", raising(OUT_OF_MEMORY["of a GPU"]))
    settings = catalogue(TINY).factor_settings(VARIANT)
    with pytest.raises(MemoryError, match=r"factorisation of .*graphs.npz on cpu: out of memory"):
        list(factorize_graphs(files[0], settings, "cpu"))
    graph = SimpleNamespace(num_nodes=20_000)
    advice = factorization._advice({"rank": None}, graph, torch.device("cuda", 0))
    assert "Lower the variant's rank (none" in advice and "device: cpu" in advice
    assert "3.0 GiB" in advice


def test_other_errors_come_as_they_are(files, monkeypatch):
    error = RuntimeError("size mismatch")
    monkeypatch.setattr(runs.StackedTrainer, "step", raising(error))
    with pytest.raises(RuntimeError) as caught:
        run_configuration(catalogue(TINY).run_settings(Run(VARIANT)), *files, [0], device="cpu")
    assert caught.value is error


def test_a_rank_that_names_more_than_the_nodes_is_refused_where_they_are_counted(files):
    nodes = Graph.load(files[0]).num_nodes
    settings = catalogue(TINY).run_settings(Run(VARIANT, f"rank={nodes + 1}"))
    with pytest.raises(ValueError, match=rf"rank={nodes + 1}: rank is .*; at most {nodes} is"):
        run_configuration(settings, *files, [0], device="cpu")
    # A default of all graphs is none of this one, and the largest rank is one.
    for overlay, name in [({"rank": nodes + 1}, "default"), ({}, f"rank={nodes}")]:
        found = catalogue(TINY | {"hyperparameters": overlay})
        settings = found.train_settings(Run(VARIANT, name))
        assert run_configuration(settings, *files, [0], device="cpu")["records"]


@pytest.mark.parametrize(("name", "prefix"), [("train", "train: "), ("", "")])
def test_the_advice_reaches_the_terminal_without_a_traceback(tmp_path, name, prefix):
    code = (
        f"from flode.logs import start_log; start_log('job.log', '{name}');"
        "raise MemoryError('x on cpu: out of memory. Lower rank.')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"{prefix}MemoryError: x on cpu: out of memory. Lower rank.",
        f"{prefix}the traceback is in job.log",
    ]


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("KeyboardInterrupt", "interrupted; the next call does this job again"),
        ("KeyboardInterrupt('interrupted at epoch 3')", "interrupted at epoch 3"),
    ],
)
def test_an_interrupted_job_says_so_without_a_traceback(tmp_path, raised, told):
    code = f"from flode.logs import start_log; start_log('job.log', 'train'); raise {raised}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode != 0 and done.stderr == f"train: {told}\n"
    (line,) = (tmp_path / "job.log").read_text().splitlines()
    assert line.endswith(told)


def test_an_interrupted_training_says_where_and_what_is_kept(files, tmp_path, monkeypatch):
    step = runs.StackedTrainer.step

    def interrupted(trainer):
        if trainer.epoch == 2:
            raise KeyboardInterrupt
        return step(trainer)

    monkeypatch.setattr(runs.StackedTrainer, "step", interrupted)
    settings, checkpoint = catalogue(TINY).run_settings(Run(VARIANT)), tmp_path / "run.pt"
    for then in ("starts it anew", "goes on from the last checkpoint"):
        told = f"^{VARIANT}/default: interrupted at epoch 2; the next call {then}$"
        with pytest.raises(KeyboardInterrupt, match=told):
            run_configuration(settings, *files, [0], device="cpu", checkpoint=checkpoint)
        monkeypatch.setattr(runs.Checkpoint, "save_sometimes", runs.Checkpoint.save)


def test_tf32_is_in_every_run(files):
    settings = catalogue(TINY | {"training": {"tf32": True}}).run_settings(Run(VARIANT))
    document = run_configuration(settings, *files, [0], device="cpu")
    assert document["training"]["tf32"] is True
    devices.set_tf32(False)
