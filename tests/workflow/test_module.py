"""The workflow as a module of another: the example, and what may go wrong."""

import re
import shutil
import subprocess

import pytest
import yaml

import flode
from tests.configuration import ROOT
from tests.workflow_runner import command, environment, working_copy

RUN = "results/runs/dsbm-dense/default/splits-0-1"


@pytest.fixture
def example(tmp_path):
    """The example beside links to the repository's workflow."""
    working_copy(tmp_path, {})
    folder = tmp_path / "examples" / "module"
    shutil.copytree(ROOT / "examples" / "module", folder)
    return folder


def run(folder, *arguments, check=True):
    done = subprocess.run(
        [*command(), *arguments, "--cores", "2"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        timeout=300,
    )
    if check:
        assert done.returncode == 0, done.stdout
    return done.stdout


def change(folder, old, new):
    text = (folder / "Snakefile").read_text()
    assert text.count(old) == 1
    (folder / "Snakefile").write_text(text.replace(old, new))


def test_the_example_trains_its_variant_and_reads_the_run(example):
    config = yaml.safe_load((example / "config.yaml").read_text())
    config["flode"]["training"] = {"save_models": ["dsbm-dense"]}
    (example / "config.yaml").write_text(yaml.safe_dump(config))
    run(example)
    accuracy = float((example / "accuracies" / "dsbm-dense.txt").read_text())
    assert 60 < accuracy <= 100, "five clusters of a dense DSBM are told apart; chance has 20 %"
    predictions = flode.load_predictions(
        (example / RUN.replace("runs", "models")).with_suffix(".safetensors"), split=1
    )
    assert predictions.shape == (300, 5)
    assert "Nothing to be done" in run(example, "-n")
    run(example, "flode_clean")
    left = {path.name for path in (example / "results").rglob("*") if path.is_file()}
    assert left == {"clean.log"}
    assert (example / "accuracies" / "dsbm-dense.txt").exists()


def test_all_targets_of_the_module_are_there(example):
    """Default variants, tables with their published numbers, and figures, by its own rules."""
    everything = run(example, "-n", "flode_all")
    jobs = {line.split()[0] for line in everything.splitlines() if line.startswith("flode_")}
    assert {"flode_train", "flode_table", "flode_figure", "flode_download", "flode_all"} <= jobs
    # A published file that is not found would be a missing input.
    assert "flode_table" in run(example, "-n", "results/tables/node_classification.tex")


def test_the_command_lines_configuration_is_the_outer_workflows(example):
    nested = "flode={training: {splits_per_job: 2}}"
    assert "flode_train" in run(example, "-n", "--config", "other=1", nested)
    refused = run(example, "-n", "--config", "flode={tables: {dsbn: null}}", check=False)
    assert "tables.dsbn is null" in refused


def test_a_module_without_a_configuration_is_the_workflow_as_it_is(example):
    change(example, '    config:\n        config["flode"]', "    skip_validation:\n        True")
    (example / "config.yaml").write_text("{}\n")
    printed = run(example, "-n", "results/runs/dsbm-alpha0.1-beta0.2/default/splits-0-4.json")
    assert "flode_train" in printed


def test_the_definition_that_other_tools_look_for_is_the_same_workflow(tmp_path):
    folder = working_copy(tmp_path, {})
    printed = run(folder, "-n", "-s", "workflow/Snakefile")
    counted = [dict(re.findall(r"^(\w+) +(\d+)$", run(folder, "-n"), re.MULTILINE))]
    counted.append(dict(re.findall(r"^(\w+) +(\d+)$", printed, re.MULTILINE)))
    assert counted[0] == counted[1] and counted[0]["all"] == "1"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '    config:\n        config["flode"]',
            '    prefix:\n        "own"\n    config:\n        config["flode"]',
            "prefix is not allowed here; set `results`",
        ),
        (
            '    config:\n        config["flode"]',
            "    config:\n        config",
            "unknown key 'flode'",
        ),
    ],
    ids=["prefix", "unknown-key"],
)
def test_what_does_not_fit_is_refused(example, old, new, words):
    change(example, old, new)
    printed = run(example, "-n", check=False)
    assert words in printed and "flode_train" not in printed
