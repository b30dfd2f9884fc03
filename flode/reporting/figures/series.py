"""Series of runs: against the number of layers, and against the number of singular values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from flode.reporting.figures.style import MEASURED, STYLE, stamp

#: (colour, dashes, marker) of the series, in their order: told apart in grey too.
LINES = (
    (MEASURED, "-", "o"),
    ("#332288", "--", "s"),
    ("#44AA99", "-.", "^"),
    ("#999933", ":", "D"),
    ("#BBBBBB", "-", "x"),
)


def depth_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """Test accuracy (above) and FD (below) against the number of layers, a column a graph.

    Args:
        frame: from `flode.reporting.series.depth`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.

    Returns:
        The figure and what it plots. Error bars are one standard deviation; a point without a
        number, whose training diverged, is a cross at the foot of its panel; one not
        run is left out.
    """
    missing = int((frame["n"] == 0).sum())
    frame = frame[frame["n"] > 0]
    graphs, names = list(frame["graph"].unique()), list(frame["series"].unique())
    # Every other of the depths, from the first on.
    ticks = [int(x) for x in sorted(frame["x"].unique())[::2]]
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(max(3.0, 1.75 * len(graphs)), 3.6))
        axes = fig.subplots(2, len(graphs), squeeze=False, sharex=True, sharey="row")
        handles: dict[str, Any] = {}
        for column, graph in enumerate(graphs):
            top, bottom = axes[0, column], axes[1, column]
            top.set_title(graph)
            for series, own in frame[frame["graph"] == graph].groupby("series", sort=False):
                colour, dashes, marker = LINES[names.index(series) % len(LINES)]
                look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3}
                look |= {"elinewidth": 0.6, "capsize": 1.2}
                handles[series] = top.errorbar(own["x"], own["mean"], own["std"], **look)
                bottom.errorbar(own["x"], own["fd_mean"], own["fd_std"], **look)
                lost = own[own["mean"].isna()]
                top.plot(
                    lost["x"], [0.03] * len(lost), linestyle="", marker="x", color=colour,
                    transform=top.get_xaxis_transform(),
                )  # fmt: skip
            bottom.axhline(0, color="black", linewidth=0.5)
            bottom.set_xscale("log", base=2)
            bottom.set_xticks(ticks, ticks)
            bottom.set_xlabel("Number of layers")
        axes[0, 0].set_ylabel("Test accuracy (%)")
        axes[1, 0].set_ylabel("FD")
        fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
        stamp(fig, quick, missing)
    return fig, frame


def truncated_svd_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """Test accuracy and explained variance against the number of singular values, a panel a graph.

    Args:
        frame: from `flode.reporting.series.truncated_svd`.
        spec: the figure's entry in the configuration.
        quick: stamp the figure.

    Returns:
        The figure and what it plots; a point whose training diverged is a cross at the foot,
        and one not run is left out.
    """
    missing = int((frame["n"] == 0).sum())
    frame = frame[frame["n"] > 0]
    graphs = list(frame["graph"].unique())
    accuracy: dict[str, Any] = {}
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(2.75 * len(graphs), 2.3))
        for number, (ax, graph) in enumerate(
            zip(fig.subplots(1, len(graphs), squeeze=False)[0], graphs, strict=True)
        ):
            own = frame[frame["graph"] == graph].sort_values("x")
            parts = list(own.groupby("series", sort=False))
            for index, (series, part) in enumerate(parts):
                colour, dashes, marker = LINES[index % len(LINES)]
                line = ax.errorbar(
                    part["x"], part["mean"], part["std"], color=colour, linestyle=dashes,
                    marker=marker, linewidth=1.4, elinewidth=0.7,
                )  # fmt: skip
                name = f"test accuracy, {series}" if len(parts) > 1 else "test accuracy"
                accuracy[name] = line
                lost = part[part["mean"].isna()]
                ax.plot(
                    lost["x"], [0.03] * len(lost), linestyle="", marker="x", color=colour,
                    transform=ax.get_xaxis_transform(),
                )  # fmt: skip
            own = own.drop_duplicates("x").dropna(subset="explained_variance")
            right = ax.twinx()
            right.spines["right"].set_visible(True)
            right.grid(visible=False)
            (variance,) = right.plot(
                own["x"], own["explained_variance"], color="#332288", linestyle="--", marker="s"
            )
            right.set_ylim(min([0.0, *own["explained_variance"]]), 1.03)
            ax.set(title=graph, xlabel="Singular values kept", xlim=(0, None))
            if number == 0:
                ax.set_ylabel("Test accuracy (%)")
            if number == len(graphs) - 1:
                right.set_ylabel("Explained variance")
        fig.legend(
            [*accuracy.values(), variance], [*accuracy, "explained variance"],
            loc="outside lower center", ncols=2,
        )  # fmt: skip
        stamp(fig, quick, missing)
    return fig, frame
