"""Which propagation path can serve which model.

Apart from the paths themselves (``flode.model``) and free of torch: the workflow asks before any
job what the library asks when a model is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Columns of the powers path cancel as an ODE's layers grow in number, and those of the columns
#: path in any model: what the weights no longer tell apart grows between the norms. To here they
#: are good in float32.
MAX_COLUMNS_LAYERS = 8

#: The norms of the columns path cancel in models of fewer channels, counted as real numbers.
MIN_COLUMNS_CHANNELS = 4

#: Without the ODE the powers path multiplies with the T-th power of W alone: to here it is far from
#: the end of float32.
MAX_PLAIN_LAYERS = 32


def obstacle(
    path: str, model: Mapping[str, Any], symmetric: bool, learned_features: bool = False
) -> str | None:
    """Why a path cannot serve a model; None where it can.

    Args:
        path: ``auto``, which always can, or the name of one of ``flode.model.PATHS``.
        model: hyperparameters, or the attributes of a ``flode.model.Architecture``.
        symmetric: whether the operator is, as that of an undirected graph.
        learned_features: whether gradients by the features are wanted.
    """
    if path == "auto":
        return None
    of_columns = path in ("columns", "powers")
    layers, ode = model["num_layers"], model["ode"]
    reasons = {
        "normalised layers need the columns path or the general one": model["normalize_layers"]
        and path not in ("columns", "general"),
        "the spectral path needs a symmetric operator": path == "spectral" and not symmetric,
        f"the {path} path has no gradient by the features": of_columns and learned_features,
        f"the columns path takes at most {MAX_COLUMNS_LAYERS} layers": path == "columns"
        and layers > MAX_COLUMNS_LAYERS,
        f"the columns path takes at least {MIN_COLUMNS_CHANNELS} channels of real numbers, or half"
        " as many of complex ones, where layers are normalised": path == "columns"
        and model["normalize_layers"]
        and model["hidden_channels"] * (2 if model["complex_valued"] else 1) < MIN_COLUMNS_CHANNELS,
        f"the powers path takes at most {MAX_COLUMNS_LAYERS} layers of an ODE": path == "powers"
        and ode
        and layers > MAX_COLUMNS_LAYERS,
        f"the powers path takes at most {MAX_PLAIN_LAYERS} layers without the ODE": path == "powers"
        and not ode
        and layers > MAX_PLAIN_LAYERS,
        "the powers path needs a linear encoder": path == "powers" and model["encoder_layers"] > 1,
        "the powers path needs shared weights": path == "powers" and not model["shared_weights"],
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
