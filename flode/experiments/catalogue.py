"""All that the configuration says, checked: variants, and the targets that show their runs.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from flode import versions
from flode.experiments.checks import check_figure, check_generated, check_study, check_table
from flode.experiments.claims import repeated
from flode.experiments.defaults import located
from flode.experiments.graphs import in_order
from flode.experiments.hyperparameters import DEFAULT, SHORT_NAMES
from flode.experiments.readings import (
    completed_rows,
    needs_run,
    needs_statistics,
    readings_of,
)
from flode.experiments.validation import ConfigurationError, Schema, without_removed
from flode.experiments.variants import Run, Variants

__all__ = ["Catalogue", "Run", "one_of"]


def one_of(names: Iterable[str]) -> str:
    """A regular expression that matches these names and no other."""
    return "|".join(map(re.escape, names)) or r"(?!)"


class Catalogue(Variants):
    """The configuration, checked.

    Args:
        config: the merged configuration; entries that an overlay sets to null are left out. Files
            that it names are sought in the working directory, then in the workflow's.
        schemas: folder of the JSON schemas, ``workflow/schemas`` of the workflow.

    Raises:
        ConfigurationError: a key, type or value that is not allowed, or a name that is not there.
    """

    def __init__(self, config: Mapping, schemas: str | Path):
        config = without_removed(config)
        Schema(Path(schemas) / "config.schema.yaml").check(config)
        config = located(config, Path(schemas).parents[1])
        if config["measured"] and not Path(config["measured"]).is_dir():
            raise ConfigurationError(
                f"measured is {config['measured']!r}, which is no folder; allowed are null and a"
                " folder of run files, <variant>/<configuration>/splits-<first>-<last>.json"
            )
        super().__init__(config, Schema(Path(schemas) / "hyperparameters.schema.yaml"))
        self.config["tables"] = self._completed_tables()
        check_generated(self)
        for search in config["searches"]:
            self.search_runs(search)
        for table in config["tables"]:
            self._check_table(table)
        for study in config["studies"]:
            self._check_study(study)
        for figure in config["figures"]:
            self.figure_source(figure)
            check_figure(self, figure)

    def search_runs(self, search: str) -> dict[str, dict[Run, dict]]:
        """Candidates of a search: variant → run → its values of the hyperparameters searched."""
        spec, where = self._entry("searches", search), f"searches.{search}"
        points = {variant: _grid(spec["grid"]) for variant in spec.get("variants", [])}
        candidates = spec.get("candidates", {})
        if twice := [variant for variant in points if variant in candidates]:
            raise ConfigurationError(
                f"{where}: variant {twice[0]!r} is among variants and candidates; allowed is one"
            )
        points |= candidates
        return {
            variant: self.candidates(variant, {}, values, where)
            for variant, values in points.items()
        }

    def searched_runs(self, search: str) -> list[Run]:
        """Runs that a search chooses from."""
        return [run for runs in self.search_runs(search).values() for run in runs]

    def candidates(
        self, variant: str, fixed: Mapping, points: Iterable[Mapping], where: str
    ) -> dict[Run, dict]:
        """Runs of a variant that set some hyperparameters and differ in others: run → the latter.

        Raises:
            ConfigurationError: an unknown variant or hyperparameter, or a value out of bounds.
        """
        self._lookup("variants", variant, where)
        found = {}
        for point in points:
            values = {**fixed, **point}
            if twice := [name for name in point if name in fixed]:
                raise ConfigurationError(
                    f"{where}: {twice[0]} is set to {fixed[twice[0]]!r} and to"
                    f" {point[twice[0]]!r}; allowed is one of the two"
                )
            for name in values:
                if name not in SHORT_NAMES:
                    raise ConfigurationError(
                        f"{where}: there is no hyperparameter {name!r}; allowed are"
                        f" {', '.join(SHORT_NAMES)}"
                    )
            # A run's name says the value only, not its type.
            self._check_values(values, where)
            run = self.run(variant, values)
            self.hyperparameters(run)
            found[run] = dict(point)
        return found

    def search_settings(self, search: str) -> dict:
        """Settings of a search; candidates as ``{variant: {configuration: values}}``."""
        return {
            "version": versions.SEARCH,
            "candidates": {
                variant: {run.configuration: values for run, values in runs.items()}
                for variant, runs in self.search_runs(search).items()
            },
        }

    def table_settings(self, table: str) -> dict:
        """Settings of a table: every column and model with its configuration, every row of an
        ablation with its candidates, ``{configuration: values}``, and its variant's own values."""
        spec = copy.deepcopy(self._entry("tables", table))
        spec.pop("place", None)  # the report's
        spec.pop("title", None)  # the report's, and of tables that sum it up
        if spec["kind"] == "reproduction":
            for name in spec["tables"]:
                self._lookup("tables", name, f"tables.{table}.tables")
            spec["layouts"] = self.layouts(spec["tables"])
            spec["tables"] = {name: one["kind"] for name, one in spec["layouts"].items()}
        if spec["kind"] == "discrepancies":
            spec["subtables"] = completed_rows(self, table)
        for row, name in spec.get("models", {}).items():
            self._lookup("models", name, f"tables.{table}.models.{row}")
            spec["models"][row] = f"model={name}"
        for subtable in spec.get("subtables", {}).values():
            for column in subtable.get("columns", {}).values():
                column.setdefault("configuration", DEFAULT)
            if spec["kind"] == "ablation":
                where = f"tables.{table}"
                for row in subtable["rows"].values():
                    choose = row.get("choose", spec["choose"])
                    runs = self.candidates(row["variant"], row["set"], _grid(choose), where)
                    row["candidates"] = {run.configuration: values for run, values in runs.items()}
                    default = self.hyperparameters(Run(row["variant"]))
                    row["default"] = {name: default[name] for name in choose}
        return {"version": versions.TABLE, "spec": spec, "quick": self.config["quick"]}

    def layouts(self, tables: Iterable[str]) -> dict[str, dict]:
        """What names the numbers of tables: ``{table: {kind, title, subtables}}``."""
        return {
            name: {
                "kind": spec["kind"],
                "title": spec.get("title"),
                "subtables": spec.get("subtables", {}),
            }
            for name in tables
            for spec in [self._entry("tables", name)]
        }

    def figure_settings(self, figure: str) -> dict:
        """Settings of a figure."""
        spec = {
            key: value
            for key, value in self._entry("figures", figure).items()
            if key not in ("caption", "place")  # the report's
        }
        return {"version": versions.FIGURE, "spec": spec, "quick": self.config["quick"]}

    def figure_source(self, figure: str) -> str:
        """The file that a figure is drawn from: a table's or a study's."""
        spec = self._entry("figures", figure)
        for key, group in (("table", "tables"), ("study", "studies")):
            if key in spec:
                self._lookup(group, spec[key], f"figures.{figure}.{key}")
                return f"{self.results}/{group}/{spec[key]}.csv"
        raise ConfigurationError(f"figures.{figure}: neither a table nor a study is given")

    def study_settings(self, study: str) -> dict:
        """Settings of a study."""
        spec = self._entry("studies", study)
        graphs = spec.get("graphs", {})
        series = {
            label: {
                name: {run.configuration: values for run, values in runs.items()}
                for name, runs in by_series.items()
            }
            for label, by_series in self.study_runs(study).items()
        }
        flows = {label: self.factor_settings(variant)["flow"] for label, variant in graphs.items()}
        common = {"version": versions.STUDY, "quick": self.config["quick"]}
        return common | {"spec": spec, "flows": flows, "series": series, "variants": graphs}

    def study_runs(self, study: str) -> dict[str, dict[str, dict[Run, dict]]]:
        """Runs of a study: graph's label → series → run → its values along the series."""
        spec, where = self._entry("studies", study), f"studies.{study}"
        return {
            label: {
                name: self.candidates(variant, one.get("set", {}), one["points"], where)
                for name, one in spec["series"].items()
                if label in one.get("graphs", spec["graphs"])
            }
            for label, variant in spec.get("graphs", {}).items()
            if "series" in spec
        }

    def gathered_runs(self, study: str) -> list[Run]:
        """Runs of a study, each once."""
        every = (
            run
            for by_series in self.study_runs(study).values()
            for series in by_series.values()
            for run in series
        )
        return list(dict.fromkeys(every))

    def statistics_settings(self, variant: str) -> dict:
        """As without studies, and the ``ranks`` at which one asks for the explained variance."""
        asked = self._studied_ranks.get(variant, set()) - {None}
        # No key where none is asked for: the settings of other graphs stay what they were.
        return in_order(
            super().statistics_settings(variant) | ({"ranks": sorted(asked)} if asked else {})
        )

    @cached_property
    def _studied_ranks(self) -> dict[str, set[int | float | None]]:
        """By variant, the ranks of studies of a truncated SVD."""
        found: dict[str, set[int | float | None]] = {}
        for study, spec in self.config["studies"].items():
            if spec["kind"] == "truncated_svd":
                for run in self.gathered_runs(study):
                    rank = self.hyperparameters(run)["rank"]
                    found.setdefault(run.variant, set()).add(rank)
        return found

    def study_inputs(self, study: str) -> dict[str, list[str]]:
        """Files that a study is made from: ``runs``, and ``graphs`` and ``factors`` in the order of
        the study's graphs."""
        variants = self._entry("studies", study).get("graphs", {}).values()
        return {
            "runs": self.files_of(self.gathered_runs(study)),
            "graphs": [f"{self.results}/graphs/{variant}.npz" for variant in variants],
            "factors": [f"{self.results}/factors/{variant}.safetensors" for variant in variants],
        }

    def table_runs(self, table: str) -> list[Run]:
        """Runs that a table shows or chooses from, each once."""
        spec = self.table_settings(table)["spec"]
        runs = []
        if spec["kind"] == "discrepancies":
            readings = [reading for _, reading in readings_of(self, table) if needs_run(reading)]
            runs += [Run(reading["variant"], reading["configuration"]) for reading in readings]
        for subtable in spec.get("subtables", {}).values():
            for column in subtable.get("columns", {}).values():
                names = [column["configuration"], *spec.get("models", {}).values()]
                runs += [Run(column["variant"], name) for name in names]
            if spec["kind"] == "ablation":
                for row in subtable["rows"].values():
                    runs += [Run(row["variant"], name) for name in row["candidates"]]
        return list(dict.fromkeys(runs))

    def published_files(self, table: str) -> str | list[str]:
        """Files of the published numbers that a table shows."""
        return self._entry("tables", table).get("published", [])

    def table_variants(self, table: str) -> list[str]:
        """Variants whose statistics a table shows, each once."""
        spec = self._entry("tables", table)
        found: list[str] = []
        if spec["kind"] == "discrepancies":
            readings = (reading for _, reading in readings_of(self, table))
            found += [reading["variant"] for reading in readings if needs_statistics(reading)]
        for subtable in spec.get("subtables", {}).values():
            if spec["kind"] == "datasets":
                found += subtable["rows"]
            elif spec["kind"] == "frequency_dominance":
                found += [column["variant"] for column in subtable["columns"].values()]
        return list(dict.fromkeys(found))

    def statistics_file(self, variant: str) -> str:
        return f"{self.results}/statistics/{variant}.json"

    def table_files(self, table: str) -> list[str]:
        """Run files, statistics files and tables that a table is made from."""
        spec = self._entry("tables", table)
        if spec["kind"] == "reproduction":
            return [f"{self.results}/tables/{name}.csv" for name in spec["tables"]]
        if spec["kind"] == "claims":
            return self._claim_files(table)
        statistics = [self.statistics_file(variant) for variant in self.table_variants(table)]
        return self.files_of(self.table_runs(table)) + statistics

    def _claim_files(self, table: str) -> list[str]:
        """Tables and studies that the checks of a table of claims read."""
        found = {}
        for claim, entry in self._entry("tables", table)["claims"].items():
            sides = (side for check in entry["checks"] for pair in check.values() for side in pair)
            for side in sides:
                if not isinstance(side, Mapping):
                    continue
                source = side["source"]
                group = "studies" if source in self.config["studies"] else "tables"
                self._lookup(group, source, f"tables.{table}.claims.{claim}")
                found[f"{self.results}/{group}/{source}.csv"] = None
        return list(found)

    def files_of(self, runs: Iterable[Run]) -> list[str]:
        """Run files of several runs."""
        return [path for run in runs for path in self.run_files(run)]

    def _completed_tables(self) -> dict:
        """Tables whose columns have the names of their runs' files, and claims each of their
        checks."""
        tables = copy.deepcopy(self.config["tables"])
        for table, spec in tables.items():
            for claim, entry in spec.get("claims", {}).items():
                where = f"tables.{table}.claims.{claim}"
                entry["checks"] = [one for each in entry["checks"] for one in repeated(each, where)]
            for subtable in spec.get("subtables", {}).values():
                for column in subtable.get("columns", {}).values():
                    variant = column["variant"]
                    self._lookup("variants", variant, f"tables.{table}")
                    if "configuration" in column:
                        run = self.named(variant, column["configuration"])
                        column["configuration"] = run.configuration
        return tables

    def _check_study(self, study: str) -> None:
        for variant in self._entry("studies", study).get("graphs", {}).values():
            self._lookup("variants", variant, f"studies.{study}.graphs")
        check_study(self, study)

    def _check_table(self, table: str) -> None:
        for variant in self.table_variants(table):
            self._lookup("variants", variant, f"tables.{table}")
        for run in self.table_runs(table):
            self._lookup("variants", run.variant, f"tables.{table}")
            self.hyperparameters(run)
        self.table_files(table)
        check_table(self, table)


def _grid(grid: Mapping[str, Iterable]) -> list[dict]:
    """All combinations of the candidates of each hyperparameter."""
    return [dict(zip(grid, point, strict=True)) for point in itertools.product(*grid.values())]
