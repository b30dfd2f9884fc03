"""From the configuration to runs and files; bad configurations are refused with clear words."""

import dataclasses
import subprocess
import sys

import pytest
import yaml

from flode.datasets.build import UNLABELLED
from flode.datasets.features import NORMALIZATIONS
from flode.datasets.registry import FORMATS, Variant
from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.defaults import FILES
from flode.experiments.hyperparameters import SHORT_NAMES
from flode.experiments.report import Report
from flode.experiments.validation import (
    ConfigurationError,
    as_yaml,
    check_keys,
    check_removed,
    did_you_mean,
    naming_removed,
)
from tests.configuration import ROOT, SCHEMAS, TINY, catalogue, configuration

VARIANT = "dsbm-alpha0.1-beta0.05"
DEFAULTS = [ROOT / "config" / name for name in FILES]


def test_the_repository_is_configured_well():
    found = catalogue()
    assert len(found.table_runs("dsbm")) == 10  # eleven cells, one shared
    for variant in found.variants:
        values = found.hyperparameters(Run(variant))
        assert {"model", *values} == set(SHORT_NAMES)


def test_the_quick_overlay_fits():
    overlay = yaml.safe_load((ROOT / "config" / "quick.yaml").read_text())
    found = catalogue(overlay)
    assert found.results == "results/quick"
    assert found.run_settings(Run(VARIANT))["quick"] is True


def test_hyperparameters_of_dsbm_are_the_published_ones():
    import pandas as pd

    found = catalogue()
    published = pd.read_csv(ROOT / "config/published/dsbm_hyperparameters.csv", dtype=str)
    columns = found.table_settings("dsbm_hyperparameters")["spec"]["subtables"]
    assert len(published) == 55
    for row in published.itertuples():
        cell = columns[row.subtable]["columns"][row.column]
        values = found.hyperparameters(Run(cell["variant"]))
        if row.column == "Cora" and row.row in SWAPPED:
            assert values[SWAPPED[row.row]] == int(row.mean)
            continue
        assert values[row.row] == pytest.approx(float(row.mean)), row


#: The paper's table has these of Cora the other way round.
SWAPPED = {"encoder_layers": "decoder_layers", "decoder_layers": "encoder_layers"}


def test_hyperparameters_of_real_graphs_are_the_published_ones():
    import pandas as pd

    found = catalogue()
    published = pd.read_csv(ROOT / "config/published/hyperparameters.csv", dtype=str)
    columns = found.table_settings("hyperparameters")["spec"]["subtables"]
    compared = 0
    for row in published.itertuples():
        if row.row in ("exponent", "step_size", "dirichlet_energy"):  # learned
            continue
        cell = columns[row.subtable]["columns"][row.column]
        values = found.hyperparameters(Run(cell["variant"]))
        if row.column == "Cora" and row.row in SWAPPED:
            assert values[SWAPPED[row.row]] == int(row.mean)
            continue
        assert values[row.row] == pytest.approx(float(row.mean)), row
        compared += 1
    assert compared == 8 * 13 - 2


def test_later_levels_override_earlier_ones():
    overlay = {
        "hyperparameters": {"patience": 7, "epochs": 8, "num_layers": 9},
        "datasets": {"dsbm": {"hyperparameters": {"epochs": 10}}},
        "variants": {VARIANT: {"hyperparameters": {"num_layers": 11}}},
    }
    found = catalogue(overlay)
    values = found.hyperparameters(Run(VARIANT, "hidden=12"))
    # The dataset sets its own patience.
    assert (values["patience"], values["epochs"]) == (500, 10)
    assert (values["num_layers"], values["hidden_channels"]) == (11, 12)


def test_a_variant_like_another_differs_only_in_what_it_says():
    other, own = VARIANT, {"like": VARIANT, "generator": {"alpha_within": 0.3}}
    own |= {"flow": "source_to_target", "hyperparameters": {"num_layers": 7}}
    overlay = {"variants": {other: {"hyperparameters": {"hidden_channels": 5}}, "own": own}}
    found = catalogue(overlay)
    values, known = found.hyperparameters(Run("own")), found.hyperparameters(Run(other))
    assert values == known | {"num_layers": 7} and values["hidden_channels"] == 5
    drawn = [found.graph_settings(name)["generator"] for name in ("own", other)]
    assert drawn[0] == drawn[1] | {"alpha_within": 0.3}
    assert found.factor_settings("own")["flow"] == "source_to_target"
    found = catalogue({"variants": {"own": {"like": "cora", "self_loops": 0}}})
    build, known = (found.graph_settings(name)["build"] for name in ("own", "cora"))
    assert build == known | {"self_loops": 0} and known["self_loops"] == 1


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"like": "coraa"}, ["variants.own.like is 'coraa'", "did you mean 'cora'"]),
        ({"like": "own"}, ["variants.own.like is 'own', a cycle: 'own' like 'own'", "cora"]),
        ({"like": "cora-whole"}, ["is 'cora-whole', which is like 'cora' itself", "allowed are"]),
        ({"like": "cora", "dataset": "film"}, ["variants.own.dataset", "not allowed here"]),
        ({"binary": True}, ["variants.own", "'dataset' is missing"]),
        ({"like": "cora", "generator": {"beta": 0.1}}, ["variants.own.generator", "raw files"]),
    ],
)
def test_a_variant_that_is_like_none_is_refused(other, words):
    with pytest.raises(ConfigurationError) as caught:
        catalogue({"variants": {"own": other}})
    for word in words:
        assert word in str(caught.value)


def test_a_cycle_of_variants_is_called_one():
    with pytest.raises(ConfigurationError, match="a cycle: 'a' like 'b' like 'a'; allowed are"):
        catalogue({"variants": {"a": {"like": "b"}, "b": {"like": "a"}}})


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        ({"tables": {"dsbm": None}}, "tables.dsbm is null, which removes it, but something names"),
        ({"variants": {"cora": None}}, "variants.cora is null, which removes it"),
        (
            {"tables": {"dsbm": {"subtables": {"net_flow": None}}}},
            "tables.dsbm.subtables.net_flow is null.*figures.dsbm.panels: a panel is 'net_flow'",
        ),
    ],
)
def test_a_removed_entry_that_is_named_still_is_said_to_be_removed(overlay, words):
    config = configuration(overlay)
    with pytest.raises(ConfigurationError, match=words), naming_removed(config):
        Report(Catalogue(config, SCHEMAS))


def test_other_faults_are_not_blamed_on_what_is_removed():
    config = configuration({"figures": {"depth": None}, "studies": {"depth": {"graphs": 3}}})
    words = r"^configuration: studies.depth.graphs is 3"
    with pytest.raises(ConfigurationError, match=words), naming_removed(config):
        Catalogue(config, SCHEMAS)


def test_a_name_that_stops_too_early_may_be_each_of_its_longer_ones():
    known = ["film", "chameleon-undirected", "chameleon-directed", "questions"]
    meant = "'chameleon-directed' or 'chameleon-undirected'"
    assert did_you_mean("chameleon", known) == f" (did you mean {meant}?)"
    assert did_you_mean("filn", known) == " (did you mean 'film'?)"
    assert did_you_mean("tolokers", known) == ""


def test_the_seed_reaches_every_run():
    changed = catalogue({"hyperparameters": {"seed": 5}})
    assert catalogue().hyperparameters(Run(VARIANT))["seed"] == 1000
    assert changed.hyperparameters(Run(VARIANT))["seed"] == 5
    assert changed.hyperparameters(Run(VARIANT, "seed=6"))["seed"] == 6


@pytest.mark.parametrize(
    ("overlay", "default"),
    [
        ({"seed": 1}, False),
        ({"hyperparameters": {"seed": 1}}, True),
        ({"hyperparameters": {"equation": "heat", "complex_valued": False, "seed": 7}}, False),
    ],
)
def test_a_column_may_say_what_is_the_default_of_all(overlay, default):
    found = catalogue(overlay)
    spec = found.table_settings("frequency_dominance_seeds")["spec"]["subtables"]["schroedinger"]
    run = Run("chameleon-undirected", spec["columns"]["Seed 1"]["configuration"])
    values = found.hyperparameters(run)
    assert (values["equation"], values["seed"]) == ("schroedinger", 1)
    assert (run.configuration == "default") == default
    with pytest.raises(ConfigurationError, match="called"):  # a target of the command line
        found.hyperparameters(Run("chameleon-undirected", "layers=5,exponent=1"))


def test_run_files_cover_all_splits_once():
    for size, names in [("all", ["0-4"]), (2, ["0-1", "2-3", "4-4"]), (99, ["0-4"])]:
        found = catalogue({"training": {"splits_per_job": size}})
        files = found.run_files(Run(VARIANT))
        assert files == [f"results/runs/{VARIANT}/default/splits-{name}.json" for name in names]


def test_a_search_shares_the_default_run():
    runs = catalogue().search_runs("dsbm")[VARIANT]
    assert "default" in {run.configuration for run in runs}
    assert len(runs) == 6


@pytest.mark.parametrize(
    ("overlay", "words"),
    [
        ({"hyperparameters": {"epocs": 5}}, ["hyperparameters", "'epocs'", "5", "'epochs'"]),
        ({"sed": 1}, ["'sed'", "did you mean 'seed'"]),
        ({"device": "gpu"}, ["device is 'gpu'", "auto|cpu|cuda"]),
        ({"seed": -1}, ["seed is -1", "at least 0"]),
        ({"seed": "0"}, ["seed is '0'", "integer"]),
        ({"hyperparameters": {"learning_rate": "5e-3"}}, ["learning_rate is '5e-3'", "number"]),
        ({"hyperparameters": {"input_dropout": 1}}, ["input_dropout is 1", "less than 1"]),
        ({"hyperparameters": {"num_layers": 0}}, ["num_layers is 0", "at least 1"]),
        ({"hyperparameters": {"learning_rate": "1e-3"}}, ["is '1e-3'", "as 1.0e-3"]),
        ({"hyperparameters": {"num_layers": True}}, ["num_layers is True", "integer"]),
        ({"hyperparameters": {"exponent": "one"}}, ["exponent is 'one'", "learned", "number"]),
        ({"hyperparameters": {"rank": 1.5}}, ["rank is 1.5", "below 1"]),
        ({"hyperparameters": {"equation": "wave"}}, ["equation is 'wave'", "schroedinger, heat"]),
        ({"training": {"splits_per_job": 0}}, ["splits_per_job is 0", "all", "at least 1"]),
        ({"training": None}, ["training is None", "object"]),
        ({"datasets": {"dsbm": {"generator": {"beta": 1.5}}}}, ["beta is 1.5", "at most 1"]),
        ({"variants": {VARIANT: {"dataset": "dsmb"}}}, ["'dsmb'", "did you mean 'dsbm'", VARIANT]),
        ({"variants": {"a b": {"dataset": "dsbm"}}}, ["'a b'", "pattern"]),
        (
            {"variants": {VARIANT: {"hyperparameters": {"complex_valued": False}}}},
            [VARIANT, "complex_valued is False", "schroedinger"],
        ),
        ({"figures": {"dsbm": {"table": "dsbn"}}}, ["'dsbn'", "did you mean 'dsbm'"]),
        ({"searches": {"dsbm": {"variants": ["nope"]}}}, ["'nope'", "searches.dsbm"]),
        ({"searches": {"dsbm": {"grid": {"layers": [2]}}}}, ["'layers'", "num_layers"]),
        ({"factors": {"tolerance": float("nan")}}, ["factors.tolerance is nan", "finite"]),
        ({"hyperparameters": {"exponent": float("inf")}}, ["exponent is inf", "finite"]),
        ({"seed": 10**20}, ["seed is 1000", "at most 4294967295"]),
        ({"datasets": {"dsbm": {"generator": {"validation": 9999}}}}, ["validation is 9999"]),
        ({"datasets": {"dsbm": {"generator": {"cluster_size": 9}}}}, ["train_per_cluster is 20"]),
        ({"datasets": {"dsbm": {"generator": {"clusters": 1}}}}, ["clusters is 1", "at least 2"]),
        *(
            ({"results": path}, [f"results is {path!r}; allowed is a relative path of letters"])
            for path in ("/absolute", "a/", "a//b", "./a", "a/.", "a/./b", "../a", "a/..", "a b")
        ),
        *(
            ({"data": {"folder": path}}, [f"data.folder is {path!r}; allowed is a path, relative"])
            for path in ("raw/", "raw//x", "./raw", "raw/.", "raw/./x", "/", "~/raw", "{raw}", "")
        ),
        *(
            ({"data": {"mirror": path}}, [f"data.mirror is {path!r}; allowed is a folder, or"])
            for path in ("file:///path", "file:/path", "ftp://host/path", "s3://bucket", "https://")
        ),
        ({"datasets": {"cora": {"licens": "MIT"}}}, ["datasets.cora", "'licens'", "'licence'"]),
        ({"datasets": {"cora": {"metric": "f1"}}}, ["metric is 'f1'", "accuracy, auroc"]),
        ({"datasets": {"dsbm": {"metric": "auroc"}}}, ["dsbm.metric is 'auroc'", "are accuracy"]),
        ({"datasets": {"cora": {"format": "csv"}}}, ["format is 'csv'", "planetoid"]),
        ({"datasets": {"cora": {"splits": 0}}}, ["datasets.cora.splits is 0", "at least 1"]),
        ({"datasets": {"cora": {"files": {"graph": "/etc/x"}}}}, ["files.graph is '/etc/x'"]),
        ({"datasets": {"cora": {"files": {"edge": "x"}}}}, ["datasets.cora.files", "'edge'"]),
        ({"datasets": {"cora": {"source": "gone"}}}, ["datasets.cora", "'gone'", "planetoid"]),
        ({"variants": {"cora": {"rank": 0}}}, ["variants.cora.rank is 0", "at least 1"]),
        ({"variants": {"cora": {"self_loops": -1}}}, ["self_loops is -1", "at least 0"]),
        ({"variants": {"cora": {"undirected": "yes"}}}, ["undirected is 'yes'", "boolean"]),
        ({"variants": {"cora": {"undirectd": True}}}, ["'undirectd'", "did you mean"]),
        ({"variants": {"new": {"dataset": "cora"}}}, ["variants.new", "'undirected' is missing"]),
        ({"variants": {VARIANT: {"binary": True}}}, [VARIANT, "binary", "generated"]),
        ({"variants": {"cora": {"generator": {"beta": 0.1}}}}, ["generator", "raw files"]),
        ({"sources": {"planetoid": "ftp://a/"}}, ["sources.planetoid is 'ftp://a/'"]),
        ({"data": {"mirror": 5}}, ["data.mirror is 5", "string or null"]),
        ({"data": {"manifest": "config/none.csv"}}, ["config/none.csv"]),
        ({"tables": {"a/b": {}}}, ["'a/b'", "pattern"]),
        ({"studies": {"../x": {"kind": "cycle_eigenvectors", "nodes": 4}}}, ["'../x'", "pattern"]),
        ({"figures": {"a b": {"kind": "depth", "study": "depth"}}}, ["'a b'", "pattern"]),
        ({"searches": {"a/b": {"candidates": {"cora": [{}]}}}}, ["'a/b'", "pattern"]),
        (
            {"studies": {"spectrum": {"graphs": {1: "cora"}}}},
            ["spectrum.graphs", "key 1", "quotes"],
        ),
        (
            {"searches": {"dsbm": {"candidates": {"dsbm-alpha0.1-beta0.2": [{}]}}}},
            ["searches.dsbm", "'dsbm-alpha0.1-beta0.2'", "candidates"],
        ),
        ({"searches": {"dsbm": {"grid": {"num_layers": ["7"]}}}}, ["num_layers is '7'", "integer"]),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_a_bad_configuration_names_key_value_and_what_is_allowed(overlay, words):
    with pytest.raises(ConfigurationError) as caught:
        catalogue(overlay)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "overlay",
    [
        *({"results": path} for path in ("a", "a.b/..c/d-e", "results/.hidden", "a..", "0/_")),
        *({"data": {"folder": path}} for path in ("/scratch/raw data", "../raw", "a/.raw", "r~")),
        *({"data": {"mirror": path}} for path in ("/path", "~/x", "a:b/c", "./m/", "http://h")),
    ],
    ids=str,
)
def test_folders_and_addresses(overlay):
    catalogue(overlay)


def test_a_missing_key_is_named():
    config = configuration()
    del config["seed"]
    from flode.experiments.catalogue import Catalogue

    with pytest.raises(ConfigurationError, match="'seed' is missing"):
        Catalogue(config, SCHEMAS)


@pytest.mark.parametrize(
    ("variant", "name", "words"),
    [
        (VARIANT, "layers=0", ["num_layers is 0", "at least 1"]),
        (VARIANT, "layers=3.5", ["num_layers is 3.5", "integer"]),
        (VARIANT, "layers=3,exponent=1", ["called 'exponent=1'"]),
        (VARIANT, "layers=7,exponent=1", ["called 'exponent=1,layers=7'"]),
        (VARIANT, "exponent=1.0", ["called 'exponent=1'"]),
        (VARIANT, "depth=3", ["unknown key 'depth'"]),
        ("dsbm-alpha0.1-beta0.5", "default", ["did you mean"]),
    ],
)
def test_a_bad_run_is_refused(variant, name, words):
    overlay = {"variants": {VARIANT: {"hyperparameters": {"num_layers": 3}}}}
    with pytest.raises(ConfigurationError) as caught:
        catalogue(overlay).hyperparameters(Run(variant, name))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("variant", "name", "words"),
    [
        (VARIANT, "path=spectral", "path 'spectral' cannot serve .* needs a symmetric operator"),
        ("film-directed", "path=spectral", "film-directed, configuration path=spectral: path"),
        (
            "cora",
            "normalize=true,path=reduced",
            "normalised layers need the columns path or the general one",
        ),
        ("citeseer", "encoder=2,path=powers", "the powers path needs a linear encoder"),
        ("citeseer", "layers=9,path=powers", "the powers path takes at most 8 layers of an ODE"),
        ("cora", "normalize=true,layers=9,path=columns", "the columns path takes at most 8 layers"),
        ("citeseer", "shared=false,path=powers", "the powers path needs shared weights"),
        ("roman-empire", "rank=0.5", "rank is 0.5; at most the variant's rank, 0.3, is allowed"),
        ("few", "rank=11", "rank is 11; at most the variant's rank, 10, .* variants.few.rank"),
        (VARIANT, "rank=2501", "rank=2501: rank is 2501; at most 2500 is allowed, the number of"),
        ("cora", "rank=99999", "rank=99999: rank is 99999; at most 2708 is allowed"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_any_job(variant, name, words):
    found = catalogue({"variants": {"few": {"like": "cora", "rank": 10}}})
    with pytest.raises(ConfigurationError, match=words):
        found.train_settings(Run(variant, name))


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        ("cora", "path=spectral"),
        ("cora", "normalize=true,path=general"),
        ("citeseer", "path=powers"),
        (VARIANT, "path=reduced"),
        ("roman-empire", "rank=0.2"),
        ("roman-empire", "rank=500"),  # a fraction of a number of nodes that is not known yet
        ("cora", "rank=500"),
    ],
)
def test_a_path_and_a_rank_that_fit(variant, name):
    found = catalogue()
    assert found.train_settings(Run(variant, name)) == found.run_settings(Run(variant, name))


def test_a_range_of_splits_that_is_not_there_is_refused():
    found = catalogue()
    assert found.splits(VARIANT, "3", "3") == [3]
    for first, last in [(0, 5), (3, 2)]:
        with pytest.raises(ConfigurationError, match="splits 0 to 4"):
            found.splits(VARIANT, first, last)


def test_settings_change_with_what_they_depend_on_and_nothing_else():
    def settings(overlay):
        found = catalogue(overlay)
        run = Run(VARIANT)
        return (
            found.graph_settings(VARIANT),
            found.factor_settings(VARIANT),
            found.run_settings(run),
        )

    graph, factors, training = settings({})
    for overlay, changed in [
        ({"training": {"splits_per_job": 1}}, (False, False, False)),
        ({"device": "cpu", "threads": 2, "measured": str(ROOT)}, (False, False, False)),
        ({"factors": {"tolerance": 0.001}}, (False, True, True)),
        ({"factors": {"precision": "single"}}, (False, True, True)),
        ({"variants": {VARIANT: {"factors": {"precision": "double"}}}}, (False, False, False)),
        ({"variants": {VARIANT: {"factors": {"tolerance": 0}}}}, (False, True, True)),
        ({"datasets": {"dsbm": {"generator": {"cluster_size": 450}}}}, (True, False, True)),
        ({"hyperparameters": {"shared_weights": False}}, (False, False, True)),
        ({"variants": {VARIANT: {"flow": "source_to_target"}}}, (False, True, True)),
    ]:
        new = settings(overlay)
        found = tuple(a != b for a, b in zip((graph, factors, training), new, strict=True))
        assert found == changed, overlay


def test_a_key_given_twice_is_refused(tmp_path):
    """Of two variants, or rows of a table, with one name YAML would keep the last in silence."""
    check_keys([ROOT / "config" / name for name in (*FILES, "quick.yaml")])
    file = tmp_path / "mine.yaml"
    file.write_text("a: [{x: &x {y: 1}, z: *x}]\nvariants:\n  cora: {}\n  pubmed: {}\n  cora: {}\n")
    with pytest.raises(
        ConfigurationError, match=rf"{file}: the key 'cora' .* line 3 and in line 5"
    ):
        check_keys([file])
    file.write_text("")
    check_keys([file])


def test_values_of_the_command_line_are_what_they_are_in_yaml():
    """Snakemake itself parses the first level only, and the rest as text."""
    from snakemake.cli import parse_config

    words = {
        "training={splits_per_job: 1, tf32: true}": {
            "training": {"splits_per_job": 1, "tf32": True}
        },
        "training={splits_per_job: all}": {"training": {"splits_per_job": "all"}},
        "data={mirror: /some/folder}": {"data": {"mirror": "/some/folder"}},
        "data={mirror: null}": {"data": {"mirror": None}},
        "factors={tolerance: 0.001}": {"factors": {"tolerance": 0.001}},
        "hyperparameters={exponent: learned, rank: 0.3}": {
            "hyperparameters": {"exponent": "learned", "rank": 0.3}
        },
        "searches={dsbm: {grid: {num_layers: [2, 3]}}}": {
            "searches": {"dsbm": {"grid": {"num_layers": [2, 3]}}}
        },
        "device=cuda:1": {"device": "cuda:1"},
        "seed=3": {"seed": 3},
        "quick=true": {"quick": True},
        "results=": {"results": None},
        "data={mirror: 'https://host/path?a=b#c'}": {"data": {"mirror": "https://host/path?a=b#c"}},
        "data={mirror: '*@x'}": {"data": {"mirror": "*@x"}},
    }
    for word, expected in words.items():
        assert as_yaml(parse_config([word])) == expected, word
    with pytest.raises(ConfigurationError, match=r"training.splits_per_job is 0; allowed is 'all'"):
        catalogue(as_yaml(parse_config(["training={splits_per_job: 0}"])))


def test_the_snakefile_imports_nothing_heavy():
    code = (
        "import sys; from flode.experiments.catalogue import Catalogue; import flode.devices;"
        "print([m for m in ('torch', 'torch_geometric', 'pandas', 'scipy', 'sklearn')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_schemas_are_closed_and_described():
    """Every object says which keys it takes, and every key what it means."""

    def walk(schema, where):
        if not isinstance(schema, dict):
            return
        parts = [schema, *schema.get("allOf", [])]
        if schema.get("type") == "object" and not any("then" in part for part in parts):
            assert "additionalProperties" in schema, where
        if any("if" in part for part in parts):  # its keys depend on their values; see $defs
            schema = {"$defs": schema.get("$defs", {})}
        for name, entry in schema.get("properties", {}).items():
            described = {"description", "$ref", "enum", "type"} & set(entry)
            assert described, f"{where}.{name}"
            walk(entry, f"{where}.{name}")
        for key in ("additionalProperties", "items"):
            walk(schema.get(key), f"{where}.{key}")
        for name, entry in schema.get("$defs", {}).items():
            walk(entry, f"{where}.$defs.{name}")

    files = sorted(SCHEMAS.glob("*.schema.yaml"))
    assert len(files) >= 4
    for file in files:
        walk(yaml.safe_load(file.read_text()), file.name)


def test_dataset_and_variant_schemas_agree_with_the_code():
    schemas = {
        name: yaml.safe_load((SCHEMAS / f"{name}.schema.yaml").read_text())
        for name in ("dataset", "variant")
    }
    raw = schemas["dataset"]["$defs"]["raw"]["properties"]
    assert raw["format"]["enum"] == list(FORMATS)
    roles = {role for roles in FORMATS.values() for role in roles}
    assert set(raw["files"]["properties"]) == roles
    variant = schemas["variant"]["properties"]
    assert variant["unlabelled"]["enum"] == list(UNLABELLED)
    assert variant["normalization"]["enum"] == list(NORMALIZATIONS)
    own = {field.name for field in dataclasses.fields(Variant)}
    assert set(variant) == own | {"like", "factors", "generator", "flow", "hyperparameters"}


def test_hyperparameter_schema_and_names_hold_the_same_keys():
    schema = yaml.safe_load((SCHEMAS / "hyperparameters.schema.yaml").read_text())
    assert set(schema["properties"]) == set(SHORT_NAMES)
    assert schema["additionalProperties"] is False


def test_the_tiny_overlay_of_the_tests_fits():
    assert catalogue(TINY).num_splits(VARIANT) == 2


REMOVALS = {
    "tables": ({"ablaton": None}, r"tables\.ablaton is null.* \(did you mean 'ablation'\?\)"),
    "variants": ({"coraa": None}, r"variants\.coraa is null.*did you mean 'cora'"),
    "searches": ({"alternative": None}, r"searches\.alternative is null"),
}


@pytest.mark.parametrize("group", REMOVALS)
def test_a_removal_of_what_is_not_there_is_refused(group):
    entries, message = REMOVALS[group]
    with pytest.raises(ConfigurationError, match=message):
        check_removed(configuration({group: entries}), DEFAULTS)


def test_a_nested_removal_is_looked_for_in_its_place():
    subtables = {"rounding": None, "dsbm": {"rows": {"α* = 0.1, β* = 0.2": None}}}
    overlay = {"tables": {"discrepancies": {"subtables": subtables}}, "data": {"mirror": None}}
    check_removed(configuration(overlay), DEFAULTS)
    subtables["dsbm"]["rows"]["α* = 1"] = None
    with pytest.raises(ConfigurationError, match=r"subtables\.dsbm\.rows\.α\* = 1 is null"):
        check_removed(configuration(overlay), DEFAULTS)


def test_what_another_file_adds_may_be_removed(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("variants: {own: {dataset: cora}}\n")
    check_removed(configuration({"variants": {"own": None}}), [*DEFAULTS, file])
    file.write_text("variants: {coraa: null}\n")  # the overlay's own removal
    with pytest.raises(ConfigurationError, match="did you mean 'cora'"):
        check_removed(configuration({"variants": {"coraa": None}}), [*DEFAULTS, file])
