"""The cycle graph C_N: its frequencies, and the edges of its fractional powers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from flode.experiments.studies.graphs import StudyGraph
from flode.spectral import node_homophily
from flode.spectral.cycle import (
    cycle_adjacency,
    cycle_eigenvalue,
    cycle_eigenvectors,
    cycle_fractional_power,
    cycle_labels,
)


def cycle_eigenvectors_study(settings: Mapping, graphs: Mapping[str, StudyGraph]) -> pd.DataFrame:
    """Eigenvectors of each frequency, and the labels and homophily that it favours (Figure 4).

    Args:
        settings: ``spec["nodes"]`` is N.

    Returns:
        A row a frequency ``0 ≤ j ≤ N/2`` and node, columns ``frequency, eigenvalue, node, real,
        imaginary, label, homophily``: Re v_j, Im v_j, and the sign of a vector of their span.
    """
    nodes = settings["spec"]["nodes"]
    matrix = cycle_adjacency(nodes)
    frames = []
    for frequency in range(nodes // 2 + 1):
        real, imaginary = cycle_eigenvectors(nodes, frequency)
        labels = cycle_labels(nodes, frequency)
        columns = {
            "frequency": frequency,
            "eigenvalue": cycle_eigenvalue(nodes, frequency),
            "node": np.arange(nodes),
            "real": real,
            "imaginary": imaginary,
            "label": labels,
            "homophily": node_homophily(matrix, labels),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def fractional_edges_cycle(settings: Mapping, graphs: Mapping[str, StudyGraph]) -> pd.DataFrame:
    """Entries of L^α above the diagonal (Figure 3, top).

    Args:
        settings: ``spec["nodes"]`` is N, ``spec["exponents"]`` the values of α.

    Returns:
        A row an exponent and pair of nodes, columns ``exponent, nodes, source, target, distance,
        weight``; a weight of rounding's size is 0.
    """
    nodes = settings["spec"]["nodes"]
    source, target = np.triu_indices(nodes, k=1)
    around = target - source
    frames = []
    for exponent in settings["spec"]["exponents"]:
        with np.errstate(over="ignore", invalid="ignore"):
            weight = cycle_fractional_power(nodes, exponent)[source, target]
        if not np.isfinite(weight).all():
            raise ValueError(
                f"exponents: {exponent} gives weights that are not finite; allowed: an exponent"
                " nearer to 0"
            )
        columns = {
            "exponent": exponent,
            "nodes": nodes,
            "source": source,
            "target": target,
            "distance": np.minimum(around, nodes - around),
            "weight": np.where(np.abs(weight) > 1e-12, weight, 0.0),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
