"""The library against the outputs of the paper's own program (tests/golden)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from flode import FLODE
from flode.spectral import adjacency, factorize, normalized_dirichlet_energy
from flode.spectral.sna import symmetrically_normalize
from tests.unit.propagations import to_planes

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.npz"))
EQUATIONS = {
    "ms": ("schroedinger", -1),
    "s": ("schroedinger", 1),
    "mh": ("heat", -1),
    "h": ("heat", 1),
}


def agree(actual, expected, tolerance=1e-5):
    actual = np.asarray(actual)
    assert actual.shape == expected.shape
    error = np.abs(actual - expected).max() / max(np.abs(expected).max(), 1e-30)
    assert error <= tolerance, f"relative error {error:.2e}"


def laplacian_of(case):
    edges, nodes = case["edge_index"], len(case["y"])
    matrix = adjacency(edges, None, nodes)
    if case["self_loops"]:
        matrix = matrix + float(case["self_loops"]) * np.eye(nodes)
    if case["undirected"]:
        matrix = matrix + matrix.T
    return symmetrically_normalize(matrix)


def build(case, path="auto", dtype=torch.float32):
    complex_valued = np.iscomplexobj(case["channel_mixing"])
    equation, sign = EQUATIONS[str(case["equation"])]
    count = {
        part: sum(f"{part}_{i}_weight" in case for i in range(9)) for part in ("encoder", "decoder")
    }
    model = FLODE(
        case["x"].shape[1],
        case["channel_mixing"].shape[1],
        case["logits"].shape[1],
        int(case["num_layers"]),
        encoder_layers=count["encoder"],
        decoder_layers=count["decoder"],
        equation=equation,
        sign=sign,
        ode=not case["gcn"],
        complex_valued=complex_valued,
        shared_weights=bool(case["shared"]),
        normalize_layers=bool(case["normalize_layers"]),
        path=path,
    ).to(dtype)
    planes = model.architecture.planes
    parameters = {"exponent": torch.from_numpy(case["exponent"])}
    for name in ("channel_mixing", "step_size"):
        parameters[name] = to_planes(torch.from_numpy(case[name]), planes).transpose(0, 1)
    for part in count:
        for i in range(count[part]):
            for kind in ("weight", "bias"):
                value = torch.from_numpy(case[f"{part}_{i}_{kind}"])
                parameters[f"{part}.{i}.{kind}"] = to_planes(value, planes)
    model.load_parameters(parameters)
    return model


@pytest.fixture(params=GOLDEN, ids=lambda path: path.stem)
def case(request):
    with np.load(request.param) as stored:
        return {name: stored[name] for name in stored.files}


def test_there_are_golden_files():
    assert len(GOLDEN) == 7


def test_sna_and_singular_values(case):
    laplacian = laplacian_of(case)
    agree(laplacian.toarray(), case["sna"])
    values = factorize(laplacian).values.abs().numpy()
    golden = case["singular_values"]
    agree(np.pad(values, (0, len(golden) - len(values))), golden)


PATHS = ("auto", "general", "columns", "spectral", "reduced", "powers")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("path", PATHS)
def test_outputs_energies_and_gradients(case, path, dtype):
    factors = factorize(laplacian_of(case))
    model = build(case, path, dtype)
    x = torch.from_numpy(case["x"]).to(dtype)
    unfit = {
        "spectral": case["normalize_layers"] or not factors.symmetric,
        "reduced": case["normalize_layers"],
        "powers": case["normalize_layers"] or not case["shared"] or "encoder_1_weight" in case,
    }
    if unfit.get(path):
        with pytest.raises(ValueError, match="cannot serve this model"):
            model(x, factors)
        return
    logits = model(x, factors)
    agree(logits.detach(), case["logits"])
    loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(case["y"]))
    loss.backward()
    agree(loss.detach(), case["loss"])
    parameters = model.parameters_by_name()

    def gradient(name):
        grad = parameters[name].grad
        if grad is None:  # h without the ODE
            return np.zeros_like(case[f"grad_{name}"])
        planes = grad.transpose(0, 1) if "." not in name else grad
        return (torch.complex(*planes) if len(planes) == 2 else planes[0]).numpy()

    # One number in which large terms cancel: the golden float32 value is itself 4e-5 from the
    # formulas in float64, with which test_propagation compares to rounding.
    agree(parameters["exponent"].grad, case["grad_exponent"], 5e-5)
    agree(gradient("channel_mixing"), case["grad_channel_mixing"])
    agree(gradient("encoder.0.weight"), case["grad_encoder_0_weight"])
    if case["gcn"]:
        assert not gradient("step_size").any() and not case["grad_step_size"].any()
    else:
        agree(gradient("step_size"), case["grad_step_size"])


def test_energies(case):
    laplacian = laplacian_of(case)
    states = build(case).trajectory(torch.from_numpy(case["x"]), factorize(laplacian))
    energies = [normalized_dirichlet_energy(laplacian, state.numpy()) for state in states]
    agree(np.array(energies), case["dirichlet_energy"])
