"""Figures: a module a kind, one look (`style`).

A kind is a function ``(frame, spec, quick) -> (Figure, plotted)``: it draws what one table or study
holds. A new kind is such a function, an entry here, and one in figure.schema.yaml.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from matplotlib.figure import Figure

from flode.reporting.figures.comparison import comparison_figure
from flode.reporting.figures.series import depth_figure, truncated_svd_figure
from flode.reporting.figures.spectrum import spectrum_figure
from flode.reporting.figures.style import save_figure

__all__ = ["FIGURES", "comparison_figure", "save_figure"]

FIGURES: dict[str, Callable[..., tuple[Figure, pd.DataFrame]]] = {
    "comparison": comparison_figure,
    "depth": depth_figure,
    "spectrum": spectrum_figure,
    "truncated_svd": truncated_svd_figure,
}
