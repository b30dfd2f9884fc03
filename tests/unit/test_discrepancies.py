"""The table of discrepancies: its readings, what they are measured by, and the verdict on each."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.readings import OF_GRAPHS
from flode.experiments.validation import ConfigurationError
from flode.reporting.partial import write_partial
from flode.reporting.stages import make_table
from tests.configuration import FILES, ROOT, SCHEMAS, catalogue, merge
from tests.run_samples import put_run_file
from tests.unit.reporting_samples import run_content
from tests.unit.test_reporting_statistics import report
from tests.unit.typesetting import fits

PUBLISHED = {
    "first": """\
subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source
d,0,FLODE,Cora,accuracy,%,77.98,1.05,std,10,printed 77.98 and 60; published values disagree,t
s,0,FD,Cora,FD,,-0.6,,,,,t
""",
    "second": """\
subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source
d,0,FLODE,Cora,accuracy,%,60.0,1.0,std,10,printed 60 here; published values disagree,t
u,0,cora,lambda_1,lambda_1,,-0.4826,,,,,t
""",
}
ACCURACY = {"file": "first", "subtable": "d", "row": "FLODE", "column": "Cora"}
LAMBDA_1 = {"file": "second", "subtable": "u", "row": "cora", "column": "lambda_1"}
FD = {"file": "first", "subtable": "s", "row": "FD", "column": "Cora"}


def subtable(**rows):
    return {"caption": "Open", "source": "Section 2", "says": "$a = 1$", "rows": rows}


def spec(folder=None, **subtables):
    files = []
    for name, text in PUBLISHED.items() if folder else ():
        files.append(str(folder / f"{name}.csv"))
        (folder / f"{name}.csv").write_text(text)
    return {
        "kind": "discrepancies",
        "caption": "Readings.",
        "label": "tab:own",
        "published": files or ["first.csv", "second.csv"],
        "subtables": subtables,
    }


ROW = {
    "quantity": "accuracy",
    "published": ACCURACY,
    "readings": {
        "text": {"variant": "cora", "set": {"num_layers": 4}},
        "other": {"variant": "cora"},
    },
}


def own(folder=None, **changes):
    """An overlay with a table of one row."""
    return {"tables": {"own": spec(folder, open=subtable(Cora=ROW | changes))}}


def test_what_the_repository_asks_for():
    """Runs that other tables and searches have too are the same runs."""
    found = catalogue()
    runs = set(found.table_runs("discrepancies"))
    shared = {run for table in ("ablation", "node_classification_full", "dsbm",
                                "frequency_dominance")
              for run in found.table_runs(table)}  # fmt: skip
    shared |= {run for runs in found.search_runs("alternatives").values() for run in runs}
    alone = {run for run in runs - shared}
    only = yaml.safe_load((ROOT / "config/discrepancies.yaml").read_text("utf-8"))["variants"]
    assert any(run.variant in only for run in alone)
    heat = Run("cora", "equation=heat,complex=false,encoder=1,decoder=2")
    as_they_are = Run("minesweeper", "normalize=false,path=columns")
    moments = {run for run in alone if run.configuration == "second_moment=parts"}
    # One beside each graph of the node classification.
    assert len(moments) == 10
    signs = {Run(name, "sign=1") for name in ("chameleon-undirected", "citeseer", "cora")}
    alone = {run for run in alone - moments if run.variant not in only}
    assert alone == {heat, as_they_are} | signs
    assert {run for runs in found.search_runs("alternatives").values() for run in runs} <= runs
    statistics = found.table_variants("discrepancies")
    assert {"chameleon-binary", "film-binary", "film-undirected", "cora"} <= set(statistics)
    assert found.statistics_file("film-binary") in found.table_files("discrepancies")
    assert not any(run.variant == "film-binary" for run in runs)


def test_variants_of_a_reading_differ_in_nothing_else():
    found = catalogue()
    for variant, other in (("chameleon-directed-text", "chameleon-directed"),
                           ("squirrel-directed-text", "squirrel-directed")):  # fmt: skip
        assert found.hyperparameters(Run(variant)) == found.hyperparameters(Run(other))
        assert found.graph_settings(variant) == found.graph_settings(other)
        flows = [found.factor_settings(one).pop("flow") for one in (variant, other)]
        assert flows == ["source_to_target", "target_to_source"]
    drawn, text = (
        found.graph_settings(name)["generator"]
        for name in ("dsbm-alpha0.1-beta0.4", "dsbm-alpha0.1-beta0.4-text")
    )
    assert {key for key in drawn if drawn[key] != text[key]} == {"alpha_within"}
    assert text["alpha_within"] == 0.5


def test_nothing_that_was_there_runs_again():
    """Settings of all stages without this table's file are those with it."""
    merged = {}
    for name in FILES:
        if name != "discrepancies.yaml":
            text = (ROOT / "config" / name).read_text(encoding="utf-8")
            merged = merge(merged, yaml.safe_load(text))
    del merged["tables"]["claims"]  # compares numbers of the table
    without, found = Catalogue(merged, SCHEMAS), catalogue()
    assert set(found.variants) > set(without.variants)
    for variant in without.variants:
        for stage in ("graph_settings", "factor_settings", "statistics_settings"):
            known, now = getattr(without, stage)(variant), getattr(found, stage)(variant)
            assert repr(known) == repr(now)  # as Snakemake compares them
    for table in without.config["tables"]:
        assert repr(without.table_settings(table)) == repr(found.table_settings(table))
        for run in without.table_runs(table):
            assert repr(without.run_settings(run)) == repr(found.run_settings(run))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"quantity": "auroc"}, ["Cora.readings.text", "'auroc'", "cora has 'accuracy'"]),
        ({"quantity": "accurcy"}, ["rows.Cora.quantity is 'accurcy'", "lambda_1"]),
        (
            {"quantity": "FD"},
            ["'FD', but 'accuracy' is published in first", "('d', 'FLODE', 'Cora')"],
        ),
        ({"quantity": "lambda_1"}, ["readings.text.set", "'num_layers': 4", "variant alone"]),
        ({"published": ACCURACY | {"file": "third"}}, ["'third'", "'first', 'second'"]),
        ({"published": ACCURACY | {"row": "GCN"}}, ["no published cell ('d', 'GCN', 'Cora')"]),
        ({"published": {"file": "first"}}, ["rows.Cora.published", "'subtable' is missing"]),
        ({"search": "alternatives", "variant": "cora"}, ["readings", "not allowed here"]),
        ({"variant": "cora"}, ["rows.Cora.variant", "not allowed here"]),
    ],
)
def test_a_row_that_does_not_fit_is_refused(changes, words, tmp_path):
    check_refused(own(tmp_path, **changes), words)


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        ({"variant": "coraa"}, ["readings.other", "'coraa'", "did you mean 'cora'"]),
        ({"variant": "cora", "set": {"layers": 3}}, ["unknown key 'layers'", "num_layers"]),
        ({"variant": "cora", "set": {"num_layers": 0}}, ["num_layers is 0", "at least 1"]),
        (
            {"variant": "cora", "set": {"num_layers": 4}},
            ["rows.Cora", "'text' and 'other'", "readings that differ"],
        ),
        (
            {"variant": "chameleon-directed", "quantity": "FD", "published": FD},
            ["readings.other", "chameleon-directed is directed", "FD"],
        ),
        (
            {"variant": "cora", "quantity": "lambda_pf"},
            ["cora is undirected", "no lambda_pf", "a directed one"],
        ),
        (
            {"variant": "cora", "quantity": "step_size", "set": {"ode": False}},
            ["'step_size'", "without the ODE"],
        ),
    ],
)
def test_a_reading_that_does_not_fit_is_refused(reading, words, tmp_path):
    readings = {"text": ROW["readings"]["text"], "other": reading}
    check_refused(own(tmp_path, readings=readings), words)


def check_refused(overlay, words):
    with pytest.raises(ConfigurationError) as caught:
        catalogue(overlay)
    for word in words:
        assert word in str(caught.value)


def test_other_faults_are_refused(tmp_path):
    row = {key: value for key, value in ROW.items() if key != "published"}
    check_refused({"tables": {"own": spec(tmp_path, open=subtable(Cora=row))}}, ["'published'"])
    row = {"quantity": "accuracy", "published": ACCURACY, "search": "alternatives"}
    overlay = {"tables": {"own": spec(tmp_path, open=subtable(Cora=row | {"variant": "film"}))}}
    check_refused(overlay, ["rows.Cora.variant is 'film'", "'cora', 'citeseer'"])
    found = own(tmp_path)
    found["tables"]["own"]["published"] *= 2
    check_refused(found, ["tables.own.published", "different names"])
    found = own(tmp_path)
    found["tables"]["own"]["marked"] = 2
    check_refused(found, ["tables.own.marked", "not allowed here"])
    found = own(tmp_path)
    found["tables"]["reproduction"] = {"tables": ["own"]}
    check_refused(found, ["'own' is of kind discrepancies"])
    side = {"source": "discrepancies", "where": {"subtable": "orientation"}}
    for where, word in (
        ({"row": "Cora"}, "where.row is 'Cora'"),
        ({"row": "Chameleon, directed", "column": "no"}, "where.column is 'no'"),
    ):
        claim = side | {"where": side["where"] | where}
        claims = {"own": {"source": "here", "checks": [{"less": [claim, 1]}]}}  # fmt: skip
        check_refused({"tables": {"claims": {"claims": claims}}}, [word])


# What is made of runs


def ten_splits(mean):
    return [(mean + (k - 4.5) / 10) / 100 for k in range(10)]


def make(folder, found, contents=(), reports=(), reasons=None, name="own"):
    """The table from these runs and statistics: its frame and its text."""
    files = []
    for content in contents:
        splits = [record["split"] for record in content["records"]]
        name_of_file = f"splits-{min(splits)}-{max(splits)}.json"
        path = folder / "runs" / content["variant"] / content["configuration"] / name_of_file
        files.append((path, content))
    files += [(folder / "statistics" / f"{one['variant']}.json", one) for one in reports]
    for path, content in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    settings = found.table_settings(name)
    paths = [path for path, _ in files]
    csv, tex = folder / "own.csv", folder / "own.tex"
    frame = make_table(
        name, settings, settings["spec"]["published"], paths, csv, tex, reasons or {}
    )
    return frame.set_index("column"), tex.read_text(encoding="utf-8")


def cora(mean, configuration="default", validation=0.9, **changes):
    content = run_content("cora", ten_splits(mean), configuration=configuration, **changes)
    for record in content["records"]:
        record["validation"] = validation
    return content


def test_a_verdict_on_each_reading_and_the_choice_by_validation(tmp_path):
    found = catalogue(own(tmp_path))
    runs = [cora(46.8, "layers=4", 0.8), cora(77.9, validation=0.81)]
    frame, tex = make(tmp_path, found, runs)
    assert list(frame["verdict"]) == ["lower", "reproduced"]
    assert frame["mean"].tolist() == pytest.approx([46.8, 77.9])
    assert list(frame["published_mean"]) == [77.98, 77.98] and list(frame["n"]) == [10, 10]
    assert frame.loc["other", "note"].endswith("Section 2; validation 81.00 %, best by validation")
    assert frame.loc["text", "note"].endswith("Section 2; validation 80.00 %")
    assert frame.loc["text", "runs"].endswith("runs/cora/layers=4/splits-0-9.json")
    line = next(line for line in tex.splitlines() if "46.80" in line)
    assert r"\quad text &" in line and line.endswith(r"lower \\")
    assert "Cora: accuracy" in tex.splitlines()[tex.splitlines().index(line) - 1]
    assert r"77.90$\pm$0.29$^\ast$" in tex and r"46.80$\pm$0.29$^\ast$" not in tex


def test_readings_are_compared_on_the_splits_that_all_have(tmp_path):
    """Of six splits the one reading is better, of its ten the other."""
    whole, part = cora(77.9, validation=0.8), cora(46.8, "layers=4", 0.805)
    for record in whole["records"][6:]:
        record["validation"] = 0.9
    part["records"] = part["records"][:6]
    frame, _ = make(tmp_path, catalogue(own(tmp_path)), [whole, part])
    assert list(frame["n"]) == [6, 10]
    assert frame.loc["text", "note"].endswith("Section 2; validation 80.50 %, best by validation")
    assert frame.loc["other", "note"].endswith("Section 2; validation 80.00 % of 6 splits")
    part["records"] = cora(46.8, "layers=4", 0.805)["records"][6:]
    whole["records"] = whole["records"][:6]
    frame, _ = make(tmp_path, catalogue(own(tmp_path)), [whole, part])
    assert not frame["note"].str.contains("validation").any()


def test_two_published_values_are_judged_one_by_one(tmp_path):
    cells = [{"variant": "cora", "published": ACCURACY | {"file": name}} for name in PUBLISHED]
    readings = dict(zip(("one", "other"), cells, strict=True))
    frame, _ = make(tmp_path, catalogue(own(tmp_path, readings=readings)), [cora(60.2)])
    assert list(frame["verdict"]) == ["lower", "reproduced"]
    assert list(frame["published_mean"]) == [77.98, 60.0]
    assert not frame["note"].str.contains("disagree|validation").any()
    assert frame.loc["one", "note"] == "printed 77.98 and 60; Section 2"


def test_a_statistic_of_the_graph_is_equal_at_the_printed_digits(tmp_path):
    readings = {"text": {"variant": "cora"}, "loops": {"variant": "cora-without-loops"}}
    found = catalogue(own(tmp_path, quantity="lambda_1", published=LAMBDA_1, readings=readings))
    assert found.table_runs("own") == [] and found.table_variants("own") == list(
        one["variant"] for one in readings.values()
    )
    reports = [report("cora", lambda_1=-0.48263), report("cora-without-loops", lambda_1=-0.97)]
    frame, tex = make(tmp_path, found, reports=reports)
    assert list(frame["verdict"]) == ["reproduced", "lower"]
    assert frame[["std", "n"]].isna().all(axis=None)
    assert r"$-$0.4826" in tex and r"\lambda_1(\mathbf{L})" in tex
    reasons = {("cora", "default"): "ind.cora.graph could not be fetched"}
    frame, tex = make(tmp_path, found, reports=reports[1:], reasons=reasons)
    assert list(frame["verdict"]) == ["not run", "lower"] and pd.isna(frame.loc["text", "mean"])
    assert "Not run (ind.cora.graph could not be fetched): Cora." in tex


def test_frequency_dominance_by_the_formula_and_as_trained(tmp_path):
    readings = {
        "text": {"variant": "cora"},
        "trained": {"variant": "cora", "quantity": "FD_trained"},
    }
    found = catalogue(own(tmp_path, quantity="FD", published=FD, readings=readings))
    run = cora(86, hyperparameters={"equation": "schroedinger", "sign": -1})
    for record in run["records"]:
        record |= {"channel_mixing": [[[0, 2], [0, -1]]], "exponent": [1.0]}
    frame, _ = make(tmp_path, found, [run], [report("cora", lambda_1=-0.5)])
    # λ_K f(λ₁) - λ₁(W): 2 · -0.5 + 1, and with -W 1 · -0.5 + 2.
    assert frame["mean"].tolist() == pytest.approx([0.0, 1.5])
    assert list(frame["metric"]) == ["FD", "FD_trained"]
    frame, _ = make(tmp_path, found, [run])
    assert set(frame["verdict"]) == {"not run"}


def test_what_was_not_run_says_why_and_nothing_is_chosen(tmp_path):
    found = catalogue(own(tmp_path))
    reasons = {("cora", "layers=4"): "a job failed"}
    frame, tex = make(tmp_path, found, [cora(77.9)], reasons=reasons)
    assert list(frame["verdict"]) == ["not run", "reproduced"]
    assert frame.loc["text", "note"].endswith("; a job failed")
    assert not frame["note"].str.contains("best by validation").any()
    assert "Not run (a job failed): Cora." in tex


def test_a_run_of_another_metric_or_a_quick_one(tmp_path):
    found = catalogue(own(tmp_path))
    with pytest.raises(ValueError, match="metric is 'auroc'"):
        make(tmp_path, found, [cora(77.9, metric="auroc"), cora(47, "layers=4")])
    frame, tex = make(tmp_path, found, [cora(77.9, quick=True), cora(47, "layers=4")])
    assert "quick run" in frame.loc["other", "note"] and "Quick run" in tex


def test_a_search_gives_its_candidates(tmp_path):
    row = {"quantity": "accuracy", "published": ACCURACY, "search": "alternatives"}
    row["variant"] = "cora"
    found = catalogue({"tables": {"own": spec(tmp_path, open=subtable(Cora=row))}})
    readings = found.table_settings("own")["spec"]["subtables"]["open"]["rows"]["Cora"]["readings"]
    assert list(readings) == [
        run.configuration for run in found.search_runs("alternatives")["cora"]
    ]
    assert found.table_runs("own") == list(found.search_runs("alternatives")["cora"])


def made_whole(tmp_path):
    """The repository's table from made-up runs: every one as published."""
    found, contents, reports = catalogue(), {}, {}
    for block in found.table_settings("discrepancies")["spec"]["subtables"].values():
        for row in block["rows"].values():
            for one in row["readings"].values():
                key = one["variant"], one["configuration"]
                reports[key[0]] = report(key[0], lambda_1=-0.9337)
                hyperparameters = {"equation": "schroedinger", "sign": -1}
                if one["quantity"] not in OF_GRAPHS:
                    contents[key] = run_content(
                        key[0], ten_splits(77.9), configuration=key[1],
                        metric="auroc" if key[0] in ("minesweeper", "tolokers") else "accuracy",
                        hyperparameters=hyperparameters,
                    )  # fmt: skip
                    for record in contents[key]["records"]:
                        record["channel_mixing"] = [[[0, 2], [0, -1]]]
    return make(tmp_path, found, contents.values(), reports.values(), name="discrepancies")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    return made_whole(tmp_path)


def test_the_repositorys_table(repository):
    frame, tex = repository
    assert frame["mean"].notna().all() and "not run" not in set(frame["verdict"])
    keys = frame.reset_index()[["subtable", "row", "column"]]
    assert not keys.duplicated().any()
    # A long table goes on in further floats of the same number.
    floats = tex.count(r"\begin{table}")
    assert floats == 6 and tex.count(r"\addtocounter{table}{-1}") == floats - 1
    assert tex.count(r"\label{tab:discrepancies}") == 1


def test_each_part_fits_a_page(repository, tmp_path):
    fits(tmp_path, "own")


def test_an_unfinished_workflow_shows_what_was_run(tmp_path, monkeypatch):
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.chdir(tmp_path)
    found = catalogue({"results": "results/partial", "data": {"folder": "results/raw"}})
    records = {"exponent": [0.99], "step_size": [[0.9, 0.1]], "dirichlet_energy": 0.2}
    run, folder = Run("chameleon-directed"), f"{found.results}/runs"
    put_run_file(found, folder, run, range(10), test=0.779, record=records)
    file = Path(found.results) / "tables" / "discrepancies.csv"
    assert file in write_partial(found)
    frame = pd.read_csv(file)
    own = frame[frame["row"] == "Chameleon, directed"].set_index(["subtable", "column"])
    text = own.loc[("orientation", "text: i gathers from nodes that point to it")]
    assert text["verdict"] == "not run" and "chameleon_directed.npz" in text["note"]
    assert (own.loc["inside", "verdict"] == "reproduced").all()
