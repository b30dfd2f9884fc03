"""What the schemas cannot say of tables, studies and figures: names that belong together.

Light on purpose, as the catalogue that calls it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from flode.experiments.latextexts import check_latex
from flode.experiments.publishedfiles import published_lines
from flode.experiments.readings import check_discrepancies
from flode.experiments.validation import ConfigurationError, did_you_mean
from flode.experiments.variants import Run

if TYPE_CHECKING:
    from flode.experiments.catalogue import Catalogue

#: The hyperparameter along which a kind of study gathers series of runs.
AXES = {"depth": "num_layers", "truncated_svd": "rank"}

_SERIES_COLUMNS = (
    "graph", "series", "configuration", "x", "mean", "std", "n", "validation_mean",
    "exponent_mean", "exponent_std", "note", "runs",
)  # fmt: skip

#: Columns of the file of a study, by its kind: by them a claim finds a row, and a number in it.
STUDY_COLUMNS: dict[str, tuple[str, ...]] = {
    "cycle_eigenvectors": (
        "frequency", "eigenvalue", "node", "real", "imaginary", "label", "homophily",
    ),
    "depth": (*_SERIES_COLUMNS, "fd_mean", "fd_std"),
    "dirichlet_energy": ("graph", "panel", "alpha", "scheme", "t", "energy", "limit", "step"),
    "fractional_edges_cycle": ("exponent", "nodes", "source", "target", "distance", "weight"),
    "fractional_edges_distance": (
        "graph", "exponent", "distance", "pairs", "size", "edges", "median", "q90", "q99", "max",
        "bound", "guaranteed",
    ),
    "spectrum": ("graph", "kind", "real", "imaginary"),
    "truncated_svd": (*_SERIES_COLUMNS, "explained_variance"),
    "weakly_balanced": (
        "graph", "source", "target", "nodes", "balanced", "weakly_balanced", "perron",
    ),
}  # fmt: skip

#: Columns of a tidy table by which a claim finds a row, all of text, and those that are numbers.
PLACES = ("table", "subtable", "row", "column", "metric", "unit")
NUMBERS = ("mean", "std", "n", "published_mean", "published_std")

#: Columns of an ablation: of the layers that validation chooses, and of the published ones.
ABLATION_COLUMNS = tuple(
    label + suffix
    for suffix in ("", ", published layers")
    for label in ("test accuracy", "dirichlet energy", "layers")
)

#: The row of tables that is FLODE's.
FLODE = "FLODE"

#: Kinds of table that sum up others. None may read another, so that no table needs itself.
SUMMARIES = ("reproduction", "claims")

_EQUATIONS = ("heat", "schroedinger")


def one_known(value, known: Iterable, where: str) -> None:
    """Refuse a value that is not among those known.

    Raises:
        ConfigurationError: names the key, the value and what is allowed.
    """
    known = list(known)
    if value not in known:
        allowed = ", ".join(map(repr, known))  # rows of an ablation have commas
        raise ConfigurationError(f"{where} is {value!r}; allowed are {allowed}")


def check_generated(catalogue: Catalogue) -> None:
    """Refuse generated raw files outside a quick run, and what their format cannot hold."""
    for name, dataset in catalogue.config["datasets"].items():
        generate, where = dataset.get("generate"), f"datasets.{name}.generate"
        if generate is None:
            continue
        if not catalogue.config["quick"]:
            raise ConfigurationError(
                f"{where} is given and quick is false; a random graph stands for {name} in quick"
                " runs only: set quick: true, and results to a folder of its own"
            )
        if generate.get("unlabelled") and dataset["format"] != "planetoid":
            raise ConfigurationError(
                f"{where}.unlabelled is {generate['unlabelled']}; allowed is 0, as format"
                f" {dataset['format']} has a label for each node"
            )
        if dataset["metric"] == "auroc" and generate["clusters"] != 2:
            raise ConfigurationError(
                f"{where}.clusters is {generate['clusters']}; allowed is 2, as the metric is auroc"
            )


def check_study(catalogue: Catalogue, study: str) -> None:
    """Refuse series without graphs or graphs without series, points without a place on the axis,
    horizons that do not fit, self-loops, and depth on a graph that has no λ₁."""
    spec, where = catalogue.config["studies"][study], f"studies.{study}"
    _check_series(spec, where)
    _check_study_graphs(catalogue, study, where)
    _check_edges(spec, where)
    _check_horizons(spec, where)


def _check_series(spec: Mapping, where: str) -> None:
    for name, one in spec.get("series", {}).items():
        for label in one.get("graphs", []):
            one_known(label, spec.get("graphs", {}), f"{where}.series.{name}.graphs: a label")
        axis = AXES[spec["kind"]]
        for index, point in enumerate(one["points"]):
            if axis not in point:
                raise ConfigurationError(
                    f"{where}.series.{name}.points.{index} is {point!r}; a study of kind"
                    f" {spec['kind']} needs {axis} in each point"
                )


def _check_study_graphs(catalogue: Catalogue, study: str, where: str) -> None:
    for label, by_series in catalogue.study_runs(study).items():
        if not by_series:
            raise ConfigurationError(f"{where}.graphs: no series has the graph {label!r}")
        if catalogue.config["studies"][study]["kind"] == "depth":
            runs = (run for series in by_series.values() for run in series)
            _check_frequencies(catalogue, runs, f"{where}, graph {label}")


def _check_edges(spec: Mapping, where: str) -> None:
    for label, edges in spec.get("edges", {}).items():
        for edge in edges:
            if edge[0] == edge[1]:
                raise ConfigurationError(
                    f"{where}.edges.{label}: {edge} is a self-loop, which figures do not draw;"
                    " allowed are edges between two nodes"
                )


def _check_horizons(spec: Mapping, where: str) -> None:
    if "horizons" not in spec:
        return
    for label in spec["horizons"]:
        one_known(label, spec["graphs"], f"{where}.horizons: a label")
    for label in spec["graphs"]:
        if label not in spec["horizons"]:
            raise ConfigurationError(f"{where}.horizons: the graph {label!r} is missing")
        if spec["horizons"][label] < spec["step"]:
            raise ConfigurationError(
                f"{where}.horizons.{label} is {spec['horizons'][label]}; at least the step,"
                f" {spec['step']}, is allowed"
            )


def check_table(catalogue: Catalogue, table: str) -> None:
    """Refuse a table whose runs are not of the kind that it shows, or that needs itself, and texts
    that LaTeX cannot set."""
    spec, where = catalogue.config["tables"][table], f"tables.{table}"
    check_latex(spec, where)
    _check_models(catalogue, table, where)
    if spec["kind"] == "frequency_dominance":
        _check_frequency_table(catalogue, spec, where)
    elif spec["kind"] == "ablation":
        _check_ablation(catalogue, spec, where)
    elif spec["kind"] == "discrepancies":
        check_discrepancies(catalogue, table)
    elif spec["kind"] == "reproduction":
        for name in spec["tables"]:
            kind = catalogue.config["tables"][name]["kind"]
            # The cells of a table of discrepancies are those of other tables.
            if kind in (*SUMMARIES, "discrepancies"):
                raise ConfigurationError(
                    f"{where}.tables: {name!r} is of kind {kind}; a table that measures is allowed"
                )
    elif spec["kind"] == "ranking":
        _check_ranking(spec, where)
    elif spec["kind"] == "claims":
        for claim, entry in spec["claims"].items():
            for check in entry["checks"]:
                _check_claim(catalogue, check, f"{where}.claims.{claim}")


def check_figure(catalogue: Catalogue, figure: str) -> None:
    """Refuse a figure of another kind than what it draws, and panels that are not there."""
    spec, where = catalogue.config["figures"][figure], f"figures.{figure}"
    if "study" in spec:
        kind = catalogue.config["studies"][spec["study"]]["kind"]
        one_known(spec["kind"], [kind], f"{where}.kind, of a study of kind {kind},")
        return
    table = catalogue.config["tables"][spec["table"]]
    one_known(table["kind"], ["comparison"], f"{where}.table: {spec['table']!r}, whose kind")
    if not spec["panels"]:
        raise ConfigurationError(f"{where}.panels is empty; one panel or more is needed")
    for panel in spec["panels"]:
        one_known(panel, table["subtables"], f"{where}.panels: a panel")
        for column in table["subtables"][panel]["columns"]:
            try:
                float(column)
            except ValueError:
                raise ConfigurationError(
                    f"{where}.panels.{panel}: column {column!r} of table {spec['table']!r} is no"
                    " number, which the figure's axis needs"
                ) from None


def _check_models(catalogue: Catalogue, table: str, where: str) -> None:
    """Other models stand in rows of their own: all else that a table shows is FLODE's."""
    spec = catalogue.config["tables"][table]
    models = spec.get("models", {})
    if FLODE in models:
        raise ConfigurationError(f"{where}.models.{FLODE}: this row is taken; allowed is another")
    rows = {f"model={model}" for model in models.values()}
    columns = {
        Run(column["variant"], column.get("configuration", Run("").configuration))
        for subtable in spec.get("subtables", {}).values()
        for column in subtable.get("columns", {}).values()
    }
    for run in catalogue.table_runs(table):
        own = run in columns or run.configuration not in rows
        if own and catalogue.other_model(run):
            raise ConfigurationError(
                f"{where}: {run.variant}, {run.configuration}, is no run of FLODE; other models are"
                " allowed under the key models of a comparison"
            )
    if "rows" in spec:
        known = [*_of_published(spec["published"], "row"), *models, FLODE]
        for row in spec["rows"]:
            one_known(row, dict.fromkeys(known), f"{where}.rows: a row")


def _check_frequencies(catalogue: Catalogue, runs: Iterable[Run], where: str) -> None:
    """λ₁ is that of a symmetric SNA, and FD that of one W."""
    for run in runs:
        if not catalogue.config["variants"][run.variant].get("undirected", False):
            raise ConfigurationError(
                f"{where}: variant {run.variant} is directed and has no lambda_1; an undirected one"
                " is allowed"
            )
        values = catalogue.hyperparameters(run)
        # A default of all runs must not forbid every other target: that table says so when made.
        asked = "shared=" in run.configuration
        if asked and not values["shared_weights"] and values["num_layers"] > 1:
            raise ConfigurationError(
                f"{where}: variant {run.variant}, configuration {run.configuration}:"
                " shared_weights is False; frequency dominance is of a model with shared weights"
            )


def _check_frequency_table(catalogue: Catalogue, spec: Mapping, where: str) -> None:
    for name, subtable in spec["subtables"].items():
        for label, column in subtable["columns"].items():
            at = f"{where}.subtables.{name}.columns.{label}"
            run = Run(column["variant"], column.get("configuration", Run("").configuration))
            _check_frequencies(catalogue, [run], at)
            equation = catalogue.hyperparameters(run)["equation"]
            if name in _EQUATIONS:
                one_known(equation, [name], f"{at}: equation of {run.configuration!r}")


def _check_ablation(catalogue: Catalogue, spec: Mapping, where: str) -> None:
    for name, subtable in spec["subtables"].items():
        for row, options in subtable["rows"].items():
            dataset = catalogue.config["variants"][options["variant"]]["dataset"]
            metric = catalogue.config["datasets"][dataset]["metric"]
            at = f"{where}.subtables.{name}.rows.{row}: metric of {options['variant']}"
            one_known(metric, ["accuracy"], at)


def _check_ranking(spec: Mapping, where: str) -> None:
    """Each column must have models to rank among."""
    full = spec["published"][0]
    for name, subtable in spec["subtables"].items():
        known = _of_published(full, "column", name)
        for column in subtable["columns"]:
            if known and column not in known:
                raise ConfigurationError(
                    f"{where}.subtables.{name}.columns: {column!r} has no models to be ranked"
                    f" among{did_you_mean(column, known)}; add rows of it to {full}"
                )


def _check_claim(catalogue: Catalogue, check: Mapping, where: str) -> None:
    ((operator, sides),) = check.items()
    cells = [side for side in sides if isinstance(side, Mapping)]
    if all(cell.get("value", "mean").startswith("published") for cell in cells):
        raise ConfigurationError(
            f"{where}: {operator} compares {list(sides)}; one side or more must be measured"
        )
    for cell in cells:
        source = cell["source"]
        in_tables = source in catalogue.config["tables"]
        if in_tables and source in catalogue.config["studies"]:
            raise ConfigurationError(
                f"{where}: source {source!r} is a table and a study; names must differ"
            )
        if in_tables:
            spec, check_row, numbers = catalogue.config["tables"][source], check_place, NUMBERS
            if spec["kind"] in SUMMARIES:
                raise ConfigurationError(
                    f"{where}: source {source!r} is of kind {spec['kind']}; a table that measures"
                    " is allowed"
                )
        else:
            spec = catalogue.config["studies"][source]
            check_row = partial(_check_study_row, quick=catalogue.config["quick"])
            numbers = STUDY_COLUMNS[spec["kind"]]
        for row in (cell["where"], cell.get("minus", {}).get("where", {})):
            check_row(spec, row, f"{where}: {source}.where")
        one_known(cell.get("value", "mean"), numbers, f"{where}: {source}.value")


def _check_study_row(spec: Mapping, row: Mapping, where: str, quick: bool) -> None:
    for key in row:
        one_known(key, STUDY_COLUMNS[spec["kind"]], f"{where}: a key")
    for key, group in (("graph", "graphs"), ("series", "series")):
        if key in row and group in spec:
            one_known(row[key], spec[group], f"{where}.{key}")
    if "x" in row and "series" in spec and not quick:  # a quick run may have fewer points
        series = spec["series"]
        named = [series[row["series"]]] if "series" in row else series.values()
        points = (point.get(AXES[spec["kind"]]) for one in named for point in one["points"])
        values = dict.fromkeys(x for x in points if x is not None)
        counts = all(isinstance(x, int) for x in values)  # a fraction of nodes is another number
        if counts and row["x"] not in values:
            raise ConfigurationError(
                f"{where}.x is {row['x']!r}; allowed are the points, {', '.join(map(str, values))}"
            )


def check_place(spec: Mapping, row: Mapping, where: str) -> None:
    """As far as the configuration and the published file tell what cells there are."""
    for key, value in row.items():
        one_known(key, PLACES, f"{where}: a key")
        if not isinstance(value, str):
            raise ConfigurationError(f"{where}.{key} is {value!r}; allowed is a text, in quotes")
    if "subtable" not in row or "subtables" not in spec:
        return
    one_known(row["subtable"], spec["subtables"], f"{where}.subtable")
    subtable = spec["subtables"][row["subtable"]]
    if "row" in row and spec["kind"] in ("ablation", "datasets", "discrepancies"):
        one_known(row["row"], subtable["rows"], f"{where}.row")
        readings = subtable["rows"][row["row"]].get("readings", [])
        if "column" in row and readings:
            one_known(row["column"], readings, f"{where}.column")
    if "column" in row and spec["kind"] == "ablation":
        one_known(row["column"], ABLATION_COLUMNS, f"{where}.column")
    if "column" in row and "columns" in subtable:
        published = _of_published(spec["published"], "column", row["subtable"])
        one_known(row["column"], [*subtable["columns"], *published], f"{where}.column")


def _of_published(files: str | list[str], key: str, subtable: str | None = None) -> list[str]:
    """What the files of published numbers that are there have in a column, all or of a subtable."""
    files = [files] if isinstance(files, str) else files
    lines = (line for file in files for line in published_lines(file) or ())
    chosen = (line for line in lines if subtable in (None, line.get("subtable")))
    return list(dict.fromkeys(line.get(key) for line in chosen))
