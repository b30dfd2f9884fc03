"""Single runs through the workflow: kept models, what is refused before any job, killed and
diverging trainings."""

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
    snakemake,
    without_times,
    working_copy,
    write_overlay,
)

PREFIX = TINY["results"]
RUN = f"{PREFIX}/runs/dsbm-alpha0.1-beta0.2/default/splits-0-1.json"


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
