"""A quick run says nothing of the paper: no verdict, no rank, and the stamp on all of it."""

import numpy as np
import pandas as pd
import pytest

from flode.reporting.claims import claim_verdict, claims_table
from flode.reporting.frequency import frequency_table
from flode.reporting.latex_statistics import render_statistics
from flode.reporting.records import load_runs
from flode.reporting.search import search_table
from flode.reporting.stages import make_study, make_table
from flode.reporting.statistics import load_statistics, statistics_table
from flode.reporting.tidy import is_quick, read_csv, tidy_frame, without_verdicts, write_table
from flode.reporting.typeset import QUICK_STAMP
from flode.reporting.verdicts import QUICK_RULE, QUICK_RUN
from tests.unit import test_reporting_ranking as ranking
from tests.unit import test_reporting_statistics as statistics
from tests.unit.reporting_samples import (
    HYPERPARAMETER_SPEC,
    HYPERPARAMETERS,
    PUBLISHED,
    SPEC,
    published,
    run_content,
    write_run,
)
from tests.unit.test_reporting_reproduction import CATALOGUE, TABLES, record

VERDICTS = {"reproduced", "higher", "lower", "differs", "holds", "fails"}


def made(folder, kind, spec, texts, runs, quick=True):
    """Tidy table and LaTeX of a kind, from published values and runs."""
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"published{number}.csv")
        files[-1].write_text(text)
    out = (folder / "t.csv", folder / "t.tex")
    settings = {"spec": spec | {"kind": kind}, "quick": quick}
    return make_table("t", settings, files, runs, *out), out[1].read_text()


def runs_of(folder, variants, quick=True, **changes):
    return [write_run(folder, v, run_content(v, quick=quick, **changes)) for v in variants]


def test_a_comparison_has_no_verdict_and_ranks_the_baselines_alone(tmp_path):
    runs = runs_of(tmp_path, ["a0.1"])
    frame, tex = made(tmp_path, "comparison", SPEC, [PUBLISHED], runs)
    flode = frame[frame["row"] == "FLODE"].set_index("column")
    assert flode["verdict"].to_dict() == {"0.10": QUICK_RUN, "0.05": "not run", "0.2": "not run"}
    assert flode.loc["0.10", "published_mean"] == 99.3  # published is shown as published
    assert (frame.loc[frame["row"] != "FLODE", "verdict"] == "").all()
    assert r"\textbf{FLODE (measured)} & 99.3$\pm$0.1 &" in tex
    assert r"\first{99.6$\pm$0.2}" in tex and r"\second{19.9$\pm$0.6}" in tex
    assert "The published baselines are ranked by their" in tex
    assert QUICK_STAMP in tex and QUICK_RULE.split(",")[0] in tex and "Welch" not in tex
    # The same numbers, not of a quick run: ranked, and judged.
    frame, tex = made(
        tmp_path, "comparison", SPEC, [PUBLISHED], runs_of(tmp_path, ["a0.1"], quick=False), False
    )
    assert r"\second{99.3$\pm$0.1}" in tex and "reproduced" in set(frame["verdict"])


def test_a_quick_run_in_another_table_takes_its_verdicts_too(tmp_path):
    frame, tex = made(tmp_path, "comparison", SPEC, [PUBLISHED], runs_of(tmp_path, ["a0.1"]), False)
    assert not set(frame["verdict"]) & VERDICTS and QUICK_STAMP in tex


def test_a_ranking_of_a_quick_run_is_of_the_baselines(tmp_path):
    runs = runs_of(tmp_path, ["film", "cora"], test=[0.99, 0.98])
    spec, texts = ranking.SPEC, [ranking.FULL, ranking.SUMMARY]
    frame, tex = made(tmp_path, "ranking", spec, texts, runs)
    film = frame[frame["column"] == "Film"].set_index("row")
    assert list(film.index) == ["1st: GREAD", "2nd: GRAFF", "3rd: GGCN", "FLODE"]
    assert film.loc["FLODE", "verdict"] == QUICK_RUN
    assert film.loc["FLODE", "mean"] == pytest.approx(98.5)
    assert film.loc["1st: GREAD", "note"].endswith("the baselines are ranked alone")
    assert "The best of the published baselines ranked by" in tex and "not run" not in tex
    full, _ = made(tmp_path, "ranking", spec, texts, runs_of(
        tmp_path, ["film", "cora"], quick=False, test=[0.99, 0.98]), False)  # fmt: skip
    assert "1st: FLODE" in set(full["row"])


def test_hyperparameters_of_a_quick_run(tmp_path):
    runs = runs_of(tmp_path, ["a0.1", "a0.05"])
    frame, tex = made(tmp_path, "hyperparameters", HYPERPARAMETER_SPEC, [HYPERPARAMETERS], runs)
    assert set(frame["verdict"]) == {QUICK_RUN}
    assert r"$^\dagger$\,Not published." in tex and QUICK_STAMP in tex


def test_without_verdicts_keeps_what_was_not_run():
    rows = [
        record("t", "a", "1", "reproduced"),
        record("t", "a", "2", "not run", mean=None, note="lost"),
        record("t", "a", "3", "published values disagree", note="two values"),
        record("t", "a", "4", "higher", note=f"{QUICK_RUN}; x"),
        record("t", "b", "1", ""),
    ]
    frame = tidy_frame(rows)
    quick = without_verdicts(frame)
    assert quick["verdict"].tolist() == [QUICK_RUN, "not run", QUICK_RUN, QUICK_RUN, ""]
    notes = [QUICK_RUN, "lost", f"two values; {QUICK_RUN}", f"{QUICK_RUN}; x", ""]
    assert quick["note"].tolist() == notes
    assert frame["verdict"].iloc[0] == "reproduced"
    pd.testing.assert_frame_equal(without_verdicts(quick), quick)


def test_the_reproduction_counts_no_success(tmp_path):
    files = []
    for name, records in TABLES.items():
        files.append(tmp_path / f"{name}.csv")
        write_table(without_verdicts(tidy_frame(records)), files[-1])
    settings = CATALOGUE.table_settings("reproduction") | {"quick": True}
    out = (tmp_path / "r.csv", tmp_path / "r.tex")
    frame = make_table("reproduction", settings, [], files, *out)
    assert set(frame["verdict"]) == {QUICK_RUN, "not run"}
    tex = out[1].read_text().replace("Is the paper reproduced?", "")
    for word in ("reproduced", "higher", "lower", "Welch"):
        assert word not in tex, word
    assert "8 of the 10 numbers published for FLODE stand beside a measured one" in tex


def test_claims_of_a_quick_run_are_not_judged(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = [record("t", "FLODE", "0.1", "reproduced", mean=90.0)]
    write_table(without_verdicts(tidy_frame(rows)), folder / "t.csv")
    there = {"source": "t", "where": {"row": "FLODE", "column": "0.1"}}
    left_out = {"source": "t", "where": {"row": "FLODE", "column": "0.7"}}
    checks = [{"greater": [there, 5]}, {"less": [there, 5]}, {"less": [left_out, 5]}]
    spec = {"kind": "claims", "caption": "", "label": "", "claims": {}}
    spec["claims"]["It is so"] = {"source": "S", "checks": checks}
    out = (tmp_path / "c.csv", tmp_path / "c.tex")
    frame = make_table("c", {"spec": spec, "quick": True}, [], [folder / "t.csv"], *out)
    assert frame["verdict"].tolist() == [QUICK_RUN, QUICK_RUN, "not run"]
    assert frame["note"].iloc[2].startswith("the quick run has no FLODE / 0.7")
    tex = out[1].read_text()
    assert f" 3 & {QUICK_RUN}" in tex and "holds" not in tex and "fails" not in tex
    assert claim_verdict(["not run", QUICK_RUN]) == QUICK_RUN
    # Of a full run, a row that is not there is a mistake.
    with pytest.raises(ValueError, match="0 rows of t have"):
        claims_table("c", spec, {"t": tidy_frame(rows)})


def test_a_generated_graph_is_not_compared_with_the_published_one(tmp_path):
    paper = published(statistics.PUBLISHED)
    found = statistics.load(
        tmp_path, statistics.report(generated=True, published={"nodes": 1, "edges": 2})
    )
    frame = statistics_table("graphs", statistics.SPEC, paper, found)
    film = frame[frame["row"] == "film"]
    assert film["mean"].notna().sum() > 8 and film["published_mean"].isna().all()
    assert set(film["verdict"]) <= {"not published", ""}
    quick = without_verdicts(film)
    assert set(quick["verdict"]) <= {QUICK_RUN, ""}
    spec = statistics.SPEC | {"subtables": {"u": {"caption": "", "rows": {"film": {}}}}}
    tex = render_statistics(quick, spec, paper[paper["row"] == "film"], True)
    assert "The graphs are generated, not the published ones." in tex
    assert "[" not in tex[tex.index(r"\toprule") : tex.index(r"\bottomrule")]


def test_lambda_1_of_a_generated_graph_stands_alone(tmp_path):
    text = "subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source\n"
    text += "graph,0,lambda_1,Film,lambda_1,,-0.9486,,,,,t\n"
    spec = {"subtables": {"graph": {"caption": "", "columns": {"Film": {"variant": "film"}}}}}
    for generated, expected in ((True, np.nan), (False, -0.9486)):
        path = statistics.load(tmp_path, statistics.report(generated=generated))["film"].file
        loaded = ({}, load_statistics([path]))
        frame = frequency_table("f", spec, published(text), loaded)
        assert frame["mean"].item() == -0.948631
        np.testing.assert_equal(frame["published_mean"].item(), expected)


def test_searches_and_studies_say_so_too(tmp_path):
    for quick, note in ((True, QUICK_RUN), (False, "")):
        content = run_content("v", quick=quick)
        for one in content["records"]:
            one["epochs"] = 3
        runs = load_runs([write_run(tmp_path, "v", content)])
        frame = search_table({"v": {"default": {"num_layers": 3}}}, runs)
        assert frame["note"].item() == note
    spec = {"kind": "cycle_eigenvectors", "nodes": 4}
    for quick in (True, False):
        settings = {"spec": spec, "quick": quick, "flows": {}, "series": {}, "variants": {}}
        make_study(settings, tmp_path / "s.csv")
        assert is_quick(read_csv(tmp_path / "s.csv")) is quick
