"""The real graphs against published and measured facts.

Raw files are read from the folder that ``FLODE_TEST_DATA`` names (layout ``<source>/<path>``), by
default ``../shared/data``; tests whose files are not there are skipped.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import sparse
from scipy.linalg import eigvalsh, svdvals
from scipy.sparse import linalg as sparse_linalg
from scipy.sparse.linalg import eigs, eigsh

from flode.datasets.build import build_graph, graph_statistics, variant_adjacency
from flode.datasets.manifest import mismatch
from flode.datasets.readers import read_raw
from flode.datasets.readers.planetoid import read_neighbours
from flode.datasets.readers.raw import RawGraph
from flode.datasets.readers.splits import read_splits
from flode.datasets.registry import Registry
from flode.spectral import adjacency, factorize, is_symmetric, sna, symmetrically_normalize
from flode.spectral.factors import TOLERANCE

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FLODE_TEST_DATA") or REPOSITORY.parent / "shared" / "data")

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no raw data: {DATA} is no folder; FLODE_TEST_DATA can name another"
)


@pytest.fixture(scope="module")
def registry():
    config = yaml.safe_load((REPOSITORY / "config" / "datasets.yaml").read_text())
    return Registry.from_config(config, REPOSITORY / "config" / "manifest.csv")


@pytest.fixture(scope="module")
def raw_of(registry):
    """Read a dataset, once; skip where a file is not there."""

    @cache
    def raw_of(name):
        dataset = registry.datasets[name]
        for file in dataset.raw_files:
            if not (DATA / file.source / file.path).exists():
                pytest.skip(f"{file.source}/{file.path} is not in {DATA}")
        return read_raw(dataset.format, dataset.local_files(DATA))

    return raw_of


@pytest.fixture(scope="module")
def graph_of(registry, raw_of):
    """Build a variant's graph."""

    def graph_of(name):
        variant = registry.variants[name]
        metric = registry.datasets[variant.dataset].metric
        return build_graph(raw_of(variant.dataset), variant, metric)

    return graph_of


def laplacian(graph):
    return sna(graph.edge_index, graph.edge_weight, graph.num_nodes)


def extreme(solver, matrix, which):
    """One extreme eigenvalue, from a start vector that does not depend on chance."""
    start = np.random.default_rng(0).random(matrix.shape[0])
    return solver(matrix, k=1, which=which, v0=start, tol=1e-10, return_eigenvectors=False)[0]


DATASETS = {  # nodes, undirected edges, features, classes
    "cora": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4676, 3703, 6),
    "pubmed": (19717, 44327, 500, 3),
    "film": (7600, 26752, 932, 5),
    "chameleon": (2277, 31421, 2325, 5),
    "squirrel": (5201, 198493, 2089, 5),
    "roman-empire": (22662, 32927, 300, 18),
    "minesweeper": (10000, 39402, 7, 2),
    "tolokers": (11758, 519000, 10, 2),
    "questions": (48921, 153540, 301, 2),
}


def test_bytes_are_those_of_the_manifest(registry):
    checked = 0
    for row in registry.manifest.values():
        path = DATA / row.source / row.path
        if path.exists():
            assert mismatch(path, row) is None, path
            checked += 1
    if not checked:
        pytest.skip(f"{DATA} holds none of the raw files")


@pytest.mark.parametrize("name", DATASETS)
def test_sizes(registry, raw_of, name):
    statistics = graph_statistics(raw_of(name))
    found = tuple(statistics[key] for key in ("nodes", "edges", "features", "classes"))
    assert found == DATASETS[name]
    assert registry.datasets[name].published == {"nodes": found[0], "edges": found[1]}


@pytest.mark.parametrize(
    ("name", "listed", "distinct"),
    [("chameleon", 36101, 36101), ("squirrel", 217073, 217073), ("film", 33391, 30019)],
)
def test_directed_edges(raw_of, name, listed, distinct):
    raw = raw_of(name)
    assert raw.edge_index.shape[1] == listed
    assert graph_statistics(raw)["directed_edges"] == distinct


@pytest.mark.parametrize("name", ["minesweeper", "tolokers", "roman-empire", "questions"])
def test_heterophilous_graphs_list_each_edge_once(raw_of, name):
    source, target = raw_of(name).edge_index
    assert np.all(source < target)
    assert len(set(zip(source, target, strict=False))) == len(source)


@pytest.mark.parametrize(
    "name", ["chameleon", "squirrel", "chameleon-filtered", "squirrel-filtered"]
)
def test_filtered_graphs_are_read_like_the_others(raw_of, graph_of, name):
    nodes = {"chameleon-filtered": 890, "squirrel-filtered": 2223}.get(
        name, DATASETS.get(name, [0])[0]
    )
    assert raw_of(name).num_nodes == graph_of(f"{name}-directed").num_nodes == nodes


@pytest.mark.parametrize(
    ("name", "nodes", "edges"), [("cora", 2485, 5069), ("citeseer", 2120, 3679)]
)
def test_largest_component(graph_of, name, nodes, edges):
    graph = graph_of(name)
    assert graph.num_nodes == nodes
    statistics = graph_statistics(graph)
    assert statistics["self_loops"] == nodes
    assert statistics["edges"] == edges + nodes
    assert np.all(graph.edge_weight == 1)


def test_citeseers_nodes_without_description(raw_of, graph_of):
    raw = raw_of("citeseer")
    missing = np.flatnonzero(raw.labels < 0)
    assert len(missing) == 15
    assert raw.features[missing].nnz == 0
    empty = np.flatnonzero(abs(graph_of("citeseer").features).sum(axis=1) == 0)
    assert len(empty) == 10
    assert np.all(graph_of("citeseer").labels[empty] == 0)


LAMBDA_1 = {
    "chameleon-undirected": "-0.9337",
    "squirrel-undirected": "-0.8896",
    "film-undirected": "-0.9486",
    "cora": "-0.4826",
    "citeseer": "-0.5022",
}


@pytest.mark.parametrize("name", LAMBDA_1)
def test_smallest_eigenvalue_is_the_papers(graph_of, name):
    assert f"{extreme(eigsh, laplacian(graph_of(name)), 'SA'):.4f}" == LAMBDA_1[name]


def test_smallest_eigenvalue_of_pubmed_needs_its_graph_alone(registry):
    path = registry.datasets["pubmed"].local_files(DATA)["graph"]
    if not path.exists():
        pytest.skip(f"{path} is not there")
    edge_index = read_neighbours(path, 19717)
    unknown = np.zeros(19717, dtype=int)
    statistics = graph_statistics(RawGraph(unknown[:, None], unknown, edge_index))
    assert (statistics["edges"], statistics["self_loops"]) == (44327, 3)
    matrix, kept = variant_adjacency(edge_index, 19717, registry.variants["pubmed"])
    assert len(kept) == 19717
    assert f"{extreme(eigsh, symmetrically_normalize(matrix), 'SA'):.4f}" == "-0.6537"


@pytest.mark.parametrize(
    ("name", "expected"), [("chameleon-directed", "0.9397"), ("squirrel-directed", "0.8857")]
)
def test_perron_frobenius_eigenvalue(graph_of, name, expected):
    value = extreme(eigs, laplacian(graph_of(name)), "LM")
    assert abs(value.imag) < 1e-9
    assert f"{value.real:.4f}" == expected


@pytest.mark.parametrize("name", ["film", "chameleon", "squirrel"])
def test_undirected_versions_sum_weights(graph_of, name):
    directed, undirected = graph_of(f"{name}-directed"), graph_of(f"{name}-undirected")
    matrix, expected = (
        adjacency(graph.edge_index, graph.edge_weight, graph.num_nodes)
        for graph in (undirected, directed)
    )
    assert abs(matrix - (expected + expected.T)).nnz == 0
    assert set(undirected.edge_weight) == {1, 2}
    np.testing.assert_array_equal(undirected.labels, directed.labels)


@pytest.mark.parametrize("name", ["chameleon", "squirrel"])
def test_splits_of_the_archives_are_those_of_geom_gcn(raw_of, name):
    raw = raw_of(name)
    paths = [DATA / f"geom-gcn/splits/{name}_split_0.6_0.2_{split}.npz" for split in range(10)]
    if not all(path.exists() for path in paths):
        pytest.skip(f"{paths[0].parent} lacks splits of {name}")
    for mask, found in zip(
        read_splits(paths, raw.num_nodes), (raw.train, raw.validation, raw.test), strict=False
    ):
        np.testing.assert_array_equal(mask, found)


SPLITS = {  # training and validation nodes over all nodes in a mask
    "film-directed": (0.48, 0.32),
    "squirrel-directed": (0.48, 0.32),
    "chameleon-directed": (0.48, 0.32),
    "cora": (0.48, 0.32),
    "citeseer": (0.48, 0.32),
    "pubmed": (0.48, 0.32),
    "minesweeper": (0.5, 0.25),
    "tolokers": (0.5, 0.25),
    "roman-empire": (0.5, 0.25),
    "questions": (0.5, 0.25),
}


@pytest.mark.parametrize("name", SPLITS)
def test_ten_splits(graph_of, name):
    graph = graph_of(name)
    assert graph.num_splits == 10
    covered = graph.train | graph.validation | graph.test
    assert covered.all()
    for mask, share in zip((graph.train, graph.validation), SPLITS[name], strict=False):
        np.testing.assert_allclose(mask.mean(axis=1), share, atol=0.025)
    assert len({mask.tobytes() for mask in graph.test}) == 10
    for mask in (graph.train, graph.test):
        for split in mask:
            assert set(graph.labels[split]) == set(range(graph.num_classes))


@pytest.mark.parametrize("name", ["chameleon-directed", "squirrel-undirected"])
def test_columns_have_norm_one(graph_of, name):
    features = graph_of(name).features
    assert sparse.issparse(features)
    norms = sparse_linalg.norm(features, axis=0)
    assert np.all((abs(norms - 1) < 1e-5) | (norms == 0))


@pytest.mark.parametrize("name", ["cora", "citeseer"])
def test_features_of_words_stay_as_they_are(raw_of, name):
    assert set(raw_of(name).features.data) == {1.0}


# --- numerical ranks: minutes each, so only with `-m slow`

FACTORS = {  # rank, and the variance that so many singular values explain (caption of Figure 6)
    "chameleon-directed": (753, 570, "0.998"),
    "chameleon-undirected": (1147, None, None),
    "citeseer": (2054, None, None),
    "squirrel-directed": (2068, 1600, "0.999"),
    "squirrel-undirected": (3304, None, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FACTORS)
def test_rank_and_explained_variance(graph_of, name):
    rank, kept, variance = FACTORS[name]
    factors = factorize(laplacian(graph_of(name)))
    assert factors.rank == rank
    if kept:
        assert f"{factors.truncate(kept).explained_variance:.3f}" == variance


LARGE_RANKS = {
    "film-directed": 4811,
    "film-undirected": 6468,
    "minesweeper": 10000,
    "tolokers": 11659,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE_RANKS)
def test_rank_of_large_graphs(graph_of, name):
    """By values alone: their vectors would take an hour."""
    matrix = laplacian(graph_of(name))
    dense = matrix.toarray(order="F")
    solve = eigvalsh if is_symmetric(matrix) else svdvals
    values = abs(solve(dense, overwrite_a=True, check_finite=False))
    assert np.count_nonzero(values > TOLERANCE * values.max()) == LARGE_RANKS[name]
