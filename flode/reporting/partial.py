"""What an unfinished workflow can show: tables, studies, figures and the report of what was run.

``python -m flode.reporting.partial SNAKEFILE`` reads the configuration, as JSON, from its standard
input, and writes what has some of its files and lacks others, and the report of all that is there.

Nothing here is a finished output: the files are dated 1970, so that the next call of the workflow
makes them anew, whatever its configuration.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.checks import SUMMARIES
from flode.experiments.report import Report
from flode.reporting.pages import write_search_page, write_table_page
from flode.reporting.records import settings_of
from flode.reporting.report import forget, make_report
from flode.reporting.series import SERIES
from flode.reporting.stages import make_figure, make_study, make_table
from flode.reporting.summary import write_summary


def show_partial(config: Mapping[str, Any], snakefile: str | Path, whole: bool = False) -> None:
    """Write what is unfinished, and the report of all that is there.

    Args:
        config: the merged configuration.
        snakefile: the workflow's, beside its folder ``workflow``.
        whole: see `write_partial`.

    Raises:
        RuntimeError, OSError, ValueError: the report cannot be made; see `make_report`.
    """
    catalogue = Catalogue(config, Path(snakefile).parent / "workflow" / "schemas")
    if written := write_partial(catalogue, whole):
        # Else what is known of a whole table that it replaces would be taken for this one's.
        forget(config, snakefile, written)
    if file := _write_report(config, catalogue, snakefile):
        print(f"{file} shows what is there", file=sys.stderr)


def write_partial(catalogue: Catalogue, whole: bool = False) -> list[Path]:
    """Write what is unfinished, from what was run.

    Args:
        catalogue: the configuration.
        whole: also what has all of its files, and is not up to date.

    Returns:
        The files written.
    """
    config, work = catalogue.config, _Partial(catalogue, whole)
    tables = config["tables"]
    summaries = [name for name in tables if tables[name]["kind"] in SUMMARIES]
    for name in tables:
        if name not in summaries:
            work.table(name)
    for name in config["studies"]:
        work.study(name)
    for name in summaries:  # they read tables and studies
        work.table(name)
    for name in config["figures"]:
        work.figure(name)
    return work.written


class _Partial:
    def __init__(self, catalogue: Catalogue, whole: bool):
        self.catalogue, self.whole = catalogue, whole
        self.results = Path(catalogue.results)
        self.written: list[Path] = []
        self._runs: dict[Run, tuple[list[str], str | None]] = {}

    def table(self, name: str) -> None:
        stem, settings = self.results / "tables" / name, self.catalogue.table_settings(name)
        runs = self.catalogue.table_runs(name)
        present, reasons = self._present(runs)
        needed, run_files = self.catalogue.table_files(name), set(self.catalogue.files_of(runs))
        present += [path for path in needed if path not in run_files and Path(path).exists()]
        for variant in self.catalogue.table_variants(name):
            if not Path(self.catalogue.statistics_file(variant)).exists():
                reasons.setdefault((variant, Run(variant).configuration), self._reason(variant))
        # A summary of tables that are all there may be of some that have just been written here.
        renewed = settings["spec"]["kind"] in SUMMARIES and bool(self.written)
        outputs = [stem.with_name(f"{name}.{suffix}") for suffix in ("csv", "tex")]
        published = settings["spec"].get("published", [])
        self._make(
            f"table {name}", outputs, needed, present,
            lambda: make_table(name, settings, published, present, *outputs, reasons=reasons),
            renewed,
        )  # fmt: skip

    def study(self, name: str) -> None:
        settings = self.catalogue.study_settings(name)
        inputs = self.catalogue.study_inputs(name)
        needed = [path for paths in inputs.values() for path in paths]
        reasons = None
        if settings["spec"]["kind"] in SERIES:
            # Of the graphs that are there: their files come with their first run.
            pairs = zip(settings["flows"], inputs["graphs"], inputs["factors"], strict=True)
            there = {label: files for label, *files in pairs if all(map(os.path.exists, files))}
            settings["flows"] = {label: settings["flows"][label] for label in there}
            inputs["graphs"], inputs["factors"] = (
                [files[index] for files in there.values()] for index in (0, 1)
            )
            by_graph = self.catalogue.study_runs(name)
            inputs["runs"], reasons = self._present(
                run for label in there for series in by_graph[label].values() for run in series
            )
            if not inputs["runs"]:
                return
        elif not all(map(os.path.exists, needed)):
            return
        present = [path for paths in inputs.values() for path in paths]
        output = self.results / "studies" / f"{name}.csv"
        self._make(
            f"study {name}", [output], needed, present,
            lambda: make_study(settings, output, **inputs, reasons=reasons),
        )  # fmt: skip

    def figure(self, name: str) -> None:
        source, stem = self.catalogue.figure_source(name), self.results / "figures" / name
        outputs = [stem.with_name(f"{name}.{suffix}") for suffix in ("pdf", "svg", "csv")]
        renewed = Path(source) in self.written
        present = [source] if Path(source).exists() else []
        settings = self.catalogue.figure_settings(name)
        self._make(
            f"figure {name}", outputs, [source], present,
            lambda: make_figure(settings, source, stem), renewed,
        )  # fmt: skip

    def _make(
        self,
        title: str,
        outputs: Iterable[Path],
        needed: Iterable[str],
        present: Iterable[str],
        make: Callable[[], object],
        renewed: bool = False,
    ) -> None:
        """Write outputs unless nothing is there to show or nothing is new."""
        needed, present = set(needed), set(present)
        if needed and not present:
            return
        if needed == present and not renewed:
            newest = max((Path(path).stat().st_mtime for path in present), default=0)
            current = all(path.exists() and path.stat().st_mtime >= newest for path in outputs)
            if current or not self.whole:
                return
        try:
            make()
        except (OSError, ValueError) as error:  # a damaged file stops what shows it only
            print(f"{title} is not written: {error}", file=sys.stderr)
            return
        for path in outputs:
            os.utime(path, (1, 1))
            self.written.append(path)
        print(
            f"{title} is written{' with what was run' if needed != present else ''}",
            file=sys.stderr,
        )

    def _present(self, runs: Iterable[Run]) -> tuple[list[str], dict[tuple[str, str], str]]:
        """Files of those runs that are there, and why the others are not."""
        files: list[str] = []
        reasons = {}
        for run in dict.fromkeys(runs):
            if run not in self._runs:
                self._runs[run] = self._find(run)
            own, reason = self._runs[run]
            files += own
            if reason is not None:
                reasons[run.variant, run.configuration] = reason
        return files, reasons

    def _find(self, run: Run) -> tuple[list[str], str | None]:
        """Files of a run with its settings: those that tables ask for or, where none is there, what
        there is of other ranges of splits."""
        asked = [Path(path) for path in self.catalogue.run_files(run)]
        others = sorted(asked[0].parent.glob("splits-*-*.json"), key=_range)
        settings, outdated = self.catalogue.run_settings(run), False
        for candidates in (asked, others):
            found, splits = [], set()
            for path in filter(Path.exists, candidates):
                own = set(range(*_range(path)))
                if not _describes(path, settings):
                    outdated = True
                elif not own & splits:
                    found.append(str(path))
                    splits |= own
            if found:
                return found, None
        return [], "it was run with other settings" if outdated else self._reason(run.variant)

    def _reason(self, variant: str) -> str:
        missing = [path for path in self.catalogue.raw_files(variant) if not Path(path).exists()]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            return f"raw file {missing[0]}{more} was not fetched"
        return "a job failed or did not run; see the logs"


def _range(path: Path) -> tuple[int, int]:
    """First split of a run file's name, and one past its last."""
    _, first, last = path.stem.split("-")
    return int(first), int(last) + 1


def _describes(path: Path, settings: Mapping) -> bool:
    """Whether a run file was made with these settings; a damaged one is left to its reader, which
    names it."""
    try:
        return settings_of(path).items() <= settings.items()
    except ValueError:
        return True


def _write_report(
    config: Mapping[str, Any], catalogue: Catalogue, snakefile: str | Path
) -> str | None:
    """Write the report of the tables, figures and searches that are there, and what it is made of.

    Returns:
        Its file, or None where there is nothing to show.
    """
    shown, results = Report(catalogue), Path(catalogue.results)
    for name, spec in catalogue.config["tables"].items():
        csv, tex = (results / "tables" / f"{name}.{ending}" for ending in ("csv", "tex"))
        if csv.exists() and tex.exists():
            published = spec.get("published", [])
            write_table_page(shown.page_settings(name), csv, tex, published, shown.page(name))
    for name in catalogue.config["searches"]:
        if (csv := results / "search" / f"{name}.csv").exists():
            write_search_page(shown.search_settings(name), csv, shown.search_page(name))
    items = [path for path in shown.items() if Path(path).exists()]
    if not items:
        return None
    tables = [path for path in shown.summary_inputs() if Path(path).exists()]
    write_summary(shown.summary_settings(), tables, items, shown.summary)
    make_report(config, snakefile, items, shown.file)
    return shown.file


if __name__ == "__main__":
    try:
        show_partial(json.load(sys.stdin), sys.argv[1])
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"the report is not written: {error}")
