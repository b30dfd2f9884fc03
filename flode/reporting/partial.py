"""What an unfinished workflow can show: tables, studies and figures of what was run.

``python -m flode.reporting.partial SCHEMAS`` reads the configuration, as JSON, from its standard
input, and writes each that has some of its files and lacks others.

Nothing here is a finished output: the files are dated 1970, so that the next call of the workflow
makes them anew, whatever its configuration.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.checks import SUMMARIES
from flode.reporting.records import settings_of
from flode.reporting.series import SERIES
from flode.reporting.stages import make_figure, make_study, make_table


def write_partial(catalogue: Catalogue, whole: bool = False) -> list[str]:
    """Write what is unfinished, from what was run.

    Args:
        catalogue: the configuration.
        whole: also what has all of its files, and is not up to date.

    Returns:
        ``table NAME``, ``study NAME`` and ``figure NAME`` of all written, in that order.
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
        self.written: list[str] = []
        self._runs: dict[Run, tuple[list[str], str | None]] = {}

    def table(self, name: str) -> None:
        stem, settings = self.results / "tables" / name, self.catalogue.table_settings(name)
        runs, reasons = self._present(self.catalogue.table_runs(name))
        needed = self.catalogue.table_files(name)
        run_files = self.catalogue.files_of(self.catalogue.table_runs(name))
        others = [path for path in needed if path not in set(run_files)]
        present = runs + [path for path in others if Path(path).exists()]
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
        kind, of = Path(source).parent.name, Path(source).stem
        renewed = f"{'table' if kind == 'tables' else 'study'} {of}" in self.written
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
        self.written.append(title)
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
        others = sorted(asked[0].parent.glob("splits-*-*.json"), key=_first_split)
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


def _first_split(path: Path) -> int:
    return _range(path)[0]


def _describes(path: Path, settings: Mapping) -> bool:
    """Whether a run file was made with these settings; a damaged one is left to its reader, which
    names it."""
    try:
        return settings_of(path).items() <= settings.items()
    except ValueError:
        return True


if __name__ == "__main__":
    write_partial(Catalogue(json.load(sys.stdin), sys.argv[1]))
