"""The whole DAG on tiny graphs; bad configurations; killed runs; reruns."""

import json
import os
import signal
import subprocess
import time

import pytest

from tests.configuration import TINY
from tests.workflow_runner import (
    command,
    environment,
    small_copy,
    snakemake,
    without_times,
    working_copy,
    write_overlay,
)

PREFIX = TINY["results"]
DSBM = [
    f"{PREFIX}/tables/dsbm.tex",
    f"{PREFIX}/tables/dsbm_hyperparameters.tex",
    f"{PREFIX}/figures/dsbm.pdf",
]
SEARCH = f"{PREFIX}/search/dsbm.csv"
RUN = f"{PREFIX}/runs/dsbm-alpha0.1-beta0.2/default/splits-0-1.json"


def content(folder, pattern="**/*"):
    """Results by name, run files without what differs from run to run."""
    found = {}
    for path in sorted((folder / PREFIX).glob(pattern)):
        if not path.is_file() or {"logs", "benchmarks"} & set(path.parts):
            continue
        name = str(path.relative_to(folder))
        found[name] = without_times(path) if path.suffix == ".json" else path.read_bytes()
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A working copy in which everything has been made once."""
    folder = small_copy(tmp_path_factory.mktemp("whole"), TINY)
    done = snakemake(folder, *DSBM, SEARCH)
    return folder, done.stdout


def test_everything_is_made(finished):
    folder, _ = finished
    for name in ("tables/dsbm.tex", "tables/dsbm_hyperparameters.csv", "figures/dsbm.pdf"):
        assert (folder / PREFIX / name).stat().st_size > 0
    assert (folder / PREFIX / "search/dsbm.csv").exists()
    assert not list((folder / PREFIX).rglob("*.tmp*"))


def test_every_job_has_its_log(finished):
    folder, _ = finished
    logs = sorted((folder / PREFIX / "logs").rglob("*.log"))
    assert len(logs) == 3 + 3 + 3 + 2 + 2 + 1 + 1
    for log in logs:
        assert "graphs" in log.parts or log.stat().st_size or "figures" in log.parts, log


def test_nothing_is_left_to_do(finished):
    folder, _ = finished
    done = snakemake(folder, *DSBM, SEARCH, "-n")
    assert "Nothing to be done" in done.stdout


def test_the_same_command_gives_the_same_files(finished, tmp_path):
    folder, _ = finished
    again = small_copy(tmp_path, TINY)
    snakemake(again, *DSBM)
    first, second = content(folder), content(again)
    assert len(second) == 3 * 3 + 2 * 2 + 3
    for name, value in second.items():
        assert first[name] == value, name


@pytest.mark.parametrize(
    ("change", "rerun", "kept"),
    [
        ({"factors": {"tolerance": 0.0001}}, {"factorize_graphs", "train"}, {"generate_graphs"}),
        (
            {"variants": {"dsbm-alpha0.1-beta0.2": {"hyperparameters": {"weight_decay": 0.5}}}},
            {"train", "table", "figure"},
            {"generate_graphs", "factorize_graphs"},
        ),
        (
            {"device": "auto", "threads": 2, "data": {"mirror": "/x"}},
            set(),
            {"generate_graphs", "train", "table"},
        ),
        (
            {"tables": {"dsbm": {"caption": "Another."}}},
            {"table", "figure"},
            {"train", "factorize_graphs"},
        ),
    ],
    ids=["tolerance", "weight-decay", "device", "caption"],
)
def test_a_change_reruns_what_depends_on_it_and_nothing_else(finished, change, rerun, kept):
    folder, _ = finished
    write_overlay(folder, TINY, change)
    try:
        done = snakemake(folder, *DSBM, "-n")
    finally:
        write_overlay(folder, TINY)
    jobs = {line.split()[0] for line in done.stdout.splitlines() if line[:1].isalpha()}
    assert rerun <= jobs
    assert not kept & jobs


def test_models_are_kept_of_the_runs_named_and_no_other_run_is_trained_again(tmp_path):
    folder = working_copy(tmp_path, TINY)
    variants = [f"dsbm-alpha0.1-beta{beta}" for beta in ("0.2", "0.3")]
    study = {
        "studies": {
            "own": {
                "kind": "truncated_svd",
                "graphs": {name: name for name in variants},
                "series": {"ranks": {"points": [{"rank": None}]}},
            }
        }
    }
    target = f"{PREFIX}/studies/own.csv"
    kept = {"training": {"save_models": [variants[1]]}}
    runs = [folder / f"{PREFIX}/runs/{name}/default/splits-0-1.json" for name in variants]
    write_overlay(folder, TINY, study)
    snakemake(folder, target)
    plain = [(without_times(run), run.stat().st_mtime_ns) for run in runs]

    write_overlay(folder, TINY, study, kept)
    snakemake(folder, target)
    again = [(without_times(run), run.stat().st_mtime_ns) for run in runs]
    assert again[0] == plain[0], "a run that is not named is left alone"
    assert again[1][0] == plain[1][0] and again[1][1] > plain[1][1]
    (models,) = (folder / PREFIX / "models").rglob("*.safetensors")
    assert models.parts[-3:] == (variants[1], "default", "splits-0-1.safetensors")
    assert "Nothing to be done" in snakemake(folder, target, "-n").stdout

    write_overlay(folder, TINY, study)
    done = snakemake(folder, target)
    assert models.exists() and "Training" not in done.stdout
    assert again == [(without_times(run), run.stat().st_mtime_ns) for run in runs]


def test_a_bad_configuration_is_refused_before_any_job(tmp_path):
    folder = working_copy(tmp_path, TINY)
    write_overlay(folder, TINY, {"hyperparameters": {"learning_rte": 0.1}})
    done = snakemake(folder, "all", check=False)
    assert done.returncode != 0
    assert "unknown key 'learning_rte' (did you mean 'learning_rate'?), value 0.1" in done.stdout
    assert not (folder / PREFIX).exists()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("runs/dsbm-alpha0.1-beta0.2/layrs=3/splits-0-1.json", "did you mean 'layers'"),
        ("runs/dsbm-alpha0.1-beta0.2/default/splits-0-7.json", "has splits 0 to 1"),
        (
            "runs/chameleon/default/splits-0-9.json",
            "'chameleon-directed' or 'chameleon-undirected'",
        ),
        ("graphs/corra.npz", "did you mean 'cora'"),
        ("report/tables/dsbn.html", "did you mean 'dsbm'"),
        ("report/search/dsbn.html", "did you mean 'dsbm'"),
    ],
)
def test_a_bad_target_is_refused_before_any_job(tmp_path, target, words):
    folder = working_copy(tmp_path, TINY)
    done = snakemake(folder, f"{PREFIX}/{target}", check=False)
    assert done.returncode != 0 and words in done.stdout
    assert not (folder / PREFIX / "graphs").exists()


def test_a_diverging_run_says_so_and_has_no_result(tmp_path):
    overlay = {"hyperparameters": {"initial_step_size": 1.0e30}}
    folder = working_copy(tmp_path, TINY)
    write_overlay(folder, TINY, overlay)
    done = snakemake(folder, RUN)
    words = "dsbm-alpha0.1-beta0.2/default: the loss or a logit of split 0 is not finite at epoch 1"
    assert words in done.stdout
    records = json.loads((folder / RUN).read_text())["records"]
    assert [(record["test"], record["diverged_at"]) for record in records] == [(None, 1)] * 2


def test_a_killed_run_resumes_and_gives_the_undisturbed_result(tmp_path):
    """Killed hard in the middle of a training, started again: equal to the last bit."""
    long = {
        "datasets": {"dsbm": {"hyperparameters": {"epochs": 400, "patience": 400}}},
        "variants": {"dsbm-alpha0.1-beta0.2": {"hyperparameters": {"hidden_channels": 64}}},
    }
    disturbed = working_copy(tmp_path / "disturbed", TINY)
    undisturbed = working_copy(tmp_path / "undisturbed", TINY)
    for folder in (disturbed, undisturbed):
        write_overlay(folder, TINY, long)
    snakemake(undisturbed, RUN)
    process = subprocess.Popen(
        [*command(), RUN, "--configfile", "overlay.yaml", "--cores", "2"],
        cwd=disturbed,
        env=environment() | {"FLODE_CHECKPOINT_SECONDS": "0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    partial = disturbed / PREFIX / ".partial"
    deadline = time.monotonic() + 120
    while not list(partial.rglob("splits-*.pt")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert list(partial.rglob("splits-*.pt")), "killed before the first checkpoint"
    assert not (disturbed / RUN).exists(), "killed too late to say anything"
    snakemake(disturbed, "--unlock", check=False)
    done = snakemake(disturbed, RUN)
    assert "resuming from" in done.stdout and "going on at epoch" in done.stdout
    assert without_times(disturbed / RUN) == without_times(undisturbed / RUN)
    assert not list(partial.rglob("*.pt"))


def test_the_workflow_lints(finished):
    folder, _ = finished
    done = subprocess.run(
        [*command(), "--lint"], cwd=folder, capture_output=True, text=True, env=environment()
    )
    complaints = [line for line in done.stderr.splitlines() if line.strip().startswith("*")]
    assert complaints
    environment_alone = "Specify a conda environment or container"
    assert all(environment_alone in line for line in complaints), done.stderr
