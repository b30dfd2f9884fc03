"""The figure of the speed: time of an epoch and a split against each size, and the named cases."""

from __future__ import annotations

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from flode.reporting.figures.style import MEASURED, STYLE, stamp

#: (colour, dashes, marker) of each path of the sweeps: apart for the colour-blind, and by markers
#: in grey.
LOOKS = {
    "literal": ("#000000", "-", "x"),
    "general": ("#999933", "-.", "D"),
    "reduced": ("#332288", "--", "s"),
    "powers": ("#44AA99", "-.", "^"),
    "spectral": (MEASURED, "-", "o"),
}

#: Sweep → what it varies, and the label of its axis.
SWEEPS = {
    "layers": ("T", "Layers $T$"),
    "nodes": ("N", "Nodes $N$"),
    "rank": ("rank", "Rank $r$"),
    "channels": ("K", "Channels $K$"),
    "splits": ("splits", "Splits side by side"),
}

TITLES = {
    "dsbm": "DSBM",
    "cora": "Cora",
    "minesweeper": "Minesweeper, fifth",
    "chameleon-directed": "Chameleon dir.",
    "chameleon-undirected": "Chameleon undir.",
    "chameleon-undirected-deep": "Chameleon undir.",
}


def speed_figure(frame: pd.DataFrame, quick: bool = False) -> Figure:
    """Panels of every sweep and of the named cases, two rows a device.

    Args:
        frame: rows of `benchmarks.measure.measure`.
        quick: stamp the figure.
    """
    devices = list(frame["device"].unique())
    with matplotlib.rc_context(fname=STYLE):
        fig = Figure(figsize=(6.3, 3.9 * len(devices) + 0.2))
        axes = fig.subplots(2 * len(devices), 3, squeeze=False)
        for number, device in enumerate(devices):
            own = frame[frame["device"] == device]
            panels = axes[2 * number : 2 * number + 2].ravel()
            for ax, (sweep, (column, label)) in zip(panels[:5], SWEEPS.items(), strict=True):
                _sweep(ax, own[own["case"] == sweep], column)
                ax.set_xlabel(label)
            _same_limits(panels[:5])
            for place, ax in enumerate(panels[:5]):
                ax.tick_params(labelleft=place % 3 == 0)
                if place % 3 == 0:
                    ax.set_ylabel("Milliseconds an epoch and split")
            _named(panels[5], own)
            if len(devices) > 1:
                panels[1].set_title(device, fontweight="bold")
        handles = [
            Line2D([], [], color=colour, linestyle=dashes, marker=marker, label=path)
            for path, (colour, dashes, marker) in LOOKS.items()
        ]
        handles.append(Line2D([], [], color="#777777", linewidth=0.6, label="floor of each"))
        fig.legend(handles=handles, loc="outside lower center", ncols=6, columnspacing=1.4)
        stamp(fig, quick)
    return fig


def _sweep(ax: Axes, own: pd.DataFrame, column: str) -> None:
    if own.empty:
        return
    for path, (colour, dashes, marker) in LOOKS.items():
        rows = own[own["path"] == path].sort_values(column)
        if path == "literal" and column == "splits":
            # It trains one split after another: the same time for each, whatever their number.
            rows = rows.assign(seconds_per_epoch_and_split=rows["seconds_per_epoch"].median())
            rows["splits"] = sorted(own["splits"].unique())[: len(rows)]
        hollow = {"markerfacecolor": "white"} if marker in "s^D" else {}
        ax.plot(
            rows[column], 1e3 * rows["seconds_per_epoch_and_split"], color=colour,
            linestyle=dashes, marker=marker, zorder=3, **hollow,
        )  # fmt: skip
        if path != "literal":
            floor = 1e3 * rows["floor_seconds"] / rows["splits"]
            ax.plot(rows[column], floor, color=colour, linewidth=0.5, alpha=0.8, zorder=2)
    ticks = sorted(own[column].unique())
    ticks = ticks[::2] if len(ticks) > 6 else ticks
    ax.set(xscale="log", yscale="log")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(ticks, [str(tick) for tick in ticks])


def _same_limits(panels) -> None:
    used = [ax for ax in panels if ax.lines]
    if not used:
        return
    lowest = min(ax.get_ylim()[0] for ax in used)
    highest = max(ax.get_ylim()[1] for ax in used)
    for ax in used:
        ax.set_ylim(lowest, highest)
        ax.yaxis.set_major_locator(LogLocator(numticks=12))
        ax.yaxis.set_minor_locator(NullLocator())


def _named(ax: Axes, own: pd.DataFrame) -> None:
    """Ratios to the literal algorithm of the path that the library chooses."""
    chosen = own[own["chosen"] & (own["dropout"] == 0)]
    names = [name for name in TITLES if name in set(chosen["case"])]
    for place, name in enumerate(reversed(names)):
        rows = chosen[chosen["case"] == name].sort_values("splits")
        ax.plot(rows["ratio"], [place] * len(rows), color="#BBBBBB", zorder=1)
        for _, row in rows.iterrows():
            several = row["splits"] > 1
            face = MEASURED if several else "white"
            ax.plot(row["ratio"], place, color=MEASURED, marker="o", markerfacecolor=face)
        right = rows.loc[rows["ratio"].idxmax()]
        ax.annotate(
            f"{right['ratio']:.0f}×", (right["ratio"], place), (4, 0), textcoords="offset points",
            va="center", fontsize=6.5,
        )  # fmt: skip
    depths = chosen.groupby("case")["T"].first()
    # Names inside: beside the axis they would push the columns apart.
    for place, name in enumerate(reversed(names)):
        label = f"{TITLES[name]}, $T = {depths[name]}$"
        ax.text(0.02, place + 0.22, label, transform=ax.get_yaxis_transform(), fontsize=6.5)
    ax.set_yticks([])
    ax.set_ylim(-0.6, len(names) - 0.2)
    ax.set_xscale("log")
    ax.xaxis.set_minor_locator(NullLocator())
    if names:  # room for the numbers on the right
        ax.set_xlim(chosen["ratio"].min() / 2, chosen["ratio"].max() * 6)
    ax.set_xlabel("Times faster (○ one split, ● several)")
    ax.grid(axis="y", visible=False)
