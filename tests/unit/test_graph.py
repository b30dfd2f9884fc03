"""The graph container: what it refuses, its file, its splits and its PyG form."""

import os
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from flode.datasets import graph as graph_module
from flode.datasets.graph import Graph, count_graphs, save_graphs

NODES, SPLITS = 6, 3


def mask(*rows):
    """One row a split, each naming its nodes."""
    array = np.zeros((len(rows), NODES), dtype=bool)
    for row, nodes in zip(array, rows, strict=True):
        row[list(nodes)] = True
    return array


def make_graph(**changes):
    """Six nodes, the last without a label, three splits."""
    fields = {
        "features": np.arange(12, dtype=np.float32).reshape(NODES, 2),
        "labels": np.array([0, 1, 2, 0, 1, -1]),
        "edge_index": np.array([[0, 1, 2, 4], [1, 2, 0, 4]]),
        "edge_weight": np.array([1.0, 2.0, 0.5, 1.0]),
        "train": mask([0, 1], [2], [3]),
        "validation": mask([2], [3], [4]),
        "test": mask([3], [4, 0], [0, 1]),
        "metric": "accuracy",
    }
    return Graph(**(fields | changes))


def two_classes(**changes):
    """Both classes in every mask, as an AUROC needs."""
    masks = {"train": mask([0, 1]), "validation": mask([2, 3]), "test": mask([4, 5])}
    return make_graph(**({"labels": np.arange(6) % 2, "metric": "auroc"} | masks | changes))


def assert_equal(one, other):
    for name in ("labels", "edge_index", "edge_weight", "train", "validation", "test"):
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)
    assert one.metric == other.metric
    assert sparse.issparse(one.features) == sparse.issparse(other.features)
    assert one.features.dtype == other.features.dtype
    assert one.features.shape == other.features.shape
    difference = one.features - other.features
    assert abs(difference).sum() == 0


def test_counts():
    graph = make_graph()
    assert (graph.num_nodes, graph.num_features, graph.num_classes) == (6, 2, 3)
    assert graph.num_splits == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": np.ones((5, 2))}, r"features must have shape \(6, F\).* found \(5, 2\)"),
        ({"features": np.ones(6)}, r"features must have shape \(6, F\).* found \(6,\)"),
        ({"features": sparse.csr_array((7, 2))}, r"features must have shape \(6, F\)"),
        ({"features": np.full((6, 2), np.nan)}, r"features hold what is not finite"),
        ({"features": sparse.csc_array((6, 6))}, r"sparse of format csc; allowed are csr"),
        ({"features": sparse.coo_array((6, 2))}, r"sparse of format coo"),
        ({"features": np.ones((6, 2)) * 1j}, r"features are complex128; real numbers"),
        ({"edge_index": np.zeros((2, 4))}, r"edge_index is float64; integers are allowed"),
        ({"labels": np.zeros(6, np.int32)}, r"labels must be an int64 array .* found int32 \(6,\)"),
        ({"labels": np.zeros((6, 1), int)}, r"labels must be .*, found int64 \(6, 1\)"),
        ({"edge_index": np.zeros((3, 4), int)}, r"\(2, E\), found \(3, 4\)"),
        ({"edge_index": np.zeros(4, int)}, r"\(2, E\), found \(4,\)"),
        ({"edge_weight": np.ones(3)}, r"edge_weight must have shape \(4,\), found \(3,\)"),
        ({"edge_weight": np.ones((4, 1))}, r"edge_weight must have shape \(4,\), found \(4, 1\)"),
        ({"edge_index": np.array([[0, 1, 2, 6], [1, 2, 0, 4]])}, r"spans 0 to 6; nodes are 0 to 5"),
        ({"edge_index": np.array([[0, 1, 2, -1], [1, 2, 0, 4]])}, r"spans -1 to 4"),
        ({"edge_weight": np.array([1.0, 0, 1, 1])}, r"edge_weight\[1\] is 0.0; .* positive"),
        ({"edge_weight": np.array([1.0, 1, -1, 1])}, r"edge_weight\[2\] is -1.0"),
        ({"edge_weight": np.array([1.0, 1, 1, np.nan])}, r"edge_weight\[3\] is nan"),
        ({"edge_weight": np.array([np.inf, 1, 1, 1])}, r"edge_weight\[0\] is inf; .* finite"),
        ({"metric": "f1"}, r"metric is 'f1'; allowed are accuracy, auroc"),
        ({"train": mask([0], [2], [3]).astype(int)}, r"train must be a boolean .* found int64"),
        ({"validation": np.ones(6, bool)}, r"validation must be .*\(S, 6\), found bool \(6,\)"),
        ({"test": np.ones((3, 5), bool)}, r"test must be .*\(S, 6\), found bool \(3, 5\)"),
        ({"validation": mask([2], [], [4])}, r"split 1 has no validation nodes"),
        ({"test": mask([3], [4], [5])}, r"node 5 is in a test mask but has no label"),
        ({"train": mask([0], [2])}, r"same number of splits"),
        ({"train": mask([0], [2], [3, 4])}, r"split 2: node 4 is in two"),
        ({"test": mask([0], [4], [0])}, r"split 0: node 0 is in two"),
    ],
)
def test_what_does_not_fit_is_refused_and_named(changes, message):
    with pytest.raises(ValueError, match=message):
        make_graph(**changes)


def test_a_graph_may_have_no_edges_and_unlabelled_nodes_outside_the_masks():
    graph = make_graph(edge_index=np.zeros((2, 0), int), edge_weight=np.zeros(0))
    assert graph.edge_index.shape == (2, 0)
    assert graph.labels[5] == -1


def test_a_node_may_change_roles_between_splits():
    graph = make_graph()
    assert graph.train[0, 0]
    assert graph.test[1, 0]


SPARSE = sparse.csr_array(np.array([[0, 1.5], [0, 0], [2, 0], [0, 0], [0, 0], [3, 4]], np.float32))


@pytest.mark.parametrize("features", [np.ones((6, 2), np.float32), SPARSE], ids=["dense", "sparse"])
def test_graphs_survive_a_file(tmp_path, features):
    path = tmp_path / "sub" / "graph.npz"
    graph = two_classes(features=features)
    graph.save(path)
    assert_equal(Graph.load(path), graph)
    assert os.listdir(path.parent) == ["graph.npz"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": np.array([0, 1, 2, 1, 0, 1])}, "classes 0 and 1; labels have 0, 1, 2"),
        ({"labels": np.zeros(6, int)}, "classes 0 and 1; labels have 0"),
        ({"labels": np.array([1, 2, 1, 2, 1, 2])}, "classes 0 and 1; labels have 1, 2"),
        ({"labels": np.array([0, 1, 0, 1, 1, 1])}, "split 0: its test nodes are all of class 1"),
        ({"labels": np.array([0, 1, 0, 0, 0, 1])}, "its validation nodes are all of class 0"),
        (
            {
                "train": mask([0, 1], [0, 2]),
                "validation": mask([2, 3], [1, 4]),
                "test": mask([4, 5], [3, 5]),
            },
            "split 1: its train nodes are all of class 0; .* class 0 and of class 1",
        ),
    ],
)
def test_an_auroc_needs_both_of_two_classes(changes, message):
    with pytest.raises(ValueError, match=message):
        two_classes(**changes)


def test_one_file_holds_many_graphs(tmp_path):
    path = tmp_path / "graphs.npz"
    graphs = [make_graph(), make_graph(features=SPARSE), two_classes()]
    save_graphs(iter(graphs), path)
    assert count_graphs(path) == 3
    for number, graph in enumerate(graphs):
        assert_equal(Graph.load(path, number), graph)
    with pytest.raises(ValueError, match=r"graphs.npz: .*no graph file with a graph 3"):
        Graph.load(path, 3)


def test_every_damage_is_either_found_or_harmless(tmp_path):
    """Cut anywhere, or with any byte changed, a file is refused by name or read unchanged."""
    path = tmp_path / "graph.npz"
    graph = make_graph()
    graph.save(path)
    whole = path.read_bytes()
    damages = [whole[:cut] for cut in range(0, len(whole), 97)]
    damages += [
        whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        for place in range(0, len(whole), 11)
    ]
    refused = 0
    for damaged in damages:
        path.write_bytes(damaged)
        try:
            loaded = Graph.load(path)
        except ValueError as error:
            refused += 1
            assert str(error).startswith(f"{path}: damaged, or no graph file")  # noqa: PT017
        else:
            assert_equal(loaded, graph)
    assert refused > len(damages) / 2


def test_other_files_are_no_graph_files(tmp_path):
    path = tmp_path / "graph.npz"
    np.save(tmp_path / "array.npy", np.ones(3))
    np.savez(tmp_path / "arrays.npz", other=np.ones(3))
    contents = [(tmp_path / name).read_bytes() for name in ("array.npy", "arrays.npz")]
    for content in (b"", b"text", *contents):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"graph.npz: damaged, or no graph file"):
            Graph.load(path)
    with pytest.raises(FileNotFoundError):
        Graph.load(tmp_path / "missing.npz")


def test_a_file_whose_graph_breaks_the_rules_is_refused(tmp_path):
    path = tmp_path / "graph.npz"
    graph = make_graph()
    graph.edge_weight[0] = -1
    graph.save(path)
    with pytest.raises(ValueError, match=r"graph.npz: .*edge_weight\[0\] is -1"):
        Graph.load(path)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    make_graph().save(path)

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(graph_module.np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        two_classes().save(path)
    assert_equal(Graph.load(path), make_graph())
    assert os.listdir(tmp_path) == ["graph.npz"]


def test_graphs_are_compared_and_hashed_by_identity():
    """Arrays have no truth value; so a graph can be a key."""
    graph = make_graph()
    assert graph != replace(graph)
    assert {graph: 1}[graph] == 1


@pytest.mark.parametrize("features", [np.ones((6, 2), np.float32), SPARSE], ids=["dense", "sparse"])
def test_to_data_is_what_pyg_expects(features):
    graph = make_graph(features=features)
    data = graph.to_data()
    data.validate(raise_on_error=True)
    dense = features.toarray() if sparse.issparse(features) else features
    assert data.x.dtype == torch.float32
    np.testing.assert_array_equal(data.x, dense)
    np.testing.assert_array_equal(data.edge_index, make_graph().edge_index)
    assert data.edge_weight.dtype == torch.float32
    np.testing.assert_array_equal(data.edge_weight, make_graph().edge_weight)
    np.testing.assert_array_equal(data.y, make_graph().labels)
    for name, own in (("train_mask", "train"), ("val_mask", "validation"), ("test_mask", "test")):
        assert data[name].dtype == torch.bool
        np.testing.assert_array_equal(data[name], getattr(make_graph(), own).T)
    for value in (data.x, data.y, data.edge_index):
        value.zero_()  # changes nothing of the graph
    assert_equal(graph, make_graph(features=features))


@pytest.mark.parametrize("content", [b"", b"not a zip file"])
def test_counting_the_graphs_of_a_damaged_file_names_it(tmp_path, content):
    path = tmp_path / "graphs.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"graphs\.npz: damaged, or no graph file"):
        count_graphs(path)


def test_a_file_without_graphs_is_named(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(1))
    with pytest.raises(ValueError, match=r"other\.npz.*no graph in it"):
        count_graphs(tmp_path / "other.npz")
