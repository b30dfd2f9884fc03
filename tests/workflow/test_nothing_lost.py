"""A full disk, a read-only folder, two users at once: clear errors, nothing lost."""

import os
import shutil
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
VARIANT = "dsbm-alpha0.1-beta0.2"
FACTORS = f"{PREFIX}/factors/{VARIANT}.safetensors"
RUN = f"{PREFIX}/runs/{VARIANT}/default/splits-0-1.json"
CLAIM = f"{PREFIX}/.partial/{VARIANT}/default/splits-0-1.lock"
#: A quarter of a minute of training, and more.
LONG = {
    "datasets": {"dsbm": {"hyperparameters": {"epochs": 3500, "patience": 3500}}},
    "variants": {VARIANT: {"hyperparameters": {"hidden_channels": 64}}},
}
SNAKEMAKE = [*command(), RUN, "--configfile", "overlay.yaml", "--cores", "2"]


def mounting(folder, *lines):
    """Run shell lines where file systems can be mounted that no other process sees."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"]).returncode:
        pytest.skip("no user namespaces here, which a full or read-only disk is made with")
    return subprocess.run(
        ["unshare", "-rm", "bash", "-ec", "\n".join(lines), "bash", *SNAKEMAKE],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment() | {"FLODE_CHECKPOINT_SECONDS": "0"},
        timeout=300,
    )


def names(folder):
    return sorted(path for path in (folder / PREFIX).rglob("*") if path.is_file())


def test_a_full_disk_is_named_and_the_next_call_ends_as_if_it_had_not_been(tmp_path):
    disturbed = working_copy(tmp_path / "disturbed", TINY)
    undisturbed = working_copy(tmp_path / "undisturbed", TINY)
    snakemake(undisturbed, RUN)
    snakemake(disturbed, FACTORS)
    done = mounting(
        disturbed,
        f"cp -a {PREFIX} before",
        f"mount -t tmpfs -o size=1m tmpfs {PREFIX}",
        f"cp -a before/. {PREFIX}",
        f"cat /dev/zero > {PREFIX}/filler || true",
        '"$@" && exit 1',
        f"find {PREFIX} -name '*.tmp*' -o -path '*/runs/*.json' | sed 's/^/HALF-WRITTEN /'",
        f"rm {PREFIX}/filler",
        'echo "SPACE AGAIN"; "$@"',
        f"cp -a {PREFIX} after",
    )
    assert done.returncode == 0, done.stdout
    full, freed = done.stdout.split("SPACE AGAIN")
    assert f"OSError: [Errno 28] No space left on device: '{RUN}'" in full
    assert "no checkpoint: [Errno 28] No space left on device" in full
    assert "the log ends here" in full and "Logging error" not in full
    assert "HALF-WRITTEN" not in full
    assert "Factorising" not in freed, "what was made before is kept"
    after = disturbed / "after" / RUN.removeprefix(f"{PREFIX}/")
    assert without_times(after) == without_times(undisturbed / RUN)


def test_a_read_only_folder_is_named_and_left_as_it_is(tmp_path):
    folder = working_copy(tmp_path, TINY)
    snakemake(folder, FACTORS)
    before = {path: path.read_bytes() for path in names(folder)}
    done = mounting(
        folder,
        f"mount --bind {PREFIX} {PREFIX}",
        f"mount -o remount,bind,ro {PREFIX}",
        '"$@"',
    )
    assert done.returncode != 0
    assert f"Read-only file system: '{PREFIX}/runs'" in done.stdout, done.stdout
    assert before == {path: path.read_bytes() for path in names(folder)}


def training(folder):
    """A call, and the process that trains for it once it is at work."""
    call = subprocess.Popen(
        SNAKEMAKE, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    claim, deadline = folder / CLAIM, time.monotonic() + 120
    while not (claim.exists() and claim.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert call.poll() is None
    return call, claim.read_text()


def assert_refused(folder, target, words):
    done = snakemake(folder, target, check=False)
    assert done.returncode != 0
    assert words in done.stdout


def test_of_two_users_of_one_working_copy_the_second_is_told_and_the_first_undisturbed(tmp_path):
    folder = working_copy(tmp_path, TINY)
    write_overlay(folder, TINY, LONG)
    first, worker = training(folder)
    assert_refused(folder, RUN, "Directory cannot be locked")
    # A call that ends, in whatever way, takes Snakemake's locks of all others with it.
    for _ in range(2):
        assert_refused(folder, "clean", f"nothing is removed: {PREFIX} is in use")
    assert not (folder / ".snakemake" / "locks").exists()
    assert_refused(folder, RUN, f"the same training is at work, {worker}")
    assert first.poll() is None, "the first had ended before the second came"
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output
    assert len(without_times(folder / RUN)["records"]) == 2
    snakemake(folder, "clean")
    assert not (folder / RUN).exists() and not (folder / CLAIM).exists()


def test_a_training_that_outlives_its_call_is_known_and_one_that_does_not_is_no_obstacle(tmp_path):
    folder = working_copy(tmp_path, TINY)
    write_overlay(folder, TINY, LONG)
    first, worker = training(folder)
    first.kill()
    first.wait()
    snakemake(folder, "--unlock")
    try:
        assert_refused(folder, "clean", f"nothing is removed: a training is at work, {worker}")
        assert_refused(folder, RUN, f"the same training is at work, {worker}")
    finally:
        os.kill(int(worker.split()[1]), signal.SIGKILL)
    snakemake(folder, "clean")
    assert not (folder / CLAIM).exists()
