"""What an unfinished workflow can show: tables, studies, figures and the report of what was run.

``python -m flode.reporting.partial SNAKEFILE`` reads the configuration, as JSON, from its standard
input, and writes what has some of its files and lacks others, and the report of all that is there.

Nothing here is a finished output: the files are dated 1970, so that the next call of the workflow
makes them anew, whatever its configuration. By that date they are known here too: what was written
so before, and nothing is there any more to write it of, is removed. A finished output of which that
is so is left as it is, and not shown.
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
from flode.experiments.measured import known_statistics, trained_files
from flode.experiments.report import Report
from flode.experiments.runfiles import read_run, split_range
from flode.reporting.pages import write_search_page, write_table_page
from flode.reporting.report import forget, make_report
from flode.reporting.series import SERIES
from flode.reporting.stages import make_figure, make_search, make_study, make_table
from flode.reporting.summary import write_summary

#: When all that is written here was written, in seconds since 1970.
_DATE = 1


def show_partial(config: Mapping[str, Any], snakefile: str | Path, whole: bool = False) -> None:
    """Write what is unfinished, and the report of all that is there.

    Args:
        config: the merged configuration.
        snakefile: the workflow's, beside its folder ``workflow``.
        whole: see `write_partial`.

    Raises:
        RuntimeError, OSError, ValueError: the report cannot be made, see `make_report`, or was
            made without something that could not be written.
    """
    catalogue = Catalogue(config, Path(snakefile).parent / "workflow" / "schemas")
    work = _all(catalogue, whole)
    if work.written:
        # Else what is known of a whole table that it replaces would be taken for this one's.
        forget(config, snakefile, work.written)
    _write_report(config, work, snakefile)
    if work.failed:
        raise RuntimeError(f"without {', '.join(work.failed)}, which could not be written")


def write_partial(catalogue: Catalogue, whole: bool = False) -> list[Path]:
    """Write what is unfinished, from what was run.

    Args:
        catalogue: the configuration.
        whole: also what has all of its files, and is not up to date.

    Returns:
        The files written.
    """
    return _all(catalogue, whole).written


def _all(catalogue: Catalogue, whole: bool) -> _Partial:
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
    for name in config["searches"]:
        work.search(name)
    return work


class _Partial:
    """
    Attributes:
        written: files written.
        shown: these, and others that are right as they are.
        removed: files removed.
        failed: what could not be written, by its title.
    """

    def __init__(self, catalogue: Catalogue, whole: bool):
        self.catalogue, self.whole = catalogue, whole
        self.results = Path(catalogue.results)
        self.written: list[Path] = []
        self.shown: set[Path] = set()
        self.removed: list[Path] = []
        self.failed: list[str] = []
        self._runs: dict[Run, tuple[list[str], str | None]] = {}

    def table(self, name: str) -> None:
        stem, settings = self.results / "tables" / name, self.catalogue.table_settings(name)
        runs = self.catalogue.table_runs(name)
        present, reasons = self._present(runs)
        needed = self.catalogue.table_files(name)
        summary = settings["spec"]["kind"] in SUMMARIES
        for variant in self.catalogue.table_variants(name):
            statistics = known_statistics(self.catalogue, variant)
            present += [statistics] if statistics else []
            if statistics is None:
                reason = self._reason(variant, "the graph is not built yet")
                reasons.setdefault((variant, Run(variant).configuration), reason)
        if summary:  # of tables and studies
            present += [path for path in needed if Path(path) in self.shown]
        # A summary of tables that are all there may be of some that have just been written here.
        renewed = summary and bool(self.written)
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
        reasons, statistics = None, {}
        if settings["spec"]["kind"] in SERIES:
            # Of the graphs that are there: their files come with their first run. Of others what
            # their statistics say.
            pairs = zip(settings["flows"], inputs["graphs"], inputs["factors"], strict=True)
            there = {label: files for label, *files in pairs if all(map(os.path.exists, files))}
            settings["flows"] = {label: settings["flows"][label] for label in there}
            inputs["graphs"], inputs["factors"] = (
                [files[index] for files in there.values()] for index in (0, 1)
            )
            absent = {k: v for k, v in settings["variants"].items() if k not in there}
            for label, variant in absent.items():
                if (known := known_statistics(self.catalogue, variant)) is not None:
                    statistics[label] = known
            by_graph = self.catalogue.study_runs(name)
            inputs["runs"], reasons = self._present(
                run
                for label in (*there, *statistics)
                for series in by_graph[label].values()
                for run in series
            )
            ready = bool(inputs["runs"])
        else:
            ready = all(map(os.path.exists, needed))
        present = [path for paths in inputs.values() for path in paths if ready]
        output = self.results / "studies" / f"{name}.csv"
        self._make(
            f"study {name}", [output], needed, present,
            lambda: make_study(settings, output, **inputs, reasons=reasons, statistics=statistics),
        )  # fmt: skip

    def figure(self, name: str) -> None:
        source, stem = self.catalogue.figure_source(name), self.results / "figures" / name
        outputs = [stem.with_name(f"{name}.{suffix}") for suffix in ("pdf", "svg", "csv")]
        renewed = Path(source) in self.written
        present = [source] if Path(source) in self.shown else []
        settings = self.catalogue.figure_settings(name)
        self._make(
            f"figure {name}", outputs, [source], present,
            lambda: make_figure(settings, source, stem), renewed,
        )  # fmt: skip

    def search(self, name: str) -> None:
        """Nothing is chosen from some of its candidates: whole, or not shown."""
        output, runs = self.results / "search" / f"{name}.csv", self.catalogue.searched_runs(name)
        present, title = self._present(runs)[0], f"search {name}"
        splits = sum(self.catalogue.num_splits(run.variant) for run in runs)
        if sum(map(len, map(split_range, present))) < splits:
            self._withdraw(title, [output])
            return
        settings = self.catalogue.search_settings(name)
        self._make(
            title, [output], self.catalogue.files_of(runs), present,
            lambda: make_search(settings, present, output),
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
            self._withdraw(title, outputs)
            return
        # What was written here before may be of another configuration.
        if needed == present and not renewed and not any(map(_is_unfinished, outputs)):
            newest = max((Path(path).stat().st_mtime for path in present), default=0)
            current = all(path.exists() and path.stat().st_mtime >= newest for path in outputs)
            if current or not self.whole:
                self._keep(outputs)
                return
        try:
            make()
        except (OSError, ValueError) as error:  # a damaged file stops what shows it only
            print(f"{title} is not written: {error}", file=sys.stderr)
            self.failed.append(title)
            self._withdraw(title, outputs)
            return
        for path in outputs:
            os.utime(path, (_DATE, _DATE))
            self.written.append(path)
        self._keep(outputs)
        print(
            f"{title} is written{' with what was run' if needed != present else ''}",
            file=sys.stderr,
        )

    def _keep(self, outputs: Iterable[Path]) -> None:
        self.shown.update(filter(Path.exists, outputs))

    def _withdraw(self, title: str, outputs: Iterable[Path]) -> None:
        """Show none of these outputs: what they are made from is not there with these settings."""
        there = list(filter(Path.exists, outputs))
        old = list(filter(_is_unfinished, there))
        for path in old:
            path.unlink()
        self.removed += old
        if there:
            done = "is removed" if old else "is left as it is, and not shown"
            why = "what it needs is damaged, not there, or of other settings"
            print(f"{title} {done}: {why}", file=sys.stderr)

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
        """Files of a run with its settings, or why there are none."""
        found, outdated = trained_files(self.catalogue, run)
        for path in found:
            try:
                read_run(path)
            except ValueError as error:  # the tables say it of its cells, and have the others
                print(error, file=sys.stderr)
                return [], f"the run file {path} is damaged"
        if found:
            return list(map(str, found)), None
        return [], "it was run with other settings" if outdated else self._reason(run.variant)

    def _reason(self, variant: str, lacking: str = "not trained yet") -> str:
        """Why a file of a variant is not there; ``lacking`` where nothing hinders it."""
        if self.whole:  # asked for by itself, not after trainings that failed
            return lacking
        missing = [path for path in self.catalogue.raw_files(variant) if not Path(path).exists()]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            return f"raw file {missing[0]}{more} was not fetched"
        return "a job failed or did not run; see the logs"


def _is_unfinished(path: Path) -> bool:
    """Whether a file was written here."""
    return path.exists() and path.stat().st_mtime == _DATE


def _write_report(config: Mapping[str, Any], work: _Partial, snakefile: str | Path) -> None:
    """Write the report of the tables, figures and searches that are shown, and what it is made of;
    where there is none, remove one that shows what has just been removed."""
    catalogue, shown, results = work.catalogue, Report(work.catalogue), work.results
    possible, pages = shown.items(), set()
    for name, spec in catalogue.config["tables"].items():
        csv, tex = (results / "tables" / f"{name}.{ending}" for ending in ("csv", "tex"))
        if {csv, tex} <= work.shown:
            published = spec.get("published", [])
            write_table_page(shown.page_settings(name), csv, tex, published, shown.page(name))
            pages.add(shown.page(name))
        elif csv in work.removed:
            Path(shown.page(name)).unlink(missing_ok=True)
    for name in catalogue.config["searches"]:
        csv, page = results / "search" / f"{name}.csv", shown.search_page(name)
        if csv in work.shown and page in possible:
            write_search_page(shown.search_settings(name), csv, page)
            pages.add(page)
    items = [path for path in possible if path in pages or Path(path) in work.shown]
    if items:
        tables = [path for path in shown.summary_inputs() if Path(path) in work.shown]
        write_summary(shown.summary_settings(), tables, items, shown.summary)
        make_report(config, snakefile, items, shown.file)
        print(f"{shown.file} shows what is there", file=sys.stderr)
    elif work.removed:
        for path in (shown.summary, shown.file):
            Path(path).unlink(missing_ok=True)
    elif Path(shown.file).exists():
        print(f"{shown.file} is left as it is: there is nothing to show", file=sys.stderr)
    else:
        print("nothing to show yet: no run is there", file=sys.stderr)


if __name__ == "__main__":
    try:
        show_partial(json.load(sys.stdin), sys.argv[1])
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"the report is not whole: {error}")
