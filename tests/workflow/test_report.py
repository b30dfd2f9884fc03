"""The report: made by `all`, of all that there is, and of a part where jobs fail."""

import base64
import json
import re

import pytest

from tests.configuration import TINY
from tests.workflow_runner import small_copy, snakemake, write_overlay

PREFIX = TINY["results"]
RUN = f"{PREFIX}/runs/dsbm-alpha0.1-beta0.2/default/splits-0-1.json"
FACTORS = f"{PREFIX}/factors/dsbm-alpha0.1-beta0.2.safetensors"


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
    folder = small_copy(tmp_path_factory.mktemp("report"), TINY)
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
    assert table["labels"] == {"table": "DSBM graphs"} and table["mime_type"] == "text/html"
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
