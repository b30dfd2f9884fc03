"""The report, one HTML file: Snakemake's own, of results that are there.

It is made by a second Snakemake on the same configuration, beside the first: it reads what that has
written, runs no job and needs no lock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from flode.files import atomic_write

#: Lines of the second Snakemake's output that an error shows.
_TAIL = 20


def make_report(
    config: Mapping[str, Any],
    snakefile: str | Path,
    items: Iterable[str | Path],
    output: str | Path,
) -> None:
    """Write the report of these files, whole or not at all.

    Args:
        config: the merged configuration.
        snakefile: the workflow's, beside its folder ``workflow``.
        items: files to show, relative to the working directory; outputs of the workflow that none
            of the others is made from.
        output: where to write; ends with ``.html``.

    Raises:
        FileNotFoundError: some of the items are missing; names them.
        RuntimeError: the second Snakemake failed; its last words are in the message.
    """
    items = [str(item) for item in items]
    if missing := [item for item in items if not Path(item).exists()]:
        raise FileNotFoundError(f"{output}: needs what is not there: {', '.join(missing)}")
    stylesheet = Path(snakefile).parent / "workflow" / "report" / "report.css"
    with atomic_write(output) as temporary:
        report = ["--report", str(temporary), "--report-stylesheet", str(stylesheet)]
        done = _snakemake(config, snakefile, [*items, *report])
        if done.returncode:
            tail = "\n".join(done.stdout.splitlines()[-_TAIL:])
            raise RuntimeError(f"{output}: snakemake --report failed:\n{tail}")


def forget(config: Mapping[str, Any], snakefile: str | Path, files: Iterable[str | Path]) -> None:
    """Have Snakemake take these files for made by hand: they are not what its jobs made."""
    # It fails where it has never known one of them, after it has forgotten the others.
    _snakemake(config, snakefile, ["--cleanup-metadata", *map(str, files)])


def _snakemake(
    config: Mapping[str, Any], snakefile: str | Path, arguments: Iterable[str]
) -> subprocess.CompletedProcess:
    with tempfile.TemporaryDirectory() as folder:
        # The configuration as it was merged: overlays, --config and defaults all in one file.
        merged = Path(folder) / "config.json"
        merged.write_text(json.dumps(config), encoding="utf-8")
        command = [
            sys.executable, "-m", "snakemake", *arguments,
            "--snakefile", str(snakefile),
            "--configfile", str(merged),
            "--workflow-profile", "none", "--cores", "1", "--nolock", "--rerun-incomplete",
        ]  # fmt: skip
        # A user's profile is for jobs, and here are none.
        environment = {
            key: value for key, value in os.environ.items() if key != "SNAKEMAKE_PROFILE"
        }
        return subprocess.run(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
