"""Which propagation path can serve which model.

Apart from the paths themselves (``flode.model``) and free of torch: the workflow asks before any
job what the library asks when a model is made.
"""

from __future__ import annotations


def obstacle(
    path: str,
    *,
    normalize_layers: bool,
    encoder_layers: int,
    shared_weights: bool,
    symmetric: bool,
    learned_features: bool = False,
) -> str | None:
    """Why a path cannot serve a model; None where it can.

    Args:
        path: ``auto``, which always can, or the name of one of ``flode.model.PATHS``.
        normalize_layers, encoder_layers, shared_weights: see ``flode.model.Architecture``.
        symmetric: whether the operator is, as that of an undirected graph.
        learned_features: whether gradients by the features are wanted.
    """
    reasons = {
        "normalised layers need the columns path or the general one": normalize_layers
        and path not in ("columns", "general"),
        "the spectral path needs a symmetric operator": path == "spectral" and not symmetric,
        f"the {path} path has no gradient by the features": path in ("columns", "powers")
        and learned_features,
        "the powers path needs a linear encoder": path == "powers" and encoder_layers > 1,
        "the powers path needs shared weights": path == "powers" and not shared_weights,
    }
    holding = [reason for reason, holds in reasons.items() if holds]
    return holding[0] if holding and path != "auto" else None
