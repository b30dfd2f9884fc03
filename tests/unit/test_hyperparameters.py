"""Configuration names."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from flode.experiments.hyperparameters import (
    SHORT_NAMES,
    architecture_keywords,
    format_configuration,
    parse_configuration,
    training_keywords,
)

DEFAULT = {
    "equation": "schroedinger",
    "sign": -1,
    "ode": True,
    "complex_valued": True,
    "exponent": "learned",
    "initial_exponent": 1.0,
    "step_size": "learned",
    "initial_step_size": 1.0,
    "shared_weights": True,
    "normalize_layers": False,
    "num_layers": 3,
    "hidden_channels": 64,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "input_dropout": 0.1,
    "decoder_dropout": 0.0,
    "learning_rate": 0.005,
    "weight_decay": 0.001,
    "second_moment": "modulus",
    "epochs": 1000,
    "patience": 200,
    "rank": None,
    "path": "auto",
    "seed": 0,
}


def test_every_hyperparameter_has_a_short_name():
    assert set(SHORT_NAMES) == {"model", *DEFAULT}
    assert len(set(SHORT_NAMES.values())) == len(SHORT_NAMES)


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ({}, "default"),
        ({"num_layers": 3}, "default"),
        ({"num_layers": 16, "exponent": 1}, "exponent=1,layers=16"),
        ({"exponent": 1.0}, "exponent=1"),
        ({"exponent": 0.5, "ode": False}, "ode=false,exponent=0.5"),
        ({"learning_rate": 0.00001}, "learning_rate=0.00001"),
        ({"rank": 0.3}, "rank=0.3"),
        ({"rank": 570}, "rank=570"),
        ({"equation": "heat", "complex_valued": False}, "equation=heat,complex=false"),
    ],
)
def test_a_name_says_how_it_differs(overrides, name):
    assert format_configuration(overrides, DEFAULT) == name


VALUES = {
    "exponent": st.one_of(st.just("learned"), st.floats(-4, 4)),
    "num_layers": st.integers(1, 300),
    "learning_rate": st.floats(1e-7, 1),
    "weight_decay": st.floats(0, 1),
    "ode": st.booleans(),
    "rank": st.one_of(st.none(), st.integers(1, 10**5), st.floats(1e-4, 0.99)),
    "equation": st.sampled_from(["heat", "schroedinger"]),
}


@settings(deadline=None, derandomize=True)
@given(st.fixed_dictionaries({}, optional=VALUES))
def test_a_name_read_back_gives_the_values(overrides):
    name = format_configuration(overrides, DEFAULT)
    assert DEFAULT | parse_configuration(name) == DEFAULT | overrides
    assert "/" not in name
    assert format_configuration(DEFAULT | parse_configuration(name), DEFAULT) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("layers", "'layers' is not of the form key=value"),
        ("layers=", "not of the form"),
        ("layrs=3", "unknown key 'layrs' .did you mean 'layers'"),
        ("layers=3,layers=4", "'layers' is given twice"),
        ("layers=[", r"'\[' is no value of 'layers'; allowed is what YAML reads"),
        ("layers=2020-13-45", "'2020-13-45' is no value of 'layers'"),
        ("default,layers=3", "'default' is not of the form"),
    ],
)
def test_a_bad_name_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        parse_configuration(name)


def test_learned_and_fixed_numbers():
    learned = architecture_keywords(DEFAULT | {"initial_step_size": 0.25})
    assert learned["learn_exponent"] and learned["exponent"] == 1.0
    assert learned["learn_step_size"] and learned["step_size"] == 0.25
    fixed = architecture_keywords(DEFAULT | {"exponent": 1, "step_size": 0.5})
    assert not fixed["learn_exponent"] and fixed["exponent"] == 1.0
    assert not fixed["learn_step_size"] and fixed["step_size"] == 0.5


def test_keywords_fit_the_classes_they_are_for():
    from flode.model import Architecture
    from flode.training.trainer import TrainingSettings

    Architecture(in_channels=1, out_channels=2, **architecture_keywords(DEFAULT))
    TrainingSettings(**training_keywords(DEFAULT))
    used = {*architecture_keywords(DEFAULT), *training_keywords(DEFAULT)}
    unused = set(DEFAULT) - used - {"initial_exponent", "initial_step_size"}
    assert unused == {"rank", "path"}  # these choose factors and propagation


def test_values_are_read_as_the_configuration_file_reads_them():
    assert parse_configuration("weight_decay=0.0005,layers=2,ode=false") == yaml.safe_load(
        "{weight_decay: 0.0005, num_layers: 2, ode: false}"
    )
