"""Which propagation path serves which model, and what a path cannot take."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from flode import paths
from flode.model import PATHS, Architecture, Features, Operator, Request, choose_path, make_path
from tests.unit.propagations import (
    DIRECTED,
    SINGLE,
    UNDIRECTED,
    assert_close,
    gradients,
    library_parameters,
    path_of,
    small_case,
)
from tests.unit.strategies import adjacencies, architectures, make_case, stable


def chosen(matrix, features=2, **options):
    sizes = {"hidden_channels": 4, "out_channels": 2, "num_layers": 2}
    architecture = Architecture(features, **(sizes | options))
    operator = Operator(make_case(matrix, architecture).factors)
    x = Features(np.ones((7, features)))
    name = choose_path(architecture, operator, x)
    assert make_path(architecture, operator, x).name == name
    return name


@pytest.mark.parametrize("matrix", [DIRECTED, UNDIRECTED], ids=["directed", "undirected"])
def test_choice_from_the_architecture(matrix):
    without_powers = "spectral" if matrix is UNDIRECTED else "reduced"
    assert chosen(matrix, num_layers=8) == "powers"
    assert chosen(matrix, num_layers=9) == without_powers
    assert chosen(matrix, encoder_layers=2) == without_powers
    assert chosen(matrix, shared_weights=False) == without_powers


#: Minesweeper's sizes, and what changes the choice of the path for its normalised layers.
MINESWEEPER = {
    "features": 7, "distinct": 7, "rank": 10000, "hidden_channels": 512, "num_layers": 4,
    "encoder_layers": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "columns"),
        ({"features": 3000}, "columns"),
        ({"distinct": 225}, "columns"),  # 15 times as many columns against 4 · 1,024, and the norms
        ({"distinct": 235}, "general"),
        ({"distinct": 225, "rank": 1000}, "general"),  # the norms weigh more
        ({"shared_weights": False}, "columns"),
        ({"decoder_dropout": 0.1}, "general"),
        ({"input_dropout": 0.1}, "general"),
        ({"encoder_layers": 1, "distinct": 10000, "input_dropout": 0.1}, "columns"),
        ({"encoder_layers": 1, "features": 275}, "general"),
        ({"distinct": 1, "num_layers": 8}, "columns"),
        ({"distinct": 1, "num_layers": 9}, "general"),
        ({"distinct": 100, "num_layers": 8, "ode": False}, "columns"),
        ({"distinct": 1, "num_layers": 9, "ode": False}, "general"),
        ({"rank": 0}, "general"),
    ],
)
@pytest.mark.parametrize("symmetric", [False, True], ids=["directed", "undirected"])
def test_choice_for_normalised_layers(symmetric, changed, expected):
    sizes = MINESWEEPER | changed
    distinct, features, rank = (sizes.pop(name) for name in ("distinct", "features", "rank"))
    architecture = Architecture(features, out_channels=2, normalize_layers=True, **sizes)
    operator = SimpleNamespace(rank=rank, symmetric=symmetric)
    own = SimpleNamespace(num_features=features, learned=False, count_distinct=lambda _: distinct)
    assert choose_path(architecture, operator, own) == expected


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy, sparse.csr_array, sparse.coo_array])
def test_distinct_rows_of_features(kind):
    given = np.array([[0, 1], [2.0, 0], [0, 1], [0, 0], [2, 0], [0, 2]], dtype=np.float32)
    features = Features(kind(given))
    rows, kinds = features.distinct
    assert rows.num_nodes == 4
    assert [features.count_distinct(limit) for limit in (2, 3, 4, 9)] == [3, 4, 4, 4]
    assert rows.is_sparse == features.is_sparse
    assert torch.equal(rows.dropped(None)[:, kinds], torch.from_numpy(given).T)
    assert Features(sparse.csr_array((3, 2))).distinct[0].num_nodes == 1


def test_learned_features_are_not_replaced():
    architecture = Architecture(2, 64, 2, 2, encoder_layers=2, normalize_layers=True)
    operator = Operator(make_case(DIRECTED, architecture).factors)
    # Many channels, so that norms weigh little.
    operator = SimpleNamespace(rank=1000, symmetric=False, num_nodes=7, left=operator.left)
    learned = torch.ones(7, 2, requires_grad=True)
    assert choose_path(architecture, operator, Features(np.ones((7, 2)))) == "columns"
    assert choose_path(architecture, operator, Features(learned)) == "general"
    with pytest.raises(ValueError, match="the columns path has no gradient by the features"):
        make_path(architecture, operator, Features(learned), "columns")


@pytest.mark.parametrize("layers", [5, 8])
def test_a_state_of_zero_stays_and_harms_no_other(layers):
    architecture = Architecture(2, 3, 2, layers, normalize_layers=True)
    case = make_case(DIRECTED, architecture, 0.7)
    case = replace(case, features=case.features * (np.arange(7) < 6)[:, None])  # 6 is isolated
    results = []
    for name in ("columns", "general"):
        parameters = library_parameters(case, SINGLE)
        parameters["encoder.0.bias"] = torch.zeros_like(parameters["encoder.0.bias"])
        path = path_of(case, name, SINGLE)
        request = Request(path.operator.nodes(torch.arange(6)), gradient=True)
        logits = path.logits(parameters, [request])[0]
        del parameters["encoder.0.bias"]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert_close(results[0][0], results[1][0], 1e-4)
    for parameter, gradient in results[1][1].items():
        assert_close(results[0][1][parameter], gradient, 1e-3, 1e-2)


@pytest.mark.parametrize("scale", [1e-8, 1e6])
@pytest.mark.parametrize("ode", [False, True], ids=["no ode", "ode"])
def test_no_power_of_w_leaves_single_precision(scale, ode):
    """W's scale cancels in the norms, and nearly so where the ODE's step is mostly W's."""
    architecture = Architecture(2, 3, 2, 8, normalize_layers=True, ode=ode)
    loops = sparse.csr_array(DIRECTED + sparse.eye_array(7))
    case = make_case(loops, architecture, 0.7)
    results = []
    for name in ("columns", "general"):
        path = path_of(case, name, SINGLE)
        parameters = library_parameters(case, SINGLE)
        parameters["channel_mixing"] = (
            parameters["channel_mixing"].detach() * scale
        ).requires_grad_()
        request = Request(path.operator.all_nodes, gradient=True)
        logits = path.logits(parameters, [request])[0]
        results.append((logits, gradients(parameters, logits, torch.ones(()))))
    assert_close(results[0][0], results[1][0], 1e-4)
    for parameter, gradient in results[1][1].items():
        assert_close(results[0][1][parameter], gradient, 1e-3)


@pytest.mark.parametrize("matrix", [DIRECTED, UNDIRECTED], ids=["directed", "undirected"])
def test_few_features_are_fewer_real_columns_than_the_state_has(matrix):
    without_powers = "spectral" if matrix is UNDIRECTED else "reduced"
    assert chosen(matrix, features=6) == "powers"  # 7 columns against 2 · 4
    assert chosen(matrix, features=7) == without_powers
    real = {"equation": "heat", "complex_valued": False}
    assert chosen(matrix, features=2, **real) == "powers"
    assert chosen(matrix, features=3, **real) == without_powers


@pytest.mark.parametrize(
    ("name", "matrix", "options", "reason"),
    [
        (
            "spectral",
            UNDIRECTED,
            {"normalize_layers": True},
            "normalised layers need the columns path",
        ),
        (
            "reduced",
            DIRECTED,
            {"normalize_layers": True},
            "normalised layers need the columns path",
        ),
        ("powers", DIRECTED, {"normalize_layers": True}, "normalised layers need the columns path"),
        ("spectral", DIRECTED, {}, "symmetric operator"),
        ("powers", DIRECTED, {"encoder_layers": 2}, "linear encoder"),
        ("columns", DIRECTED, {"num_layers": 9}, "columns path takes at most 8 layers"),
        (
            "columns",
            DIRECTED,
            {"normalize_layers": True, "equation": "heat", "complex_valued": False},
            "columns path takes at least 4 channels of real numbers",
        ),
        ("powers", DIRECTED, {"shared_weights": False}, "shared weights"),
    ],
)
def test_a_path_that_cannot_serve_says_why(name, matrix, options, reason):
    case = make_case(matrix, Architecture(2, 3, 2, **options))
    assert paths.obstacle("auto", vars(case.architecture), matrix is UNDIRECTED) is None
    with pytest.raises(ValueError, match=f"path '{name}' cannot serve this model: .*{reason}") as e:
        path_of(case, name)
    # The workflow says the same before any job.
    assert str(e.value).endswith(
        paths.obstacle(name, vars(case.architecture), matrix is UNDIRECTED)
    )


def test_what_does_not_fit_together_is_named():
    case = small_case("reduced")
    with pytest.raises(
        ValueError, match="'fast'; allowed are auto, spectral, reduced, powers, columns"
    ):
        path_of(case, "fast")
    with pytest.raises(ValueError, match="features have 6 rows, the factors 7 nodes"):
        path_of(case, "auto", features=np.ones((6, 2)))
    with pytest.raises(ValueError, match="in_channels is 2, the features have 5"):
        path_of(case, "auto", features=np.ones((7, 5)))


@settings(stable, max_examples=40)
@given(adjacencies(2, 20), st.sampled_from(list(PATHS)).flatmap(architectures))
def test_the_chosen_path_always_serves_and_is_recorded(matrix, options):
    options = dict(options)
    if options["equation"] == "schroedinger":
        options["complex_valued"] = True
    case = make_case(matrix, Architecture(**options))
    path = path_of(case, "auto")
    assert path.name == choose_path(case.architecture, path.operator, path.features)
    logits = path.logits(library_parameters(case), [Request(path.operator.all_nodes)])[0]
    assert torch.isfinite(logits).all()
