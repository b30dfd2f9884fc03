"""Tables and report of an unfinished workflow: what was run, and for the rest why it was not.

``python -m flode.reporting.partial SCHEMAS SNAKEFILE`` reads the configuration, as JSON, from its
standard input. It writes each table that has some of its files and lacks others, and the report of
all that is there.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.checks import SUMMARIES
from flode.experiments.report import Report
from flode.reporting.pages import write_search_page, write_table_page
from flode.reporting.report import forget, make_report
from flode.reporting.stages import make_table
from flode.reporting.summary import write_summary


def write_partial_tables(catalogue: Catalogue) -> list[str]:
    """Write the tables of which some files are missing and some are there.

    Returns:
        Names of the tables written.
    """
    written = []
    # Summaries last: they read tables.
    tables = catalogue.config["tables"]
    for name in sorted(tables, key=lambda name: tables[name]["kind"] in SUMMARIES):
        files = catalogue.table_files(name)
        present = [path for path in files if Path(path).exists()]
        # A summary of tables that are all there may be of some that have just been written here.
        summary = bool(written) and tables[name]["kind"] in SUMMARIES
        if not present or (len(present) == len(files) and not summary):
            continue
        csv, tex = (
            Path(catalogue.results) / "tables" / f"{name}.{ending}" for ending in ("csv", "tex")
        )
        settings = catalogue.table_settings(name)
        try:
            make_table(
                name,
                settings,
                settings["spec"].get("published", []),
                present,
                csv=csv,
                tex=tex,
                reasons=_reasons(catalogue, name),
            )
        except (OSError, ValueError) as error:  # a damaged file stops its own tables only
            print(f"table {name} is not written: {error}", file=sys.stderr)
            continue
        # Older than what it is made from, so that the next call makes it whole.
        oldest = min(Path(path).stat().st_mtime for path in present) - 1
        for path in (csv, tex):
            os.utime(path, (oldest, oldest))
        written.append(name)
    return written


def write_partial_report(
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
            files = [published] if isinstance(published, str) else published
            write_table_page(shown.page_settings(name), csv, tex, files, shown.page(name))
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


def _reasons(catalogue: Catalogue, table: str) -> Mapping[tuple[str, str], str]:
    """Why each run of a table whose file is missing was not run."""
    needed = {
        (run.variant, run.configuration): catalogue.run_files(run)
        for run in catalogue.table_runs(table)
    }
    for variant in catalogue.table_variants(table):
        files = needed.setdefault((variant, Run(variant).configuration), [])
        files.append(catalogue.statistics_file(variant))
    return {
        key: _reason(catalogue, key[0])
        for key, files in needed.items()
        if not all(Path(path).exists() for path in files)
    }


def _reason(catalogue: Catalogue, variant: str) -> str:
    missing = [path for path in catalogue.raw_files(variant) if not Path(path).exists()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"raw file {missing[0]}{more} could not be fetched"
    return "a job failed or did not run; see the logs"


if __name__ == "__main__":
    request = json.load(sys.stdin)
    found = Catalogue(request, sys.argv[1])
    partial = write_partial_tables(found)
    for table in partial:
        print(
            f"table {table} is written with what was run; other cells say why not", file=sys.stderr
        )
    # Else what is known of a whole table that it replaces would be taken for this one's.
    endings = ("csv", "tex")
    files = [f"{found.results}/tables/{table}.{end}" for table in partial for end in endings]
    if files:
        forget(request, sys.argv[2], files)
    try:
        written = write_partial_report(request, found, sys.argv[2])
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"the report is not written: {error}")
    if written:
        print(f"{written} shows what is there", file=sys.stderr)
