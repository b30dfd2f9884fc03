"""Directed graphs with λ_PF below each (paper, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from flode.reporting.figures.nodes import bare, draw_arrow, draw_nodes, ring
from flode.reporting.figures.style import STYLE, stamp

#: Bend of the two arrows of a reciprocal edge, so that they do not cover each other.
_BEND = 0.16


def weakly_balanced_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """A panel for each graph: nodes, arrows from source to target, λ_PF.

    Args:
        frame: from `flode.experiments.studies.weakly_balanced.weakly_balanced`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.
    """
    graphs = list(frame["graph"].unique())
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(1.8 * len(graphs), 1.9), layout="compressed")
        axes = fig.subplots(1, len(graphs), squeeze=False)[0]
        for ax, graph in zip(axes, graphs, strict=True):
            own = frame[frame["graph"] == graph]
            nodes = int(own["nodes"].iloc[0])
            # A square stands on its side: arrows run along and across it.
            places = ring(nodes, np.pi / 2 + (np.pi / 4 if nodes == 4 else 0))
            edges = list(zip(own["source"], own["target"], strict=True))
            for source, target in edges:
                bend = _BEND if (target, source) in edges else 0.0
                draw_arrow(ax, places[source], places[target], bend)
            draw_nodes(ax, places, texts=[str(node + 1) for node in range(nodes)])
            bare(ax, places)
            ax.set_title(graph)
            perron = _printed(own["perron"].iloc[0], bool(own["weakly_balanced"].iloc[0]))
            ax.text(
                0.5,
                -0.03,
                rf"$\lambda_\mathrm{{PF}} {perron}$",
                transform=ax.transAxes,
                ha="center",
                va="top",
            )
        stamp(fig, quick)
    return fig, frame


def _printed(perron: float, one: bool) -> str:
    """A number that is not 1 is not printed as if it were."""
    if one and abs(perron - 1) < 1e-9:
        return "= 1"
    return rf"\approx {perron:.2f}" if perron < 0.995 else rf"\approx {perron:.6f}"
