"""How long the paper takes: what the runs at hand took, and from them what the others would.

``python benchmarks/estimate.py`` reads the configuration and the run files under its ``results``,
and prints for each target how many runs it needs, how many are there and what they took, and an
estimate of the rest: the operations of an epoch's matrix products (`benchmarks.operations`), times
epochs, over the median rate that the runs at hand reached on the same propagation path. Times are
core hours, seconds times threads, so that half of them is what two cores need. Factorisations and
the few jobs that do not train are left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.operations import OPERATIONS, Sizes
from flode.datasets.graph import Graph
from flode.experiments.catalogue import Catalogue, Run
from flode.experiments.defaults import FILES, completed
from flode.experiments.hyperparameters import architecture_keywords
from flode.experiments.measured import TAKEN, trained_files
from flode.experiments.runfiles import read_run
from flode.model import Architecture, Features, choose_path
from flode.spectral import Factors
from flode.spectral.factors import resolve_rank

ROOT = Path(__file__).resolve().parents[1]

#: Of graphs that are not built here: nodes, features, stored entries of a node's features, distinct
#: rows of features (as many as nodes where there are many), classes, shares of nodes that
#: train and validate, and the numerical rank, undirected and directed, as a fraction of the nodes.
KNOWN = {
    "film": (7600, 932, 6, 7600, 5, 0.48, 0.32, 0.851, 0.633),
    "chameleon": (2277, 2325, 22, 2277, 5, 0.48, 0.32, 0.504, 0.331),
    "squirrel": (5201, 2089, 26, 5201, 5, 0.48, 0.32, 0.635, 0.398),
    "cora": (2485, 1433, 18, 2485, 7, 0.48, 0.32, 1.0, 1.0),
    "citeseer": (2120, 3703, 32, 2120, 6, 0.48, 0.32, 0.969, 0.969),
    "pubmed": (19717, 500, 50, 19717, 3, 0.48, 0.32, 1.0, 1.0),
    "minesweeper": (10000, 7, 1, 7, 2, 0.5, 0.25, 1.0, 1.0),
    "tolokers": (11758, 10, 10, 6745, 2, 0.5, 0.25, 0.992, 0.992),
    "roman-empire": (22662, 300, 300, 22662, 18, 0.5, 0.25, 1.0, 1.0),
    "questions": (48921, 301, 301, 48921, 2, 0.5, 0.25, 1.0, 1.0),
}


@dataclass(frozen=True)
class Shape:
    """Sizes of a variant's graph that operations depend on."""

    nodes: int
    rank: int
    features: int
    entries: int
    distinct: int
    classes: int
    train: int
    validation: int
    symmetric: bool


@dataclass
class Measured:
    """Run files of a run that are there.

    Attributes:
        seconds: times threads, start-up left out.
        startup: seconds that the jobs took besides, where Snakemake measured them.
    """

    splits: int = 0
    epochs: int = 0
    seconds: float = 0.0
    path: str = ""
    startup: list[float] = field(default_factory=list)


def configuration(overlay: str | None) -> dict:
    """The workflow's configuration, and an overlay."""
    return completed({}, [ROOT / "config" / name for name in FILES] + [overlay] * bool(overlay))


def targets(catalogue: Catalogue) -> dict[str, list[Run]]:
    """Runs of each table, study and search that trains, and of ``all``, each once."""
    found = {f"tables/{name}": catalogue.table_runs(name) for name in catalogue.config["tables"]}
    for study in catalogue.config["studies"]:
        found[f"studies/{study}"] = catalogue.gathered_runs(study)
    every = [run for runs in found.values() for run in runs]
    for search in catalogue.config["searches"]:
        found[f"search/{search}"] = catalogue.searched_runs(search)
    found["all"] = every
    return {name: list(dict.fromkeys(runs)) for name, runs in found.items() if runs}


def measured(catalogue: Catalogue, run: Run, results: Path) -> Measured:
    """What the files of a run say, of whatever splits, those of ``measured`` too where it names a
    folder; each split counts once."""
    found = Measured()
    for path in trained_files(catalogue, run, results)[0]:
        document = read_run(path)
        records = document["records"]
        seconds = sum(one["seconds"] for one in records)
        found.splits += len(records)
        found.epochs += sum(one["epochs"] for one in records)
        found.seconds += sum(
            one.get("threads", document["threads"]) * one["seconds"] for one in records
        )
        found.path = records[0].get("path", "")  # of FLODE
        benchmark = results / "benchmarks/runs" / Path(*path.parts[-3:]).with_suffix(".tsv")
        own = path.is_relative_to(results / "runs") and TAKEN not in document
        if own and benchmark.exists():
            wall = float(benchmark.read_text().splitlines()[1].split("\t")[0])
            if wall > seconds:  # less where the job resumed from a checkpoint
                found.startup.append(wall - seconds)
    return found


def shape_of(catalogue: Catalogue, variant: str, results: Path) -> Shape | None:
    """From the files of a variant's graph and factors, else from the configuration and ``KNOWN``;
    None where neither knows."""
    graph_file = results / "graphs" / f"{variant}.npz"
    factor_file = results / "factors" / f"{variant}.safetensors"
    spec = catalogue.config["variants"][variant]
    if graph_file.exists() and factor_file.exists():
        graph, factors = Graph.load(graph_file), Factors.load(factor_file)
        stored = getattr(graph.features, "nnz", graph.features.size)
        train, validation = (int(m.sum(axis=1).max()) for m in (graph.train, graph.validation))
        distinct = Features(graph.features).distinct[0].num_nodes
        return Shape(graph.num_nodes, factors.rank, graph.num_features, stored, distinct,
                     graph.num_classes, train, validation, factors.symmetric)  # fmt: skip
    dataset = catalogue.config["datasets"][spec["dataset"]]
    if catalogue.is_generated(variant):
        one = dataset["generator"] | spec.get("generator", {})
        nodes = one["clusters"] * one["cluster_size"]
        train = one["clusters"] * one["train_per_cluster"]
        return Shape(nodes, nodes, one["features"], nodes * one["features"], nodes,
                     one["clusters"], train, one["validation"], False)  # fmt: skip
    if spec["dataset"] not in KNOWN:
        return None
    nodes, features, entries, distinct, classes, train, validation, *ranks = KNOWN[spec["dataset"]]
    rank = round(nodes * ranks[0 if spec["undirected"] else 1])
    rank = min(rank, resolve_rank(spec.get("rank"), nodes) or rank)
    return Shape(nodes, rank, features, nodes * entries, distinct, classes, round(nodes * train),
                 round(nodes * validation), spec["undirected"])  # fmt: skip


def operations(hyperparameters: dict, shape: Shape) -> tuple[str, int]:
    """The path that serves a run, and the operations of an epoch of one of its splits."""
    model = Architecture(shape.features, out_channels=shape.classes,
                         **architecture_keywords(hyperparameters))  # fmt: skip
    rank = min(shape.rank, resolve_rank(hyperparameters["rank"], shape.nodes) or shape.rank)
    path = hyperparameters["path"]
    if path == "auto":
        features = SimpleNamespace(num_features=shape.features, learned=False,
                                   count_distinct=lambda limit: shape.distinct)  # fmt: skip
        operator = SimpleNamespace(symmetric=shape.symmetric, rank=rank)
        path = choose_path(model, operator, features)
    sizes = Sizes(shape.nodes, rank, shape.entries, shape.distinct, shape.train, shape.validation,
                  1, model, shape.symmetric)  # fmt: skip
    return path, OPERATIONS[path](sizes)


class Estimate:
    """Times of runs, measured or from those that were.

    Args:
        catalogue: the configuration.
        runs: all that are to be told about.
        results: folder of the run files.
    """

    def __init__(self, catalogue: Catalogue, runs: Iterable[Run], results: Path):
        self.catalogue, self.results = catalogue, results
        self.found = {run: measured(catalogue, run, results) for run in runs}
        self.shapes = {v: shape_of(catalogue, v, results) for v in {r.variant for r in self.found}}
        rates, epochs = defaultdict(list), defaultdict(list)
        for run, one in self.found.items():
            if one.splits and (cost := self.cost(run)):
                for key in (cost[0], self._kinds(run)[1]):
                    rates[key].append(cost[1] * one.epochs / one.seconds)
                for key in self._kinds(run):
                    epochs[key].append(one.epochs / one.splits)
        #: Operations a second and core that half of the runs at hand reached, by path and, for
        #: paths that none took, of generated graphs and of all others.
        self.rates = {key: median(each) for key, each in rates.items()}
        #: Epochs a split, by dataset, and of generated graphs and of all others.
        self.epochs = {key: mean(each) for key, each in epochs.items()}

    def cost(self, run: Run) -> tuple[str, int] | None:
        """Path, and operations of an epoch of one split; None of a graph of unknown sizes, and of
        other models than FLODE."""
        shape = None if self.catalogue.other_model(run) else self.shapes[run.variant]
        return operations(self.catalogue.hyperparameters(run), shape) if shape else None

    def missing(self, run: Run) -> float | None:
        """Operations of the splits that are not there; None where they cannot be told."""
        splits = self.catalogue.num_splits(run.variant) - self.found[run].splits
        cost = self.cost(run)
        known = [self.epochs[kind] for kind in self._kinds(run) if kind in self.epochs]
        return splits * cost[1] * known[0] if cost and known else None

    def seconds(self, run: Run) -> float | None:
        """Core seconds of the splits that are not there."""
        missing = self.missing(run)
        if missing is None:
            return None
        keys = (self.cost(run)[0], self._kinds(run)[1])
        return missing / next(self.rates[key] for key in (*keys, *self.rates) if key in self.rates)

    def _kinds(self, run: Run) -> tuple:
        """A run's dataset, and whether its graphs are generated."""
        dataset = self.catalogue.config["variants"][run.variant]["dataset"]
        return dataset, self.catalogue.is_generated(run.variant)


def report(estimate: Estimate, by_target: dict[str, list[Run]], gpu: float | None) -> list[str]:
    """Lines to print."""
    lines = [f"{'target':<38}{'runs':>6}{'there':>7}{'core hours':>12}{'estimated rest':>16}"]
    for name, runs in by_target.items():
        found = [estimate.found[run] for run in runs]
        complete = [r for r in runs if _complete(estimate, r)]
        rest = [estimate.seconds(run) for run in runs if run not in complete]
        unknown = "" if None not in rest else f" and {rest.count(None)} of unknown size"
        hours = sum(one.seconds for one in found) / 3600
        left = sum(filter(None, rest)) / 3600
        row = f"{name:<38}{len(runs):>6}{len(complete):>7}{hours:>12.1f}{left:>16.1f}"
        lines.append(row + unknown)
    runs = by_target["all"]
    lines += ["", "of which not there, by dataset (path, core hours):"]
    by_dataset = defaultdict(float)
    for run in runs:
        if not _complete(estimate, run) and (seconds := estimate.seconds(run)) is not None:
            by_dataset[estimate._kinds(run)[0], estimate.cost(run)[0]] += seconds / 3600
    for (dataset, path), hours in sorted(by_dataset.items(), key=lambda entry: -entry[1]):
        how = "" if path in estimate.rates else ", at the rate of other paths: none took this one"
        lines.append(f"  {dataset:<20}{path:<10}{hours:>8.1f}{how}")
    names = {True: "generated graphs", False: "other graphs"}
    for key, rate in estimate.rates.items():
        lines.append(f"rate reached, {names.get(key, key)}: {rate / 1e9:.1f} GFLOP/s a core")
    startup = [second for one in estimate.found.values() for second in one.startup]
    if startup:
        middle = median(startup)
        each = sum(len(estimate.catalogue.run_files(run)) for run in runs)
        spent = sum(estimate.found[run].seconds for run in runs)
        total = spent + sum(filter(None, map(estimate.seconds, runs)))
        lines.append(
            f"start-up: {middle:.1f} s a job (median of {len(startup)}), {each} jobs of all:"
            f" {100 * each * middle / (each * middle + total):.1f} % of their time"
        )
    if gpu:
        lines.append(_on_gpu(estimate, runs, gpu))
    return lines


def _complete(estimate: Estimate, run: Run) -> bool:
    return estimate.found[run].splits == estimate.catalogue.num_splits(run.variant)


def _on_gpu(estimate: Estimate, runs: list[Run], gpu: float) -> str:
    """Operations of all runs over a rate of matrix products: no measurement."""
    total = 0.0
    for run in runs:
        cost = estimate.cost(run)
        total += cost[1] * estimate.found[run].epochs if cost else 0
        total += estimate.missing(run) or 0
    hours = total / (gpu * 1e12) / 3600
    return (
        f"operations of all: {total:.2e}; at {gpu:g} TFLOP/s {hours:.1f} h, a bound and no"
        " measurement: small trainings are bound by launches and start-up, not by products"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--configfile", help="an overlay")
    parser.add_argument("--results", type=Path, help="folder of the run files; the configuration's")
    parser.add_argument("--measured", help="folder of further run files; the configuration's")
    parser.add_argument("--gpu", type=float, metavar="TFLOPS", help="rate of a GPU's products")
    options = parser.parse_args(arguments)
    config = configuration(options.configfile)
    config["measured"] = options.measured or config["measured"]
    catalogue = Catalogue(config, ROOT / "workflow" / "schemas")
    by_target = targets(catalogue)
    every = dict.fromkeys(run for runs in by_target.values() for run in runs)
    estimate = Estimate(catalogue, every, options.results or ROOT / catalogue.results)
    if not estimate.rates:
        raise SystemExit("no run file is there: nothing to measure by; run a table first")
    print("\n".join(report(estimate, by_target, options.gpu)))


if __name__ == "__main__":
    main()
