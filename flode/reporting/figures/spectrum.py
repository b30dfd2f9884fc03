"""Eigenvalues of SNAs in the unit disc (paper, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from flode.reporting.figures.style import MEASURED, STYLE, stamp

_TICKS = (-1, -0.5, 0, 0.5, 1)


def spectrum_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """A panel for each graph: its eigenvalues, the unit circle, and λ_PF marked.

    Args:
        frame: from `flode.experiments.studies.spectrum.spectrum`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.
    """
    graphs = list(frame["graph"].unique())
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(2.75 * len(graphs), 3.0), layout="compressed")
        axes = fig.subplots(1, len(graphs), squeeze=False, sharey=True)[0]
        circle = np.exp(1j * np.linspace(0, 2 * np.pi, 361))
        for ax, graph in zip(axes, graphs, strict=True):
            own = frame[frame["graph"] == graph]
            perron = own[own["kind"] == "perron"].iloc[0]
            eigenvalues = own[own["kind"] == "eigenvalue"]
            ax.plot(circle.real, circle.imag, color="#999999", linewidth=0.7)
            ax.scatter(
                eigenvalues["real"], eigenvalues["imaginary"],
                s=2.5, color="#332288", linewidths=0,
            )  # fmt: skip
            ax.plot(
                perron["real"], perron["imaginary"],
                marker="o", markersize=5, markerfacecolor="none", color=MEASURED,
            )  # fmt: skip
            ax.annotate(
                rf"$\lambda_\mathrm{{PF}} = {perron['real']:.4f}$",
                (perron["real"], perron["imaginary"]), (0.97, 0.97),
                textcoords="axes fraction", ha="right", va="top", color=MEASURED,
                arrowprops={"arrowstyle": "-", "color": MEASURED, "linewidth": 0.6},
            )  # fmt: skip
            ax.set(title=graph, xlabel=r"$\mathrm{Re}\,\lambda$", xlim=(-1.08, 1.08))
            ax.set(ylim=(-1.08, 1.08), aspect="equal", xticks=_TICKS, yticks=_TICKS)
        axes[0].set_ylabel(r"$\mathrm{Im}\,\lambda$")
        stamp(fig, quick)
    return fig, frame
