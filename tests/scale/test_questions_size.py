"""A graph of Questions' size through the whole chain: what time and memory it takes.

Not part of the default tests: on two cores it takes about two hours. It needs 12 GB of disk.

    pytest -m slow -s tests/scale

``FLODE_SCALE_NODES`` makes the graph smaller, for a trial.
"""

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest

from flode.datasets.readers import RawGraph
from flode.datasets.writers import write_raw
from tests.configuration import catalogue
from tests.unit.rawfiles import row_of
from tests.workflow_runner import command, working_copy

NODES = int(os.environ.get("FLODE_SCALE_NODES", "48921"))
#: Questions' edges a node, features and splits.
EDGES, FEATURES, SPLITS = NODES * 153_540 // 48_921, 301, 10
MEMORY_MIB = 24 * 1024
RESULTS = "results/scale"


def questions_like() -> RawGraph:
    """A sparse graph whose degrees have a heavy tail, dense features, rare positive labels."""
    rng = np.random.default_rng(0)
    weight = rng.pareto(1.5, NODES) + 0.2
    ends = rng.choice(NODES, size=(2, 2 * EDGES), p=weight / weight.sum())
    ends = np.unique(np.sort(ends[:, ends[0] != ends[1]], axis=0), axis=1)
    edges = ends[:, rng.permutation(ends.shape[1])[:EDGES]]
    labels = (rng.random(NODES) < 0.03).astype(np.int64)
    features = rng.normal(size=(NODES, FEATURES)).astype(np.float32) + labels[:, None]
    masks = np.zeros((3, SPLITS, NODES), dtype=bool)
    for split in range(SPLITS):
        parts = np.split(rng.permutation(NODES), [NODES // 2, 3 * NODES // 4])
        for mask, part in zip(masks, parts, strict=True):
            mask[split, part] = True
    return RawGraph(features, labels, edges, *masks)


@pytest.mark.slow
def test_the_chain_runs_within_24_gib(tmp_path):
    path = tmp_path / "mirror" / "heterophilous-graphs" / "data" / "questions.npz"
    write_raw("heterophilous", {"archive": path}, questions_like())
    manifest = tmp_path / "mirror" / "manifest.csv"
    rows = [row_of(path.read_bytes(), "heterophilous-graphs", "data/questions.npz")]
    others = pd.read_csv(catalogue().config["data"]["manifest"], dtype=str)
    frame = pd.DataFrame([vars(row) for row in rows])
    frame = frame.set_axis(others.columns, axis=1)
    known = (others["source"] == rows[0].source) & (others["path"] == rows[0].path)
    pd.concat([others[~known], frame]).to_csv(manifest, index=False)
    overlay = {
        "results": RESULTS,
        "quick": True,
        "data": {
            "mirror": str(tmp_path / "mirror"),
            "manifest": str(manifest),
            "folder": "raw",
        },
        # As the paper trains it, for two epochs.
        "variants": {"questions": {"hyperparameters": {"epochs": 2}}},
    }
    folder = working_copy(tmp_path / "work", overlay)
    target = f"{RESULTS}/runs/questions/default/splits-0-9.json"
    subprocess.run(
        [*command(), target, "--configfile", "overlay.yaml", "--cores", "2"], cwd=folder, check=True
    )
    print(f"\n{NODES} nodes, {EDGES} edges")
    for stage, name in (("factors", "questions"), ("runs", "questions/default/splits-0-9")):
        used = pd.read_csv(folder / RESULTS / "benchmarks" / stage / f"{name}.tsv", sep="\t").iloc[
            0
        ]
        print(f"{stage}: {used['s']:.0f} s, at most {used['max_rss'] / 1024:.1f} GiB")
        assert used["max_rss"] < MEMORY_MIB
    factors = folder / RESULTS / "factors" / "questions.safetensors"
    print(f"factor file: {factors.stat().st_size / 2**30:.2f} GiB")
    # Nothing of N × N is kept: N × 0.3 N in float32.
    assert factors.stat().st_size < 1.02 * 0.3 * NODES * NODES * 4 + 2**20
    document = json.loads((folder / target).read_text())
    assert len(document["records"]) == SPLITS
    assert all(0 <= record["test"] <= 1 for record in document["records"])
