"""The repository's configuration, for tests that change some of it."""

import copy
import functools
from pathlib import Path

import yaml

from flode.experiments.catalogue import Catalogue

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "workflow" / "schemas"
FILES = (
    "config.yaml",
    "dsbm.yaml",
    "datasets.yaml",
    "node_classification.yaml",
    "ablation.yaml",
    "depth.yaml",
    "studies.yaml",
    "reproduction.yaml",
    "report.yaml",
)


#: Overlay: the same rules on graphs so small that the whole DAG takes seconds.
TINY = {
    "results": "results/tiny",
    "quick": True,
    "device": "cpu",
    "datasets": {
        "dsbm": {
            "generator": {
                "cluster_size": 12,
                "alpha_within": 0.6,
                "train_per_cluster": 3,
                "validation": 15,
                "graphs": 2,
            },
            "hyperparameters": {"hidden_channels": 4, "epochs": 4, "patience": 3},
        }
    },
    "searches": {
        "dsbm": {
            "grid": {"num_layers": [2, 3], "decoder_layers": [2]},
            "variants": ["dsbm-alpha0.1-beta0.2", "dsbm-alpha0.1-beta0.3"],
        }
    },
}


def merge(base, overlay):
    """Overlay nested mappings, as Snakemake merges configuration files."""
    merged = copy.deepcopy(base)
    for key, value in overlay.items():
        nested = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if nested else copy.deepcopy(value)
    return merged


def configuration(overlay=None):
    """The merged configuration of the repository, with an overlay."""
    return merge(_repository(), overlay or {})


@functools.cache
def _repository():
    merged = {}
    for name in FILES:
        text = (ROOT / "config" / name).read_text(encoding="utf-8")
        merged = merge(merged, yaml.safe_load(text))
    return merged


def catalogue(overlay=None):
    return Catalogue(configuration(overlay), SCHEMAS)
