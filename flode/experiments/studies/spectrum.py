"""Eigenvalues of SNAs (paper, Section 3 and Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from flode.experiments.studies.graphs import StudyGraph
from flode.spectral import perron_eigenvalue


def spectrum(settings: Mapping, graphs: Mapping[str, StudyGraph]) -> pd.DataFrame:
    """All eigenvalues of each graph's SNA, and its Perron-Frobenius eigenvalue.

    Returns:
        Columns ``graph, kind, real, imaginary``; ``kind`` is ``eigenvalue`` (one a node, by
        falling modulus) or ``perron``.
    """
    frames = []
    for label, graph in graphs.items():
        found = np.linalg.eigvals(graph.laplacian.toarray())
        # Rounded, so that the two of a conjugate pair stand in one order on every machine.
        order = np.lexsort((-found.imag, -found.real.round(9), -np.abs(found).round(9)))
        found = np.append(found[order], perron_eigenvalue(graph.laplacian))
        kinds = ["eigenvalue"] * len(order) + ["perron"]
        frames.append(
            pd.DataFrame(
                {"graph": label, "kind": kinds, "real": found.real, "imaginary": found.imag}
            )
        )
    return pd.concat(frames, ignore_index=True)
