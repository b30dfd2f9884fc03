"""The whole DAG on tiny graphs: what `all` makes, what a change makes again, and its report, of all
that there is or of a part where jobs fail."""

import base64
import json
import re
import subprocess
from collections import Counter

import pytest

from tests.configuration import TINY
from tests.workflow_runner import (
    command,
    environment,
    small_copy,
    snakemake,
    without_times,
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
FACTORS = f"{PREFIX}/factors/dsbm-alpha0.1-beta0.2.safetensors"


def results_of(folder):
    """Results by name, run files without what differs from run to run."""
    found = {}
    for path in sorted((folder / PREFIX).rglob("*")):
        if not path.is_file() or {"logs", "benchmarks"} & set(path.parts):
            continue
        name = str(path.relative_to(folder))
        found[name] = without_times(path) if path.suffix == ".json" else path.read_bytes()
    return found


def embedded(path, name):
    """What a report holds under a name of its script."""
    html = path.read_text(encoding="utf-8")
    found = re.search(rf"<script id=[^>]+>\s*var {name} = (.*?);\s*</script>", html, re.DOTALL)
    return json.loads(found[1])


def shown(item):
    return base64.b64decode(item["data_uri"].split("base64,")[1]).decode("utf-8")


def jobs(done):
    return {line.split()[0] for line in done.stdout.splitlines() if line[:1].isalpha()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A working copy in which everything has been made once."""
    folder = small_copy(tmp_path_factory.mktemp("whole"), TINY)
    snakemake(folder, "all", SEARCH)
    return folder


def test_everything_is_made(finished):
    for name in ("tables/dsbm.tex", "tables/dsbm_hyperparameters.csv", "figures/dsbm.pdf"):
        assert (finished / PREFIX / name).stat().st_size > 0
    assert (finished / PREFIX / "search/dsbm.csv").exists()
    assert not list((finished / PREFIX).rglob("*.tmp*"))


def test_every_job_has_its_log(finished):
    folder = finished / PREFIX / "logs"
    logs = sorted(folder.rglob("*.log"))
    assert Counter(log.relative_to(folder).parts[0] for log in logs) == {
        "graphs": 3, "factors": 3, "runs": 3 + 2, "search": 1, "studies": 1, "tables": 4,
        "figures": 2, "report": 4 + 2,
    }  # fmt: skip
    for kind in ("factors", "runs", "search", "tables"):
        assert all(log.stat().st_size for log in (folder / kind).rglob("*.log")), kind


def test_the_same_command_gives_the_same_files(finished, tmp_path):
    again = small_copy(tmp_path, TINY)
    snakemake(again, *DSBM)
    first, second = results_of(finished), results_of(again)
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
    write_overlay(finished, TINY, change)
    try:
        done = snakemake(finished, *DSBM, "-n")
    finally:
        write_overlay(finished, TINY)
    assert rerun <= jobs(done)
    assert not kept & jobs(done)


def test_the_workflow_lints(finished):
    done = subprocess.run(
        [*command(), "--lint"], cwd=finished, capture_output=True, text=True, env=environment()
    )
    complaints = [line for line in done.stderr.splitlines() if line.strip().startswith("*")]
    assert complaints
    environment_alone = "Specify a conda environment or container"
    assert all(environment_alone in line for line in complaints), done.stderr


# The report ---------------------------------------------------------------------------------------


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
    page = shown(table)
    assert "MagNet" in page and 'download="dsbm.tex"' in page and 'class="quick"' in page
    figure = items[f"{PREFIX}/figures/dsbm.svg"]
    assert figure["mime_type"] == "image/svg+xml" and "<svg" in shown(figure)
    assert "Drawn from the table dsbm" in figure["caption"]


def test_nothing_is_left_to_do_and_a_caption_makes_its_page_again(finished):
    assert "Nothing to be done" in snakemake(finished, "all", SEARCH, "-n").stdout
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
    assert "not run" in shown(embedded(report, "results")[f"{PREFIX}/report/tables/dsbm.html"])
    (finished / FACTORS).unlink()
    snakemake(finished, "all")
    assert "4 have a stand-in" in embedded(report, "workflow_desc")
