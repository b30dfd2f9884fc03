"""The registry of datasets, its configuration and the manifest."""

import copy
import re
from pathlib import Path

import pytest
import yaml

from flode.datasets.manifest import ManifestError, ManifestRow, mismatch, read_manifest
from flode.datasets.registry import (
    Dataset,
    DatasetConfigError,
    RawFile,
    Registry,
)

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = yaml.safe_load((REPOSITORY / "config/datasets.yaml").read_text())
MANIFEST = REPOSITORY / "config/manifest.csv"


@pytest.fixture
def config():
    return copy.deepcopy(CONFIG)


@pytest.fixture(scope="module")
def registry():
    return Registry.from_config(CONFIG, MANIFEST)


def put(config, key, value):
    *parents, last = key.split("/")
    for parent in parents:
        config = config[parent]
    config[last] = value


# --- the repository's configuration


def test_paper_variants_are_defined(registry):
    directed = {
        f"{name}-{way}"
        for name in ("film", "squirrel", "chameleon")
        for way in ("directed", "undirected")
    }
    single = {"cora", "citeseer", "pubmed", "roman-empire", "minesweeper", "tolokers", "questions"}
    assert directed | single <= set(registry.variants)
    for name in single:
        assert registry.variants[name].dataset == name
        assert registry.variants[name].undirected


def test_other_keys_of_a_configuration_are_skipped(config):
    Registry.from_config(config | {"training": {"epochs": 3}}, MANIFEST)


def test_generated_datasets_and_keys_of_training_are_skipped(config, registry):
    put(config, "datasets/dsbm", {"format": "dsbm", "generator": {}})
    put(config, "variants/dsbm", {"dataset": "dsbm"})
    put(config, "variants/cora/hyperparameters", {"num_layers": 2})
    assert Registry.from_config(config, MANIFEST) == registry


def test_raw_files(registry):
    files = registry.raw_files("cora")
    assert RawFile("graph", "planetoid", "data/ind.cora.graph") in files
    splits = [file for file in files if file.role == "splits"]
    assert [file.path for file in splits] == [
        f"splits/cora_split_0.6_0.2_{k}.npz" for k in range(10)
    ]
    assert {file.source for file in splits} == {"geom-gcn"}
    assert registry.raw_files("questions") == (
        RawFile("archive", "heterophilous-graphs", "data/questions.npz"),
    )


def test_local_files_follow_the_sources(registry):
    files = registry.datasets["film"].local_files("raw")
    assert files["edges"] == Path("raw/geom-gcn/new_data/film/out1_graph_edges.txt")
    assert files["splits"][3] == Path("raw/geom-gcn/splits/film_split_0.6_0.2_3.npz")
    assert len(files["splits"]) == registry.datasets["film"].splits == 10


def test_every_raw_file_can_be_verified(registry):
    blob_only = set()
    for dataset in registry.datasets:
        for file in registry.raw_files(dataset):
            row = registry.manifest_row(file)
            assert row.git_blob_sha1
            if not row.sha256:
                blob_only.add(file.path)
    assert blob_only == {"data/ind.pubmed.allx", "data/roman_empire.npz", "data/questions.npz"}


def test_sources_are_pinned_to_a_commit(registry):
    for address in registry.sources.values():
        assert re.search("/[0-9a-f]{40}/$", address)


def test_published_sizes_stand_beside_the_papers_datasets(registry):
    for name, dataset in registry.datasets.items():
        assert set(dataset.published) == (set() if "filtered" in name else {"nodes", "edges"})


# --- what a schema cannot tell


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "datasets/cora/source",
            "gone",
            "datasets.cora: allx comes from 'gone'; sources are 'planetoid'",
        ),
        (
            "datasets/cora/files/graph",
            "data/x",
            "datasets.cora: graph is planetoid,data/x, which .*manifest",
        ),
        (
            "datasets/cora/files/splits",
            "splits/a",
            "datasets.cora.files.splits is 'splits/a'; it must hold",
        ),
        (
            "datasets/film/files",
            {"edges": "e"},
            "datasets.film.files.features is missing; format geom_gcn has",
        ),
        (
            "datasets/film/files/archive",
            "e",
            "datasets.film.files.archive is not a file of its format",
        ),
        ("datasets/cora/splits", 11, "split_0.6_0.2_10.npz, which .*manifest.csv does not list"),
        (
            "variants/cora/dataset",
            "kora",
            "variants.cora.dataset is 'kora'; datasets are 'cora', 'citeseer'",
        ),
    ],
)
def test_cross_references_are_checked(config, key, value, message):
    put(config, key, value)
    with pytest.raises(DatasetConfigError, match=message):
        Registry.from_config(config, MANIFEST)


def test_a_further_graph_is_data(config, tmp_path):
    entry = config["datasets"]["minesweeper"] | {"files": {"archive": "data/new.npz"}}
    put(config, "datasets/new", entry)
    put(config, "variants/new-directed", {"dataset": "new", "undirected": False})
    row = f"heterophilous-graphs,data/new.npz,,,{'0' * 40}\n"
    (tmp_path / "manifest.csv").write_text(MANIFEST.read_text() + row)
    registry = Registry.from_config(config, tmp_path / "manifest.csv")
    assert registry.raw_files("new")[0].path == "data/new.npz"
    assert isinstance(registry.datasets["new"], Dataset)


# --- the manifest

HEADER = "source,path,bytes,sha256,git_blob_sha1\n"
SHA, BLOB = "a" * 64, "b" * 40


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "source,path\n",
            r"columns are \['source', 'path'\]; allowed are \['source', 'path', 'bytes'",
        ),
        ("", "columns are None"),
        (HEADER + f"s,p,1,{SHA}\n", "line 2: a row has 5 fields"),
        (HEADER + f"s,p,1,{SHA},{BLOB},x\n", "line 2: a row has 5 fields"),
        (HEADER + f"s,p,x,{SHA},{BLOB}\n", "line 2: bytes is 'x'"),
        (HEADER + f"s,p,1,{SHA[1:]},{BLOB}\n", "line 2: sha256 is 'aaa"),
        (HEADER + f"s,p,1,{SHA.upper()},{BLOB}\n", "line 2: sha256 is 'AAA"),
        (HEADER + f"s,p,1,,{BLOB}0\n", "line 2: git_blob_sha1 is 'bbb"),
        (HEADER + f",p,1,,{BLOB}\n", "line 2: source is ''"),
        (HEADER + "s,p,1,,\n", "line 2: s,p: neither sha256 nor git_blob_sha1 is given"),
        (HEADER + f"s,p,1,,{BLOB}\ns,p,1,,{BLOB}\n", "line 3: s,p is listed twice"),
    ],
)
def test_malformed_manifest(tmp_path, content, message):
    path = tmp_path / "manifest.csv"
    path.write_text(content)
    with pytest.raises(ManifestError, match=f"manifest.csv.*{message}"):
        read_manifest(path)


def test_unknown_sizes_and_hashes_are_none(tmp_path):
    path = tmp_path / "manifest.csv"
    path.write_text(HEADER + f"s,p,,,{BLOB}\ns,q,7,{SHA},\n")
    assert read_manifest(path) == {
        ("s", "p"): ManifestRow("s", "p", None, None, BLOB),
        ("s", "q"): ManifestRow("s", "q", 7, SHA, None),
    }


def test_known_hashes(tmp_path):
    # `printf hello | sha256sum` and `printf hello | git hash-object --stdin`
    sha = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    blob = "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0"
    path = tmp_path / "file"
    path.write_bytes(b"hello")
    assert mismatch(path, ManifestRow("s", "p", 5, sha, None)) is None
    assert mismatch(path, ManifestRow("s", "p", None, None, blob)) is None
    path.write_bytes(b"Hello")
    assert "found 5 bytes, sha256 185f8db3" in mismatch(path, ManifestRow("s", "p", 5, sha, blob))
    assert f"git blob id {blob}" in mismatch(path, ManifestRow("s", "p", None, None, blob))
