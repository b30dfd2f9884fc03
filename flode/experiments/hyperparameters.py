"""Hyperparameters of a run, and configuration names that say how they differ from a default."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from decimal import Decimal

import yaml

from flode.experiments.validation import did_you_mean

#: Every hyperparameter and its short form in configuration names, in the order of a name.
SHORT_NAMES = {
    "model": "model",
    "equation": "equation",
    "sign": "sign",
    "ode": "ode",
    "complex_valued": "complex",
    "exponent": "exponent",
    "initial_exponent": "initial_exponent",
    "step_size": "step_size",
    "initial_step_size": "initial_step_size",
    "shared_weights": "shared",
    "normalize_layers": "normalize",
    "num_layers": "layers",
    "hidden_channels": "hidden",
    "encoder_layers": "encoder",
    "decoder_layers": "decoder",
    "input_dropout": "input_dropout",
    "decoder_dropout": "decoder_dropout",
    "learning_rate": "learning_rate",
    "weight_decay": "weight_decay",
    "second_moment": "second_moment",
    "epochs": "epochs",
    "patience": "patience",
    "rank": "rank",
    "path": "path",
    "seed": "seed",
}

_LONG_NAMES = {short: name for name, short in SHORT_NAMES.items()}

DEFAULT = "default"

#: What names of configurations look like, as a regular expression.
CONFIGURATION = r"[a-z_]+(=[^/,]+(,[a-z_]+=[^/,]+)*)?"

#: Hyperparameters of how a model is trained, whichever it is.
TRAINING = ("learning_rate", "weight_decay", "epochs", "patience", "seed")

#: Of the keywords of ``flode.model.Architecture``, those that are hyperparameters of the same name.
_ARCHITECTURE = (
    "hidden_channels",
    "num_layers",
    "encoder_layers",
    "decoder_layers",
    "equation",
    "sign",
    "ode",
    "complex_valued",
    "shared_weights",
    "normalize_layers",
    "input_dropout",
    "decoder_dropout",
)


def format_configuration(values: Mapping, default: Mapping) -> str:
    """Name of a configuration: how it differs from the default.

    Args:
        values: hyperparameters, all or some.
        default: all hyperparameters of the variant.

    Returns:
        ``default``, or for example ``exponent=1,layers=16``, in the order of ``SHORT_NAMES``.
    """
    parts = [
        f"{short}={_text(values[name])}"
        for name, short in SHORT_NAMES.items()
        if name in values and values[name] != default[name]
    ]
    return ",".join(parts) or DEFAULT


def parse_configuration(name: str) -> dict:
    """Hyperparameters that a configuration name sets.

    Raises:
        ValueError: a part that is no ``key=value``, an unknown key, one given twice, or a value
            that is no YAML.
    """
    return dict(_parsed(name))


@functools.cache  # tables and studies name the same runs many times
def _parsed(name: str) -> dict:
    if name == DEFAULT:
        return {}
    values = {}
    for part in name.split(","):
        key, equals, text = part.partition("=")
        if not equals or not text:
            raise ValueError(
                f"configuration {name!r}: {part!r} is not of the form key=value; allowed are"
                f" '{DEFAULT}' and for example 'exponent=1,layers=16'"
            )
        if key not in _LONG_NAMES:
            raise ValueError(
                f"configuration {name!r}: unknown key {key!r}{did_you_mean(key, _LONG_NAMES)};"
                f" allowed are {', '.join(_LONG_NAMES)}"
            )
        if _LONG_NAMES[key] in values:
            raise ValueError(f"configuration {name!r}: {key!r} is given twice")
        try:
            values[_LONG_NAMES[key]] = yaml.safe_load(text)
        except (ValueError, yaml.YAMLError) as error:
            raise ValueError(
                f"configuration {name!r}: {text!r} is no value of {key!r}; allowed is what YAML"
                " reads, as in 'exponent=1,layers=16'"
            ) from error
    return values


def rank_obstacle(name: str, nodes: int | None) -> str | None:
    """Why a graph of at most so many nodes cannot have the run of this name: it would be the run
    with all singular values, under another name.

    Args:
        name: of the configuration. A rank that is a default bounds larger graphs, and may stay.
        nodes: None where it is not known.
    """
    rank = parse_configuration(name).get("rank")
    if not isinstance(rank, int) or nodes is None or rank <= nodes:
        return None
    return f"rank is {rank}; at most {nodes} is allowed, the number of the graph's nodes"


def architecture_keywords(hyperparameters: Mapping) -> dict:
    """Keywords of ``flode.model.Architecture`` but for ``in_channels`` and ``out_channels``."""
    keywords = {name: hyperparameters[name] for name in _ARCHITECTURE}
    for name in ("exponent", "step_size"):
        learned = hyperparameters[name] == "learned"
        keywords[f"learn_{name}"] = learned
        keywords[name] = float(hyperparameters[f"initial_{name}" if learned else name])
    return keywords


def training_keywords(hyperparameters: Mapping) -> dict:
    """Keywords of ``flode.training.TrainingSettings``, for FLODE or another model."""
    names = (*TRAINING, "second_moment")
    return {name: hyperparameters[name] for name in names if name in hyperparameters}


def _text(value) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        # A plain decimal: YAML reads 1e-05 as text.
        return repr(int(value)) if value.is_integer() else f"{Decimal(repr(value)):f}"
    return str(value)
