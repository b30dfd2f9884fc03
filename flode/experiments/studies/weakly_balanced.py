"""Small directed graphs, balanced or not, and λ_PF of each (paper, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from flode.experiments.studies.graphs import StudyGraph
from flode.spectral import (
    adjacency,
    is_balanced,
    is_weakly_balanced,
    perron_eigenvalue,
    symmetrically_normalize,
)


def weakly_balanced(settings: Mapping, graphs: Mapping[str, StudyGraph]) -> pd.DataFrame:
    """λ_PF, balance and weak balance of the graphs whose edges the study lists.

    Args:
        settings: its ``spec["edges"]`` gives (source, target) pairs under each graph's label.

    Returns:
        A row an edge, columns ``graph, source, target, nodes, balanced, weakly_balanced, perron``.
        ``a_ij = 1`` for an edge from j to i, as the paper's text has it; the SNA of the other
        reading is the transpose, with the same eigenvalues.
    """
    frames = []
    for label, edges in settings["spec"]["edges"].items():
        ends = np.array(edges).T
        nodes = int(ends.max()) + 1
        matrix = adjacency(ends, None, nodes, flow="source_to_target")
        columns = {
            "graph": label,
            "source": ends[0],
            "target": ends[1],
            "nodes": nodes,
            "balanced": is_balanced(matrix),
            "weakly_balanced": is_weakly_balanced(matrix),
            "perron": perron_eigenvalue(symmetrically_normalize(matrix)),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)
