"""Snakemake in a subprocess, on a copy of the workflow's folders by link."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from tests.configuration import ROOT, merge, trimmed

LINKED = ("Snakefile", "workflow", "config", "profiles", "flode")


def working_copy(folder: Path, overlay: dict) -> Path:
    """A folder from which Snakemake runs the repository's workflow, with an overlay beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    write_overlay(folder, overlay)
    return folder


def small_copy(folder: Path, overlay: dict) -> Path:
    """A working copy whose configuration is ``trimmed``."""
    working_copy(folder, overlay)
    (folder / "config").unlink()
    (folder / "config").mkdir()
    files = trimmed()
    for path in (ROOT / "config").iterdir():
        if path.stem in files:
            text = yaml.safe_dump(files[path.stem], allow_unicode=True)
            (folder / "config" / path.name).write_text(text, encoding="utf-8")
        else:
            (folder / "config" / path.name).symlink_to(path)
    return folder


def write_overlay(folder: Path, *overlays: dict) -> None:
    merged = {}
    for overlay in overlays:
        merged = merge(merged, overlay)
    (folder / "overlay.yaml").write_text(yaml.safe_dump(merged), encoding="utf-8")


def snakemake(folder: Path, *arguments: str, check=True, timeout=300, **options):
    """Run Snakemake in a working copy with its overlay; targets come first.

    Returns:
        The finished process, with everything it printed in ``stdout``.
    """
    done = subprocess.run(
        [*command(), *arguments, "--configfile", "overlay.yaml", "--cores", "2"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        timeout=timeout,
        **options,
    )
    if check:
        assert done.returncode == 0, done.stdout
    return done


def command() -> list[str]:
    return [sys.executable, "-m", "snakemake"]


def environment() -> dict:
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def without_times(path: Path) -> dict:
    """A run file without what differs from one call to the next."""
    document = json.loads(path.read_text())
    for record in document["records"]:
        assert record.pop("seconds") > 0
    return document
