"""Tables and figures of runs that a study gathers: ablation, frequency dominance, depth, ranks."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flode.datasets.graph import Graph
from flode.experiments.catalogue import Run
from flode.experiments.validation import ConfigurationError
from flode.reporting.dominance import (
    extreme,
    frequency_dominance,
    observed_high,
    predicted_high,
)
from flode.reporting.figures.series import depth_figure, truncated_svd_figure
from flode.reporting.frequency import GRAPHS, OF_LAMBDA_1, UNPUBLISHED
from flode.reporting.published import cells, read_published
from flode.reporting.records import load_runs
from flode.reporting.search import search_table
from flode.reporting.stages import make_figure, make_study, make_table
from flode.spectral import factorize, sna
from tests.configuration import ROOT, catalogue
from tests.unit.reporting_samples import run_content, write_run
from tests.unit.test_reporting_statistics import report
from tests.unit.typesetting import fits

LAMBDA_1 = -0.9
CATALOGUE = catalogue()

#: Without what is said of the points of a study whose points a test replaces.
CLAIMS = CATALOGUE.config["tables"]["claims"]["claims"]
NO_CLAIMS = {
    "tables": {
        "claims": {
            "claims": {
                name: None for name in CLAIMS if CLAIMS[name]["source"] == "Figure on truncated SVD"
            }
        }
    }
}


def write_all(folder, runs, record=None):
    """A run file a run; its mean accuracy rises with the number of layers."""
    files = []
    for number, run in enumerate(runs):
        values = CATALOGUE.hyperparameters(run)
        tests = [0.7 + 0.01 * min(values["num_layers"], 9) + 0.002 * k for k in range(3)]
        content = run_content(run.variant, tests, configuration=run.configuration)
        content["hyperparameters"] = values
        for one in content["records"]:
            one |= {"validation": one["test"], "best_epoch": 3, "diverged_at": None}
            one |= {"channel_mixing": [[[0.5, -1.0], [-2.0, 2.0]]], "initial_dirichlet_energy": 0.1}
            one |= record(run, values) if record else {}
            if not values["ode"]:
                one["step_size"] = []
        files.append(write_run(folder, f"{number}", content))
    return files


# Ablation ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ablation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    found = CATALOGUE

    def record(run, values):
        # The directed fractional Schrödinger model is best with three layers; standard ones diverge
        # with six.
        if values["exponent"] == 1 and values["num_layers"] == 6:
            empty = dict.fromkeys(("train", "validation", "test", "best_epoch", "exponent"))
            return empty | {"diverged_at": 1, "dirichlet_energy": None}
        best = run == Run("chameleon-directed", "layers=3")
        return {"validation": 0.99} if best else {}

    files = write_all(folder, found.table_runs("ablation"), record)
    settings = found.table_settings("ablation")
    csv, tex = folder / "a.csv", folder / "a.tex"
    frame = make_table("ablation", settings, settings["spec"]["published"], files, csv, tex)
    return frame, tex, files, settings


def row_of(frame, subtable, row):
    own = frame[(frame["subtable"] == subtable) & (frame["row"] == row)]
    return own.set_index("column")


def test_every_published_number_of_the_ablation_has_a_cell(ablation):
    frame, *_ = ablation
    paper = cells(read_published(ROOT / "config/published/ablation.csv"))
    have = set(zip(frame["subtable"], frame["row"], frame["column"], strict=True))
    assert set(paper) <= have and len(frame) == 6 * (12 + 16 + 4)
    for at, cell in paper.items():
        own = row_of(frame, *at[:2]).loc[at[2]]
        assert own["published_mean"] == cell.mean


def test_layers_are_chosen_by_validation_and_never_by_test(ablation):
    frame, *_ = ablation
    best = row_of(frame, "chameleon", "D, schroedinger, ode, fractional")
    assert best.loc["layers", "mean"] == 3
    assert best.loc["test accuracy", "mean"] == pytest.approx(73.2)  # five layers test better
    assert best.loc["layers", "verdict"] == "differs"
    assert "best of 5 by validation, 99.00 %" in best.loc["layers", "note"]
    assert best.loc["layers, published layers", "mean"] == 5
    assert best.loc["test accuracy, published layers", "mean"] == pytest.approx(75.2)
    squirrel = row_of(frame, "squirrel", "D, heat, ode, fractional")  # the paper prints none
    assert squirrel.loc["layers, published layers", "mean"] == 6
    plain = row_of(frame, "chameleon", "D, schroedinger, no ode, fractional")
    assert plain.loc["layers", "mean"] == 6
    assert plain.loc["layers", "runs"] == plain.loc["test accuracy", "runs"]


def test_what_diverged_is_not_chosen(ablation):
    frame, *_ = ablation
    standard = row_of(frame, "squirrel", "D, heat, ode, standard")
    assert standard.loc["layers", "mean"] == 5


def test_a_row_with_a_candidate_that_was_not_run_is_not_run(ablation, tmp_path):
    _, whole, files, settings = ablation
    keys = load_runs(files)
    gone = keys["citeseer", "layers=4"].files[0]
    left = [file for file in files if str(file) != gone]
    frame = make_table(
        "ablation", settings, settings["spec"]["published"], left,
        tmp_path / "a.csv", tmp_path / "a.tex", {("citeseer", "layers=4"): "a job failed"},
    )  # fmt: skip
    row = row_of(frame, "citeseer", "U, schroedinger, ode, fractional")
    assert row.loc["layers", "verdict"] == "not run"
    assert "a job failed" in row.loc["layers", "note"]
    assert row.loc["test accuracy, published layers", "mean"] == pytest.approx(75.2)  # five
    tex = (tmp_path / "a.tex").read_text()
    assert r"Not run (a job failed): (c) layers chosen by validation: U\enspace $\mathbf{x}" in tex
    other = row_of(frame, "citeseer", "U, schroedinger, ode, standard")
    assert other.loc["layers", "mean"] == 5
    marks = [
        text.partition("(c) Citeseer")[2].count(r"\first{") for text in (whole.read_text(), tex)
    ]
    assert marks == [3, 1]  # none among the rows of which one was not run
    why = "No best is marked among rows of which one was not run."
    assert why in tex and why not in whole.read_text()


def test_a_block_that_was_not_run_at_all_is_named_as_one(ablation, tmp_path):
    *_, files, settings = ablation
    of_citeseer = [key for key in load_runs(files) if key[0] == "citeseer"]
    left = [file for key, runs in load_runs(files).items() if key not in of_citeseer
            for file in runs.files]  # fmt: skip
    outputs = (tmp_path / "a.csv", tmp_path / "a.tex")
    paper, reasons = settings["spec"]["published"], dict.fromkeys(of_citeseer, "not trained yet")
    make_table("ablation", settings, paper, left, *outputs, reasons)
    blocks = "(c) layers chosen by validation: all; (c) layers as published: all"
    assert f"Not run (not trained yet): {blocks}." in outputs[1].read_text()


def test_the_ablation_is_typeset_with_two_marks_a_block(ablation):
    tex = ablation[1].read_text()
    body = tex[tex.index(r"\begin{table}") :].split(r"\parbox")[0]
    body = body[body.index("toprule") :]
    assert body.count(r"\first{") >= 8 and r"\third{" not in body
    assert r"\flodepublished{77.79$\pm$1.42}" in body
    assert "directed, heterophilic" in tex
    fits(ablation[1].parent, ablation[1].stem)


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        ({"rows": {"D, heat, ode, standard": {"variant": "chamaeleon"}}}, "chameleon"),
        ({"rows": {"D, heat, ode, standard": {"set": {"layers": 2}}}}, "'num_layers'"),
    ],
)
def test_bad_options_are_refused_before_any_job(overlay, words):
    with pytest.raises(ConfigurationError, match=words):
        catalogue({"tables": {"ablation": {"subtables": {"chameleon": overlay}}}})


# Frequency dominance -----------------------------------------------------------------------------


def one_run(folder, configuration="default", **record):
    (file,) = write_all(folder, [Run("cora", configuration)], lambda run, values: record)
    return load_runs([file])["cora", configuration]


def test_fd_is_the_printed_formula(tmp_path):
    run = one_run(tmp_path, exponent=[0.5])
    expected = 2.0 * -np.sqrt(0.9) - -1.0
    assert frequency_dominance(run, LAMBDA_1, "FD_text").mean == pytest.approx(expected)
    printed = frequency_dominance(run, LAMBDA_1)  # of real parts
    assert printed.mean == pytest.approx(0.5 * -np.sqrt(0.9) + 2.0)
    turned = frequency_dominance(run, LAMBDA_1, "FD_trained")  # with −W: from −2 to 1
    assert turned.mean == pytest.approx(1.0 * -np.sqrt(0.9) + 2.0)
    heat = one_run(tmp_path, "equation=heat,complex=false", exponent=[2.0])
    assert frequency_dominance(heat, LAMBDA_1).mean == pytest.approx(0.5 * -0.81 - -2.0)
    for quantity in ("FD_text", "FD_trained"):
        assert frequency_dominance(heat, LAMBDA_1, quantity) == frequency_dominance(heat, LAMBDA_1)
    extremes = {end: extreme(run, f"lambda_{end}").mean for end in ("1_W", "K_W")}
    assert extremes == {"1_W": -2.0, "K_W": 0.5}
    assert [extreme(run, f"lambda_{end}_text").mean for end in extremes] == [-1.0, 2.0]
    assert extreme(heat, "lambda_K_W_text") == extreme(heat, "lambda_K_W")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("configuration", ["default", "equation=heat,complex=false", "ode=false"])
def test_the_prediction_is_what_many_layers_do(tmp_path, configuration, seed):
    """Apply the layer to a random state until one frequency is left."""
    rng = np.random.default_rng(seed)
    eigenvalues = np.array([LAMBDA_1, -0.5, 0.0, 0.3, 1.0])
    mixing = rng.normal(size=(3, 2))
    step, exponent = rng.normal(size=2) * 0.5, rng.uniform(0.2, 2)
    heat, ode = "heat" in configuration, "ode" not in configuration
    run = one_run(
        tmp_path, configuration,
        exponent=[exponent], channel_mixing=[mixing.tolist()], step_size=[step.tolist()],
    )  # fmt: skip
    if heat:  # a real model
        for one in run.records:
            one["channel_mixing"], one["step_size"] = [mixing[:, :1].tolist()], [[step[0]]]
    w = mixing[:, 0] if heat else mixing @ [1, 1j]
    c = -w * (1 if heat else 1j) * ((step[0] if heat else step @ [1, 1j]) if ode else 1)
    powers = np.sign(eigenvalues) * np.abs(eigenvalues) ** exponent
    x = np.ones((5, 3), dtype=complex)
    for _ in range(3000):
        x = powers[:, None] * x * c + (x if ode else 0)
        x /= np.linalg.norm(x)
    energy = 0.5 * (np.abs(x) ** 2 * (1 - eigenvalues[:, None])).sum()
    assert energy == pytest.approx(0, abs=1e-6) or energy == pytest.approx(0.95, abs=1e-6)
    assert predicted_high(run, LAMBDA_1).mean == (100 if energy > 0.5 else 0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("equation", ["heat", "schroedinger"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_fd_as_trained_predicts_the_continuous_equation(tmp_path, equation, sign, seed):
    """Which of the modes of x' = s L^α x W grows fastest."""
    rng = np.random.default_rng(seed)
    mixing, exponent = rng.normal(size=(4, 2)), rng.uniform(0.2, 2)
    run = one_run(tmp_path, exponent=[exponent], channel_mixing=[mixing.tolist()])
    run = replace(run, hyperparameters=run.hyperparameters | {"equation": equation, "sign": sign})
    w = mixing @ [1, 1j] if equation == "schroedinger" else mixing[:, 0]
    s = sign * (1j if equation == "schroedinger" else 1)
    powers = np.array([-(0.9**exponent), 1.0])
    growth = (s * w[:, None] * powers).real.max(axis=0)
    high = growth[0] > growth[1]
    assert (frequency_dominance(run, LAMBDA_1, "FD_trained").mean < 0) == high


def test_the_observed_dominance_compares_energies(tmp_path):
    assert observed_high(one_run(tmp_path, dirichlet_energy=0.2)).mean == 100
    assert observed_high(one_run(tmp_path, dirichlet_energy=0.05)).mean == 0
    run = one_run(tmp_path)
    for record in run.records:
        del record["initial_dirichlet_energy"]
    assert observed_high(run) is None


def test_the_table_of_frequency_dominance(tmp_path):
    found = CATALOGUE
    runs = [run for run in found.table_runs("frequency_dominance") if run.variant != "pubmed"]
    files = write_all(tmp_path, runs)
    folder = tmp_path / "statistics"
    folder.mkdir()
    for variant in found.table_variants("frequency_dominance"):
        if variant != "pubmed":
            files.append(write_run(folder, variant, report(variant, lambda_1=LAMBDA_1)))
    settings = found.table_settings("frequency_dominance")
    reasons = {("pubmed", "default"): "no raw file", ("pubmed", runs[-1].configuration): "none"}
    csv, tex = tmp_path / "f.csv", tmp_path / "f.tex"
    frame = make_table(
        "frequency_dominance", settings, settings["spec"]["published"], files, csv, tex, reasons
    )
    paper = cells(read_published(ROOT / "config/published/frequency_dominance.csv"))
    have = {(c.subtable, c.row, c.column): c for c in frame.itertuples()}
    assert set(paper) <= set(have)
    assert have["heat", "FD", "Film"].verdict == "published values disagree"
    assert have["heat", "FD", "Cora"].mean == pytest.approx(0.5 * -(0.9**0.91) + 2.0, rel=1e-2)
    assert have["schroedinger", "lambda_K_W", "Cora"].mean == 0.5
    assert have["heat", "observed_high", "Cora"].mean == 100
    assert have["graph", "lambda_1", "Cora"].verdict == "lower"
    assert have["graph", "lambda_1", "Pubmed"].verdict == "not run"
    assert have["schroedinger", "FD", "Pubmed"].verdict == "not run"
    assert "no raw file" in have["schroedinger", "FD", "Pubmed"].note
    fits(tmp_path, tex.stem)


# Series ------------------------------------------------------------------------------------------


def write_graph(folder, variant, nodes=30, undirected=True):
    rng = np.random.default_rng(len(variant))
    edges = rng.integers(0, nodes, (2, 80))
    edges = np.concatenate([edges, edges[::-1]], axis=1) if undirected else edges
    masks = np.eye(3, nodes, dtype=bool)[:, None]
    x = np.zeros((nodes, 2), dtype=np.float32)
    graph = Graph(x, rng.integers(0, 2, nodes), edges, np.ones(edges.shape[1]), *masks)
    graph_file, factor_file = folder / f"{variant}.npz", folder / f"{variant}.safetensors"
    graph.save(graph_file)
    laplacian = sna(graph.edge_index, graph.edge_weight, nodes)
    factorize(laplacian).save(factor_file)
    return str(graph_file), str(factor_file), laplacian.toarray()


def test_depth_gathers_accuracy_and_fd_and_shows_what_diverged(tmp_path):
    found = CATALOGUE
    runs = {
        run: None
        for by_series in found.study_runs("depth").values()
        for series in by_series.values()
        for run in series
    }
    assert len(runs) < 4 * 36 + 9  # at one, two and four layers series share runs

    def record(run, values):
        if values["num_layers"] >= 128 and not values["ode"]:
            empty = dict.fromkeys(("train", "validation", "test", "best_epoch", "exponent"))
            return empty | {"diverged_at": 1}
        return {}

    files = write_all(tmp_path, runs, record)
    settings = found.study_settings("depth")
    graphs = [write_graph(tmp_path, variant) for variant in settings["variants"].values()]
    csv = tmp_path / "depth.csv"
    make_study(settings, csv, [g[0] for g in graphs], [g[1] for g in graphs], files)
    frame = pd.read_csv(csv)
    assert len(frame) == 4 * 36 + 9
    assert sorted(frame["x"].unique()) == [2**k for k in range(9)]
    lost = frame[frame["mean"].isna()]
    assert len(lost) == 4 * 2 * 2 and lost["note"].str.contains("split 0 at epoch 1").all()
    point = frame[(frame["graph"] == "Cora") & (frame["series"] == "ODE, standard")].iloc[0]
    lambda_1 = np.linalg.eigvalsh(graphs[2][2])[0]
    powers = [-(abs(lambda_1) ** (0.9 + 0.01 * k)) for k in range(3)]
    assert point["fd_mean"] == pytest.approx(np.mean([1 * p + 2 for p in powers]))
    paths = make_figure(found.figure_settings("depth"), csv, tmp_path / "depth")
    assert all(path.stat().st_size > 500 for path in paths)
    figure, plotted = depth_figure(frame, {}, quick=True)
    assert len(figure.axes) == 8 and len(plotted) == len(frame)
    assert "Quick run" in figure.get_suptitle()
    # Without one run, and without one graph.
    reasons = {("cora", "default"): "no time"}
    rest = [file for file in files if "cora/default" not in str(file)]
    settings["flows"] = {label: settings["flows"][label] for label in ("Chameleon", "Cora")}
    own = [graphs[index] for index in (0, 2)]
    frame = make_study(settings, csv, [g[0] for g in own], [g[1] for g in own], rest, reasons)
    missing = frame[frame["n"] == 0]
    assert set(missing["graph"]) == {"Citeseer", "Squirrel", "Cora"}
    assert set(missing.loc[missing["graph"] == "Cora", "note"]) == {"not run: no time"}
    figure, plotted = depth_figure(frame, {})
    assert figure.get_suptitle() == f"{len(missing)} points not run" and len(plotted) > 36


def test_truncated_svd_gathers_accuracy_and_explained_variance(tmp_path):
    points = {"chameleon": {"points": [{"rank": 3}, {"rank": None}]}}
    found = catalogue({"studies": {"truncated_svd": {"series": points}}} | NO_CLAIMS)
    settings = found.study_settings("truncated_svd")
    runs = [r for series in found.study_runs("truncated_svd").values() for s in series.values()
            for r in s]  # fmt: skip
    files = write_all(tmp_path, runs)
    graphs = [write_graph(tmp_path, v, undirected=False) for v in settings["variants"].values()]
    csv = tmp_path / "svd.csv"
    make_study(settings, csv, [g[0] for g in graphs], [g[1] for g in graphs], files)
    frame = pd.read_csv(csv)
    own = frame[frame["graph"] == "Chameleon"]
    values = np.linalg.svd(graphs[0][2], compute_uv=False)
    expected = (values[:3] ** 2).sum() / (values**2).sum()
    assert own["explained_variance"].tolist() == pytest.approx([expected, 1.0])
    assert own["x"].tolist() == [3, (values > 1e-6 * values[0]).sum()]
    assert list(own["configuration"]) == ["rank=3", "default"]
    figure, _ = truncated_svd_figure(frame, {})
    assert [ax.get_title() for ax in figure.axes if ax.get_title()] == ["Chameleon", "Squirrel"]


def test_a_study_without_a_known_graph_is_refused():
    graphs = {"Cora": "coraa"}
    with pytest.raises(ConfigurationError, match="did you mean 'cora'"):
        catalogue({"studies": {"depth": {"graphs": graphs}}})


def test_candidates_of_a_search_need_no_grid():
    found = CATALOGUE
    runs = found.search_runs("alternatives")
    assert Run("cora", "encoder=1,decoder=2") in runs["cora"]
    assert Run("cora") in runs["cora"]
    with pytest.raises(ConfigurationError, match="did you mean 'num_layers'"):
        catalogue({"searches": {"alternatives": {"candidates": {"cora": [{"layers": 3}]}}}})
    assert not re.search("dsbm", str(runs))


# What does not fit --------------------------------------------------------------------------------


def ablation_of(tmp_path, choose, **changed):
    """One row with what it chooses from, all candidates run."""
    overlay = {"tables": {"ablation": {"choose": choose}}}
    found = catalogue(overlay)
    settings = found.table_settings("ablation")
    runs = [run for run in found.table_runs("ablation") if run.variant == "citeseer"]
    files = write_all(tmp_path, runs, lambda run, values: changed)
    out = (tmp_path / "a.csv", tmp_path / "a.tex")
    frame = make_table("ablation", settings, settings["spec"]["published"], files, *out)
    return row_of(frame, "citeseer", "U, schroedinger, ode, fractional")


def test_a_published_number_of_layers_that_no_candidate_has_is_said(tmp_path):
    row = ablation_of(tmp_path, {"num_layers": [2, 3]})
    cell = row.loc["test accuracy, published layers"]
    assert cell["verdict"] == "not run" and "no candidate has 5 layers" in cell["note"]
    assert row.loc["layers", "mean"] == 3


def test_with_the_published_layers_all_else_is_the_variants(tmp_path):
    default = CATALOGUE.hyperparameters(Run("citeseer"))["learning_rate"]
    row = ablation_of(tmp_path, {"learning_rate": [0.5, default], "num_layers": [2, 5]})
    assert CATALOGUE.run("citeseer", {"num_layers": 5}).configuration == "layers=5"
    (run,) = load_runs([row.loc["test accuracy, published layers", "runs"]]).values()
    assert run.configuration == "layers=5"


def test_frequency_dominance_needs_one_w(tmp_path):
    run = one_run(tmp_path, channel_mixing=[[[0.5, 0.0]], [[0.5, 0.0]]])
    with pytest.raises(ValueError, match="channel_mixing holds 2 weight sets; allowed: one"):
        frequency_dominance(run, LAMBDA_1)
    run = one_run(tmp_path, channel_mixing=None)
    with pytest.raises(ValueError, match="channel_mixing holds 0"):
        predicted_high(run, LAMBDA_1)


def test_no_prediction_for_negative_exponents_and_zero_stays_zero(tmp_path):
    run = one_run(tmp_path, exponent=[-0.5])
    assert predicted_high(run, LAMBDA_1) is None
    assert frequency_dominance(run, 0.0, "FD_text").mean == 1.0
    assert observed_high(one_run(tmp_path, initial_dirichlet_energy=None)) is None


def frequency(tmp_path, lambda_1, heat):
    spec = {"kind": "frequency_dominance", "caption": "", "label": "", "subtables": {}}
    spec["published"] = str(tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text(
        "subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source\n"
        "graph,0,lambda_1,A,lambda_1,,-0.9,,,,,t\n"
    )
    column = {"variant": "cora", "configuration": "equation=heat,complex=false"}
    for name, columns in (("graph", ["A", "B"]), ("heat", heat)):
        spec["subtables"][name] = {"caption": "", "columns": dict.fromkeys(columns, column)}
    files = write_all(tmp_path, [Run(*column.values())])
    (tmp_path / "statistics").mkdir()
    files.append(write_run(tmp_path / "statistics", "cora", report("cora", lambda_1=lambda_1)))
    tex = tmp_path / "f.tex"
    settings = {"spec": spec, "quick": False}
    return make_table("f", settings, spec["published"], files, tmp_path / "f.csv", tex), tex


def test_a_graph_without_lambda_1_is_said_to_have_none(tmp_path):
    """What needs none is shown."""
    frame, _ = frequency(tmp_path, None, ["A", "B"])
    without = frame["row"].isin(["lambda_1", *OF_LAMBDA_1])
    assert set(frame["verdict"][without]) == {"not run"} and frame["mean"][without].isna().all()
    assert frame["note"][without].str.contains("cora.json has no lambda_1").all()
    models = ~without & (frame["subtable"] != GRAPHS) & ~frame["row"].isin(UNPUBLISHED)
    assert models.any() and frame["mean"][models].notna().any()
    assert not frame["note"][~without].str.contains("lambda_1").any()


def test_a_column_stands_below_its_own_head(tmp_path):
    _, tex = frequency(tmp_path, -0.9, ["C", "B"])
    lines = tex.read_text().splitlines()
    assert any(line.strip() == r"& A & B & C \\" for line in lines)
    (fd,) = (line for line in lines if line.startswith("FD &"))
    assert [bool(cell.strip(" \\")) for cell in fd.split(" & ")[1:]] == [False, True, True]


def test_depth_of_a_directed_graph_is_refused(tmp_path):
    graph, factors, _ = write_graph(tmp_path, "cora", undirected=False)
    run = Run("cora", "layers=3")
    settings = CATALOGUE.study_settings("depth")
    settings |= {"variants": {"Cora": "cora"}, "flows": {"Cora": "target_to_source"}}
    settings["series"] = {"Cora": {"s": {"layers=3": {"num_layers": 3}}}}
    files = write_all(tmp_path, [run])
    with pytest.raises(ValueError, match=r"graph Cora: .*has no lambda_1; allowed: an undirected"):
        make_study(settings, tmp_path / "d.csv", [graph], [factors], files)
    assert not (tmp_path / "d.csv").exists()


def test_ranks_may_be_fractions_and_series_are_drawn_apart(tmp_path):
    graph, factors, _ = write_graph(tmp_path, "chameleon-directed", undirected=False)
    points = {
        "chameleon": {"graphs": ["Chameleon"], "points": [{"rank": 0.1}, {"rank": None}]},
        "other": {"graphs": ["Chameleon"], "set": {"num_layers": 2}, "points": [{"rank": 3}]},
    }
    found = catalogue({"studies": {"truncated_svd": {"series": points}}} | NO_CLAIMS)
    settings = found.study_settings("truncated_svd")
    for key in ("variants", "flows", "series"):
        settings[key] = {"Chameleon": settings[key]["Chameleon"]}
    runs = [run for series in found.study_runs("truncated_svd")["Chameleon"].values()
            for run in series]  # fmt: skip
    files = write_all(tmp_path, runs, lambda run, values: {"diverged_at": None})
    frame = make_study(settings, tmp_path / "s.csv", [graph], [factors], files)
    assert frame["x"].tolist()[0] == 3
    figure, _ = truncated_svd_figure(frame, {})
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["test accuracy, chameleon", "test accuracy, other", "explained variance"]


@pytest.mark.parametrize("text", ["", "graph,series\n"])
def test_a_damaged_study_is_named_by_its_figure(tmp_path, text):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(ValueError, match=r"s\.csv: damaged"):
        make_figure(CATALOGUE.figure_settings("depth"), tmp_path / "s.csv", tmp_path / "depth")
    assert not list(tmp_path.glob("*depth*"))


def test_a_search_has_all_its_columns_whatever_diverged(tmp_path):
    lost = dict.fromkeys(("train", "validation", "test", "best_epoch")) | {"diverged_at": 1}
    found = {"cora": {"default": {}, "patience=100": {"patience": 100}}}
    files = write_all(tmp_path, [Run("cora", one) for one in found["cora"]], lambda *_: lost)
    frame = search_table(found, load_runs(files))
    assert list(frame.columns[:3]) == ["variant", "patience", "configuration"]
    assert "validation_mean" in frame and not frame["chosen"].any()
    assert frame["patience"].tolist() == [None, 100]


def test_a_search_says_where_it_compares_fewer_splits_than_it_shows(tmp_path):
    candidates = {"cora": {"default": {"num_layers": 3}, "layers=4": {"num_layers": 4}}}
    files = []
    for configuration, metrics in (("default", [0.7, 0.7, 0.9]), ("layers=4", [0.8, 0.8])):
        content = run_content("cora", metrics) | {"configuration": configuration}
        for record, metric in zip(content["records"], metrics, strict=True):
            record |= {"validation": metric, "epochs": 3}
        files.append(write_run(tmp_path, configuration, content))
    frame = search_table(candidates, load_runs(files))
    assert frame["chosen"].tolist() == [False, True]
    assert frame["note"].tolist() == ["compared by splits 0 to 1", ""]


def test_an_ablation_marks_no_best_among_different_splits(ablation, tmp_path):
    *_, files, settings = ablation
    paper, texts = settings["spec"]["published"], []
    for few in ([], ["layers=5"]):  # of which there is one split
        found = []
        for (variant, configuration), runs in load_runs(files).items():
            content = json.loads(Path(runs.files[0]).read_text())
            if variant == "citeseer" and configuration in few:
                content["records"] = content["records"][:1]
            last = len(content["records"]) - 1
            path = tmp_path / f"{few}" / variant / configuration / f"splits-0-{last}.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(content))
            found.append(path)
        make_table("ablation", settings, paper, found, tmp_path / "a.csv", tmp_path / "a.tex")
        texts.append((tmp_path / "a.tex").read_text())
    counts = [text.partition("(c) Citeseer")[2].count(r"\first{") for text in texts]
    assert counts[1] < counts[0]
    why = "No best is marked among means over different splits."
    assert why not in texts[0] and why in texts[1]
