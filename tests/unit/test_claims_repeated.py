"""Checks of claims that stand for several."""

import pytest

from flode.experiments.claims import repeated
from flode.experiments.validation import ConfigurationError
from tests.configuration import catalogue


def test_a_check_without_values_is_itself():
    check = {"less": [{"source": "a", "where": {"row": "b"}}, 0]}
    assert repeated(check, "here") == [check]


def test_a_check_is_made_for_each_combination_of_values():
    check = {
        "for_each": {"graph": ["Cora", "Film"], "layers": [2, 4]},
        "less": [{"source": "depth", "where": {"graph": "{graph}, U", "x": "{layers}"}}, 0.5],
    }
    found = repeated(check, "here")
    assert [one["less"][0]["where"] for one in found] == [
        {"graph": "Cora, U", "x": 2}, {"graph": "Cora, U", "x": 4},
        {"graph": "Film, U", "x": 2}, {"graph": "Film, U", "x": 4},
    ]  # fmt: skip
    assert all(one["less"][1] == 0.5 and set(one) == {"less"} for one in found)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (
            {"for_each": {"graph": ["a"]}, "less": [1, 2]},
            "here: for_each has 'graph', which no",
        ),
        (
            {"for_each": {"graph": ["a"]}, "less": ["{graph}", "{grahp}"]},
            r"here: '\{grahp\}' has \{grahp\}, which is not under for_each \(did you mean 'graph'",
        ),
        ({"less": ["{graph}", 2]}, r"\{graph\}, which is not under for_each$"),
        ({"less": ["{graph", 2]}, r"here: '\{graph' .*braces"),
    ],
)
def test_names_must_fit(check, message):
    with pytest.raises(ConfigurationError, match=message):
        repeated(check, "here")


def test_the_configuration_holds_each_check():
    where = {"subtable": "{graph}", "row": "U, schroedinger, ode, fractional"}
    check = {
        "for_each": {"graph": ["chameleon", "squirrel"]},
        "greater": [{"source": "ablation", "where": where | {"column": "test accuracy"}}, 20],
    }
    overlay = {"tables": {"claims": {"claims": {"own": {"source": "here", "checks": [check]}}}}}
    found = catalogue(overlay).config["tables"]["claims"]["claims"]["own"]["checks"]
    assert [one["greater"][0]["where"]["subtable"] for one in found] == ["chameleon", "squirrel"]


@pytest.mark.parametrize("check", [{"for_each": {}, "greater": [1, 0]}, {"for_each": {"a": [1]}}])
def test_the_schema_refuses_what_is_no_check(check):
    claims = {"own": {"source": "here", "checks": [check]}}
    with pytest.raises(ConfigurationError, match=r"claims\.own\.checks"):
        catalogue({"tables": {"claims": {"claims": claims}}})
