"""What a table's or a figure's rule does: read, build, write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from flode.files import write_text_atomic
from flode.reporting.latex import render_comparison, render_hyperparameters
from flode.reporting.published import read_published
from flode.reporting.records import load_runs
from flode.reporting.tables import comparison_table, hyperparameter_table, read_table, write_table

_KINDS = {
    "comparison": (comparison_table, render_comparison),
    "hyperparameters": (hyperparameter_table, render_hyperparameters),
}


def make_table(
    name: str,
    settings: Mapping[str, Any],
    published: str | Path,
    runs: Iterable[str | Path],
    csv: str | Path,
    tex: str | Path,
) -> pd.DataFrame:
    """Build a table from run files and published numbers and write it, tidy and typeset.

    Args:
        settings: ``spec``, the table's entry in the configuration, and ``quick``.
        published: CSV file of the published numbers.

    Returns:
        The tidy table.

    Raises:
        ValueError: see `comparison_table`, `read_published`, `load_runs`.
    """
    spec = settings["spec"]
    build, render = _KINDS[spec["kind"]]
    paper = read_published(published)
    frame = build(name, spec, paper, load_runs(runs))
    write_table(frame, csv)
    write_text_atomic(tex, render(frame, spec, paper, settings["quick"]))
    return frame


def make_figure(settings: Mapping[str, Any], table: str | Path, stem: str | Path) -> list[Path]:
    """Draw a figure from a tidy table and write it: see `flode.reporting.figures.save_figure`."""
    from flode.reporting.figures import dsbm_figure, save_figure

    figure, plotted = dsbm_figure(read_table(table), settings["spec"], settings["quick"])
    return save_figure(figure, plotted, stem)
