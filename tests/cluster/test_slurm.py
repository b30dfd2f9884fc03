"""The tiny workflow through a Slurm that runs on this machine alone.

Run on demand, as root, with Slurm, munge and the executor plugin installed::

    apt-get install slurm-wlm munge
    pip install -c constraints.txt -e '.[test,slurm]'
    pytest -m cluster tests/cluster
"""

import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
import yaml

from tests.configuration import ROOT, TINY, merge
from tests.workflow_runner import (
    command,
    environment,
    snakemake,
    without_times,
    working_copy,
)

pytestmark = pytest.mark.cluster

START = Path(__file__).with_name("start_slurm.sh")
PROFILE = ROOT / "profiles" / "slurm" / "config.yaml"
PREFIX = TINY["results"]
VARIANT = "dsbm-alpha0.1-beta0.2"
RUN = f"{PREFIX}/runs/{VARIANT}/default/splits-0-1.json"
OTHER = f"{PREFIX}/runs/{VARIANT}/model=gcn/splits-0-1.json"
FACTORS = f"{PREFIX}/factors/{VARIANT}.safetensors"

#: This Slurm has no accounting, and tiny jobs are soon over.
HERE = ("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2")
#: Where a number of cores is seen to arrive that is not everything's default.
TWO_CORES = ("--set-threads", "factorize_graphs=2")
LONG = merge(
    TINY,
    {
        "datasets": {"dsbm": {"hyperparameters": {"epochs": 400, "patience": 400}}},
        "variants": {VARIANT: {"hyperparameters": {"hidden_channels": 64}}},
    },
)


@pytest.fixture(scope="module", autouse=True)
def slurm():
    """A cluster of this one machine, for as long as these tests run."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        # Daemons outlive the script and would hold a pipe open: what it says goes to a file.
        words = Path(folder, "start.log")
        with words.open("w") as log:
            started = subprocess.run([START, folder], stdout=log, stderr=log, check=False)
        if started.returncode == 77:
            pytest.skip(words.read_text().strip())
        assert started.returncode == 0, words.read_text()
        try:
            yield
        finally:
            subprocess.run([START, folder, "stop"], check=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Working copies in which runs have been made without Slurm: a short one and a long one."""
    folders = {}
    for name, overlay, arguments in (("short", TINY, (OTHER, *TWO_CORES)), ("long", LONG, ())):
        folders[name] = working_copy(tmp_path_factory.mktemp(name), overlay)
        snakemake(folders[name], RUN, *arguments)
    return folders


def slurm_command(*arguments, profile="profiles/slurm"):
    settings = ["--workflow-profile", profile, "--configfile", "overlay.yaml"]
    return [*command(), *arguments, *settings, *HERE]


def start(folder, *arguments, profile="profiles/slurm"):
    """Snakemake, submitting jobs, in the background; it writes to a file, as jobs outlive it."""
    with (folder / "snakemake.out").open("w") as output:
        return subprocess.Popen(
            slurm_command(*arguments, profile=profile),
            cwd=folder,
            env=environment() | {"FLODE_CHECKPOINT_SECONDS": "0"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def finish(process, folder):
    """Its exit status and what it printed, at the end."""
    try:
        status = process.wait(timeout=400)
    finally:
        process.kill()
    return status, (folder / "snakemake.out").read_text()


def jobs(folder):
    """What Slurm knows of the jobs of a working copy, by rule, in the order of their start."""
    shown = subprocess.run(
        ["scontrol", "--oneliner", "show", "jobs"], capture_output=True, text=True, check=True
    )
    found = {}
    for line in shown.stdout.splitlines():
        job = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if job["WorkDir"] == str(folder):
            rule = re.match(r"rule_(\w+?)_wildcards_", job["Comment"])[1]
            found.setdefault(rule, []).append(job)
    for same_rule in found.values():
        same_rule.sort(key=lambda job: job["StartTime"])
    return found


def site_profile(folder):
    """The profile as a site edits it: its partitions named, and a training given a GPU.

    Trainings themselves stay on the CPU. The GPUs of this Slurm are no GPUs.
    """
    text = PROFILE.read_text()
    for line in ("slurm_partition: cpu", "train: {slurm_partition: gpu}"):
        assert f"  # {line}\n" in text
        text = text.replace(f"  # {line}\n", f"  {line}\n")
    profile = yaml.safe_load(text)
    profile["set-resources"]["train"]["gpu"] = 1
    (folder / "site").mkdir()
    (folder / "site" / "config.yaml").write_text(yaml.safe_dump(profile))
    return "site"


@pytest.fixture(scope="module")
def submitted(tmp_path_factory):
    """A working copy in which a run of FLODE and one of another model have been made through Slurm,
    by the profile as it is."""
    folder = working_copy(tmp_path_factory.mktemp("submitted"), TINY)
    status, words = finish(start(folder, RUN, OTHER, *TWO_CORES), folder)
    assert status == 0, words
    return folder


@pytest.mark.parametrize("run", [RUN, OTHER], ids=["FLODE", "another model"])
def test_slurm_makes_the_run_that_is_made_without_it(submitted, undisturbed, run):
    assert without_times(submitted / run) == without_times(undisturbed["short"] / run)


@pytest.mark.parametrize(
    ("rule", "cores", "memory", "limit"),
    [
        ("generate_graphs", "1", "1000M", "00:10:00"),
        ("factorize_graphs", "2", "2000M", "02:00:00"),
        ("train", "1", "2000M", "04:00:00"),
    ],
)
def test_what_a_rule_asks_for_reaches_slurm(submitted, rule, cores, memory, limit):
    job = jobs(submitted)[rule][0]
    assert job["NumCPUs"] == job["CPUs/Task"] == cores
    assert job["MinMemoryNode"] == memory
    assert job["TimeLimit"] == limit
    assert job["Requeue"] == "1"
    assert job["JobState"] == "COMPLETED" and job["Partition"] == "cpu"
    assert "gpu" not in job["TRES"] and "TresPerJob" not in job


def test_gpu_jobs_go_to_their_partition_as_many_at_once_as_allowed(tmp_path):
    folder = working_copy(tmp_path / "gpu", TINY)
    other = RUN.replace("default", "layers=2")
    process = start(folder, RUN, other, "--resources", "gpu=1", profile=site_profile(folder))
    status, words = finish(process, folder)
    assert status == 0, words
    found = jobs(folder)
    (generated,) = found["generate_graphs"]
    assert generated["Partition"] == "cpu" and "TresPerJob" not in generated
    first, second = found["train"]
    for job in (first, second):
        assert job["Partition"] == "gpu"
        assert job["TresPerJob"] == "gres:gpu:1" and job["NumCPUs"] == "1"
    assert first["EndTime"] <= second["StartTime"]


def kill_training(folder, job):
    """Kill the process that trains, as a crash would; Slurm sees its job fail."""
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_text().split("\0")
            here = (process / "cwd").readlink() == folder
        except (OSError, ValueError):  # gone by now, or no process
            continue
        if here and any(word.endswith(".train.py") for word in words):
            os.kill(int(process.name), signal.SIGKILL)
            return
    pytest.fail("no process trains")


def cancel(folder, job):
    subprocess.run(["scancel", job["JobId"]], check=True)


def requeue(folder, job):
    """As Slurm does itself when a node is lost or the job preempted."""
    subprocess.run(["scontrol", "requeue", job["JobId"]], check=True)
    # Slurm would wait two minutes before it starts such a job again.
    deadline = time.monotonic() + 60
    while jobs(folder)["train"][0]["JobState"] != "PENDING" and time.monotonic() < deadline:
        time.sleep(0.2)
    subprocess.run(["scontrol", "update", f"JobId={job['JobId']}", "StartTime=now"], check=True)


@pytest.mark.parametrize(
    ("disturb", "arguments", "survives"),
    [
        (cancel, ["--retries", "0"], False),
        (kill_training, [], True),
        (requeue, ["--retries", "0"], True),
    ],
    ids=["cancelled-and-started-again", "killed-and-retried", "requeued-by-slurm"],
)
def test_a_disturbed_training_gives_the_undisturbed_result(
    undisturbed, tmp_path, disturb, arguments, survives
):
    folder = working_copy(tmp_path / "disturbed", LONG)
    snakemake(folder, FACTORS)
    process = start(folder, RUN, *arguments)
    partial = folder / PREFIX / ".partial"
    try:
        deadline = time.monotonic() + 120
        while not list(partial.rglob("splits-*.pt")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert list(partial.rglob("splits-*.pt")), (folder / "snakemake.out").read_text()
        disturb(folder, jobs(folder)["train"][0])
        assert not (folder / RUN).exists(), "disturbed too late to say anything"
    finally:
        status, words = finish(process, folder)
    assert (status == 0) == survives, words
    if not survives:
        assert list(partial.rglob("splits-*.pt")) and not (folder / RUN).exists()
        status, words = finish(start(folder, RUN), folder)
        assert status == 0, words
    log = (folder / PREFIX / "logs" / Path(RUN).relative_to(PREFIX)).with_suffix(".log")
    assert "resuming from" in log.read_text() and "going on at epoch" in log.read_text()
    assert without_times(folder / RUN) == without_times(undisturbed["long"] / RUN)
    assert not list(partial.rglob("*.pt"))
