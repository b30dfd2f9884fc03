import copy
import subprocess
import sys

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flode.reporting.layout import parse_layout
from flode.reporting.records import load_runs
from flode.reporting.tables import (
    COLUMNS,
    comparison_table,
    hyperparameter_table,
    is_quick,
    read_table,
    write_table,
)
from flode.reporting.tidy import PRINTED
from tests.unit.reporting_samples import (
    HYPERPARAMETER_SPEC,
    HYPERPARAMETERS,
    SPEC,
    published,
    run_content,
    write_run,
)


@pytest.fixture
def runs(tmp_path):
    """Two files of one configuration, one of another; the column 0.05 is not run."""
    return load_runs(
        [
            write_run(tmp_path, "a0", run_content("a0.1", [0.991, 0.993])),
            write_run(tmp_path, "a2", run_content("a0.1", [0.992, 0.994, 0.995], first=2)),
            write_run(tmp_path, "b", run_content("b0.2", [0.95, 0.951, 0.949])),
        ]
    )


def cell(frame, *at):
    found = frame[(frame["subtable"] == at[0]) & (frame["row"] == at[1])]
    found = found[found["column"] == at[2]]
    assert len(found) == 1
    return found.iloc[0]


def test_cells_in_printed_order(runs):
    frame = comparison_table("demo", SPEC, published(), runs)
    assert tuple(frame.columns) == (*COLUMNS, *PRINTED.values())
    expected = published()[["subtable", "row", "column"]].to_numpy().tolist()
    assert frame[["subtable", "row", "column"]].to_numpy().tolist() == expected
    assert set(frame["table"]) == {"demo"}
    assert set(frame["unit"]) == {"%"}


def test_flode_is_measured_beside_the_published_value(runs, tmp_path):
    found = cell(comparison_table("demo", SPEC, published(), runs), "density", "FLODE", "0.10")
    assert (found["mean"], found["std"], found["n"]) == pytest.approx((99.3, 0.1414214, 5))
    assert found["published_mean"] == 99.3
    assert found["published_std"] == pytest.approx(0.2236068)
    assert found["verdict"] == "reproduced"
    assert "standard error times √5" in found["note"]
    assert found["runs"] == f"{tmp_path / 'a0.json'};{tmp_path / 'a2.json'}"


def test_a_difference_is_no_reproduction(runs):
    found = cell(comparison_table("demo", SPEC, published(), runs), "flow", "FLODE", "0.2")
    assert (found["mean"], found["verdict"]) == (pytest.approx(95.0), "higher")


def test_baselines_are_published_only(runs):
    frame = comparison_table("demo", SPEC, published(), runs)
    baselines = frame[frame["row"] != "FLODE"]
    assert baselines[["mean", "std", "n"]].isna().all(axis=None)
    assert (baselines[["verdict", "runs"]] == "").all(axis=None)
    oom = cell(frame, "density", "MagNet", "0.05")
    assert pd.isna(oom["published_mean"])
    assert oom["note"] == "OOM"


@pytest.mark.parametrize(
    ("reasons", "note"),
    [
        (None, "no run of a0.05, configuration default"),
        ({("a0.05", "default"): "x.npz is missing; see data"}, "x.npz is missing, see data"),
    ],
)
def test_a_missing_run_is_not_run_and_never_the_published_value(runs, reasons, note):
    frame = comparison_table("demo", SPEC, published(), runs, reasons)
    found = cell(frame, "density", "FLODE", "0.05")
    assert pd.isna(found[["mean", "std", "n"]]).all()
    assert (found["verdict"], found["runs"]) == ("not run", "")
    assert found["note"].endswith(note)
    assert found["published_mean"] == 97.5


def test_quick_runs_are_told_by_the_note(tmp_path, runs):
    assert not is_quick(comparison_table("demo", SPEC, published(), runs))
    quick = load_runs([write_run(tmp_path, "quick", run_content("b0.2", quick=True))])
    frame = comparison_table("demo", SPEC, published(), quick)
    assert is_quick(frame)
    assert cell(frame, "flow", "FLODE", "0.2")["note"].endswith("quick run")
    assert "quick" not in cell(frame, "density", "FLODE", "0.10")["note"]


def test_a_published_column_without_runs_stays_visible(runs):
    spec = copy.deepcopy(SPEC)
    del spec["subtables"]["density"]["columns"]["0.05"]
    found = cell(comparison_table("demo", spec, published(), runs), "density", "FLODE", "0.05")
    assert found["verdict"] == "not run"
    assert found["note"].endswith("the configuration names no run for this column")


def test_a_new_column_is_not_published(runs):
    spec = copy.deepcopy(SPEC)
    spec["subtables"]["flow"]["columns"]["0.6"] = {"variant": "b0.2", "configuration": "default"}
    frame = comparison_table("demo", spec, published(), runs)
    found = cell(frame, "flow", "FLODE", "0.6")
    assert (found["mean"], found["verdict"]) == (pytest.approx(95.0), "not published")
    assert not len(frame[(frame["column"] == "0.6") & (frame["row"] == "MagNet")])


def test_published_values_that_disagree(runs):
    paper = published()
    flode = (paper["row"] == "FLODE") & (paper["column"] == "0.10")
    paper.loc[flode, "note"] = "99.3 here and 98 there; published values disagree"
    found = cell(comparison_table("demo", SPEC, paper, runs), "density", "FLODE", "0.10")
    assert found["verdict"] == "published values disagree"


def test_metrics_must_agree(tmp_path, runs):
    spec = SPEC | {"metric": "auroc"}
    with pytest.raises(ValueError, match=r"'density', column '0.10': metric is 'accuracy' in the"):
        comparison_table("demo", spec, published(), runs)
    auroc = load_runs([write_run(tmp_path, "auroc", run_content(metric="auroc"))])
    with pytest.raises(ValueError, match=r"column '0.10': metric is 'auroc' in .*auroc\.json"):
        comparison_table("demo", SPEC, published(), auroc)


def test_the_metric_may_come_from_the_published_values(runs):
    spec = {key: value for key, value in SPEC.items() if key != "metric"}
    frame = comparison_table("demo", spec, published(), runs)
    assert set(frame["metric"]) == {"accuracy"}
    spec = copy.deepcopy(spec)
    spec["subtables"]["flow"]["columns"]["9"] = {"variant": "b0.2", "configuration": "default"}
    with pytest.raises(ValueError, match="'flow', column '9': no metric"):
        comparison_table("demo", spec, published(), runs)


def changed(path, value):
    spec = copy.deepcopy(SPEC)
    place = spec
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return spec


COLUMN = ("subtables", "density", "columns")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (changed(["marked"], 4), "'demo': marked is 4; allowed: an integer from 0 to 3"),
        (changed(["marked"], True), "marked is True"),
        (changed(["subtables"], {}), "subtables is {}"),
        (changed(["subtables", "flow"], 3), "subtable 'flow' is 3"),
        (changed(COLUMN, []), r"subtable 'density': columns is \[\]"),
        (changed([*COLUMN, 0.1], {}), "column 0.1: the name is a float; allowed: text in quotes"),
        (changed([*COLUMN, "0.10"], {}), "column '0.10': is {}; allowed: .* the key 'variant'"),
        (changed([*COLUMN, "0.10"], 5), "column '0.10': is 5"),
    ],
)
def test_a_wrong_specification_names_table_and_key(spec, message):
    with pytest.raises(ValueError, match=message):
        parse_layout("demo", spec, published())


def test_a_published_subtable_that_is_left_out_is_not_shown(runs):
    frame = comparison_table("demo", changed(["subtables", "flow"], None), published(), runs)
    whole = comparison_table("demo", SPEC, published(), runs)
    kept = whole[whole["subtable"] != "flow"].reset_index(drop=True)
    pd.testing.assert_frame_equal(frame, kept)


def test_a_columns_configuration_is_the_default_one_unless_named(runs):
    spec = changed([*COLUMN, "0.10"], {"variant": "a0.1"})
    found = cell(comparison_table("demo", spec, published(), runs), "density", "FLODE", "0.10")
    assert found["n"] == 5
    spec = changed([*COLUMN, "0.10"], {"variant": "a0.1", "configuration": "layers=3"})
    found = cell(comparison_table("demo", spec, published(), runs), "density", "FLODE", "0.10")
    assert found["note"].endswith("no run of a0.1, configuration layers=3")


def test_hyperparameters(tmp_path):
    content = run_content("a0.1")
    content["hyperparameters"]["hidden_channels"] = 64
    runs = load_runs([write_run(tmp_path, "run", content)])
    paper = published(HYPERPARAMETERS)
    frame = hyperparameter_table("settings", HYPERPARAMETER_SPEC, paper, runs)
    assert tuple(frame.columns) == (*COLUMNS, *PRINTED.values())
    assert list(dict.fromkeys(frame["row"])) == [
        "learning_rate", "hidden_channels", "num_layers", "encoder_layers", "decoder_layers",
        "exponent", "step_size",
    ]  # fmt: skip
    used = frame[frame["column"] == "0.10"]
    verdicts = {row.row: (row.mean, row.verdict) for row in used.itertuples(index=False)}
    assert verdicts["learning_rate"] == (0.005, "reproduced")
    assert verdicts["hidden_channels"] == (64, "differs")
    assert verdicts["num_layers"] == (3, "not published")
    exponent = cell(frame, "density", "exponent", "0.10")
    assert (exponent["mean"], exponent["std"], exponent["n"]) == pytest.approx(
        (0.92, 0.01414214, 5)
    )
    assert cell(frame, "density", "step_size", "0.10")["mean"] == pytest.approx(1.05)
    assert set(frame[frame["column"] == "0.05"]["verdict"]) == {"not run"}
    assert frame[frame["column"] == "0.05"]["mean"].isna().all()


def test_a_published_exponent_is_judged_as_a_mean(tmp_path):
    text = HYPERPARAMETERS + "density,0,exponent,0.10,exponent,,0.70,0.01,std,10,,t\n"
    runs = load_runs([write_run(tmp_path, "run", run_content("a0.1"))])
    frame = hyperparameter_table("settings", HYPERPARAMETER_SPEC, published(text), runs)
    assert cell(frame, "density", "exponent", "0.10")["verdict"] == "higher"


def test_published_hyperparameters_that_disagree(tmp_path):
    note = "5 here and 4 there; published values disagree"
    text = HYPERPARAMETERS.replace(
        "0.10,hidden_channels,,256,,,,,t", f"0.10,hidden_channels,,256,,,,{note},t"
    )
    runs = load_runs([write_run(tmp_path, "run", run_content("a0.1"))])
    frame = hyperparameter_table("settings", HYPERPARAMETER_SPEC, published(text), runs)
    found = cell(frame, "density", "hidden_channels", "0.10")
    assert (found["mean"], found["verdict"]) == (256, "published values disagree")


def test_a_hyperparameter_that_a_run_does_not_state(tmp_path):
    content = run_content("a0.1")
    del content["hyperparameters"]["hidden_channels"]
    runs = load_runs([write_run(tmp_path, "run", content)])
    with pytest.raises(ValueError, match=r"run\.json: hyperparameters lack 'hidden_channels'"):
        hyperparameter_table("settings", HYPERPARAMETER_SPEC, published(HYPERPARAMETERS), runs)


def test_no_step_size_is_noted(tmp_path):
    content = run_content("a0.1")
    for record in content["records"]:
        record["step_size"] = []
    runs = load_runs([write_run(tmp_path, "run", content)])
    paper = published(HYPERPARAMETERS)
    found = cell(
        hyperparameter_table("s", HYPERPARAMETER_SPEC, paper, runs), "density", "step_size", "0.10"
    )
    assert pd.isna(found["mean"])
    assert found["note"] == "the model has no such number"


def test_csv_round_trip(runs, tmp_path):
    frame = comparison_table(
        "demo", SPEC, published(), runs, {("a0.05", "default"): 'no "data", α'}
    )
    write_table(frame, tmp_path / "demo.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "demo.csv"), frame)
    first = (tmp_path / "demo.csv").read_bytes()
    write_table(frame, tmp_path / "demo.csv")
    assert (tmp_path / "demo.csv").read_bytes() == first


@settings(deadline=None)  # writes files
@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_any_accuracies_survive_the_csv(tmp_path_factory, accuracies):
    folder = tmp_path_factory.mktemp("table")
    runs = load_runs([write_run(folder, "run", run_content("b0.2", accuracies))])
    frame = comparison_table("demo", SPEC, published(), runs)
    write_table(frame, folder / "demo.csv")
    pd.testing.assert_frame_equal(read_table(folder / "demo.csv"), frame, rtol=0, atol=0)


def test_another_csv_is_refused(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"other\.csv: columns are a, b; allowed: table, "):
        read_table(tmp_path / "other.csv")


def test_neither_torch_nor_snakemake_is_imported():
    modules = (
        "figures", "fragments", "latex", "latex_ranking", "latex_statistics", "layout", "notes",
        "places", "published", "ranking", "records", "stages", "statistics", "tables", "tidy",
        "typeset", "verdicts",
    )  # fmt: skip
    code = "".join(f"import flode.reporting.{module}\n" for module in modules)
    code += "import sys\nprint([m for m in ('torch', 'snakemake', 'matplotlib.pyplot') "
    code += "if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
