"""The repository's configuration, for tests that change some of it."""

import functools
from pathlib import Path

from flode.experiments.catalogue import Catalogue
from flode.experiments.defaults import FILES, completed
from flode.experiments.defaults import merged as merge

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "workflow" / "schemas"

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
            "variants": ["dsbm-alpha0.1-beta0.2", "dsbm-alpha0.1-beta0.05"],
        }
    },
}


def configuration(overlay=None):
    """The merged configuration of the repository, with an overlay."""
    return merge(_repository(), overlay or {})


@functools.cache
def _repository():
    return completed({}, [ROOT / "config" / name for name in FILES])


def catalogue(overlay=None):
    return Catalogue(configuration(overlay), SCHEMAS)
