"""Tables of an unfinished workflow: what was run, and for the rest why it was not.

``python -m flode.reporting.partial SCHEMAS`` reads the configuration, as JSON, from its standard
input. It writes each table that has some of its files and lacks others.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.checks import SUMMARIES
from flode.reporting.stages import make_table


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
        folder = Path(catalogue.results) / "tables"
        settings = catalogue.table_settings(name)
        try:
            make_table(
                name,
                settings,
                settings["spec"].get("published", []),
                present,
                csv=folder / f"{name}.csv",
                tex=folder / f"{name}.tex",
                reasons=_reasons(catalogue, name),
            )
        except (OSError, ValueError) as error:  # a damaged file stops its own tables only
            print(f"table {name} is not written: {error}", file=sys.stderr)
            continue
        written.append(name)
    return written


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
    made = write_partial_tables(Catalogue(json.load(sys.stdin), sys.argv[1]))
    for table in made:
        print(
            f"table {table} is written with what was run; other cells say why not", file=sys.stderr
        )
