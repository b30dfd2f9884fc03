"""From raw graphs to the graphs of variants, on graphs small enough to see."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from flode.datasets.build import build_from_files, build_graph, graph_statistics, variant_adjacency
from flode.datasets.download import fetch
from flode.datasets.graph import Graph
from flode.datasets.manifest import ManifestRow
from flode.datasets.readers import RawFileError, RawGraph, read_raw
from flode.datasets.registry import Registry, Variant
from flode.datasets.writers import write_raw
from tests.unit.rawfiles import REPOSITORY_CONFIG, example, write_dataset, write_mirror

PLAIN = Variant("d", undirected=False)


def dense(edges, nodes, **steps):
    matrix, kept = variant_adjacency(
        np.array(edges).reshape(-1, 2).T, nodes, Variant("d", **{"undirected": False} | steps)
    )
    return matrix.toarray().tolist(), kept.tolist()


def raw_graph(labels=(0, 1, 0, 1), edges=((0, 1), (1, 2), (2, 0)), masks=None, features=None):
    nodes = len(labels)
    if masks is None:
        masks = np.eye(3, nodes, dtype=bool)[:, None]
    if features is None:
        features = np.arange(2.0 * nodes).reshape(nodes, 2)
    return RawGraph(features, np.array(labels), np.array(edges).reshape(-1, 2).T, *masks)


# --- adjacency


def test_an_edge_listed_twice_counts_once():
    assert dense([(0, 1), (0, 1), (1, 0)], 2) == ([[0, 1], [1, 0]], [0, 1])


def test_undirected_sums_weights():
    edges = [(0, 1), (1, 0), (1, 2), (1, 2), (2, 2)]
    assert dense(edges, 3, undirected=True)[0] == [[0, 2, 0], [2, 0, 1], [0, 1, 2]]
    assert dense(edges, 3, undirected=True, binary=True)[0] == [[0, 1, 0], [1, 0, 1], [0, 1, 1]]


def test_self_loops_go_to_nodes_that_have_none():
    edges = [(0, 1), (2, 2)]
    assert dense(edges, 3, self_loops=1)[0] == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert dense(edges, 3, self_loops=0.5)[0] == [[0.5, 1, 0], [0, 0.5, 0], [0, 0, 1]]
    assert dense(edges, 3, undirected=True, self_loops=1)[0] == [[1, 1, 0], [1, 1, 0], [0, 0, 2]]


def test_largest_component_is_weak_and_the_first_of_equals():
    edges = [(4, 3), (0, 1), (2, 1), (5, 4)]
    assert dense(edges, 7, largest_component=True)[1] == [0, 1, 2]
    assert dense(edges, 7, largest_component=True, self_loops=1)[1] == [0, 1, 2]
    assert dense(edges, 7, largest_component=True)[0] == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


def test_no_edges():
    assert dense([], 2) == ([[0, 0], [0, 0]], [0, 1])


@settings(max_examples=50, deadline=None)
@given(arrays.arrays(np.int64, (2, 20), elements=st.integers(0, 7)), st.booleans(), st.booleans())
def test_undirected_variants_are_symmetric(edge_index, binary, largest):
    variant = Variant("d", True, binary, largest, self_loops=1)
    matrix, kept = variant_adjacency(edge_index, 8, variant)
    assert abs(matrix - matrix.T).nnz == 0
    assert matrix.shape == (len(kept), len(kept))
    assert np.all(matrix.diagonal() > 0)
    if binary:
        assert set(matrix.data) == {1.0}
    if largest:
        assert sparse.csgraph.connected_components(matrix)[0] == 1


# --- graphs


def test_the_metric_is_kept():
    assert build_graph(example(num_classes=2), PLAIN, metric="auroc").metric == "auroc"


def archive(folder, raw, metric="accuracy"):
    """Settings of a graph of a heterophilous archive, which is written."""
    files = {"archive": str(folder / "own.npz")}
    write_raw("heterophilous", files, raw)
    build = {"dataset": "own", "undirected": True}
    return {"format": "heterophilous", "files": files, "build": build, "metric": metric}


def test_a_dataset_has_at_most_the_splits_of_its_files(tmp_path):
    settings = archive(tmp_path, example(num_splits=3))
    for splits in (1, 3):
        raw, graph = build_from_files(settings, splits)
        assert raw.num_nodes == graph.num_nodes and graph.num_splits == 3
    with pytest.raises(ValueError, match=r"datasets\.own\.splits is 4; .*/own\.npz has 3"):
        build_from_files(settings, 4)


def test_files_of_other_bytes_are_refused(tmp_path):
    settings = archive(tmp_path, example())
    path = settings["files"]["archive"]
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    build_from_files(settings, 1, {str(path): ManifestRow("own", "own.npz", sha256=digest)})
    row = ManifestRow("own", "own.npz", sha256="0" * 64)
    with pytest.raises(RawFileError, match=r"own\.npz: expected sha256 0+; found .* Delete the"):
        build_from_files(settings, 1, {str(path): row})


def test_a_class_without_nodes_is_told(tmp_path, caplog):
    raw = example(num_classes=3)
    build_from_files(archive(tmp_path, raw), 1)
    assert not caplog.text
    raw.labels[raw.labels == 2] = 4
    build_from_files(archive(tmp_path, raw), 1)
    assert "datasets.own: no node is of class 2 (of 0 to 4)" in caplog.text


def test_masks_that_cannot_be_trained_on_are_refused_with_their_file(tmp_path):
    raw = example(num_splits=2)
    raw.train[1] = False
    with pytest.raises(ValueError, match=r"own\.npz: split 1 has no train nodes"):
        build_from_files(archive(tmp_path, raw), 2)
    raw = example(num_classes=2)
    raw.validation[1] &= raw.labels == 0
    with pytest.raises(ValueError, match=r"datasets\.own, .*own\.npz: split 1: its validation"):
        build_from_files(archive(tmp_path, raw, "auroc"), 2)


def test_edges_of_a_graph_are_sorted_and_weighted():
    graph = build_graph(raw_graph(edges=[(2, 0), (0, 2), (1, 0)]), Variant("d", True))
    assert graph.edge_index.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    assert graph.edge_weight.tolist() == [1, 2, 1, 2]
    assert graph.metric == "accuracy"


def test_features_are_normalised_over_the_kept_nodes():
    raw = raw_graph(labels=[0, 1, 0, 1], features=np.array([[3.0], [4], [0], [100]]))
    graph = build_graph(raw, Variant("d", True, largest_component=True, normalization="column_l2"))
    np.testing.assert_allclose(graph.features, [[0.6], [0.8], [0]], rtol=1e-6)
    assert graph.features.dtype == np.float32
    sparse_features = sparse.csr_array(raw.features)
    raw = raw_graph(features=sparse_features)
    graph = build_graph(raw, Variant("d", True, largest_component=True, normalization="row_max"))
    np.testing.assert_array_equal(graph.features, [[1], [1], [0]])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_are_kept_sparse_where_most_are_zero(kind):
    few = np.zeros((4, 5))
    few[1, 2] = 2
    many = np.arange(1.0, 21).reshape(4, 5)
    for features, expected in ((few, True), (many, False)):
        graph = build_graph(raw_graph(features=kind(features)), PLAIN)
        assert sparse.issparse(graph.features) == expected
        found = graph.features.toarray() if expected else graph.features
        np.testing.assert_array_equal(found, features)


def test_masks_are_restricted_to_the_kept_nodes():
    masks = np.array([[[1, 0, 0, 0, 1]], [[0, 1, 0, 0, 0]], [[0, 0, 1, 1, 0]]], dtype=bool)
    raw = raw_graph(labels=[0, 1, 2, 1, 0], edges=[(4, 2), (2, 0), (0, 1)], masks=masks)
    graph = build_graph(raw, Variant("d", False, largest_component=True))
    assert graph.labels.tolist() == [0, 1, 2, 0]
    assert graph.train.tolist() == [[True, False, False, True]]
    assert graph.test.tolist() == [[False, False, True, False]]


def test_nodes_without_a_label():
    masks = np.array([[[1, 0, 0, 1]], [[0, 1, 0, 0]], [[0, 0, 1, 0]]], dtype=bool)
    raw = raw_graph(labels=[1, 1, 0, -1], masks=masks)
    graph = build_graph(raw, PLAIN)
    assert graph.labels.tolist() == [1, 1, 0, -1]
    assert graph.train.tolist() == [[True, False, False, False]]
    graph = build_graph(raw, Variant("d", False, unlabelled="class_0"))
    assert graph.labels.tolist() == [1, 1, 0, 0]
    assert graph.train.tolist() == [[True, False, False, True]]
    assert raw.labels.tolist() == [1, 1, 0, -1]


def test_a_split_that_loses_all_its_nodes_is_refused():
    raw = raw_graph(labels=[0, 1, -1, 1])
    with pytest.raises(ValueError, match="split 0 has no test nodes"):
        build_graph(raw, PLAIN)


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match="unlabelled is 'drop'; allowed are exclude, class_0"):
        build_graph(raw_graph(), Variant("d", False, unlabelled="drop"))
    with pytest.raises(ValueError, match="normalisation is 'l3'"):
        build_graph(raw_graph(), Variant("d", False, normalization="l3"))
    with pytest.raises(ValueError, match="no splits"):
        build_graph(raw_graph(masks=(None, None, None)), PLAIN)


# --- statistics


def test_statistics():
    edges = [(0, 1), (1, 0), (0, 1), (1, 2), (2, 2), (3, 0)]
    raw = raw_graph(labels=[0, 0, 1, -1], edges=edges)
    statistics = graph_statistics(raw)
    # Labelled neighbours: 0 -> {1}, same; 1 -> {0, 2}, half; 2 -> {2}, same.
    assert statistics.pop("homophily") == pytest.approx((1 + 0.5 + 1) / 3)
    assert statistics == {
        "nodes": 4, "edges": 4, "directed_edges": 5, "self_loops": 1, "features": 2, "classes": 2,
        "unlabelled": 1,
    }  # fmt: skip
    built = graph_statistics(build_graph(raw_graph(edges=edges), Variant("d", True)))
    assert (built["edges"], built["directed_edges"], built["self_loops"]) == (4, 7, 1)


# --- the repository's configuration on tiny files


def test_every_variant_can_be_built_from_a_mirror(tmp_path):
    config = yaml.safe_load(REPOSITORY_CONFIG.read_text())
    manifest = write_mirror(config, tmp_path / "mirror")
    registry = Registry.from_config(config, manifest)
    for variant in registry.variants.values():
        dataset = registry.datasets[variant.dataset]
        local = dataset.local_files(tmp_path / "raw")
        paths = [
            path
            for found in local.values()
            for path in (found if isinstance(found, list) else [found])
        ]
        for file, path in zip(dataset.raw_files, paths, strict=True):
            fetch(
                file.source,
                file.path,
                path,
                base="http://a/",
                mirror=tmp_path / "mirror",
                manifest_row=registry.manifest_row(file),
            )
        graph = build_graph(read_raw(dataset.format, local), variant, dataset.metric)
        assert graph.num_splits == 10
        assert graph.num_nodes == 30
        graph.save(tmp_path / "graph.npz")
        loaded = Graph.load(tmp_path / "graph.npz")
        np.testing.assert_array_equal(loaded.edge_weight, graph.edge_weight)
        assert loaded.metric == dataset.metric
    assert len(list((tmp_path / "raw").rglob("*.*"))) == len(registry.manifest)


def test_a_given_graph_can_be_written(tmp_path):
    config = yaml.safe_load(REPOSITORY_CONFIG.read_text())
    registry = Registry.from_config(config, REPOSITORY_CONFIG.with_name("manifest.csv"))
    graph = example(num_nodes=12, num_splits=10, seed=4)
    written = write_dataset(registry.datasets["film"], tmp_path, graph)
    assert written is graph
    raw = read_raw("geom_gcn", registry.datasets["film"].local_files(tmp_path))
    np.testing.assert_array_equal(raw.edge_index, graph.edge_index)
