"""What the report shows, checked: its items, the tables that its summary reads, their settings.

Light on purpose, as the catalogue is.
"""

from __future__ import annotations

from flode import versions
from flode.experiments.captions import (
    VERDICT_TABLES,
    figure_caption,
    rst_caption,
    search_caption,
    table_caption,
    table_title,
)
from flode.experiments.catalogue import Catalogue
from flode.experiments.checks import SUMMARIES, check_place, one_known
from flode.experiments.validation import ConfigurationError


class Report:
    """The report of a configuration.

    Args:
        catalogue: the configuration.

    Raises:
        ConfigurationError: an entry of ``report.learnt`` names what is not there.
    """

    def __init__(self, catalogue: Catalogue):
        self._catalogue, self._config = catalogue, catalogue.config
        self.summary = f"{catalogue.results}/summary.rst"
        self.file = f"{catalogue.results}/report.html"
        for index, entry in enumerate(self._learnt):
            self._check_learnt(entry, f"report.learnt.{index}")

    def page(self, table: str) -> str:
        """The page of a table."""
        return f"{self._catalogue.results}/report/tables/{table}.html"

    def search_page(self, search: str) -> str:
        """The page of a search."""
        return f"{self._catalogue.results}/report/search/{search}.html"

    def picture(self, figure: str) -> str:
        """A figure as the report shows it."""
        return f"{self._catalogue.results}/figures/{figure}.svg"

    def items(self) -> list[str]:
        """What it shows: each table and figure, and searches that need no run besides theirs."""
        return [
            *map(self.page, self._config["tables"]),
            *map(self.picture, self._config["figures"]),
            *map(self.search_page, self._searches()),
        ]

    def summary_inputs(self) -> list[str]:
        """The tables that its summary reads."""
        return [f"{self._catalogue.results}/tables/{name}.csv" for name in self._summed_up()]

    def summary_settings(self) -> dict:
        """Settings of the summary."""
        common = {"version": versions.REPORT, "quick": self._config["quick"]}
        splits = {name: self._catalogue.num_splits(name) for name in self._config["variants"]}
        layouts = self._catalogue.layouts(self._summed_up())
        return common | {"layouts": layouts, "learnt": self._learnt, "splits": splits}

    def page_settings(self, table: str) -> dict:
        """Settings of the page of a table."""
        spec = self._config["tables"][table]
        shown = {key: spec[key] for key in ("kind", "marked") if key in spec}
        shown["subtables"] = {
            name: {key: part[key] for key in ("caption", "header") if key in part}
            for name, part in spec.get("subtables", {}).items()
        }
        listed = {"reproduction": spec.get("tables"), "discrepancies": [table]}
        if tables := listed.get(spec["kind"]):  # a row a number, called as in its table
            shown["layouts"] = self._catalogue.layouts(tables)
        caption = table_caption(self._catalogue, table)
        return {"version": versions.REPORT, "spec": shown, "caption": caption}

    def search_settings(self, search: str) -> dict:
        """Settings of the page of a search."""
        return {"version": versions.REPORT, "caption": search_caption(self._catalogue, search)}

    def table_title(self, table: str) -> str:
        """What the report calls a table."""
        return table_title(self._catalogue.layouts([table]), table)

    def table_caption(self, table: str) -> dict:
        """Its caption as reStructuredText."""
        return rst_caption(table_caption(self._catalogue, table))

    def figure_caption(self, figure: str) -> dict:
        """Its caption as reStructuredText."""
        return rst_caption(figure_caption(self._catalogue, figure))

    def search_caption(self, search: str) -> dict:
        """Its caption as reStructuredText."""
        return rst_caption(search_caption(self._catalogue, search))

    @property
    def _learnt(self) -> list[dict]:
        return self._config["report"]["learnt"]

    def _summed_up(self) -> list[str]:
        """Tables of verdicts, those that they sum up, and those of which something was learnt."""
        found: dict[str, None] = {}
        for name, spec in self._config["tables"].items():
            if {name, spec["kind"]} & set(VERDICT_TABLES):
                found |= dict.fromkeys(spec.get("tables", [])) | {name: None}
        found |= dict.fromkeys(entry["table"] for entry in self._learnt if "table" in entry)
        return list(found)

    def _searches(self) -> list[str]:
        """Searches whose runs the tables and studies need too: to show them costs no training."""
        needed = {
            run for table in self._config["tables"] for run in self._catalogue.table_runs(table)
        }
        for study in self._config["studies"]:
            needed |= set(self._catalogue.gathered_runs(study))
        return [
            search
            for search in self._config["searches"]
            if needed.issuperset(self._catalogue.searched_runs(search))
        ]

    def _check_learnt(self, entry: dict, where: str) -> None:
        for key, group in (("table", "tables"), ("figure", "figures")):
            if key in entry:
                one_known(entry[key], self._config[group], f"{where}.{key}")
        for cell in entry.get("cells", []):
            spec = self._config["tables"][entry["table"]]
            if spec["kind"] in SUMMARIES:
                raise ConfigurationError(
                    f"{where}.table is {entry['table']!r}, of kind {spec['kind']}; a table that"
                    " measures is allowed"
                )
            check_place(spec, cell, f"{where}.cells")
