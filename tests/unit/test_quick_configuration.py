"""What an overlay may leave out or generate, and where generated raw files stand."""

import copy

import pytest
import yaml

from flode.experiments.catalogue import Run
from flode.experiments.validation import ConfigurationError, without_removed
from tests.configuration import ROOT, catalogue, merge

OVERLAY = yaml.safe_load((ROOT / "config/quick.yaml").read_text(encoding="utf-8"))
QUICK = catalogue(OVERLAY)
FULL = catalogue()


def test_null_removes_an_entry_and_no_value():
    config = {
        "tables": {"a": None, "b": {"subtables": {"s": None, "t": {"columns": {"x": None}}}}},
        "variants": {"v": {"rank": None}, "w": None},
        "studies": {"s": {"series": {"one": {"points": [{"rank": None}]}, "two": None}}},
        "data": {"mirror": None},
    }
    given = copy.deepcopy(config)
    assert without_removed(config) == {
        "tables": {"b": {"subtables": {"t": {"columns": {}}}}},
        "variants": {"v": {"rank": None}},
        "studies": {"s": {"series": {"one": {"points": [{"rank": None}]}}}},
        "data": {"mirror": None},
    }
    assert config == given
    found = catalogue({"figures": {"depth": None}, "searches": {"dsbm": None}})
    assert "depth" not in found.config["figures"] and "dsbm" not in found.config["searches"]
    assert without_removed(FULL.config) == FULL.config


def test_what_is_removed_and_still_needed_is_said():
    with pytest.raises(ConfigurationError, match="no 'spectrum' among studies"):
        catalogue({"studies": {"spectrum": None}})


def test_the_quick_run_has_every_table_figure_study_and_search():
    for group in ("tables", "figures", "studies", "searches"):
        assert set(QUICK.config[group]) == set(FULL.config[group]), group


def test_no_raw_file_of_the_quick_run_is_a_fetched_one():
    generated = set(QUICK.generated_raw_files())
    needed = set()
    for name in QUICK.config["tables"]:
        needed |= {run.variant for run in QUICK.table_runs(name)}
        needed |= set(QUICK.table_variants(name))
    for study in QUICK.config["studies"].values():
        needed |= set(study.get("graphs", {}).values())
    assert len(needed) > 20
    files = {path for variant in needed for path in QUICK.raw_files(variant)}
    assert files == generated
    fetched = {path for variant in FULL.variants for path in FULL.raw_files(variant)}
    folder = QUICK.config["data"]["folder"]
    assert not generated & fetched
    assert all(path.startswith("results/quick/generated/") for path in generated)
    assert not any(path.startswith(f"{folder}/") for path in generated)
    assert FULL.generated_raw_files() == [] and FULL.generated_raw_settings() == {}


def test_statistics_of_a_generated_graph_have_no_published_size():
    assert FULL.statistics_settings("cora")["published"] == {"nodes": 2708, "edges": 5278}
    assert not {"generated", "ranks"} & set(FULL.statistics_settings("cora"))
    ranks = [10, 50, 100, 200, 300, 400, 570]  # of the study of truncated SVD
    assert FULL.statistics_settings("chameleon-directed")["ranks"] == ranks
    quick = QUICK.statistics_settings("cora")
    assert quick["published"] == {} and quick["generated"] is True


def generate(dataset, **changes):
    entry = OVERLAY["datasets"]["minesweeper"]["generate"] | changes
    return {"quick": True, "datasets": {dataset: {"generate": entry}}}


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        (
            merge(generate("minesweeper"), {"quick": False}),
            "datasets.minesweeper.generate is given and quick is false",
        ),
        (generate("tolokers", clusters=3), "tolokers.generate.clusters is 3; allowed is 2"),
        (generate("film", unlabelled=2), "film.generate.unlabelled is 2; allowed is 0"),
        (generate("film", beta=1.2), "film.generate.beta is 1.2; at most 1"),
        (generate("film", sizes=1), "unknown key 'sizes'"),
        ({"datasets": {"film": {"generate": {"clusters": 2}}}}, "generate: the key .* is missing"),
    ],
)
def test_what_cannot_be_generated_is_refused(overlay, words):
    with pytest.raises(ConfigurationError, match=words):
        catalogue(overlay)


def test_a_generated_dataset_needs_no_row_of_the_manifest():
    files = {"files": {"archive": "data/own.npz"}}
    with pytest.raises(ConfigurationError, match=r"own\.npz, which config/manifest\.csv does not"):
        catalogue({"datasets": {"minesweeper": files}})
    found = catalogue(merge(generate("minesweeper"), {"datasets": {"minesweeper": files}}))
    (path,) = found.raw_files("minesweeper")
    assert path == "results/generated/heterophilous-graphs/data/own.npz"


def test_a_row_of_an_ablation_may_choose_otherwise():
    row = "D, schroedinger, ode, fractional"
    own = {row: {"choose": {"num_layers": [2, 5]}}}
    overlay = {"tables": {"ablation": {"subtables": {"chameleon": {"rows": own}}}}}
    rows = catalogue(overlay).table_settings("ablation")["spec"]["subtables"]["chameleon"]["rows"]
    assert list(rows[row]["candidates"]) == ["layers=2", "default"]
    assert rows[row]["default"] == {"num_layers": 5}
    assert len(rows["D, schroedinger, ode, standard"]["candidates"]) == 5
    own[row]["choose"] = {"hidden_channels": [2, 5]}
    with pytest.raises(ConfigurationError, match="num_layers"):
        catalogue(overlay)


def test_every_published_depth_is_among_the_candidates_of_the_quick_ablation():
    import pandas as pd

    rows = QUICK.table_settings("ablation")["spec"]["subtables"]
    printed = pd.read_csv(ROOT / "config/published/ablation.csv")
    printed = printed[printed["column"] == "layers"].dropna(subset="mean")
    assert len(printed) == 16
    for cell in printed.itertuples():
        options = rows[cell.subtable]["rows"][cell.row]
        layers = {
            QUICK.hyperparameters(Run(options["variant"], name))["num_layers"]
            for name in options["candidates"]
        }
        assert cell.mean in layers, cell
