"""SNA, its factorisation, fractional powers, Dirichlet energy and homophily."""

import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from flode.spectral import (
    Factors,
    adjacency,
    dirichlet_energy,
    factorize,
    is_symmetric,
    node_homophily,
    normalized_dirichlet_energy,
    sna,
    symmetrically_normalize,
)
from flode.spectral import factors as factors_module
from flode.spectral.factors import resolve_rank, save_factors
from tests.unit.strategies import adjacencies, seeds, stable

laplacians = adjacencies().map(symmetrically_normalize)


def random_laplacian(nodes=30, symmetric=False, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2, (nodes, nodes))
    matrix = sparse.csr_array(weights * (rng.random((nodes, nodes)) < 0.2))
    return symmetrically_normalize(matrix + matrix.T if symmetric else matrix)


def dense_product(factors):
    right = factors.left if factors.right is None else factors.right
    return (factors.left * factors.values @ right.T).numpy()


# Adjacency and SNA -------------------------------------------------------------------------------


def test_adjacency_holds_what_a_node_gathers_from():
    """With the default flow, row i lists the nodes i points to."""
    edges = np.array([[0, 0], [1, 2]])
    expected = [[0, 2.0, 3.0], [0, 0, 0], [0, 0, 0]]
    assert_allclose(adjacency(edges, [2.0, 3.0], 3).toarray(), expected)
    other = adjacency(edges, [2.0, 3.0], 3, flow="source_to_target")
    assert_allclose(other.toarray(), np.transpose(expected))


def test_repeated_edges_are_summed_and_zero_weights_are_no_edges():
    edges = np.array([[0, 0, 1], [1, 1, 0]])
    matrix = adjacency(edges, np.array([1.0, 2.5, 0.0]), 2)
    assert_allclose(matrix.toarray(), [[0, 3.5], [0, 0]])
    assert matrix.nnz == 1


@pytest.mark.parametrize("number", [None, -1, 2.5])
def test_a_number_of_nodes_that_is_none_is_refused(number):
    with pytest.raises(ValueError, match=f"num_nodes is {number}; allowed is an integer"):
        sna(np.array([[0], [1]]), None, number)


def test_factors_move_to_a_precision_alone():
    factors = factorize(sna(np.array([[0, 1], [1, 2]]), None, 3))
    assert factors.to(torch.float32).left.dtype == torch.float32
    assert factors.to("cpu", torch.float32).right.dtype == torch.float32


def test_missing_weights_are_ones():
    assert_allclose(adjacency(np.array([[1], [0]]), None, 2).toarray(), [[0, 0], [1, 0]])


@pytest.mark.parametrize("edges", [np.zeros((2, 0)), [[], []], np.zeros((2, 0), dtype=np.int32)])
def test_a_graph_may_have_no_edges(edges):
    matrix = sna(edges, None, 3)
    assert matrix.shape == (3, 3)
    assert matrix.nnz == 0


@pytest.mark.parametrize(
    ("edges", "weight", "flow", "message"),
    [
        ([[0, 1], [1, 3]], None, None, r"node 3; allowed are 0 to 2"),
        ([[0, -1], [1, 2]], None, None, r"node -1; allowed are 0 to 2"),
        ([[0.5], [1.0]], None, None, r"integers, found float64"),
        ([0, 1, 2], None, None, r"shape \(2, E\), found \(3,\)"),
        ([[0, 1, 2]], None, None, r"shape \(2, E\), found \(1, 3\)"),
        ([[0, 1], [1, 2]], [1.0], None, r"edge_weight must have shape \(2,\), found \(1,\)"),
        ([[0, 1], [1, 2]], [1.0, -2.0], None, r"edge_weight\[1\] is -2\.0"),
        ([[0, 1], [1, 2]], [np.nan, 1.0], None, r"edge_weight\[0\] is nan"),
        ([[0, 1], [1, 2]], [1.0, np.inf], None, r"edge_weight\[1\] is inf"),
        ([[0], [1]], None, "backwards", r"flow is 'backwards'; allowed are target_to_source"),
        ([[0], [1]], torch.ones(1, requires_grad=True), None, r"edge_weight requires a gradient"),
    ],
)
def test_bad_edges_are_named(edges, weight, flow, message):
    with pytest.raises(ValueError, match=message):
        sna(np.array(edges), weight, 3, **({} if flow is None else {"flow": flow}))


def test_sna_by_hand():
    """``l_ij = a_ij / sqrt(row sum of i · column sum of j)``; a sum of zero gives zeros."""
    matrix = np.array([[0, 4.0, 0], [1, 0, 3], [0, 0, 0]])
    expected = np.zeros((3, 3))
    expected[0, 1] = 4 / np.sqrt(4 * 4)
    expected[1, 0] = 1 / np.sqrt(4 * 1)
    expected[1, 2] = 3 / np.sqrt(4 * 3)
    laplacian = symmetrically_normalize(matrix)
    assert_allclose(laplacian.toarray(), expected, rtol=1e-15)
    assert not laplacian[[2]].nnz  # no out-going edge: nothing gathered


@settings(stable, max_examples=60)
@given(adjacencies())
def test_every_eigenvalue_and_singular_value_is_at_most_one(matrix):
    laplacian = symmetrically_normalize(matrix).toarray()
    degrees = np.sqrt(np.outer(matrix.sum(axis=1), matrix.sum(axis=0)))
    assert_allclose(laplacian * degrees, matrix.toarray(), atol=1e-12)
    assert np.abs(np.linalg.eigvals(laplacian)).max() <= 1 + 1e-12
    largest = np.linalg.norm(laplacian, 2)
    assert largest <= 1 + 1e-12
    assert largest == pytest.approx(1 if matrix.nnz else 0)


@settings(stable, max_examples=30)
@given(adjacencies(), st.floats(1e-3, 1e3))
def test_scaling_all_weights_leaves_the_sna_as_it_is(matrix, factor):
    scaled = symmetrically_normalize(factor * matrix)
    assert_allclose(scaled.toarray(), symmetrically_normalize(matrix).toarray(), atol=1e-13)


@settings(stable, max_examples=30)
@given(adjacencies(symmetric=True))
def test_undirected_graphs_have_symmetric_snas(matrix):
    assert is_symmetric(symmetrically_normalize(matrix))


def test_one_edge_the_other_way_is_not_symmetric():
    laplacian = sparse.csr_array(np.array([[0, 1e-6], [0, 1.0]]))
    assert not is_symmetric(laplacian)
    assert is_symmetric(laplacian @ laplacian.T)
    assert is_symmetric(sparse.csr_array((3, 3)))


# Factorisation -----------------------------------------------------------------------------------


@settings(stable, max_examples=60)
@given(laplacians)
def test_factors_multiply_to_the_sna(laplacian):
    factors = factorize(laplacian)
    assert_allclose(dense_product(factors), laplacian.toarray(), atol=1e-10)
    identity = torch.eye(factors.rank, dtype=torch.float64)
    for vectors in (factors.left, factors.right):
        if vectors is not None:
            assert torch.allclose(vectors.T @ vectors, identity, atol=1e-10)
            assert vectors.is_contiguous()
    moduli = factors.values.abs()
    assert (moduli[:-1] >= moduli[1:]).all()
    assert factors.values.dtype == torch.float64
    assert factors.symmetric == is_symmetric(laplacian)
    assert factors.symmetric or (factors.values > 0).all()
    assert factors.num_nodes == laplacian.shape[0]
    assert not factors.truncated
    assert factors.explained_variance == pytest.approx(1)
    values = np.linalg.svd(laplacian.toarray(), compute_uv=False)
    assert factors.rank == np.sum(values > 1e-6 * max(values[0], 1e-300))
    assert_allclose(moduli, values[: factors.rank], atol=1e-12)


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_values_below_the_tolerance_are_dropped_with_their_vectors(symmetric):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    values = np.array([1, 0.5, 1e-3, 2e-6, 0.5e-6, 0])
    matrix = sparse.csr_array(left * values @ (left if symmetric else right).T)
    factors = factorize(matrix)
    assert factors.symmetric == symmetric
    assert factors.rank == factors.left.shape[1] == 4
    assert not factors.truncated
    assert factorize(matrix, tolerance=1e-7).rank == 5
    assert factorize(matrix, tolerance=0.9).rank == 1


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_single_precision_leaves_rounding_where_singular_values_are_zero(symmetric):
    matrix = np.kron(
        np.ones((4, 4)), np.diag([0.25, 0.11]) if symmetric else [[0, 0.25], [0.11, 0]]
    )
    exact, single = (
        factorize(matrix, tolerance=0, dtype=d) for d in (torch.float64, torch.float32)
    )
    assert factorize(matrix).rank == 2
    assert single.symmetric == symmetric
    assert single.left.dtype == single.values.dtype == torch.float64
    assert_allclose(single.values[:2].abs(), [1, 0.44], rtol=1e-6)
    assert exact.values[2:].abs().max() < 1e-15 < single.values[2:].abs().max() < 1e-6
    assert_allclose(single.fractional_power(1), matrix, atol=1e-6)
    entries = [
        np.abs(factors.fractional_power(0.1).numpy()).max()
        for factors in (factorize(matrix), single)
    ]
    assert entries[1] > entries[0] + 0.03


def test_what_is_not_factorised_whole_is_so_in_double_precision(monkeypatch):
    monkeypatch.setattr("flode.spectral.factors.EXACT_NODES", 10)
    with pytest.raises(ValueError, match=r"dtype is torch\.float32; .* torch\.float64 is allowed"):
        factorize(sparse.eye_array(12), rank=3, dtype=torch.float32)


def test_twins_do_not_raise_the_rank():
    matrix = np.zeros((5, 5))
    matrix[:3, 3:] = 1
    assert factorize(symmetrically_normalize(matrix)).rank == 1


@pytest.mark.parametrize("nodes", [1, 4])
def test_a_graph_without_edges_has_rank_zero(nodes):
    factors = factorize(sparse.csr_array((nodes, nodes)))
    assert (factors.rank, factors.num_nodes, factors.left.shape) == (0, nodes, (nodes, 0))
    assert factors.explained_variance == 1
    assert_allclose(factors.fractional_power(0.5), np.zeros((nodes, nodes)))


@pytest.mark.parametrize(
    ("rank", "nodes", "resolved"),
    [
        (None, 10, None),
        (3, 10, 3),
        (30, 10, 10),
        (1, 10, 1),
        (1.0, 10, 10),
        (0.3, 10, 3),
        (0.001, 10, 1),
    ],
)
def test_ranks_are_numbers_or_fractions(rank, nodes, resolved):
    assert resolve_rank(rank, nodes) == resolved


def matching(pairs):
    """Isolated edges: eigenvalues 1 and -1, each as often as there are edges."""
    return np.stack([np.arange(0, 2 * pairs, 2), np.arange(1, 2 * pairs, 2)])


def grid(side):
    """A connected bipartite graph, whose largest eigenvalues crowd below 1."""
    nodes = np.arange(side**2).reshape(side, side)
    pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
    return np.hstack([np.stack([a.ravel(), b.ravel()]) for a, b in pairs])


@pytest.mark.parametrize("edges", [matching(200), grid(20)], ids=["matching", "grid"])
@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_values_that_crowd_at_the_top_are_found_by_subspaces_too(edges, symmetric, monkeypatch):
    nodes, rank = int(edges.max()) + 1, 20
    edges = np.hstack([edges, edges[::-1]]) if symmetric else edges
    laplacian = sna(edges, None, nodes)
    best = factorize(laplacian).leading(rank)
    monkeypatch.setattr(factors_module, "EXACT_NODES", 10)
    found = factorize(laplacian, rank=rank)
    assert found.explained_variance > 0.97 * best.explained_variance
    assert found.values.abs().min() > 0.95 * best.values.abs().min()
    error = laplacian @ (found.left if symmetric else found.right).numpy()
    error -= (found.left * found.values).numpy()
    assert np.linalg.norm(error, axis=0).max() < 0.15


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, 2, float("nan")])
def test_tolerances_out_of_bounds_are_refused(tolerance):
    with pytest.raises(ValueError, match=r"tolerance is .*; allowed is 0 <= tolerance < 1"):
        factorize(random_laplacian(), tolerance=tolerance)


def test_entries_given_twice_are_summed_and_left_as_they_are():
    twice = sparse.csr_array(
        (np.array([0.25, 0.25, 0.5]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    found = factorize(twice)
    assert found.explained_variance == pytest.approx(1)
    assert found.values.abs().tolist() == pytest.approx([0.5, 0.5])
    assert twice.nnz == 3


@pytest.mark.parametrize("rank", [0, -1, 0.0, 1.5, -0.5, float("nan"), True])
def test_ranks_out_of_bounds_are_refused(rank):
    with pytest.raises(ValueError, match=f"rank is {rank}"):
        factorize(random_laplacian(), rank)


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
@pytest.mark.parametrize("rank", [7, 0.25])
def test_truncation_is_the_best_approximation(rank, symmetric):
    """By Eckart, Young and Mirsky the error is what the values left out make of it."""
    laplacian = random_laplacian(28, symmetric)
    factors = factorize(laplacian, rank)
    assert factors.rank == 7
    assert factors.truncated
    values = np.linalg.svd(laplacian.toarray(), compute_uv=False)
    error = laplacian.toarray() - dense_product(factors)
    assert np.linalg.norm(error, 2) == pytest.approx(values[7])
    assert np.linalg.norm(error) == pytest.approx(np.linalg.norm(values[7:]))
    explained = np.sum(values[:7] ** 2) / np.sum(values**2)
    assert factors.explained_variance == pytest.approx(explained)
    assert 0 < explained < 1
    cut = factorize(laplacian).truncate(7)
    assert_allclose(dense_product(cut), dense_product(factors), atol=1e-12)
    assert cut.truncated
    assert cut.explained_variance == pytest.approx(explained)


def test_a_rank_that_leaves_nothing_out_does_not_truncate():
    laplacian = random_laplacian(12)
    factors = factorize(laplacian)
    assert not factorize(laplacian, factors.rank).truncated
    assert factors.truncate(factors.rank) is factors
    with pytest.raises(ValueError, match="rank is 0"):
        factors.truncate(0)


def test_bad_matrices_are_refused():
    with pytest.raises(ValueError, match=r"square, found shape \(2, 3\)"):
        factorize(sparse.csr_array((2, 3)))
    with pytest.raises(ValueError, match="not finite"):
        factorize(sparse.csr_array([[0, np.nan], [1, 0]]))


def decaying(nodes, symmetric, seed=0):
    """A matrix whose k-th singular value is 0.7^k, eigenvalues of both signs."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(nodes, nodes)))[0] for _ in range(2))
    values = 0.7 ** np.arange(nodes)
    if symmetric:
        right = left * np.where(np.arange(nodes) % 3 == 1, -1, 1)
    return sparse.csr_array(left * values @ right.T)


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_large_graphs_are_factorised_at_random_and_nearly_as_well(symmetric, monkeypatch):
    matrix = decaying(60, symmetric)
    exact = factorize(matrix, 12)
    monkeypatch.setattr(factors_module, "EXACT_NODES", 50)
    factors = factorize(matrix, 12, seed=3)
    assert factors.rank == 12
    assert factors.truncated
    assert factors.symmetric == symmetric
    assert not torch.equal(factors.left, exact.left)  # it did go the other way
    assert_allclose(factors.values, exact.values, rtol=1e-7)
    assert_allclose(dense_product(factors), dense_product(exact), atol=1e-7)
    for vectors in (factors.left, factors.left if symmetric else factors.right):
        assert torch.allclose(vectors.T @ vectors, torch.eye(12).double(), atol=1e-12)
    assert factors.explained_variance == pytest.approx(exact.explained_variance)
    assert torch.equal(factors.left, factorize(matrix, 12, seed=3).left)


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
@pytest.mark.parametrize("degree", [3, 30])
def test_filtered_subspaces_are_nearly_the_best_where_values_do_not_decay(
    degree, symmetric, monkeypatch
):
    """A random graph's singular values lie dense at the cut, and one is far from all others."""
    rng = np.random.default_rng(degree)
    edges = rng.integers(0, 500, (2, 500 * degree // 2))
    edges = np.concatenate([edges, edges[::-1]], axis=1) if symmetric else edges
    matrix = sna(edges, None, 500)
    exact = factorize(matrix, 0.3)
    monkeypatch.setattr(factors_module, "EXACT_NODES", 100)
    factors = factorize(matrix, 0.3)
    assert factors.rank == exact.rank == 150
    # No matrix of this rank explains more than the exact one.
    assert -1e-12 < exact.explained_variance - factors.explained_variance < 2e-4
    assert_allclose(factors.values[:120].abs(), exact.values[:120].abs(), rtol=2e-3)
    right = factors.left if symmetric else factors.right
    assert torch.allclose(right.T @ right, torch.eye(150).double(), atol=1e-12)
    image = torch.from_numpy(matrix.toarray()) @ right
    assert torch.allclose((factors.left.T @ image).diagonal(), factors.values, atol=1e-12)


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_a_randomised_factorisation_that_finds_the_rank_leaves_nothing_out(symmetric, monkeypatch):
    monkeypatch.setattr(factors_module, "EXACT_NODES", 10)
    matrix = decaying(5, symmetric)
    matrix = sparse.block_diag([matrix, sparse.csr_array((15, 15))], format="csr")
    factors = factorize(matrix, 8)
    assert (factors.rank, factors.truncated) == (5, False)
    assert_allclose(dense_product(factors), matrix.toarray(), atol=1e-12)


@settings(stable, max_examples=60)
@given(adjacencies(symmetric=False).map(symmetrically_normalize))
def test_the_svd_by_the_gram_matrix_equals_lapacks(laplacian):
    """The branch that serves CUDA, on the CPU."""
    dense = torch.from_numpy(laplacian.toarray())
    left, values, right = factors_module._svd_by_gram(dense)
    expected = torch.linalg.svdvals(dense)
    assert torch.allclose(values, expected, rtol=0, atol=1e-8)
    assert (values[:-1] >= values[1:]).all()
    assert torch.allclose(left * values @ right.T, dense, rtol=0, atol=1e-9)
    assert int((values > 1e-6).sum()) == int((expected > 1e-6).sum())
    identity = torch.eye(len(values), dtype=torch.float64)
    for vectors in (left, right):  # those of zero too, which a tolerance of 0 keeps
        assert torch.allclose(vectors.T @ vectors, identity, rtol=0, atol=1e-12)


def test_the_svd_by_the_gram_matrix_sees_zeros_as_zeros():
    """Roots of eigenvalues would leave them at 1e-8."""
    matrix = torch.from_numpy(random_laplacian(40).toarray())
    matrix[20:] = matrix[:20]
    values = factors_module._svd_by_gram(matrix)[1]
    assert values[19] > 1e-2
    assert values[20:].max() < 1e-13


# Files and devices -------------------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_factors_survive_a_file(tmp_path, symmetric):
    path = tmp_path / "sub" / "factors.safetensors"
    empty = factorize(sparse.csr_array((3, 3)))
    whole = factorize(random_laplacian(9, symmetric))
    for factors in (whole, whole.truncate(4), whole.to(dtype=torch.float32), empty):
        factors.save(path)
        loaded = Factors.load(path)
        assert torch.equal(loaded.left, factors.left)
        assert torch.equal(loaded.values, factors.values)
        assert loaded.left.dtype == factors.left.dtype
        assert loaded.symmetric == factors.symmetric
        assert factors.symmetric or torch.equal(loaded.right, factors.right)
        assert loaded.total_variance == factors.total_variance
        assert loaded.truncated == factors.truncated
    assert os.listdir(path.parent) == [path.name]


def test_one_file_holds_the_factors_of_many_graphs(tmp_path):
    path = tmp_path / "factors.safetensors"
    many = [factorize(random_laplacian(9, symmetric, seed=2)) for symmetric in (True, False)]
    save_factors(many, path)
    for number, factors in enumerate(many):
        loaded = Factors.load(path, number)
        assert torch.equal(loaded.left, factors.left)
        assert loaded.symmetric == factors.symmetric
    with pytest.raises(ValueError, match=r"factors.safetensors: .*no factor file with a graph 2"):
        Factors.load(path, 2)


def test_a_flipped_bit_is_found(tmp_path):
    path = tmp_path / "factors.safetensors"
    rng = np.random.default_rng(0)
    factorize(sna(rng.integers(0, 20, (2, 80)), None, 20)).save(path)
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"factors.safetensors: damaged.*checksum"):
        Factors.load(path)


def test_saving_twice_writes_the_same_bytes(tmp_path):
    rng = np.random.default_rng(0)
    many = [factorize(sna(rng.integers(0, 9, (2, 30)), None, 9)) for _ in range(4)]
    contents = set()
    for number in range(8):
        save_factors(many, tmp_path / f"{number}.safetensors")
        contents.add((tmp_path / f"{number}.safetensors").read_bytes())
    assert len(contents) == 1


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "factors.safetensors"
    factorize(random_laplacian(9)).save(path)
    whole = path.read_bytes()
    for damaged in (b"", b"text", whole[:100], whole[:-8], b"\xff" * 8 + whole[8:]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"factors.safetensors: damaged.* delete it"):
            Factors.load(path)
    with pytest.raises(FileNotFoundError):
        Factors.load(tmp_path / "other.safetensors")


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "factors.safetensors"
    old = factorize(random_laplacian(9))
    old.save(path)

    def fail(tensors, temporary, *rest):
        temporary.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(factors_module, "save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        factorize(random_laplacian(5)).save(path)
    assert torch.equal(Factors.load(path).left, old.left)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_factors_move_as_tensors_do(symmetric):
    factors = factorize(random_laplacian(9, symmetric), 4)
    moved = factors.to("cpu", torch.float32)
    assert moved.left.dtype == torch.float32
    assert moved.values.dtype == torch.float64
    assert moved.symmetric == symmetric
    assert (moved.rank, moved.truncated) == (4, True)
    assert moved.total_variance == factors.total_variance
    same = factors.to()
    assert same.left is factors.left
    meta = factors.to("meta")
    assert {meta.left.device.type, meta.values.device.type} == {"meta"}
    assert symmetric or meta.right.device.type == "meta"


# Fractional powers -------------------------------------------------------------------------------


@settings(stable, max_examples=40)
@given(laplacians)
def test_the_first_power_is_the_sna(laplacian):
    assert_allclose(factorize(laplacian).fractional_power(1), laplacian.toarray(), atol=1e-10)


@pytest.mark.parametrize("exponent", [-0.5, 0.25, 2.0])
def test_powers_of_a_directed_sna_act_on_singular_values(exponent):
    laplacian = random_laplacian(20).toarray()
    left, values, right = np.linalg.svd(laplacian)
    kept = values > 1e-6
    expected = left[:, kept] * values[kept] ** exponent @ right[kept]
    power = factorize(sparse.csr_array(laplacian)).fractional_power(exponent)
    assert_allclose(power, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_powers_of_a_symmetric_sna_keep_the_signs_of_eigenvalues():
    laplacian = random_laplacian(20, symmetric=True)
    factors = factorize(laplacian)
    assert (factors.values < 0).any()
    power = factors.fractional_power(0.5)
    eigenvalues = np.linalg.eigvalsh(laplacian.toarray())
    expected = np.sort(np.sign(eigenvalues) * np.abs(eigenvalues) ** 0.5)
    assert_allclose(np.linalg.eigvalsh(power), expected, atol=1e-6)
    # So L^½ · L^½ is |L|, not L.
    moduli = np.sort(np.abs(eigenvalues))
    assert_allclose(np.linalg.eigvalsh(power @ power), moduli, atol=1e-6)


@settings(stable, max_examples=30)
@given(adjacencies(min_nodes=2, symmetric=True), st.floats(0.2, 2), st.floats(0.2, 2))
def test_powers_are_a_semigroup_where_the_sna_is_positive_semidefinite(matrix, alpha, beta):
    laplacian = symmetrically_normalize(matrix)
    factors = factorize(laplacian @ laplacian.T)
    product = factors.fractional_power(alpha) @ factors.fractional_power(beta)
    assert_allclose(product, factors.fractional_power(alpha + beta), atol=1e-10)


def test_powers_are_no_semigroup_on_a_directed_graph():
    """The path 0 → 1 → 2: L² = 0, while ``U Σ² Vᵀ`` has L's own entries."""
    factors = factorize(sna(np.array([[0, 1], [1, 2]]), None, 3))
    first, second = factors.fractional_power(1), factors.fractional_power(2)
    assert_allclose(second, first, atol=1e-12)
    assert (first @ first)[0, 2] == pytest.approx(1)
    assert not torch.allclose(first @ first, second)


def test_zero_stays_zero_in_every_power():
    factors = factorize(sna(np.array([[0], [1]]), None, 3))
    for exponent in (-2.0, 0.0, 0.5):
        expected = np.zeros((3, 3))
        expected[0, 1] = 1
        assert_allclose(factors.fractional_power(exponent), expected, atol=1e-15)


# Dirichlet energy and homophily ------------------------------------------------------------------


def edge_sum(matrix, x):
    """The paper's definition: ¼ Σ a_ij ‖x_i / √d_i^in − x_j / √d_j^out‖²."""
    rows, columns = np.nonzero(matrix)
    row_degree, column_degree = matrix.sum(axis=1), matrix.sum(axis=0)
    return 0.25 * sum(
        matrix[i, j]
        * np.linalg.norm(x[i] / np.sqrt(row_degree[i]) - x[j] / np.sqrt(column_degree[j])) ** 2
        for i, j in zip(rows, columns, strict=True)
    )


def random_features(rng, nodes, channels=3, complex_valued=True):
    x = rng.normal(size=(nodes, channels))
    return x + 1j * rng.normal(size=x.shape) if complex_valued else x


@settings(stable, max_examples=40)
@given(adjacencies(loops_everywhere=True), seeds, st.booleans())
def test_energy_equals_the_papers_edge_sum_where_no_degree_is_zero(matrix, seed, complex_valued):
    assert (matrix.sum(axis=0) > 0).all()
    assert (matrix.sum(axis=1) > 0).all()
    x = random_features(np.random.default_rng(seed), matrix.shape[0], complex_valued=complex_valued)
    energy = dirichlet_energy(symmetrically_normalize(matrix), x)
    assert energy == pytest.approx(edge_sum(matrix.toarray(), x), rel=1e-9, abs=1e-9)


def test_energy_is_more_than_the_edge_sum_by_what_nodes_of_zero_degree_carry():
    """The edge 0 → 1: ¼|x_0 − x_1|² misses ¼(|x_0|² + |x_1|²), node 2 counts ½|x_2|²."""
    edge = np.array([[0, 1.0, 0], [0, 0, 0], [0, 0, 0]])
    x = np.array([3.0, 1.0, 2.0])
    assert edge_sum(edge, x[:, None]) == pytest.approx(0.25 * 4)
    expected = 0.25 * 4 + 0.25 * (9 + 1) + 0.5 * 4
    assert dirichlet_energy(symmetrically_normalize(edge), x) == pytest.approx(expected)


@settings(stable, max_examples=40)
@given(laplacians, seeds)
def test_energy_equals_the_quadratic_form(laplacian, seed):
    x = random_features(np.random.default_rng(seed), laplacian.shape[0])
    dense = laplacian.toarray()
    form = 0.5 * np.trace(x.conj().T @ (np.eye(len(x)) - dense) @ x).real
    assert dirichlet_energy(laplacian, x) == pytest.approx(form, rel=1e-12, abs=1e-12)
    assert dirichlet_energy(dense, x[:, 0]) == pytest.approx(dirichlet_energy(laplacian, x[:, :1]))
    normalized = normalized_dirichlet_energy(laplacian, x)
    assert normalized == pytest.approx(form / np.linalg.norm(x) ** 2)
    assert -1e-12 <= normalized <= np.linalg.norm(np.eye(len(x)) - dense, 2) / 2 + 1e-12
    assert normalized_dirichlet_energy(laplacian, (3 - 4j) * x) == pytest.approx(normalized)


def test_energy_of_the_constant_state_on_a_regular_graph_is_zero():
    laplacian = sna(np.array([[0, 1, 2], [1, 2, 0]]), None, 3)
    assert normalized_dirichlet_energy(laplacian, np.ones((3, 2))) == pytest.approx(0, abs=1e-15)
    assert normalized_dirichlet_energy(laplacian, np.zeros((3, 2))) == 0


def test_energy_of_single_precision_states_is_computed_in_double():
    """Small energies do not drown in rounding, nor do squares of large states overflow."""
    laplacian = sna(np.array([[0, 1, 2], [1, 2, 0]]), None, 3)
    x = np.array([[1.0], [1.0], [1.0 + 1e-3]], dtype=np.float32)
    expected = normalized_dirichlet_energy(laplacian, x.astype(float))
    assert 1e-8 < expected < 1e-6
    assert normalized_dirichlet_energy(laplacian, x) == pytest.approx(expected, rel=1e-9)
    large = np.float32(1e30) * x.astype(np.complex64)
    assert normalized_dirichlet_energy(laplacian, large) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_energy_does_not_depend_on_the_scale(scale):
    laplacian, x = random_laplacian(), np.random.default_rng(0).normal(size=(30, 2))
    expected = normalized_dirichlet_energy(laplacian, x)
    assert normalized_dirichlet_energy(laplacian, scale * x) == pytest.approx(expected)


def test_homophily_by_hand():
    """Node 0 agrees with one of two neighbours, node 1 with its only one, node 2 with none."""
    edges = np.array([[0, 0, 1, 2], [1, 2, 0, 1]])
    labels = np.array([4, 4, 7])
    assert node_homophily(adjacency(edges, None, 3), labels) == pytest.approx((0.5 + 1 + 0) / 3)


def test_homophily_leaves_out_nodes_without_neighbours():
    edges = np.array([[0, 1], [1, 2]])  # 2 gathers nothing, 3 is isolated
    labels = np.array([0, 0, 1, 1])
    assert node_homophily(adjacency(edges, None, 4), labels) == pytest.approx((1 + 0) / 2)
    assert np.isnan(node_homophily(sparse.csr_array((3, 3)), np.zeros(3)))


def test_homophily_ignores_weights_and_stored_zeros():
    edges = np.array([[0, 0, 0], [1, 2, 1]])  # 0 → 1 twice
    labels = np.array([0, 0, 1])
    assert node_homophily(adjacency(edges, [100.0, 1.0, 5.0], 3), labels) == pytest.approx(0.5)
    stored = sparse.csr_array((np.array([1.0, 0.0]), ([0, 0], [1, 2])), shape=(3, 3))
    assert stored.nnz == 2
    assert node_homophily(stored, labels) == 1
    repeated = sparse.coo_array((np.ones(3), ([0, 0, 0], [1, 1, 2])), shape=(3, 3))
    assert node_homophily(repeated, labels) == pytest.approx(0.5)
    rows = sparse.csr_array((np.ones(3), [1, 1, 2], [0, 3, 3, 3]), shape=(3, 3))
    assert node_homophily(rows, labels) == pytest.approx(0.5)
    assert rows.nnz == 3


def test_homophily_counts_self_loops():
    """A self-loop is a neighbour with the node's own label."""
    assert node_homophily(sparse.csr_array(np.array([[1.0, 1], [1, 0]])), [0, 1]) == 0.25


@settings(stable, max_examples=30)
@given(adjacencies(), seeds)
def test_homophily_equals_its_definition(matrix, seed):
    labels = np.random.default_rng(seed).integers(0, 3, matrix.shape[0])
    shares = [
        np.mean(labels[np.flatnonzero(row)] == labels[i])
        for i, row in enumerate(matrix.toarray())
        if row.any()
    ]
    expected = np.mean(shares) if shares else np.nan
    assert_allclose(node_homophily(matrix, labels), expected)
