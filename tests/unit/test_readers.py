"""Readers of raw graphs, on tiny files in the published formats."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from flode.datasets.readers import READERS, RawFileError, read_raw
from flode.datasets.readers.pickles import load_array, load_neighbours, load_sparse
from flode.datasets.readers.raw import check_finite
from flode.datasets.registry import FORMATS, Dataset
from flode.datasets.writers import (
    WRITERS,
    heterophilous_arrays,
    python2_pickle,
    write_npz,
    write_raw,
)
from tests.unit.rawfiles import example, write_dataset

REPOSITORY = Path(__file__).resolve().parents[2]


def dataset_of(format, splits=2):
    files = {role: f"{role}.file" for role in FORMATS[format]}
    if "splits" in files:
        files["splits"] = "split_{split}.npz"
    entry = {"title": "T", "format": format, "source": "here", "files": files, "splits": splits}
    return Dataset.from_config(
        "tiny", entry | {"metric": "accuracy", "citation": "", "licence": ""}
    )


def dense(features):
    return features.toarray() if sparse.issparse(features) else features


def written(format, root, **settings):
    dataset = dataset_of(format)
    graph = write_dataset(dataset, root, example(**settings) if settings else None)
    return graph, dataset.local_files(root)


@pytest.mark.parametrize("format", FORMATS)
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(nodes=st.integers(12, 40), features=st.integers(3, 9), seed=st.integers(0, 10**6))
def test_readers_return_what_was_written(format, tmp_path, nodes, features, seed):
    graph, files = written(format, tmp_path, num_nodes=nodes, num_features=features, seed=seed)
    raw = read_raw(format, files)
    np.testing.assert_array_equal(dense(raw.features), graph.features)
    np.testing.assert_array_equal(raw.labels, graph.labels)
    for mask in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(raw, mask), getattr(graph, mask))
    expected = graph.edge_index
    if format == "planetoid":  # lists both directions
        expected = np.concatenate([expected, expected[::-1]], axis=1)
    assert sorted(raw.edge_index.T.tolist()) == sorted(expected.T.tolist())
    assert raw.edge_index.dtype == raw.labels.dtype == np.int64


def test_readers_and_formats_agree():
    assert set(READERS) == set(WRITERS) == set(FORMATS)


def test_edges_keep_the_order_of_the_file(tmp_path):
    for format in ("heterophilous", "geom_gcn"):
        graph, files = written(format, tmp_path / format)
        np.testing.assert_array_equal(read_raw(format, files).edge_index, graph.edge_index)


def test_unknown_format():
    with pytest.raises(ValueError, match="'csv'; allowed are planetoid, heterophilous, geom_gcn"):
        read_raw("csv", {})


def test_missing_file_is_named(tmp_path):
    for format in FORMATS:
        with pytest.raises(FileNotFoundError, match="file"):
            read_raw(format, dataset_of(format).local_files(tmp_path))


def test_modules_import_neither_torch_nor_snakemake():
    modules = ["registry", "download", "readers", "build"]
    code = "import sys; " + "; ".join(f"import flode.datasets.{module}" for module in modules)
    code += "; assert not {'torch', 'snakemake', 'requests'} & set(sys.modules)"
    code += "; assert {'flode.datasets.build', 'flode.datasets.download'} <= set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY)


def test_registry_imports_nothing_heavy():
    code = "import sys, flode.datasets.registry; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY)


# --- planetoid


def test_planetoid_nodes_without_description(tmp_path):
    dataset = dataset_of("planetoid")
    files, graph = dataset.local_files(tmp_path), example(num_nodes=30)
    graph.labels[[23, 26]] = -1
    write_raw("planetoid", files, graph)
    raw = read_raw("planetoid", files)
    assert np.flatnonzero(raw.labels < 0).tolist() == [23, 26]
    assert not raw.features[[23, 26]].toarray().any()
    others = np.setdiff1d(np.arange(30), [23, 26])
    np.testing.assert_array_equal(raw.features.toarray()[others], graph.features[others])
    np.testing.assert_array_equal(raw.labels[others], graph.labels[others])


def test_planetoid_without_splits_has_no_masks(tmp_path):
    _, files = written("planetoid", tmp_path)
    del files["splits"]
    assert read_raw("planetoid", files).train is None


class Malicious:
    def __reduce__(self):
        return os.system, ("echo run > ran",)


def test_a_pickle_cannot_run_what_it_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for load in (load_array, load_sparse, load_neighbours):
        for protocol in range(6):
            Path("evil").write_bytes(pickle.dumps(Malicious(), protocol))
            with pytest.raises(RawFileError, match=r"evil: names (posix|nt)\.system; allowed are"):
                load("evil")
    assert not Path("ran").exists()


@pytest.mark.parametrize("protocol", [2, 4])
def test_todays_pickles_are_read_too(tmp_path, protocol):
    path, matrix = tmp_path / "file", sparse.csr_matrix(np.eye(3, dtype=np.float32))
    path.write_bytes(pickle.dumps({0: [1], 1: []}, protocol))
    assert load_neighbours(path) == {0: [1], 1: []}
    if protocol > 2:  # protocol 2 has no bytes, so that today's Python calls a codec for them
        path.write_bytes(pickle.dumps(matrix, protocol))
        assert (load_sparse(path) != matrix).nnz == 0


@pytest.mark.parametrize("cut", [0, 1, 2, 40, -1, -30])
def test_damaged_pickle(tmp_path, cut):
    _, files = written("planetoid", tmp_path)
    for role in ("allx", "ty", "graph"):
        content = files[role].read_bytes()
        files[role].write_bytes(content[:cut])
        with pytest.raises(RawFileError, match=f"{role}.file: not a pickle, or damaged"):
            read_raw("planetoid", files)
        files[role].write_bytes(content)


@settings(max_examples=150, deadline=None)
# Without LONG_BINPUT: its memo index may ask Python for more memory than there is.
@given(content=st.binary(max_size=60).filter(lambda b: b"r" not in b), prefix=st.booleans())
def test_any_bytes_are_refused_cleanly(tmp_path_factory, content, prefix):
    path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes((b"\x80\x02" if prefix else b"") + content)
    for load in (load_array, load_sparse):
        with pytest.raises(RawFileError, match="file"):
            load(path)


def eye(rows, columns, value=1):
    matrix = np.zeros((rows, columns), dtype=np.float32)
    matrix[np.arange(rows), np.arange(rows) % columns] = value
    return matrix


LONG = {node: [] for node in range(30)}


@pytest.mark.parametrize(
    ("role", "content", "message"),
    [
        ("allx", python2_pickle(eye(21, 8)), "allx.file: holds ndarray; allowed is a csr_matrix"),
        (
            "allx",
            python2_pickle(eye(21, 8, np.nan), as_sparse=True),
            r"allx\[0, 0\] is nan",
        ),
        ("tx", python2_pickle(eye(9, 7), as_sparse=True), r"tx has shape \(9, 7\).*\(any, 8\)"),
        ("tx", python2_pickle(eye(8, 8), as_sparse=True), "9 nodes; allowed are 8, the rows of tx"),
        ("ally", python2_pickle(eye(20, 3)), r"ally has shape \(20, 3\); allowed is \(21, any\)"),
        ("ty", python2_pickle(eye(9, 4)), r"ty has shape \(9, 4\); allowed is \(9, 3\)"),
        ("ty", python2_pickle(eye(9, 3, 2)), r"ty\[0, 0\] is 2.0; allowed are 0 and 1"),
        ("ty", python2_pickle(eye(9, 3) + np.eye(9, 3, 1)), r"ty\[0\] names 2.0 classes"),
        ("ty", python2_pickle(np.array(["a"], dtype=object)), "ty.file: holds object"),
        ("graph", python2_pickle([1, 2]), "graph.file: holds list; allowed is a dictionary"),
        ("graph", python2_pickle(LONG | {3: [30]}), r"edge \(3, 30\) is out of range.*0 to 29"),
        ("graph", python2_pickle(LONG | {3: [-1]}), r"edge \(3, -1\) is out of range"),
        ("graph", python2_pickle(LONG | {3: [2**70]}), "is out of range"),
        ("graph", python2_pickle(LONG | {3: [0.5]}), "node 3 has the neighbour 0.5; allowed are"),
        ("graph", python2_pickle(LONG | {3: 4}), "entry 3 holds int"),
        ("graph", python2_pickle({0: [1]}), "neighbours of 1 nodes; allowed are 30"),
        ("test_index", b"25\n-3\n", r"test_index.file, line 2: '-3'; allowed are integers from 21"),
        ("test_index", b"25\n20\n", "line 2: '20'; allowed are integers from 21"),
        ("test_index", b"25\nx\n", "line 2: 'x'"),
        ("test_index", b"9" * 20, f"line 1: '{'9' * 20}'; allowed are integers from 21"),
        ("test_index", b"9" * 5000, f"line 1: '{'9' * 60}'; allowed"),
        ("test_index", b"", "0 nodes; allowed are 9"),
        ("test_index", b"29\n" * 9, "node 29 is listed twice"),
        (
            "test_index",
            b"".join(b"%d\n" % n for n in [10**9, *range(21, 29)]),
            "allowed are 1000000001",
        ),
    ],
)
def test_malformed_planetoid_file(tmp_path, role, content, message):
    _, files = written("planetoid", tmp_path)
    files[role].write_bytes(content)
    with pytest.raises(RawFileError, match=message) as caught:
        read_raw("planetoid", files)
    assert str(tmp_path) in str(caught.value)


def test_inconsistent_sparse_matrix(tmp_path):
    content = python2_pickle(eye(3, 4), as_sparse=True)
    # The column indices 0, 1, 2 become 0, 1, 9.
    broken = content.replace(
        np.arange(3, dtype="<i4").tobytes(), np.array([0, 1, 9], "<i4").tobytes()
    )
    assert broken != content
    (tmp_path / "x").write_bytes(broken)
    with pytest.raises(RawFileError, match="x: not a csr_matrix of numbers"):
        load_sparse(tmp_path / "x")


# --- heterophilous


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"node_features": np.zeros((29, 8))},
            r"node_features has shape \(29, 8\); allowed is \(30",
        ),
        ({"node_features": np.full((30, 2), np.inf)}, r"node_features\[0, 0\] is inf; allowed are"),
        ({"node_features": np.full((30, 2), "a")}, "node_features has dtype <U1"),
        ({"node_labels": np.zeros(30)}, "node_labels has dtype float64; allowed are integers"),
        ({"node_labels": np.full(30, -1)}, r"node_labels\[0\] is -1; allowed are 0 to 29"),
        ({"node_labels": np.zeros((30, 1), int)}, r"node_labels has shape \(30, 1\)"),
        ({"edges": np.array([[0, 30]])}, r"edges\[0, 1\] is 30; allowed are 0 to 29"),
        ({"edges": np.array([[0.0, 1.0]])}, "edges has dtype float64"),
        ({"edges": np.array([[0, 1, 2]])}, r"edges has shape \(1, 3\); allowed is \(any, 2\)"),
        ({"train_masks": np.full((2, 30), 2)}, r"train_masks\[0, 0\] is 2; allowed are 0 to 1"),
        ({"train_masks": np.ones((30, 2))}, r"train_masks has shape \(30, 2\); .* \(any, 30\)"),
        (
            {"val_masks": np.zeros((3, 30), bool)},
            r"val_masks has shape \(3, 30\); allowed is \(2, 30",
        ),
        ({"test_masks": np.ones((2, 30), bool)}, r"test_masks both hold \[0, 0\]"),
        (
            {"edges": np.array([[{}, 1]], dtype=object)},
            "not an npz archive, or damaged.*allow_pickle",
        ),
    ],
)
def test_malformed_archive(tmp_path, changed, message):
    write_npz(tmp_path / "graph.npz", heterophilous_arrays(example()) | changed)
    with pytest.raises(RawFileError, match=f"graph.npz: .*{message}"):
        read_raw("heterophilous", {"archive": tmp_path / "graph.npz"})


def test_archive_lacks_an_array(tmp_path):
    np.savez(tmp_path / "graph.npz", edges=np.zeros((1, 2), int))
    with pytest.raises(
        RawFileError, match=r"graph\.npz: array node_features is missing; found edges"
    ):
        read_raw("heterophilous", {"archive": tmp_path / "graph.npz"})


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x93NUMPY\x01\x00"])
def test_no_archive(tmp_path, content):
    (tmp_path / "graph.npz").write_bytes(content)
    with pytest.raises(RawFileError, match=r"graph\.npz: not an npz archive"):
        read_raw("heterophilous", {"archive": tmp_path / "graph.npz"})


def test_damaged_archive(tmp_path):
    path = tmp_path / "graph.npz"
    write_raw("heterophilous", {"archive": path}, example())
    content = path.read_bytes()
    for damaged in (content[:-30], content[:80] + b"\0" * 40 + content[120:]):
        path.write_bytes(damaged)
        with pytest.raises(RawFileError, match=r"graph\.npz: not an npz archive, or damaged"):
            read_raw("heterophilous", {"archive": path})


def test_a_single_array_is_no_archive(tmp_path):
    np.save(tmp_path / "graph.npy", np.zeros(3))
    with pytest.raises(RawFileError, match=r"graph\.npy: not an npz archive"):
        read_raw("heterophilous", {"archive": tmp_path / "graph.npy"})


# --- geom-gcn


@pytest.mark.parametrize(
    ("role", "old", "new", "message"),
    [
        ("edges", "\n", "\n1 2\n", "edges.file, line 2: '1 2' has 1 fields; allowed are 2"),
        (
            "edges",
            "\n",
            "\n0\t30\n",
            "edges.file, line 2: node 30 is out of range; nodes are 0 to 29",
        ),
        ("edges", "\n", "\n0\t-1\n", "line 2: node is '-1'; allowed are integers from 0"),
        ("edges", "\n", "\n\n", "line 2: '' has 1 fields"),
        ("edges", "node_id\tnode_id\n", "", "edges.file, line 1: .* is an edge; a header is"),
        (
            "features",
            "\n",
            "\n29\t1\t0\n",
            "features.file, line 3: node 29 is listed a second time",
        ),
        ("features", "\n", "\n31\t1\t0\n", "31 nodes are listed, 31 is one of them, 30 is not"),
        ("features", "\n", "\n30\t1,x\t0\n", "line 2: feature is 'x'"),
        ("features", "\n", "\n30\t1,\t0\n", "line 2: feature is ''"),
        ("features", "\n", "\n30\t8\t0\n", "feature 8 is listed; the header allows 0 to 7"),
        ("features", "\n", "\n30\t1\t0.5\n", "line 2: label is '0.5'"),
        ("features", "\n", "\n30\t1\n", "line 2: .* has 2 fields; allowed are 3"),
        (
            "features",
            "\n",
            "\n30\t1\t99\n",
            r"file: label\[30\] is 99; allowed are 0 to 30",
        ),
        ("features", "\n", f"\n30\t1\t{'9' * 20}\n", "line 2: label is '9{20}'; allowed are int"),
        ("features", "\n", f"\n30\t{'9' * 5000}\t1\n", "line 2: feature is '9{60}'; allowed"),
    ],
)
def test_malformed_text(tmp_path, role, old, new, message):
    _, files = written("geom_gcn", tmp_path)
    files[role].write_text(files[role].read_text().replace(old, new, 1))
    with pytest.raises(RawFileError, match=message) as caught:
        read_raw("geom_gcn", files)
    assert str(files[role]) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "empty"), (b"header\n", "no node"), (b"\xff\xfe\n", "not a text")],
)
def test_no_text(tmp_path, content, message):
    _, files = written("geom_gcn", tmp_path)
    files["features"].write_bytes(content)
    with pytest.raises(RawFileError, match=f"features.file: {message}"):
        read_raw("geom_gcn", files)


def test_repeated_and_absent_features(tmp_path):
    edges, features = tmp_path / "edges", tmp_path / "features"
    edges.write_text("node_id\tnode_id\n0\t1\n0\t1\n")
    features.write_text("node_id\tfeature\tlabel\n1\t2,0,2\t1\n0\t\t0\n")
    raw = read_raw("geom_gcn", {"edges": edges, "features": features})
    np.testing.assert_array_equal(raw.features.toarray(), [[0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(raw.edge_index, [[0, 0], [1, 1]])
    assert raw.train is None


def test_malformed_splits(tmp_path):
    graph, files = written("geom_gcn", tmp_path)
    split = files["splits"][1]
    masks = {"train_mask": graph.train[1], "val_mask": graph.validation[1]}
    for changed, message in (
        ({"test_mask": graph.test[1][:-1]}, r"test_mask has shape \(29,\); allowed is \(30\)"),
        ({"test_mask": graph.test[1] * 0.5}, "test_mask has dtype float64"),
        ({"test_mask": graph.train[1]}, r"train_mask and test_mask both hold \[\d+\]"),
        ({}, "array test_mask is missing"),
    ):
        np.savez(split, **masks, **changed)
        with pytest.raises(RawFileError, match=f"split_1.npz: {message}"):
            read_raw("geom_gcn", files)


def test_edges_of_a_larger_graph_are_refused(tmp_path):
    _, files = written("geom_gcn", tmp_path)
    _, larger = written("geom_gcn", tmp_path / "larger", num_nodes=50)
    files["edges"] = larger["edges"]
    with pytest.raises(RawFileError, match=r"edges\.file, line .* is out of range"):
        read_raw("geom_gcn", files)


def test_sparse_features_must_be_finite():
    with pytest.raises(RawFileError, match=r"x: features\[1, 1\] is inf"):
        check_finite("x", "features", sparse.csr_array([[1.0, 0], [0, np.inf]]))
