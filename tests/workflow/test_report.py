"""The report: made by `all`, of all that there is, and of a part where jobs fail."""

import base64
import json
import re

import pytest
import yaml

from tests.configuration import ROOT, TINY, configuration
from tests.workflow_runner import snakemake, working_copy, write_overlay

PREFIX = TINY["results"]
RUN = f"{PREFIX}/runs/dsbm-alpha0.1-beta0.2/default/splits-0-1.json"
FACTORS = f"{PREFIX}/factors/dsbm-alpha0.1-beta0.2.safetensors"
VARIANTS = ("dsbm-alpha0.1-beta0.05", "dsbm-alpha0.1-beta0.2", "dsbm-alpha0.1-beta0.3")


def trimmed():
    """Configuration files of a workflow that has three DSBM graphs and a study without a graph."""
    whole = configuration()
    tables, figures = whole["tables"], whole["figures"]
    for name in ("dsbm", "dsbm_hyperparameters"):
        for subtable in tables[name]["subtables"].values():
            columns = subtable["columns"].items()
            subtable["columns"] = {key: one for key, one in columns if one["variant"] in VARIANTS}
    searches = {"dsbm": whole["searches"]["dsbm"] | {"variants": list(VARIANTS)}}
    dsbm = {
        "datasets": {"dsbm": whole["datasets"]["dsbm"]},
        "variants": {name: whole["variants"][name] for name in VARIANTS},
        "searches": searches,
        "tables": {name: tables[name] for name in ("dsbm", "dsbm_hyperparameters")},
        "figures": {"dsbm": figures["dsbm"]},
    }
    cell = {"source": "dsbm", "where": {"subtable": "net_flow", "row": "FLODE", "column": "0.20"}}
    claims = {"FLODE is better than <chance>": {"source": "Section 6"}}
    claims["FLODE is better than <chance>"]["checks"] = [{"greater": [cell, 0]}]
    learnt = [
        {"statement": "An {open} point", "table": "dsbm", "cells": [cell["where"]]},
        {"statement": "Balance", "figure": "weakly_balanced"},
    ]
    return {
        "dsbm": dsbm,
        "studies": {
            "studies": {"weakly_balanced": whole["studies"]["weakly_balanced"]},
            "figures": {"weakly_balanced": figures["weakly_balanced"]},
        },
        "reproduction": {
            "tables": {
                "reproduction": tables["reproduction"] | {"tables": ["dsbm"]},
                "claims": tables["claims"] | {"claims": claims},
            }
        },
        "report": {"report": {"learnt": learnt}},
        "node_classification": {},
        "models": {"models": {}},
        "ablation": {},
        "depth": {},
        "discrepancies": {},
    }


def small_copy(folder):
    working_copy(folder, TINY)
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


def embedded(path, name):
    """What a report holds under a name of its script."""
    html = path.read_text(encoding="utf-8")
    found = re.search(rf"<script id=[^>]+>\s*var {name} = (.*?);\s*</script>", html, re.DOTALL)
    return json.loads(found[1])


def content(item):
    return base64.b64decode(item["data_uri"].split("base64,")[1]).decode("utf-8")


def jobs(done):
    return {line.split()[0] for line in done.stdout.splitlines() if line[:1].isalpha()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = small_copy(tmp_path_factory.mktemp("report"))
    # Neither a user's profile nor a cluster's is for the second Snakemake.
    snakemake(folder, "all")
    return folder


def test_all_ends_with_the_report(finished):
    report = finished / PREFIX / "report.html"
    assert 1e6 < report.stat().st_size < 20e6
    categories = embedded(report, "categories")
    found = {
        name: [path for one in sub.values() for path in one] for name, sub in categories.items()
    }
    pages = f"{PREFIX}/report/tables"
    assert sorted(found) == ["Figures", "Tables", "Verdicts"]
    assert found["Verdicts"] == [f"{pages}/claims.html", f"{pages}/reproduction.html"]
    assert found["Tables"] == [f"{pages}/dsbm.html", f"{pages}/dsbm_hyperparameters.html"]
    assert f"{PREFIX}/figures/dsbm.svg" in found["Figures"]
    assert not list((finished / PREFIX).rglob("*.tmp*"))


def test_it_opens_with_the_summary(finished):
    opening = embedded(finished / PREFIX / "report.html", "workflow_desc")
    assert "system-message" not in opening
    assert "Quick run: not the paper" in opening
    assert "Of the 11 numbers that the paper publishes for FLODE, 4 have a stand-in" in opening
    assert "FLODE is better than &lt;chance&gt;" in opening and "An {open} point" in opening
    assert "showResultInfo(&#x27;" in opening or "showResultInfo('" in opening
    assert "dsbm.html" in opening and "weakly_balanced.svg" in opening
    assert "the configuration names no run for this column" in opening


def test_items_have_captions_and_show_what_they_should(finished):
    items = embedded(finished / PREFIX / "report.html", "results")
    table = items[f"{PREFIX}/report/tables/dsbm.html"]
    assert table["labels"] == {"table": "dsbm"} and table["mime_type"] == "text/html"
    for words in (
        "Quick run",
        "ordered DSBM graphs",
        "Appendix A.2",
        "3 runs of 3 variants",
    ):
        assert words in table["caption"], words
    page = content(table)
    assert "MagNet" in page and 'download="dsbm.tex"' in page and 'class="quick"' in page
    figure = items[f"{PREFIX}/figures/dsbm.svg"]
    assert figure["mime_type"] == "image/svg+xml" and "<svg" in content(figure)
    assert "Drawn from the table dsbm" in figure["caption"]


def test_nothing_is_left_to_do_and_a_caption_makes_its_page_again(finished):
    assert "Nothing to be done" in snakemake(finished, "all", "-n").stdout
    write_overlay(finished, TINY, {"tables": {"dsbm": {"place": "Appendix Z"}}})
    try:
        done = snakemake(finished, "all", "-n")
    finally:
        write_overlay(finished, TINY)
    assert {"table_page", "report"} <= jobs(done)
    assert not {"table", "figure", "train", "summary"} & jobs(done)


def test_where_a_job_fails_the_report_shows_the_rest(finished):
    """With --keep-going, as on a machine that cannot fetch some file."""
    (finished / RUN).unlink()
    (finished / FACTORS).write_bytes(b"damaged")
    done = snakemake(finished, "all", "--keep-going", check=False)
    assert done.returncode != 0
    assert f"{PREFIX}/report.html shows what is there" in done.stdout
    report = finished / PREFIX / "report.html"
    opening = embedded(report, "workflow_desc")
    assert "Of the 11 numbers that the paper publishes for FLODE, 3 have a stand-in" in opening
    assert "a job failed or did not run" in opening
    assert "not run" in content(embedded(report, "results")[f"{PREFIX}/report/tables/dsbm.html"])
    (finished / FACTORS).unlink()
    snakemake(finished, "all")
    assert "4 have a stand-in" in embedded(report, "workflow_desc")
