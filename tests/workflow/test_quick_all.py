"""config/quick.yaml: everything of `all`, on small graphs, without a network."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import yaml

from flode.reporting.typeset import QUICK_STAMP
from tests.configuration import ROOT, catalogue, merge
from tests.one_process import make_everything
from tests.workflow_runner import command, environment, snakemake, working_copy

QUICK = yaml.safe_load((ROOT / "config/quick.yaml").read_text(encoding="utf-8"))
VERDICTS = ("quick run", "not run", "")

#: Overlay of the overlay: two splits, three epochs.
BRIEF = {"epochs": 3, "patience": 2}
TINIER = {
    "results": "results/tinier",
    "datasets": {
        name: {"hyperparameters": BRIEF, **({"splits": 2} if "splits" in entry else {})}
        for name, entry in QUICK["datasets"].items()
    }
    | {"dsbm": {"generator": {"cluster_size": 20, "validation": 20}, "hyperparameters": BRIEF}},
}


def expected(found):
    """Every file that `all` asks for."""
    stems = [f"tables/{name}.{ext}" for name in found.config["tables"] for ext in ("csv", "tex")]
    stems += [f"figures/{name}.pdf" for name in found.config["figures"]]
    stems += [f"search/{name}.csv" for name in found.config["searches"]]
    return {f"{found.results}/{stem}" for stem in stems}


def check(folder: Path, found) -> None:
    """All is there, stamped, without verdicts and without gaps."""
    for path in expected(found):
        assert (folder / path).stat().st_size > 100, path
    for name in found.config["tables"]:
        frame = pd.read_csv(folder / f"{found.results}/tables/{name}.csv", keep_default_na=False)
        assert set(frame["verdict"]) <= set(VERDICTS), name
        assert "quick run" in set(frame["verdict"]), name
        gone = frame[frame["verdict"] == "not run"]["note"]
        assert gone.str.contains("the quick run has no|training diverged").all(), name
        tex = (folder / f"{found.results}/tables/{name}.tex").read_text(encoding="utf-8")
        assert QUICK_STAMP in tex and not re.search(r"\bnan\b", tex), name
    for name in found.config["figures"]:
        text = (folder / f"{found.results}/figures/{name}.svg").read_text(encoding="utf-8")
        assert f"<!-- {QUICK_STAMP} -->" in text, name
    for name in found.config["searches"]:
        frame = pd.read_csv(folder / f"{found.results}/search/{name}.csv")
        assert frame["chosen"].sum() == frame["variant"].nunique()
        assert frame["note"].str.contains("quick run").all()
    for path in (folder / found.results / "runs").rglob("*.json"):
        assert json.loads(path.read_text())["quick"] is True


def test_everything_of_all_is_planned_without_a_network_or_a_mirror(tmp_path):
    folder = working_copy(tmp_path, QUICK)
    alone = {key: environment()[key] for key in ("PATH", "HOME") if key in environment()}
    alone |= {key: value for key, value in environment().items() if key.startswith("PYTHON")}
    done = subprocess.run(
        [*command(), "-n", "all", "--configfile", "config/quick.yaml", "--cores", "2"],
        cwd=folder, env=alone, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    text = done.stdout + done.stderr
    planned = text.split("Job stats:")[1].split("total")
    rules = dict(line.split() for line in planned[0].splitlines() if line[-1:].isdigit())
    assert "download" not in rules and rules["generate_raw_files"] == "1"
    assert int(planned[1].split()[0]) < 300
    named = set(re.findall(r"[\w./-]+\.(?:csv|tex|pdf)\b", text))
    assert expected(catalogue(QUICK)) <= named


def test_everything_in_one_process(tmp_path, monkeypatch):
    """The chain of the rules, from generated raw files to tables and figures, a few epochs each."""
    overlay = merge(QUICK, TINIER)
    folder, found = working_copy(tmp_path, overlay), catalogue(overlay)
    monkeypatch.chdir(folder)
    make_everything(found)
    check(folder, found)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.slow
def test_everything_through_the_workflow(tmp_path):
    """As a newcomer calls it, but for the epochs; the tables compile. Minutes, for 226 jobs."""
    overlay = merge(QUICK, TINIER)
    folder, found = working_copy(tmp_path, overlay), catalogue(overlay)
    done = snakemake(folder, "all", timeout=3600)
    assert "download" not in done.stdout.split("Job stats")[1].split("Select")[0]
    check(folder, found)
    body = "".join(
        rf"\input{{{found.results}/tables/{name}}}\clearpage" for name in found.config["tables"]
    )
    (folder / "main.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,xcolor,amsmath}\begin{document}"
        + body
        + r"\end{document}"
    )
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"],
        cwd=folder, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert "Nothing to be done" in snakemake(folder, "all", "-n").stdout
