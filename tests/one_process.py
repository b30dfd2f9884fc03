"""What the rules do, one after another in this process: without the seconds that each job takes to
start. Files are those of a catalogue, relative to the working directory."""

import json
from pathlib import Path

from flode.datasets.build import build_graph, graph_statistics
from flode.datasets.dsbm import generate_graphs
from flode.datasets.graph import save_graphs
from flode.datasets.readers import read_raw
from flode.datasets.registry import Variant
from flode.datasets.synthetic import synthetic_graph
from flode.datasets.writers import write_raw
from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.checks import SUMMARIES
from flode.experiments.factorization import factorize_graphs
from flode.experiments.runs import run_configuration, write_run
from flode.experiments.statistics import graph_report
from flode.files import write_text_atomic
from flode.reporting.records import load_runs
from flode.reporting.search import search_table
from flode.reporting.stages import make_figure, make_study, make_table
from flode.reporting.tidy import write_table
from flode.spectral.factors import save_factors


def make_raw_files(found: Catalogue) -> None:
    for name, settings in found.generated_raw_settings().items():
        graph = synthetic_graph(settings["generate"], settings["splits"], name, settings["seed"])
        write_raw(settings["format"], settings["files"], graph)


def make_graph(found: Catalogue, variant: str) -> None:
    """Graph, factors and statistics of a variant."""
    settings, path = found.graph_settings(variant), f"{found.results}/graphs/{variant}.npz"
    raw = None
    if found.is_generated(variant):
        save_graphs(generate_graphs(settings["generator"], settings["seed"]), path)
    else:
        raw = read_raw(settings["format"], settings["files"])
        build_graph(raw, Variant(**settings["build"]), settings["metric"]).save(path)
    factors = f"{found.results}/factors/{variant}.safetensors"
    save_factors(factorize_graphs(path, found.factor_settings(variant), "cpu"), factors)
    if raw is not None:
        settings = found.statistics_settings(variant)
        report = graph_report(path, factors, settings, graph_statistics(raw))
        write_text_atomic(found.statistics_file(variant), json.dumps(report))


def make_run(found: Catalogue, run: Run) -> None:
    (path,) = found.run_files(run)
    files = found.training_inputs(run)
    document = run_configuration(
        found.run_settings(run),
        files["graphs"],
        files.get("factors"),
        range(found.num_splits(run.variant)),
        device="cpu",
        model_class=found.model_class(run),
    )
    write_run(document, path)


def all_runs(found: Catalogue) -> list[Run]:
    """Every run of every table, study and search, each once."""
    runs = [run for table in found.config["tables"] for run in found.table_runs(table)]
    for study in found.config["studies"]:
        runs += found.gathered_runs(study)
    for search in found.config["searches"]:
        runs += found.searched_runs(search)
    return list(dict.fromkeys(runs))


def make_reports(found: Catalogue) -> None:
    """Every search, study, table and figure, from the runs."""
    results = found.results
    for search in found.config["searches"]:
        files = found.files_of(found.searched_runs(search))
        settings = found.search_settings(search)
        frame = search_table(settings["candidates"], load_runs(files))
        write_table(frame, Path(results) / "search" / f"{search}.csv")
    for study in found.config["studies"]:
        csv = f"{results}/studies/{study}.csv"
        make_study(found.study_settings(study), csv, **found.study_inputs(study))
    tables = found.config["tables"]
    for table in sorted(tables, key=lambda name: tables[name]["kind"] in SUMMARIES):
        make_table(
            table,
            found.table_settings(table),
            tables[table].get("published", []),
            found.table_files(table),
            csv=f"{results}/tables/{table}.csv",
            tex=f"{results}/tables/{table}.tex",
        )
    for figure in found.config["figures"]:
        stem = f"{results}/figures/{figure}"
        make_figure(found.figure_settings(figure), found.figure_source(figure), stem)


def make_everything(found: Catalogue) -> None:
    make_raw_files(found)
    runs = all_runs(found)
    shown = [name for table in found.config["tables"] for name in found.table_variants(table)]
    for study in found.config["studies"].values():
        shown += study.get("graphs", {}).values()
    for variant in dict.fromkeys([run.variant for run in runs] + shown):
        make_graph(found, variant)
    for run in runs:
        make_run(found, run)
    make_reports(found)
