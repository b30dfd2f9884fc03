"""Configurations that say some of it, and files sought in the workflow's folder."""

import copy

import pytest

from flode.experiments.catalogue import Catalogue
from flode.experiments.defaults import completed, located, merged
from flode.experiments.validation import ConfigurationError
from tests.configuration import FILES, ROOT, SCHEMAS, configuration

CONFIG = [ROOT / "config" / name for name in FILES]


def test_a_part_is_completed_from_the_files():
    part = {"results": "own", "datasets": {"dsbm": {"title": "Own"}}, "figures": {}}
    before = copy.deepcopy(part)
    whole = completed(part, CONFIG)
    assert part == before
    expected = configuration()
    assert whole["results"] == "own" and whole["datasets"]["dsbm"]["title"] == "Own"
    generator = expected["datasets"]["dsbm"]["generator"]
    assert whole["datasets"]["dsbm"]["generator"] == generator
    assert whole["figures"] == expected["figures"]
    assert completed({}, CONFIG) == expected


def test_lists_are_replaced_and_nothing_is_shared():
    base = {"a": [1, 2], "b": {"c": 1}}
    result = merged(base, {"a": [3]})
    assert result == {"a": [3], "b": {"c": 1}}
    result["b"]["c"] = 2
    assert base["b"]["c"] == 1


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"none\.yaml is not there; .* clone"):
        completed({}, [tmp_path / "none.yaml"])


def test_files_are_sought_in_the_working_directory_then_in_the_workflow(tmp_path, monkeypatch):
    config = configuration()
    monkeypatch.chdir(ROOT)
    assert located(config, ROOT) is config
    monkeypatch.chdir(tmp_path)
    found = located(config, ROOT)
    assert found["data"]["manifest"] == str(ROOT / "config/manifest.csv")
    assert found["data"]["folder"] == config["data"]["folder"]
    own = tmp_path / "config" / "published" / "dsbm.csv"
    own.parent.mkdir(parents=True)
    own.write_text("")
    found = located(config, ROOT)["tables"]
    assert found["dsbm"]["published"] == config["tables"]["dsbm"]["published"]
    ranking = config["tables"]["node_classification"]["published"]
    assert found["node_classification"]["published"] == [str(ROOT / path) for path in ranking]


def test_a_file_that_is_nowhere_is_named_as_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"'own/manifest\.csv'"):
        Catalogue(configuration({"data": {"manifest": "own/manifest.csv"}}), SCHEMAS)
