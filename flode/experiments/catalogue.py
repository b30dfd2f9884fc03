"""From the configuration to variants, configurations, files and the settings of each stage.

Light on purpose: the Snakefile reads it, so nothing here imports torch.
"""

from __future__ import annotations

import copy
import difflib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flode import versions
from flode.experiments.hyperparameters import (
    DEFAULT,
    SHORT_NAMES,
    format_configuration,
    parse_configuration,
)
from flode.experiments.validation import ConfigurationError, Schema


@dataclass(frozen=True, order=True)
class Run:
    """One configuration on one variant."""

    variant: str
    configuration: str = DEFAULT


class Catalogue:
    """All that the configuration says, checked.

    Args:
        config: the merged configuration.
        schemas: folder of the JSON schemas.

    Raises:
        ConfigurationError: a key, type or value that is not allowed, or a name that is not there.
    """

    def __init__(self, config: Mapping, schemas: str | Path):
        self.config = config
        Schema(Path(schemas) / "config.schema.yaml").check(config)
        self._hyperparameters = Schema(Path(schemas) / "hyperparameters.schema.yaml")
        for variant in self.variants:
            self._lookup("datasets", config["variants"][variant]["dataset"], f"variants.{variant}")
            self.hyperparameters(Run(variant))
        for search in self.searches:
            self.search_runs(search)
        for group in ("tables", "figures"):
            for name in config[group]:
                self._check_references(group, name)

    @property
    def results(self) -> str:
        """Prefix of everything the workflow writes."""
        return self.config["results"]

    @property
    def variants(self) -> list[str]:
        return list(self.config["variants"])

    @property
    def searches(self) -> list[str]:
        return list(self.config["searches"])

    def tables(self, kind: str) -> list[str]:
        """Names of the tables of one kind (``comparison``, ``hyperparameters``)."""
        return [name for name, spec in self.config["tables"].items() if spec["kind"] == kind]

    # Hyperparameters

    def hyperparameters(self, run: Run) -> dict:
        """All hyperparameters of a run: protocol, dataset, variant and configuration, the later
        overriding the earlier.

        Raises:
            ConfigurationError: unknown variant or key, a value out of bounds, or a configuration
                name that is not the shortest for what it says; the message gives the right one.
        """
        default = self._default(run.variant)
        try:
            overrides = parse_configuration(run.configuration)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        where = f"variant {run.variant}, configuration {run.configuration}"
        values = default | overrides
        self._hyperparameters.check(values, where)
        missing = [name for name in SHORT_NAMES if name not in values]
        if missing:
            raise ConfigurationError(f"{where}: hyperparameter {missing[0]!r} is not set")
        if values["equation"] == "schroedinger" and not values["complex_valued"]:
            raise ConfigurationError(
                f"{where}: complex_valued is False; equation schroedinger needs complex numbers"
            )
        name = format_configuration(values, default)
        if name != run.configuration:
            raise ConfigurationError(f"{where}: this configuration is called {name!r}")
        return values

    def run(self, variant: str, overrides: Mapping) -> Run:
        """The run that differs from a variant's default by these hyperparameters."""
        return Run(variant, format_configuration(overrides, self._default(variant)))

    def _default(self, variant: str) -> dict:
        self._lookup("variants", variant, "variant")
        spec = self.config["variants"][variant]
        dataset = self.config["datasets"][spec["dataset"]]
        return {
            "seed": self.config["seed"],
            **self.config["hyperparameters"],
            **dataset.get("hyperparameters", {}),
            **spec.get("hyperparameters", {}),
        }

    # Files

    def num_graphs(self, variant: str) -> int:
        """How many graphs a variant has; with several, split k is graph k's own split."""
        return self._generator(variant)["graphs"]

    def num_splits(self, variant: str) -> int:
        return self.num_graphs(variant)

    def run_files(self, run: Run) -> list[str]:
        """Run files of a configuration, ``training.splits_per_job`` splits each."""
        self.hyperparameters(run)
        total = self.num_splits(run.variant)
        size = self.config["training"]["splits_per_job"]
        size = total if size == "all" else size
        return [
            f"{self.results}/runs/{run.variant}/{run.configuration}"
            f"/splits-{first}-{min(first + size, total) - 1}.json"
            for first in range(0, total, size)
        ]

    def splits(self, variant: str, first: str | int, last: str | int) -> list[int]:
        """The splits of a run file's name.

        Raises:
            ConfigurationError: a range that the variant does not have.
        """
        first, last, total = int(first), int(last), self.num_splits(variant)
        if not first <= last < total:
            raise ConfigurationError(
                f"splits-{first}-{last}: variant {variant} has splits 0 to {total - 1}, and the"
                " first must not exceed the last"
            )
        return list(range(first, last + 1))

    # What each stage depends on

    def graph_settings(self, variant: str) -> dict:
        """Settings of the graph stage: a change of any reruns it."""
        dataset = self.config["datasets"][self.config["variants"][variant]["dataset"]]
        return {
            "version": versions.GRAPH,
            "seed": self.config["seed"],
            "format": dataset["format"],
            "generator": self._generator(variant),
        }

    def factor_settings(self, variant: str) -> dict:
        """Settings of the factorisation stage."""
        spec = self.config["variants"][variant]
        return {
            "version": versions.FACTORS,
            "tolerance": self.config["factors"]["tolerance"],
            "rank": spec.get("rank"),
            "flow": spec.get("flow", "target_to_source"),
            "seed": self.config["seed"],
        }

    def run_settings(self, run: Run) -> dict:
        """Settings of a training."""
        return {
            "version": versions.TRAINING,
            "variant": run.variant,
            "configuration": run.configuration,
            "dataset": self.config["variants"][run.variant]["dataset"],
            "graphs": self.num_graphs(run.variant),
            "hyperparameters": self.hyperparameters(run),
            "flow": self.factor_settings(run.variant)["flow"],
            "tf32": self.config["training"]["tf32"],
            "quick": self.config["quick"],
        }

    def _generator(self, variant: str) -> dict:
        spec = self.config["variants"][variant]
        dataset = self.config["datasets"][spec["dataset"]]
        return {**dataset["generator"], **spec.get("generator", {})}

    # Searches, tables, figures

    def search_runs(self, search: str) -> dict[str, dict[Run, dict]]:
        """Candidates of a search: variant → run → its values of the grid's hyperparameters."""
        spec = self._entry("searches", search)
        for name in spec["grid"]:
            if name not in SHORT_NAMES:
                raise ConfigurationError(
                    f"searches.{search}.grid: there is no hyperparameter {name!r}; allowed are"
                    f" {', '.join(SHORT_NAMES)}"
                )
        found = {}
        for variant in spec["variants"]:
            self._lookup("variants", variant, f"searches.{search}.variants")
            points = itertools.product(*spec["grid"].values())
            candidates = [dict(zip(spec["grid"], point, strict=True)) for point in points]
            found[variant] = {self.run(variant, values): values for values in candidates}
            for run in found[variant]:
                self.hyperparameters(run)
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
        """Settings of a table, every column with its configuration."""
        spec = copy.deepcopy(self._entry("tables", table))
        for subtable in spec["subtables"].values():
            for column in subtable["columns"].values():
                column.setdefault("configuration", DEFAULT)
        return {"version": versions.TABLE, "spec": spec, "quick": self.config["quick"]}

    def figure_settings(self, figure: str) -> dict:
        """Settings of a figure."""
        spec = self._entry("figures", figure)
        return {"version": versions.FIGURE, "spec": spec, "quick": self.config["quick"]}

    def table_runs(self, table: str) -> list[Run]:
        """Runs that a table shows, each once."""
        spec = self.table_settings(table)["spec"]
        runs = (
            Run(column["variant"], column["configuration"])
            for subtable in spec["subtables"].values()
            for column in subtable["columns"].values()
        )
        return list(dict.fromkeys(runs))

    def files_of(self, runs: Iterable[Run]) -> list[str]:
        """Run files of several runs."""
        return [path for run in runs for path in self.run_files(run)]

    def _check_references(self, group: str, name: str) -> None:
        if group == "figures":
            self._lookup("tables", self.config["figures"][name]["table"], f"figures.{name}.table")
            return
        for run in self.table_runs(name):
            self._lookup("variants", run.variant, f"tables.{name}")
            self.hyperparameters(run)

    def _entry(self, group: str, name: str) -> dict:
        self._lookup(group, name, group)
        return self.config[group][name]

    def _lookup(self, group: str, name: str, where: str) -> None:
        known = self.config[group]
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise ConfigurationError(
                f"{where}: there is no {name!r} among {group}{hint}; there are {', '.join(known)}"
            )
