"""FLODE as a PyTorch module: options, initialisation, dropout, subsets, trajectories, copies."""

import copy

import numpy as np
import pytest
import torch
from scipy import sparse, stats

from flode import FLODE
from flode.model import Architecture, Features
from flode.spectral import (
    factorize,
    frequency_dominance,
    normalized_dirichlet_energy,
    smallest_eigenvalue,
    sna,
)
from tests import literal

NODES = 40
EDGES = np.random.default_rng(0).integers(0, NODES, (2, 150))
DIRECTED = factorize(sna(EDGES, None, NODES))
UNDIRECTED = factorize(sna(np.hstack([EDGES, EDGES[::-1]]), None, NODES))
X = torch.randn(NODES, 5, generator=torch.Generator().manual_seed(0))


def make_model(seed=0, sizes=(5, 8, 3, 2), **options):
    model = FLODE(*sizes, **options)
    model.reset_parameters(seed)
    return model


def learned(model):
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


# Options -----------------------------------------------------------------------------------------


def test_an_unknown_option_is_named_with_the_allowed_ones():
    with pytest.raises(ValueError, match=r"unknown option 'heads'; allowed are in_channels.*ode"):
        FLODE(5, 8, 3, heads=4)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"hidden_channels": 0}, r"hidden_channels is 0; an integer of at least 1"),
        ({"num_layers": 2.0}, r"num_layers is 2\.0"),
        ({"num_layers": True}, r"num_layers is True; an integer of at least 1"),
        ({"encoder_layers": 0}, r"encoder_layers is 0"),
        ({"decoder_layers": -1}, r"decoder_layers is -1"),
        ({"input_dropout": 1.0}, r"input_dropout is 1\.0; allowed is a number, 0 <= p < 1"),
        ({"decoder_dropout": -0.1}, r"decoder_dropout is -0\.1"),
        ({"decoder_dropout": float("nan")}, r"decoder_dropout is nan"),
        ({"decoder_dropout": "0.5"}, r"decoder_dropout is '0\.5'; allowed is a number"),
        ({"exponent": "learned"}, r"exponent is 'learned'; .*learn_exponent says"),
        ({"exponent": float("inf")}, r"exponent is inf; allowed is a finite number"),
        ({"step_size": float("nan")}, r"step_size is nan"),
        ({"equation": "wave"}, r"equation is 'wave'; allowed are schroedinger, heat"),
        ({"sign": 0}, r"sign is 0; allowed are -1, 1"),
        ({"complex_valued": False}, r"complex_valued is False, but the Schrödinger equation"),
    ],
)
def test_a_bad_hyperparameter_is_named_with_what_is_allowed(option, message):
    sizes = {"in_channels": 5, "hidden_channels": 8, "out_channels": 3}
    with pytest.raises(ValueError, match=message):
        Architecture(**(sizes | option))


def test_input_that_does_not_fit_is_named():
    model = make_model()
    with pytest.raises(ValueError, match="in_channels is 5, the features have 4"):
        model(X[:, :4], DIRECTED)
    with pytest.raises(ValueError, match="features have 39 rows, the factors 40 nodes"):
        model(X[1:], DIRECTED)


def test_counts_may_be_numpys():
    assert Architecture(*np.array([5, 8, 3])) == Architecture(5, 8, 3)


def test_an_unknown_path_is_refused_when_the_model_is_made():
    with pytest.raises(ValueError, match="path is 'fast'; allowed are auto, spectral"):
        make_model(path="fast")
    with pytest.raises(ValueError, match="rank is 0; at least 1 is allowed"):
        make_model(rank=0)


@pytest.mark.parametrize("call", [FLODE.forward, FLODE.trajectory])
@pytest.mark.parametrize(
    ("x", "factors", "message"),
    [
        (X, torch.zeros(2, 3), r"factors is a Tensor; allowed are the Factors"),
        (X, [DIRECTED, DIRECTED], r"factors is a list; .*of a Batch.*FactorizeSNA\(\)\(batch\)"),
        (X[:, :4], DIRECTED, r"in_channels is 5, the features have 4"),
        (X[0], DIRECTED, r"x has shape \(5,\)"),
        (X.to(torch.complex64), DIRECTED, r"dtype torch\.complex64 .* a dense real \(N, F\)"),
        (None, DIRECTED, r"x is None; allowed are \(N, F\) features"),
    ],
    ids=["edges", "list", "features", "vector", "complex", "none"],
)
def test_what_no_call_can_take_is_named(call, x, factors, message):
    with pytest.raises(ValueError, match=message):
        call(make_model(), x, factors)


def test_half_precision_is_refused_by_name_and_autocast_changes_nothing():
    model = make_model().eval()
    expected = model(X, DIRECTED)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(model(X, DIRECTED), expected)
        assert model.trajectory(X, DIRECTED)[0].dtype == torch.complex64
    with pytest.raises(ValueError, match=r"parameters are torch\.bfloat16; allowed are"):
        model.to(torch.bfloat16)(X, DIRECTED)


def test_pytorchs_defaults_do_not_change_how_a_model_is_drawn():
    expected = make_model().state_dict()
    torch.set_default_dtype(torch.float64)
    try:
        found = make_model().state_dict()
    finally:
        torch.set_default_dtype(torch.float32)
    for name, value in expected.items():
        assert found[name].dtype == torch.float32
        assert torch.equal(found[name], value)
    with torch.device("meta"):
        assert {value.device.type for value in FLODE(5, 8, 3).parameters()} == {"meta"}


def test_the_model_prints_its_architecture():
    assert "num_layers=2" in repr(make_model())
    assert "equation='schroedinger'" in repr(make_model())


# Parameters --------------------------------------------------------------------------------------


def test_shapes_and_names_of_parameters():
    model = make_model(sizes=(5, 8, 3, 4), encoder_layers=2, shared_weights=False)
    shapes = {name: tuple(value.shape) for name, value in model.parameters_by_name().items()}
    assert shapes == {
        "encoder.0.weight": (2, 8, 5),
        "encoder.0.bias": (2, 8),
        "encoder.1.weight": (2, 8, 8),
        "encoder.1.bias": (2, 8),
        "decoder.0.weight": (2, 3, 8),
        "decoder.0.bias": (2, 3),
        "channel_mixing": (4, 2, 8),
        "exponent": (4,),
        "step_size": (4, 2),
    }
    real = make_model(equation="heat", complex_valued=False).parameters_by_name()
    assert real["encoder.0.weight"].shape == (1, 8, 5)
    assert real["channel_mixing"].shape == (1, 1, 8)
    assert real["step_size"].shape == (1, 1)


def test_reset_is_repeatable_by_seed_and_else_follows_the_global_generator():
    model = make_model(seed=3)
    first = copy.deepcopy(model.state_dict())
    model.reset_parameters(4)
    assert not torch.equal(model.state_dict()["channel_mixing"], first["channel_mixing"])
    state = torch.get_rng_state()
    model.reset_parameters(3)
    assert torch.equal(torch.get_rng_state(), state), "a seed leaves the global generator alone"
    assert all(torch.equal(value, first[name]) for name, value in model.state_dict().items())
    torch.manual_seed(0)
    model.reset_parameters()
    one = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    assert not torch.equal(one["channel_mixing"], model.state_dict()["channel_mixing"])
    torch.manual_seed(0)
    model.reset_parameters()
    assert torch.equal(one["channel_mixing"], model.state_dict()["channel_mixing"])


def test_linear_layers_start_as_pytorchs_part_by_part():
    """Uniform within 1/√fan_in, weights and biases, real and imaginary parts."""
    model = make_model(sizes=(50, 200, 30, 1), encoder_layers=2, decoder_layers=2)
    fan_in = {"encoder.0": 50, "encoder.1": 200, "decoder.0": 200, "decoder.1": 200}
    parameters = model.parameters_by_name()
    for layer, size in fan_in.items():
        for kind in ("weight", "bias"):
            for part in parameters[f"{layer}.{kind}"].detach():
                uniform = part.flatten().double() * size**0.5
                assert uniform.abs().max() <= 1 + 1e-6
                assert stats.kstest(uniform.numpy(), "uniform", (-1, 2)).pvalue > 1e-4
    re, im = parameters["encoder.1.weight"].detach().flatten(1)
    assert abs(torch.corrcoef(torch.stack([re, im]))[0, 1]) < 5 / len(re) ** 0.5


def test_channel_mixing_starts_normal_and_exponent_and_step_size_at_their_values():
    model = make_model(sizes=(5, 2000, 3, 2), exponent=0.5, step_size=0.25, shared_weights=False)
    for layer in model.channel_mixing.detach():
        for part in layer:
            assert stats.kstest(part.double().numpy(), "norm").pvalue > 1e-4
    assert model.exponent.tolist() == [0.5, 0.5]
    assert model.step_size.tolist() == [[0.25, 0.0], [0.25, 0.0]]
    assert torch.equal(
        model.complex_parameter("step_size"), torch.full((2,), 0.25, dtype=torch.complex64)
    )


def test_exponent_and_step_size_can_be_kept_fixed():
    model = make_model(learn_exponent=False, learn_step_size=False, exponent=0.5)
    model(X, DIRECTED).sum().backward()
    assert model.exponent.grad is None
    assert model.step_size.grad is None
    assert all(parameter.grad is not None for parameter in learned(model))
    assert len(learned(model)) == 5


def test_every_learned_parameter_gets_a_gradient():
    for factors in (DIRECTED, UNDIRECTED):
        model = make_model(encoder_layers=2, decoder_layers=2, shared_weights=False)
        model(X, factors).square().sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad.abs().max() > 0, name


def test_complex_parameters_are_what_the_model_computes_with():
    model = make_model(decoder_layers=2).double()

    def layer(name):
        return tuple(model.complex_parameter(f"{name}.{kind}") for kind in ("weight", "bias"))

    encoder, decoder = [layer("encoder.0")], [layer("decoder.0"), layer("decoder.1")]
    assert encoder[0][0].shape == (8, 5)
    assert encoder[0][0].dtype == torch.complex128
    kind = torch.complex128
    expected, _ = literal.flode(
        X.to(kind),
        DIRECTED.left.to(kind),
        DIRECTED.values,
        DIRECTED.right.T.to(kind),
        encoder,
        decoder,
        model.complex_parameter("channel_mixing"),
        model.exponent.detach(),
        model.complex_parameter("step_size"),
        num_layers=2,
        s=-1j,
        ode=True,
        normalize=False,
    )
    assert torch.allclose(model(X.double(), DIRECTED), expected, rtol=1e-10)


def test_loading_refuses_what_does_not_fit():
    model = make_model()
    parameters = {name: value.detach() for name, value in model.parameters_by_name().items()}
    short = {name: value for name, value in parameters.items() if name != "exponent"}
    with pytest.raises(ValueError, match="parameter 'exponent' is missing or unknown"):
        model.load_parameters(short)
    with pytest.raises(ValueError, match="parameter 'other' is missing or unknown"):
        model.load_parameters(parameters | {"other": torch.ones(1)})
    wrong = parameters | {"encoder.0.bias": torch.ones(8)}
    message = r"'encoder.0.bias' has shape \(8,\), expected \(2, 8\)"
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match=message):
        model.load_parameters({name: torch.zeros_like(value) for name, value in wrong.items()})
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_state_dict_round_trip(tmp_path):
    model, other = make_model(seed=1), make_model(seed=2)
    before = model(X, DIRECTED)
    assert not torch.allclose(other(X, DIRECTED), before)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert torch.equal(other(X, DIRECTED), before)
    third = make_model(seed=3)
    third.load_parameters(model.parameters_by_name())
    assert torch.equal(third(X, DIRECTED), before)


def test_a_deep_copy_is_a_model_of_its_own():
    model = make_model()
    before = model(X, DIRECTED)
    twin = copy.deepcopy(model)
    assert torch.equal(twin(X, DIRECTED), before)
    twin.reset_parameters(9)
    assert torch.equal(model(X, DIRECTED), before)
    assert not torch.allclose(twin(X, DIRECTED), before)


# Forward -----------------------------------------------------------------------------------------

MODELS = {
    "directed": ({}, DIRECTED),
    "undirected": ({}, UNDIRECTED),
    "normalised": ({"normalize_layers": True}, DIRECTED),
    "deep encoder": ({"encoder_layers": 3, "decoder_layers": 2}, UNDIRECTED),
    "real heat": ({"equation": "heat", "complex_valued": False}, DIRECTED),
}


@pytest.fixture(params=MODELS)
def model_and_factors(request):
    options, factors = MODELS[request.param]
    return make_model(**options), factors


def test_an_index_gives_rows_of_the_full_output(model_and_factors):
    model, factors = model_and_factors
    full = model(X, factors)
    assert full.shape == (NODES, 3)
    index = torch.tensor([7, 0, 39, 7])
    assert torch.allclose(model(X, factors, index), full[index], rtol=1e-5, atol=1e-6)
    assert model(X, factors, index[:0]).shape == (0, 3)


def test_logits_of_a_complex_model_are_moduli_and_of_a_real_one_signed():
    assert (make_model()(X, DIRECTED) >= 0).all()
    real = make_model(equation="heat", complex_valued=False)(X, DIRECTED)
    assert (real < 0).any()


def test_states_and_parameters_share_a_precision(model_and_factors):
    model, factors = model_and_factors
    single = model(X, factors)
    double = model.double()(X.double(), factors)
    assert (single.dtype, double.dtype) == (torch.float32, torch.float64)
    assert torch.allclose(single.double(), double, rtol=1e-3, atol=1e-3)
    assert torch.equal(model(X, factors.to("cpu", torch.float64)), double)


def test_all_paths_give_the_same_logits():
    for factors, names in (
        (DIRECTED, ["reduced", "powers", "columns", "general"]),
        (UNDIRECTED, ["spectral", "powers", "columns", "general"]),
    ):
        logits = [make_model(path=name).double()(X, factors) for name in ["auto", *names]]
        for other in logits[1:]:
            assert torch.allclose(other, logits[0], rtol=1e-10)


@pytest.mark.parametrize("ode", [True, False], ids=["ode", "no-ode"])
def test_features_that_are_learned_get_their_gradient(ode):
    """As of an embedding or an encoder in front: few features and a linear encoder, where features
    that are not learned take the powers path."""
    model = make_model(ode=ode).eval()
    gradients = {}
    for path in ("auto", "reduced", "general"):
        model.path = path
        learned = X.clone().requires_grad_()
        model(learned, DIRECTED).sum().backward()
        gradients[path] = learned.grad
    assert gradients["general"].abs().max() > 0.01
    for path in ("auto", "reduced"):
        torch.testing.assert_close(gradients[path], gradients["general"], rtol=1e-4, atol=1e-5)
    model.path = "powers"
    with pytest.raises(ValueError, match="the powers path has no gradient by the features"):
        model(X.clone().requires_grad_(), DIRECTED)
    with torch.no_grad():
        model(X.clone().requires_grad_(), DIRECTED)


@pytest.mark.parametrize("path", ["powers", "columns", "reduced", "general"])
def test_a_fixed_exponent_that_is_freed_later_gets_its_gradient(path):
    model = make_model(path=path, learn_exponent=False).eval()
    assert model(X, DIRECTED).sum().backward() is model.exponent.grad is None
    model.exponent.requires_grad_(True)
    model(X, DIRECTED).sum().backward()
    assert model.exponent.grad.abs() > 0.01


def test_features_wider_than_the_states_are_not_projected_for_one_pass(monkeypatch):
    """XᵀV is worth its cost in a training that uses it at every step: a call uses it once."""
    projected = []
    project = Features.project
    monkeypatch.setattr(
        Features,
        "project",
        lambda features, operator: (
            projected.append(features.num_features) or project(features, operator)
        ),
    )
    for features in (15, 17, 39):
        model = make_model(sizes=(features, 8, 3, 2), path="reduced").double().eval()
        x = torch.randn(NODES, features, generator=torch.Generator().manual_seed(0))
        once = model(x, DIRECTED)
        model.path = "general"
        assert torch.allclose(once, model(x, DIRECTED), rtol=1e-9)
    assert projected == [15]


def test_a_second_derivative_that_is_not_known_is_refused():
    model = make_model().eval()
    loss = model(X, DIRECTED).square().sum()
    slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    size = sum(slope.square().sum() for slope in slopes)
    for ask in (
        lambda: torch.autograd.grad(size, list(model.parameters()), retain_graph=True),
        lambda: torch.autograd.grad(size, model.exponent, retain_graph=True),
        lambda: torch.autograd.grad(size, model.channel_mixing, retain_graph=True),
        lambda: size.backward(),
    ):
        with pytest.raises(RuntimeError, match="no second derivative"):
            ask()


@pytest.mark.parametrize("factors", [DIRECTED, UNDIRECTED], ids=["directed", "undirected"])
def test_transforms_of_torch_func_have_all_gradients(factors):
    """What they differentiate cannot be told: paths with derivatives of their own are not taken."""
    models = [make_model(seed).double().eval() for seed in range(2)]
    stacked, _ = torch.func.stack_module_state(models)
    x = X.double()

    def call(parameters, x=x):
        return torch.func.functional_call(models[0], parameters, (x, factors))

    torch.func.vmap(call)(stacked).square().sum().backward()
    for number, model in enumerate(models):
        model(x, factors).square().sum().backward()
        for name, value in model.named_parameters():
            torch.testing.assert_close(stacked[name].grad[number], value.grad)
    own = {name: value.detach() for name, value in models[0].named_parameters()}
    slopes = torch.func.grad(lambda values: call(values).square().sum())(own)
    for name, value in models[0].named_parameters():
        torch.testing.assert_close(slopes[name], value.grad)
    xs = x.clone().requires_grad_()
    call(own, xs).square().sum().backward()
    by_x = torch.func.grad(lambda x: call(own, x).square().sum())(x)
    torch.testing.assert_close(by_x, xs.grad)


@pytest.mark.parametrize(
    "options", [{"encoder_layers": 2}, {}, {"normalize_layers": True}], ids=str
)
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_a_first_call_inside_torch_func_leaves_factors_as_good_as_new(directed, options):
    edges = EDGES if directed else np.hstack([EDGES, EDGES[::-1]])
    factors = factorize(sna(edges, None, NODES))
    model = make_model(**options).eval()

    def call(x):
        return model(x, factors).square().sum()

    few = X[:, :].clone()
    second = [torch.func.hessian(call)(few) for _ in range(2)]
    assert torch.equal(*second)
    torch.func.grad(call)(few)
    x = few.clone().requires_grad_()
    torch.testing.assert_close(
        second[0].flatten(0, 1).flatten(1),
        torch.autograd.functional.hessian(call, x).flatten(0, 1).flatten(1),
    )


def test_forward_mode_differentiates_whatever_path_was_cheapest():
    model, tangent = make_model().eval(), torch.ones_like(X)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(X, tangent)
        found = torch.autograd.forward_ad.unpack_dual(model(dual, DIRECTED)).tangent
    _, expected = torch.func.jvp(lambda x: model(x, DIRECTED), (X,), (tangent,))
    torch.testing.assert_close(found, expected)


def test_sparse_features_are_refused_by_transforms_of_torch_func():
    model = make_model()
    own = {name: value.detach() for name, value in model.named_parameters()}
    x = sparse.csr_array(X.numpy())

    def call(values):
        return torch.func.functional_call(model, values, (x, DIRECTED)).sum()

    with pytest.raises(ValueError, match=r"x is sparse.*torch\.func"):
        torch.func.grad(call)(own)


def test_features_made_in_inference_mode_can_be_trained_on():
    with torch.inference_mode():
        x = torch.randn(NODES, 1)
    model = make_model(sizes=(1, 8, 3, 2), encoder_layers=2)
    model(x, DIRECTED).sum().backward()
    assert model.encoder_0_weight.grad is not None


def test_a_model_on_the_meta_device_gives_shapes():
    model = make_model().to("meta")
    assert model(X.to("meta"), DIRECTED).shape == (NODES, 3)


def test_parametrized_weights_are_not_set_behind_their_back():
    model = make_model()
    torch.nn.utils.parametrizations.weight_norm(model, "encoder_0_weight")
    with pytest.raises(ValueError, match=r"'encoder\.0\.weight' is parametrized"):
        model.reset_parameters(0)


@pytest.mark.parametrize("options", [{}, {"equation": "heat", "complex_valued": False}], ids=str)
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("turned", [-1, 1])
def test_the_sign_of_frequency_dominance_is_where_deep_models_go(options, sign, turned):
    """Largest and smallest frequency, of a learned step size that is not real too."""
    ring = np.array([[0, 1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, 0, 0]])
    laplacian = sna(np.hstack([ring, ring[::-1]]), None, 6)
    lambda_1 = smallest_eigenvalue(laplacian)
    model = FLODE(3, 4, 2, num_layers=3000, step_size=0.02, sign=sign, **options)
    with torch.no_grad():
        model.channel_mixing[0] = 0
        model.channel_mixing[0, -1] = turned * torch.tensor([0.1, 0.3, 0.6, 1.0])
    states = model.trajectory(torch.randn(6, 3), factorize(laplacian))
    last = normalized_dirichlet_energy(laplacian, (states[-1] / states[-1].abs().max()).numpy())
    high = model.frequency_dominance(lambda_1) < 0
    assert last == pytest.approx((1 - lambda_1) / 2 if high else 0, abs=1e-3)
    mixing = model.complex_parameter("channel_mixing")[0]
    mixing = mixing.imag if model.architecture.complex_valued else mixing
    own = sign * mixing * (1 if model.architecture.complex_valued else -1)
    by_hand = frequency_dominance(own, model.exponent[0].item(), lambda_1)
    assert model.frequency_dominance(lambda_1) == pytest.approx(0.02 * by_hand)


@pytest.mark.parametrize(
    "options", [{"ode": False}, {"shared_weights": False}, {"exponent": -0.5}], ids=str
)
def test_frequency_dominance_of_what_the_theorem_does_not_speak_of_is_refused(options):
    with pytest.raises(ValueError, match="the theorem is of the ODE, one W, and exponents above 0"):
        make_model(**options).frequency_dominance(-0.5)


def test_complex_parameters_are_named():
    for name in ("exponent", "weight"):
        with pytest.raises(ValueError, match=f"name is '{name}'; allowed are channel_mixing"):
            make_model().complex_parameter(name)


def test_without_the_ode_there_is_no_step_to_learn():
    model = make_model(ode=False)
    gradients = torch.autograd.grad(model(X, DIRECTED).sum(), learned(model))
    assert len(gradients) == len(list(model.parameters())) - 1


@pytest.mark.parametrize("options", [{"encoder_layers": 2}, {}, {"normalize_layers": True}])
def test_a_first_call_in_inference_mode_leaves_factors_trainable(options):
    factors = factorize(sna(EDGES, None, NODES))
    model = make_model(**options)
    with torch.inference_mode():
        model.eval()(X, factors)
    model.train()(X, factors).sum().backward()
    assert model.channel_mixing.grad is not None


def test_a_rank_of_one_is_not_all_of_them():
    factors = factorize(sna(EDGES, None, NODES))
    one, all_of_them = (make_model(rank=rank).eval() for rank in (1, 1.0))
    assert not torch.allclose(one(X, factors), all_of_them(X, factors))
    assert torch.equal(all_of_them(X, factors), make_model().eval()(X, factors))


@pytest.mark.parametrize("layers", [8, 32, 128])
@pytest.mark.parametrize(("factors", "exponent"), [(DIRECTED, 0.3), (UNDIRECTED, -0.3)])
def test_normalised_layers_without_the_ode_are_exact_whatever_their_number(
    factors, exponent, layers
):
    sizes, options = (5, 16, 3, layers), {"normalize_layers": True, "ode": False}
    model = make_model(sizes=sizes, exponent=exponent, **options)
    found = model(X, factors)
    model.path = "general"
    exact = model.double()(X, factors)
    assert (found - exact).abs().max() < 2e-5 * exact.abs().max()


@pytest.mark.parametrize("layers", [32, 96])
def test_many_layers_without_the_ode_stay_in_range(layers):
    sizes = (5, 8, 3, layers)
    model = make_model(sizes=sizes, ode=False).eval()
    exact = make_model(sizes=sizes, ode=False, path="general").double().eval()
    torch.testing.assert_close(
        model(X, DIRECTED).double(), exact(X.double(), DIRECTED), rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize(
    "x", [np.ones((NODES, 5)) * 1j, sparse.csr_array(np.ones((NODES, 5)) * 1j)]
)
def test_complex_features_are_refused(x):
    with pytest.raises(ValueError, match=r"dtype (torch\.)?complex128"):
        make_model()(x, DIRECTED)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ode", "False"), ("shared_weights", 1), ("learn_exponent", "no"), ("sign", True),
     ("exponent", True)],
)  # fmt: skip
def test_switches_and_numbers_are_not_taken_for_one_another(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value!r}"):
        make_model(**{name: value})


def test_outputs_carry_gradients_only_where_they_are_wanted():
    model = make_model()
    assert model(X, DIRECTED).requires_grad
    with torch.no_grad():
        assert not model(X, DIRECTED).requires_grad


def test_a_few_steps_of_adam_lower_the_loss():
    model = make_model(input_dropout=0.1, decoder_dropout=0.1)
    labels = torch.from_numpy(np.random.default_rng(0).integers(0, 3, NODES))

    def loss():
        return torch.nn.functional.cross_entropy(model(X, DIRECTED), labels)

    optimizer = torch.optim.Adam(learned(model), lr=0.02)
    before = loss().item()
    for _ in range(60):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    model.eval()
    assert loss().item() < 0.5 * before


# Dropout -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"input_dropout": 0.5},
        {"decoder_dropout": 0.5},
        {"decoder_dropout": 0.5, "decoder_layers": 2, "encoder_layers": 2},
        {"input_dropout": 0.5, "normalize_layers": True},
    ],
    ids=["input", "decoder", "hidden layers", "normalised"],
)
def test_dropout_acts_in_training_and_not_in_evaluation(options):
    model = make_model(**options)
    plain = make_model(**{name: value for name, value in options.items() if "dropout" not in name})
    torch.manual_seed(0)
    first, second = model(X, DIRECTED), model(X, DIRECTED)
    assert not torch.allclose(first, second)
    torch.manual_seed(0)
    assert torch.equal(model(X, DIRECTED), first)
    model.eval()
    assert torch.equal(model(X, DIRECTED), plain(X, DIRECTED))
    assert torch.equal(model(X, DIRECTED), model(X, DIRECTED))


def test_training_without_dropout_is_evaluation():
    model = make_model()
    state = torch.get_rng_state()
    training = model(X, DIRECTED)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(model.eval()(X, DIRECTED), training)


def test_decoder_dropout_keeps_and_drops_units_at_its_rate_without_rescaling():
    """A decoder that adds up K states of 1 counts the units kept at each node."""
    channels, rate = 64, 0.3
    model = make_model(sizes=(5, channels, 1, 1), decoder_dropout=rate, path="general")
    parameters = {name: torch.zeros_like(v) for name, v in model.parameters_by_name().items()}
    parameters["encoder.0.bias"][0] = 1
    parameters["decoder.0.weight"][0] = 1
    parameters["exponent"][:] = 1
    model.load_parameters(parameters)
    torch.manual_seed(0)
    with torch.no_grad():
        kept = torch.cat([model(X, DIRECTED)[:, 0] for _ in range(10)])
        subset = model(X, DIRECTED, torch.tensor([3, 4, 5]))[:, 0]
    assert torch.equal(kept, kept.round())
    mean, deviation = channels * (1 - rate), (channels * rate * (1 - rate)) ** 0.5
    assert abs(kept.mean() - mean) < 5 * deviation / len(kept) ** 0.5
    assert kept.std() == pytest.approx(deviation, rel=5 * (2 / len(kept)) ** 0.5)
    assert subset.shape == (3,)
    assert (subset < channels).any()
    assert (model.eval()(X, DIRECTED) == channels).all()


def test_hidden_layers_of_the_encoder_drop_at_the_decoders_rate():
    """One unit adds up the hidden units of 1 and is read by the decoder, if not dropped itself."""
    channels, rate = 64, 0.3
    sizes = (5, channels, 1, 1)
    model = make_model(sizes=sizes, encoder_layers=2, decoder_dropout=rate, path="general")
    parameters = {name: torch.zeros_like(v) for name, v in model.parameters_by_name().items()}
    parameters["encoder.0.bias"][0] = 1
    parameters["encoder.1.weight"][0, 0] = 1
    parameters["decoder.0.weight"][0, 0, 0] = 1
    model.load_parameters(parameters)
    torch.manual_seed(0)
    with torch.no_grad():
        logits = torch.cat([model(X, DIRECTED)[:, 0] for _ in range(10)])
    kept = logits[logits > 0]
    assert abs(len(kept) / len(logits) - (1 - rate)) < 5 * (rate * (1 - rate) / len(logits)) ** 0.5
    deviation = (channels * rate * (1 - rate)) ** 0.5
    assert abs(kept.mean() - channels * (1 - rate)) < 5 * deviation / len(kept) ** 0.5
    assert kept.std() == pytest.approx(deviation, rel=5 * (2 / len(kept)) ** 0.5)


def test_input_dropout_drops_features_at_its_rate():
    """Without layers' effect, each logit counts the features kept at its node."""
    rate, features = 0.4, 50
    model = make_model(sizes=(features, 2, 1, 1), input_dropout=rate)
    parameters = {name: torch.zeros_like(v) for name, v in model.parameters_by_name().items()}
    parameters["encoder.0.weight"][0, 0] = 1
    parameters["decoder.0.weight"][0] = 1
    model.load_parameters(parameters)
    torch.manual_seed(0)
    ones = torch.ones(NODES, features)
    with torch.no_grad():
        kept = torch.cat([model(ones, DIRECTED)[:, 0] for _ in range(10)])
    deviation = (features * rate * (1 - rate)) ** 0.5
    assert torch.allclose(kept, kept.round(), atol=1e-4)
    assert abs(kept.mean() - features * (1 - rate)) < 5 * deviation / len(kept) ** 0.5
    assert kept.std() == pytest.approx(deviation, rel=5 * (2 / len(kept)) ** 0.5)


# Trajectory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("factors", [DIRECTED, UNDIRECTED], ids=["directed", "undirected"])
def test_the_trajectory_starts_at_the_encoder_and_ends_where_the_decoder_reads(factors, normalize):
    options = {"sizes": (5, 8, 3, 3), "input_dropout": 0.5, "normalize_layers": normalize}
    model = make_model(**options).double()
    states = model.trajectory(X.double(), factors)
    assert len(states) == 4
    assert states[0].shape == (NODES, 8)
    assert states[0].dtype == torch.complex128
    weight, bias = (model.complex_parameter(f"encoder.0.{kind}") for kind in ("weight", "bias"))
    assert torch.allclose(states[0], X.to(weight.dtype) @ weight.T + bias)
    weight, bias = (model.complex_parameter(f"decoder.0.{kind}") for kind in ("weight", "bias"))
    logits = model.eval()(X.double(), factors)
    assert torch.allclose((states[-1] @ weight.T + bias).abs(), logits, rtol=1e-9)
    # One step by hand, the state normalised between layers only.
    start = states[1] / states[1].norm(dim=1, keepdim=True) if normalize else states[1]
    power = factors.fractional_power(model.exponent.item()).to(weight.dtype)
    step = -1j * model.complex_parameter("step_size") * (power @ start)
    expected = start + step * model.complex_parameter("channel_mixing")
    assert torch.allclose(states[2], expected, rtol=1e-9)
    assert not any(state.requires_grad for state in states)


def test_the_trajectory_of_a_real_model_is_real():
    states = make_model(equation="heat", complex_valued=False).trajectory(X, DIRECTED)
    assert {state.dtype for state in states} == {torch.float32}


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (torch.ones(NODES, dtype=torch.bool), r"shape \(40,\) and dtype torch\.bool; allowed is"),
        (torch.zeros(2, 2, dtype=torch.int64), r"index has shape \(2, 2\)"),
        (torch.tensor(3), r"index has shape \(\)"),
        ([0, 1], r"index is a list; allowed is an int64 tensor"),
        (np.array([0, 1]), r"index is a ndarray"),
    ],
    ids=["mask", "matrix", "scalar", "list", "array"],
)
def test_what_is_no_index_is_refused(index, message):
    with pytest.raises(ValueError, match=message):
        make_model()(X, DIRECTED, index)
