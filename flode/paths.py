"""Which propagation path can serve which model.

Apart from the paths themselves (``flode.model``) and free of torch: the workflow asks before any
job what the library asks when a model is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Columns of the powers path and of the columns path cancel as an ODE's layers grow in number: to
#: here they are good in float32.
MAX_ODE_LAYERS = 8

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
    deep = model["ode"] and model["num_layers"] > MAX_ODE_LAYERS
    high = not model["ode"] and model["num_layers"] > MAX_PLAIN_LAYERS
    reasons = {
        "normalised layers need the columns path or the general one": model["normalize_layers"]
        and path not in ("columns", "general"),
        "the spectral path needs a symmetric operator": path == "spectral" and not symmetric,
        f"the {path} path has no gradient by the features": of_columns and learned_features,
        f"the {path} path takes at most {MAX_ODE_LAYERS} layers of an ODE": of_columns and deep,
        f"the powers path takes at most {MAX_PLAIN_LAYERS} layers without the ODE": path == "powers"
        and high,
        "the powers path needs a linear encoder": path == "powers" and model["encoder_layers"] > 1,
        "the powers path needs shared weights": path == "powers" and not model["shared_weights"],
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
