"""Tables, studies and figures that do not fit together are refused before any job."""

import pytest

from flode.experiments.checks import ABLATION_COLUMNS, NUMBERS, PLACES, STUDY_COLUMNS, SUMMARIES
from flode.experiments.studies import STUDIES
from flode.experiments.validation import ConfigurationError
from flode.reporting import ablation
from flode.reporting.series import SERIES
from flode.reporting.tidy import COLUMNS
from tests.configuration import catalogue

DSBM = {"format": "dsbm", "metric": "accuracy", "generator": {"graphs": 1}}


def depth(**changed):
    return {"studies": {"depth": changed}}


def series(kind, **one):
    return {"studies": {kind: {"series": {"own": one}}}}


def row(**changed):
    rows = {"U, schroedinger, ode, standard": changed}
    return {"tables": {"ablation": {"subtables": {"citeseer": {"rows": rows}}}}}


def heat(**column):
    columns = {"Cora": column}
    return {"tables": {"frequency_dominance": {"subtables": {"heat": {"columns": columns}}}}}


def energy(**changed):
    return {"studies": {"dirichlet_energy": changed}}


def edges(*pairs):
    return {"studies": {"weakly_balanced": {"edges": {"own": list(pairs)}}}}


def claim(where, source="dsbm", **more):
    check = {"less": [{"source": source, "where": where, **more}, 1]}
    claims = {"own": {"source": "here", "checks": [check]}}
    return {"tables": {"claims": {"claims": claims}}}


def without_net_flow(**more):
    figures = more.get("figures", {"dsbm": {"panels": {"net_flow": None}}})
    tables = {"dsbm": {"subtables": {"net_flow": None}}, **more.get("tables", {})}
    return {"tables": tables, "figures": figures}


OWN = {"kind": "comparison", "caption": "", "label": "", "published": "config/published/dsbm.csv"}
CONSTANTS = {"own": {"source": "here", "checks": [{"less": [0, 1]}]}}


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        (
            {"figures": {"depth": {"kind": "truncated_svd"}}},
            ["figures.depth", "allowed are 'depth'"],
        ),
        ({"figures": {"dsbm": {"table": "claims"}}}, ["figures.dsbm.table", "comparison"]),
        ({"figures": {"dsbm": {"table": "node_classification_full"}}}, ["a panel", "undirected"]),
        ({"figures": {"dsbm": {"panels": {"no": {"label": "x"}}}}}, ["'no'", "edge_density"]),
        (
            {"tables": {"reproduction": {"tables": ["reproduction"]}}},
            ["'reproduction'", "measures"],
        ),
        ({"tables": {"reproduction": {"tables": ["claims"]}}}, ["'claims'", "measures"]),
        (
            {"studies": {"spectrum": {"exponents": [1]}}},
            ["spectrum", "'exponents'", "kind, graphs"],
        ),
        (depth(graphs={"Cora": "chameleon-directed"}), ["Cora", "chameleon-directed is directed"]),
        (depth(graphs={"Cora": "dsbm-alpha0.1-beta0.2"}), ["Cora", "is directed"]),
        (depth(graphs={"Cora": "coraa"}), ["studies.depth.graphs", "did you mean 'cora'"]),
        (series("depth", points=[{"rank": 3}]), ["points.0 is {'rank': 3}", "num_layers"]),
        (series("depth", points=[]), ["series.own.points is []", "at least 1"]),
        (series("truncated_svd", points=[{"num_layers": 3}]), ["own.points.0", "needs rank"]),
        (
            series("depth", points=[{"num_layers": 3}], graphs=["Coraa"]),
            ["series.own.graphs", "'Coraa'", "'Cora', 'Squirrel'"],
        ),
        (
            series("depth", points=[{"num_layers": 3}], set={"num_layers": 2}),
            ["studies.depth", "num_layers is set to 2 and to 3"],
        ),
        (
            series("depth", points=[{"num_layers": 3}], set={"shared_weights": False}),
            ["shared_weights is False", "layers=3"],
        ),
        ({"studies": {"truncated_svd": {"graphs": {"Cora": "cora"}}}}, ["no series", "'Cora'"]),
        (energy(graphs={"new": "cora"}), ["horizons", "'new' is missing"]),
        (energy(horizons={"new": 3}), ["horizons", "'new'", "Cora (undirected)"]),
        (energy(horizons={"Cora (undirected)": 0.01}), ["is 0.01", "at least the step, 0.1"]),
        (edges([0, 10**9]), ["edges.own.0.1 is 1000000000", "at most 99"]),
        (edges([0, 1], [1, 1]), ["edges.own: [1, 1] is a self-loop", "two nodes"]),
        (edges([0, 1], [0, 1]), ["edges.own", "non-unique"]),
        (row(set={"num_layers": 3}), ["tables.ablation", "num_layers is set to 3 and to 2"]),
        (row(variant="tolokers"), ["citeseer.rows.U", "metric of tolokers is 'auroc'", "accuracy"]),
        ({"tables": {"ablation": {"metric": "auroc"}}}, ["tables.ablation.metric is 'auroc'"]),
        ({"tables": {"ablation": {"choose": {"num_layers": []}}}}, ["num_layers is []"]),
        ({"tables": {"ablation": {"choose": {"num_layers": ["7"]}}}}, ["num_layers is '7'"]),
        (heat(variant="film-directed"), ["heat.columns.Cora", "film-directed is directed"]),
        (heat(configuration="default"), ["heat.columns.Cora", "'schroedinger'", "heat"]),
        (
            heat(configuration="equation=heat,complex=false,shared=false"),
            ["shared_weights is False"],
        ),
        (claim({"row": "own"}, "claims"), ["source 'claims'", "measures"]),
        (claim({"column": 0.1}), ["dsbm.where.column is 0.1", "in quotes"]),
        (claim({"rwo": "FLODE"}), ["'rwo'", "'subtable', 'row', 'column'"]),
        (claim({"subtable": "edge"}), ["where.subtable is 'edge'", "edge_density"]),
        (claim({"subtable": "edge_density", "column": "0.3"}), ["where.column is '0.3'", "0.1"]),
        (
            claim({"subtable": "chameleon", "row": "a"}, "ablation"),
            ["where.row is 'a'", "'D, heat"],
        ),
        (claim({"graph": "Coraa"}, "depth"), ["depth.where.graph is 'Coraa'", "Cora"]),
        (claim({"series": "ODE"}, "depth"), ["depth.where.series is 'ODE'", "ODE, standard"]),
        (claim({"x": 13}, "depth"), ["depth.where.x is 13", "256"]),
        (claim({"x": "16"}, "depth"), ["depth.where.x is '16'", "16"]),
        (
            claim({"subtable": "chameleon", "column": "test acuracy"}, "ablation"),
            ["where.column is 'test acuracy'", "test accuracy, published layers"],
        ),
        (
            {
                "tables": {
                    "node_classification": {
                        "subtables": {"directed": {"columns": {"Friends": {"variant": "cora"}}}}
                    }
                }
            },
            ["'Friends' has no models to be ranked", "config/published/node_classification_full"],
        ),
        (claim({"grph": "Cora"}, "depth"), ["depth.where: a key is 'grph'", "'graph', 'series'"]),
        (claim({"x": 2}, "depth", minus={"where": {"layers": 2}}), ["a key is 'layers'"]),
        (claim({"graph": "Cora"}, "depth", value="fd"), ["depth.value is 'fd'", "fd_mean"]),
        (
            claim({"kind": "perron"}, "spectrum"),
            ["spectrum.value is 'mean'", "'real', 'imaginary'"],
        ),
        (claim({"row": "FLODE"}, value="verdict"), ["value is 'verdict'", "published_mean"]),
        (claim({"row": "FLODE"}, value="published_mean"), ["must be measured"]),
        (without_net_flow(figures={}), ["figures.dsbm.panels", "'net_flow'", "edge_density"]),
        (
            without_net_flow(**claim({"subtable": "net_flow"})),
            ["claims.own: dsbm.where.subtable is 'net_flow'", "edge_density"],
        ),
        (
            {"tables": {"dsbm": {"subtables": {"net_flow": None, "edge_density": None}}}},
            ["tables.dsbm.subtables is {}", "at least 1 entry is needed"],
        ),
        (
            {"tables": {"own": {**OWN, "subtables": {"s": {"caption": "", "columns": {}}}}}},
            ["tables.own.subtables.s.columns is {}", "at least 1 entry is needed"],
        ),
        ({"tables": {"claims": {"claims": CONSTANTS}}}, ["[0, 1]", "must be measured"]),
        # Whole numbers that are written as fractions.
        (
            {"variants": {"cora": {"hyperparameters": {"num_layers": 4.0}}}},
            ["variants.cora.hyperparameters.num_layers is 4.0", "integer"],
        ),
        ({"variants": {"cora": {"rank": 2.0}}}, ["variants.cora.rank is 2.0"]),
        ({"training": {"splits_per_job": 2.0}}, ["training.splits_per_job is 2.0", "integer"]),
        ({"datasets": {"cora": {"splits": 2.0}}}, ["datasets.cora.splits is 2.0", "integer"]),
        ({"datasets": {"own": {"title": "Own", **DSBM}}}, ["datasets.own.generator", "is missing"]),
        ({"searches": {"own": {}}}, ["searches.own is {}", "with the key 'grid'", "'candidates'"]),
        ({"data": {"manifest": "none.csv"}}, ["data.manifest cannot be read", "'none.csv'"]),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_what_does_not_fit_names_key_value_and_what_is_allowed(overlay, words):
    with pytest.raises(ConfigurationError) as caught:
        catalogue(overlay)
    for word in words:
        assert word in str(caught.value)


def test_a_subtable_may_be_removed():
    found = catalogue(without_net_flow())
    assert list(found.table_settings("dsbm")["spec"]["subtables"]) == ["edge_density"]


def test_an_ablation_chooses_layers():
    spec = {"kind": "ablation", "caption": "", "label": "", "published": "config/published/x.csv"}
    spec |= {"choose": {"rank": [3]}, "subtables": {"s": {"caption": "", "rows": {}}}}
    with pytest.raises(ConfigurationError, match="'num_layers' is missing"):
        catalogue({"tables": {"own": spec}})


def test_a_name_of_a_table_and_a_study_is_no_source():
    found = claim({"row": "a"}, "both")
    found["tables"]["both"] = {
        "kind": "reproduction",
        "caption": "",
        "label": "",
        "tables": ["dsbm"],
    }
    found["studies"] = {"both": {"kind": "cycle_eigenvectors", "nodes": 4}}
    with pytest.raises(ConfigurationError, match="a table and a study"):
        catalogue(found)


def test_the_columns_that_claims_may_name_are_those_of_tables():
    assert set(PLACES) | set(NUMBERS) <= set(COLUMNS) and len(SUMMARIES) == 2
    labels = [*ablation.COLUMNS, *(label + ablation.AS_PUBLISHED for label in ablation.COLUMNS)]
    assert list(ABLATION_COLUMNS) == labels


def test_every_kind_of_study_says_its_columns():
    kinds = catalogue({}).config["studies"].values()
    assert set(STUDY_COLUMNS) == {*STUDIES, *SERIES} == {spec["kind"] for spec in kinds}


def test_candidates_that_repeat_a_default_are_its_run():
    found = catalogue(
        {"searches": {"alternatives": {"candidates": {"cora": [{}, {"patience": 200}]}}}}
    )
    (run,) = found.search_runs("alternatives")["cora"]
    assert run.configuration == "default"
