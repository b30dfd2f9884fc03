"""What a table's or a figure's rule does: read, build, write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from flode.files import atomic_write, write_text_atomic
from flode.reporting.ablation import ablation_table
from flode.reporting.claims import claims_table, load_sources, render_claims
from flode.reporting.discrepancies import discrepancy_table
from flode.reporting.frequency import frequency_table, load_runs_and_statistics
from flode.reporting.latex import render_comparison, render_hyperparameters
from flode.reporting.latex_ablation import render_ablation
from flode.reporting.latex_discrepancies import render_discrepancies
from flode.reporting.latex_frequency import render_frequency
from flode.reporting.latex_ranking import render_ranking
from flode.reporting.latex_statistics import render_statistics
from flode.reporting.published import files_of, read_published
from flode.reporting.ranking import ranking_table
from flode.reporting.records import load_runs
from flode.reporting.reproduction import load_tables, render_reproduction, reproduction_table
from flode.reporting.search import search_table
from flode.reporting.statistics import load_statistics, statistics_table
from flode.reporting.tables import comparison_table, hyperparameter_table
from flode.reporting.tidy import (
    QUICK,
    Reasons,
    is_quick,
    read_csv,
    read_table,
    without_verdicts,
    write_table,
)


@dataclass(frozen=True)
class _Kind:
    """How a kind of table is made: ``build(name, spec, *published, loaded, reasons)``, then
    ``render(frame, spec, *published, quick)``.

    Attributes:
        published: what its files of published numbers hold, in order; None for any number of
            files, given as one mapping by their names.
        load: reads its run files, or what stands in their place.
    """

    build: Callable[..., pd.DataFrame]
    render: Callable[..., str]
    published: tuple[str, ...] | None = ("the paper's numbers",)
    load: Callable[[Iterable[str | Path]], Any] = load_runs


_KINDS = {
    "comparison": _Kind(comparison_table, render_comparison),
    "ranking": _Kind(
        ranking_table, render_ranking, published=("the full comparison", "its summary")
    ),
    "hyperparameters": _Kind(hyperparameter_table, render_hyperparameters),
    "ablation": _Kind(ablation_table, render_ablation),
    "frequency_dominance": _Kind(frequency_table, render_frequency, load=load_runs_and_statistics),
    "discrepancies": _Kind(
        discrepancy_table, render_discrepancies, published=None, load=load_runs_and_statistics
    ),
    "reproduction": _Kind(reproduction_table, render_reproduction, published=(), load=load_tables),
    "claims": _Kind(claims_table, render_claims, published=(), load=load_sources),
    "datasets": _Kind(statistics_table, render_statistics, load=load_statistics),
}


def make_table(
    name: str,
    settings: Mapping[str, Any],
    published: str | Path | Iterable[str | Path],
    runs: Iterable[str | Path],
    csv: str | Path,
    tex: str | Path,
    reasons: Reasons | None = None,
) -> pd.DataFrame:
    """Build a table from run files and published numbers and write it, tidy and typeset.

    Args:
        name: the table's name.
        settings: ``spec``, the table's entry in the configuration, and ``quick``.
        published: CSV file of the published numbers; for a ranking two, the full comparison and
            its summary; for kind ``discrepancies`` any number, of different names.
        runs: run files; for kind ``datasets`` statistics files, for kind ``reproduction`` tables.
        csv, tex: where to write.
        reasons: why a (variant, configuration) was not run, for the cells that say so; for kind
            ``datasets`` the configuration is ``default``.

    Returns:
        The tidy table; of a quick run, without verdicts.

    Raises:
        ValueError: an unknown kind, another number of published files than the kind needs, or see
            the functions of the kind, `read_published`, `load_runs` and `load_statistics`.
    """
    spec = settings["spec"]
    if spec["kind"] not in _KINDS:
        raise ValueError(f"table {name!r}: kind is {spec['kind']!r}; allowed: {', '.join(_KINDS)}")
    kind = _KINDS[spec["kind"]]
    files = files_of(published)
    if kind.published is not None and len(files) != len(kind.published):
        raise ValueError(
            f"table {name!r}: published is {', '.join(map(str, files))}; kind {spec['kind']} needs "
            f"{len(kind.published)} file(s): {', '.join(kind.published)}"
        )
    paper: list[Any] = [read_published(file) for file in files]
    if kind.published is None:
        paper = [{Path(file).stem: frame for file, frame in zip(files, paper, strict=True)}]
    frame = kind.build(name, spec, *paper, kind.load(runs), reasons)
    quick = settings["quick"] or is_quick(frame)
    frame = without_verdicts(frame) if quick else frame
    text = kind.render(frame, spec, *paper, quick)  # before any file is written
    write_table(frame, csv)
    write_text_atomic(tex, text)
    return frame


def make_study(
    settings: Mapping[str, Any],
    csv: str | Path,
    graphs: Iterable[str] = (),
    factors: Iterable[str] = (),
    runs: Iterable[str] = (),
    reasons: Reasons | None = None,
    statistics: Mapping[str, str] = MappingProxyType({}),
) -> pd.DataFrame:
    """Compute a study and write it.

    Args:
        settings: ``Catalogue.study_settings``.
        csv: where to write.
        graphs, factors, runs: files, as ``Catalogue.study_inputs`` orders them.
        reasons: why a (variant, configuration) of a series was not run, for the points that say so.
        statistics: of graphs of a series that are not among ``graphs``, files by their labels.
    """
    from flode.experiments.studies import STUDIES, StudyGraph
    from flode.reporting.series import SERIES, series_graphs

    files = zip(settings["flows"].items(), graphs, factors, strict=True)
    known = {label: StudyGraph(label, g, f, flow) for (label, flow), g, f in files}
    kind = settings["spec"]["kind"]
    if kind in SERIES:
        loaded = load_statistics(statistics.values())
        reported = {label: loaded[settings["variants"][label]] for label in statistics}
        frame = SERIES[kind](settings, series_graphs(known, reported), load_runs(runs), reasons)
    else:
        frame = STUDIES[kind](settings, known)
    if settings["quick"] and "note" not in frame:
        frame["note"] = QUICK
    with atomic_write(csv) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n", float_format="%.10g")
    return frame


def make_search(
    settings: Mapping[str, Any], runs: Iterable[str | Path], csv: str | Path
) -> pd.DataFrame:
    """Choose hyperparameters by mean validation metric and write all candidates.

    Args:
        settings: ``Catalogue.search_settings``.
        runs: run files of all candidates.
        csv: where to write.
    """
    frame = search_table(settings["candidates"], load_runs(runs))
    write_table(frame, csv)
    return frame


def make_figure(settings: Mapping[str, Any], source: str | Path, stem: str | Path) -> list[Path]:
    """Draw a figure from the file of a table or a study and write it: see
    `flode.reporting.figures.save_figure`."""
    from flode.reporting.figures import FIGURES, save_figure

    spec = settings["spec"]
    frame = read_table(source) if "table" in spec else read_csv(source)
    figure, plotted = FIGURES[spec["kind"]](frame, spec, settings["quick"] or is_quick(frame))
    return save_figure(figure, plotted, stem)
