"""Measured accuracies of a table beside published baselines, against the columns' numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flode.experiments.checks import FLODE
from flode.reporting.figures.style import BASELINES, MEASURED, STYLE, stamp
from flode.reporting.tidy import is_quick

#: Columns of what `comparison_figure` plots; ``error`` is the half length of a drawn error bar.
PLOTTED = ("panel", "series", "kind", "x", "y", "error")


def comparison_figure(
    frame: pd.DataFrame, spec: Mapping[str, Any], quick: bool = False
) -> tuple[Figure, pd.DataFrame]:
    """Accuracy against the parameter of the DSBM graphs, a panel for each subtable.

    Args:
        frame: tidy comparison table whose columns are named by numbers.
        spec: ``{"panels": {subtable: {"label": text of the x axis}}}``; a panel may also give
            ``ylabel``. The x axis runs as the table's columns do.
        quick: stamp the figure; also done when a cell comes from a quick run.

    Returns:
        The figure and what it plots, columns `PLOTTED`. Error bars (one standard deviation) are
        drawn for the measured series only; columns without runs are named in the panel.

    Raises:
        ValueError: a panel is no subtable of ``frame``, or a column's name is no number.
    """
    panels = _panels(frame, spec)
    plotted = pd.concat([_plotted(frame, panel) for panel in panels], ignore_index=True)
    # Over all panels, so that a baseline looks the same in each.
    baselines = list(plotted[plotted["kind"] == "baseline"]["series"].unique())
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(5.5, 3.3))
        axes = fig.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        handles: dict[str, Any] = {}
        for index, (ax, (panel, texts)) in enumerate(zip(axes, panels.items(), strict=True)):
            handles |= _draw(ax, plotted[plotted["panel"] == panel], baselines)
            _dress(ax, frame[frame["subtable"] == panel], texts, first=index == 0)
        handles = dict(sorted(handles.items(), key=lambda item: not item[0].startswith(FLODE)))
        fig.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
        stamp(fig, quick or is_quick(frame))
    return fig, plotted


def _panels(frame: pd.DataFrame, spec: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    panels, known = spec.get("panels"), list(frame["subtable"].unique())
    if not panels:
        raise ValueError(f"figure: panels is {panels!r}; allowed: a mapping with one or more")
    for panel, texts in panels.items():
        if panel not in known:
            allowed = ", ".join(map(repr, known))
            raise ValueError(f"figure: panel {panel!r}; allowed: {allowed}")
        if "label" not in (texts or {}):
            raise ValueError(f"figure: panel {panel!r} is {texts!r}; allowed: a key 'label'")
    return panels


def _plotted(frame: pd.DataFrame, panel: str) -> pd.DataFrame:
    cells = frame[frame["subtable"] == panel].copy()
    cells["x"] = [_number(panel, column) for column in cells["column"]]
    flode = cells["row"] == FLODE
    published, measured = cells["published_mean"], cells["mean"]
    # Another model that was trained here is drawn as it was measured.
    trained = ~flode & cells["row"].isin(cells["row"][measured.notna()])
    cells["row"] = cells["row"].where(~trained, cells["row"] + " (measured)")
    parts = {
        "baseline": (cells[~flode], measured.where(trained, published), None),
        "measured": (cells[flode], measured, cells["std"]),
        "published": (cells[flode], published, None),
    }
    frames = []
    for kind, (part, y, error) in parts.items():
        series = part["row"] if kind == "baseline" else f"{FLODE} ({kind})"
        frames.append(
            pd.DataFrame(
                {
                    "panel": panel,
                    "series": series,
                    "kind": kind,
                    "x": part["x"],
                    "y": y[part.index],
                    "error": float("nan") if error is None else error[part.index],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)[list(PLOTTED)].dropna(subset="y")


def _number(panel: str, column: str) -> float:
    try:
        return float(column)
    except ValueError:
        raise ValueError(
            f"figure: panel {panel!r}, column {column!r}; allowed: a number, for the x axis"
        ) from None


def _draw(ax: Axes, plotted: pd.DataFrame, baselines: list[str]) -> dict[str, Any]:
    """Draw the series of a panel; returns their handles for the legend."""
    handles: dict[str, Any] = {}
    for (series, kind), points in plotted.groupby(["series", "kind"], sort=False):
        if kind == "baseline":
            colour, dashes, marker = BASELINES[baselines.index(series) % len(BASELINES)]
            (handles[series],) = ax.plot(
                points["x"], points["y"], color=colour, linestyle=dashes, marker=marker
            )
        elif kind == "published":
            (handles[series],) = ax.plot(
                points["x"], points["y"], color="black", linestyle=(0, (4, 2)), marker="o",
                markersize=5.5, markerfacecolor="none", linewidth=0.9, zorder=5,
            )  # fmt: skip
        else:
            handles[series] = ax.errorbar(
                points["x"], points["y"], yerr=points["error"], color=MEASURED, linewidth=2.2,
                elinewidth=1.0, marker="o", markersize=3.6, zorder=4,
            )  # fmt: skip
    return handles


def _dress(ax: Axes, cells: pd.DataFrame, texts: Mapping[str, str], first: bool) -> None:
    columns = list(dict.fromkeys(cells["column"]))
    ticks = [float(column) for column in columns]
    ax.set_xticks(ticks, columns)
    if ticks[0] > ticks[-1]:
        ax.invert_xaxis()
    ax.set_xlabel(texts["label"])
    ax.set_ylim(0, 103)
    if first:
        ax.set_ylabel(texts.get("ylabel", "Test accuracy (%)"))
    not_run = cells[(cells["row"] == FLODE) & cells["mean"].isna()]["column"]
    if len(not_run):
        ax.text(
            0.02, 0.02, f"{FLODE} not run: {', '.join(not_run)}",
            transform=ax.transAxes, fontsize=6.5, style="italic",
        )  # fmt: skip
