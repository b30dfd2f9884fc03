import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from flode.datasets.graph import Graph
from flode.experiments.statistics import graph_report
from flode.reporting.statistics import load_statistics
from flode.spectral import (
    Factors,
    factorize,
    perron_eigenvalue,
    smallest_eigenvalue,
    sna,
    symmetrically_normalize,
)

SETTINGS = {
    "variant": "toy",
    "dataset": "toys",
    "title": "Toy",
    "flow": "target_to_source",
    "published": {"nodes": 5, "edges": 4},
}


def graph_of(edges, nodes):
    masks = np.eye(3, nodes, dtype=bool)
    return Graph(
        features=np.ones((nodes, 2), dtype=np.float32),
        labels=np.arange(nodes) % 2,
        edge_index=np.array(edges, dtype=np.int64).T.reshape(2, -1),
        edge_weight=np.ones(len(edges)),
        train=masks[:1],
        validation=masks[1:2],
        test=masks[2:],
    )


def write(folder, graph, rank=None):
    factors = factorize(sna(graph.edge_index, graph.edge_weight, graph.num_nodes), rank)
    graph.save(folder / "g.npz")
    factors.save(folder / "f.safetensors")
    return folder / "g.npz", folder / "f.safetensors"


def both(edges):
    return edges + [(j, i) for i, j in edges]


STAR = both([(0, 1), (0, 2), (0, 3)])


def test_an_undirected_graph(tmp_path):
    report = graph_report(*write(tmp_path, graph_of(STAR, 5)), SETTINGS, {"nodes": 6, "edges": 9})
    assert report.pop("commit") and report.pop("versions")["flode"]
    assert report == {
        "variant": "toy",
        "dataset": "toys",
        "title": "Toy",
        "nodes": 5,
        "edges": 3,
        "directed_edges": 6,
        "self_loops": 0,
        "features": 2,
        "classes": 2,
        "homophily": pytest.approx((1 / 3 + 0 + 1 + 0) / 4),
        "rank": 2,
        "truncated": False,
        "explained_variance": pytest.approx(1.0),
        "symmetric": True,
        "lambda_1": pytest.approx(-1.0),
        "lambda_pf": None,
        "raw_nodes": 6,
        "raw_edges": 9,
        "published": {"nodes": 5, "edges": 4},
    }


def test_a_directed_graph_can_be_read_by_the_table(tmp_path):
    edges = [(0, 1), (1, 2), (2, 0), (2, 3)]
    settings = {key: value for key, value in SETTINGS.items() if key != "published"}
    report = graph_report(*write(tmp_path, graph_of(edges, 4)), settings)
    assert (report["symmetric"], report["lambda_1"], report["raw_nodes"]) == (False, None, None)
    # Row sums 1, 1, 2 and column sums 1, 1, 1 on the cycle.
    assert report["lambda_pf"] == pytest.approx(0.5 ** (1 / 6))
    (tmp_path / "toy.json").write_text(json.dumps(report, allow_nan=False))
    assert load_statistics([tmp_path / "toy.json"])["toy"].content == report


def test_the_variance_that_leading_singular_values_explain(tmp_path):
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)]
    files = write(tmp_path, graph_of(edges, 5))
    held = Factors.load(files[1]).values.square().cumsum(0)
    settings = SETTINGS | {"ranks": [1, 0.4, 10]}  # 0.4 of five nodes; ten is more than there are
    leading = graph_report(*files, settings)["leading"]
    expected = {str(rank): float(held[rank - 1] / held[-1]) for rank in (1, 2, len(held))}
    assert leading == pytest.approx(expected)
    files = write(tmp_path, graph_of(edges, 5), rank=2)
    assert list(graph_report(*files, settings)["leading"]) == ["1", "2"]  # not ten of two
    assert "leading" not in graph_report(*files, SETTINGS)


def test_a_graph_without_edges(tmp_path):
    report = graph_report(*write(tmp_path, graph_of([], 4)), SETTINGS)
    assert (report["homophily"], report["rank"], report["lambda_1"]) == (None, 0, 0.0)


def test_factors_of_another_graph(tmp_path):
    graph_file, _ = write(tmp_path, graph_of(STAR, 5))
    (tmp_path / "other").mkdir()
    _, factor_file = write(tmp_path / "other", graph_of(STAR, 4))
    with pytest.raises(ValueError, match=r"f\.safetensors: factors of 4 nodes; allowed: 5"):
        graph_report(graph_file, factor_file, SETTINGS)


@pytest.mark.parametrize("nodes", [30, 150])  # dense and iterative
def test_the_smallest_eigenvalue_of_truncated_factors(nodes):
    random = np.random.default_rng(0)
    upper = sparse.triu(sparse.random_array((nodes, nodes), density=0.1, rng=random))
    laplacian = symmetrically_normalize(sparse.csr_array(upper + upper.T))
    expected = np.linalg.eigvalsh(laplacian.toarray())[0]
    truncated = factorize(laplacian, rank=3)
    assert truncated.truncated
    for factors in (None, truncated, factorize(laplacian)):
        assert smallest_eigenvalue(laplacian, factors) == pytest.approx(expected, abs=1e-9)


def test_left_out_eigenvalues_are_zeros():
    laplacian = symmetrically_normalize(sparse.csr_array(np.ones((4, 4))))  # rank 1, λ = 1
    assert smallest_eigenvalue(laplacian, factorize(laplacian)) == 0.0


def test_a_large_directed_graph():
    random = np.random.default_rng(1)
    laplacian = symmetrically_normalize(
        sparse.csr_array(sparse.random_array((300, 300), density=0.02, rng=random))
    )
    expected = np.linalg.eigvals(laplacian.toarray()).real.max()
    assert perron_eigenvalue(laplacian) == pytest.approx(expected, abs=1e-8)


def test_an_acyclic_graph_is_nilpotent():
    path = sparse.csr_array(sparse.diags_array(np.ones(199), offsets=1, shape=(200, 200)))
    assert perron_eigenvalue(symmetrically_normalize(path)) == 0.0


def test_perron_eigenvalue_of_a_ring_with_much_beside_it():
    """The SNA of a ring whose nodes have other neighbours too: far from all bounds on it."""
    rng, nodes = np.random.default_rng(0), 300
    ring = np.arange(nodes)
    ends = np.repeat(ring, rng.integers(0, 40, nodes))
    starts = np.repeat(ring, rng.integers(0, 40, nodes))
    sinks, sources = nodes + np.arange(len(ends)), nodes + len(ends) + np.arange(len(starts))
    edges = [[ring, (ring + 1) % nodes], [ends, sinks], [sources, starts]]
    laplacian = sna(np.hstack(edges), None, nodes + len(ends) + len(starts))
    around = np.asarray(laplacian[(ring + 1) % nodes, ring])
    around = around if around.all() else np.asarray(laplacian[ring, (ring + 1) % nodes])
    expected = np.exp(np.log(around).mean())
    assert 0 < expected < 0.6
    assert perron_eigenvalue(laplacian) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("nodes", "jumps"), [(300, [1]), (400, [1, 2]), (150, [0, 1])])
def test_perron_eigenvalue_of_rings_with_others_close_by(nodes, jumps):
    """In- and out-degrees are equal, so that it is 1."""
    ring = np.arange(nodes)
    edges = np.hstack([[ring, (ring + jump) % nodes] for jump in jumps])
    assert perron_eigenvalue(sna(edges, None, nodes)) == pytest.approx(1, abs=1e-9)


@given(st.integers(1, 7), st.data())
def test_perron_eigenvalue_of_any_small_graph(nodes, data):
    bits = data.draw(st.lists(st.booleans(), min_size=nodes**2, max_size=nodes**2))
    laplacian = symmetrically_normalize(
        sparse.csr_array(np.array(bits, dtype=float).reshape(nodes, nodes))
    )
    expected = np.abs(np.linalg.eigvals(laplacian.toarray())).max()
    # A defective eigenvalue of the dense matrix is good to eps^(1/N) only.
    assert perron_eigenvalue(laplacian) == pytest.approx(expected, abs=2e-2)
