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


#: What ``trimmed`` leaves of the DSBM graphs.
THREE = ("dsbm-alpha0.1-beta0.05", "dsbm-alpha0.1-beta0.2", "dsbm-alpha0.1-beta0.3")


def trimmed():
    """Configuration files, by stem, of a workflow that has three DSBM graphs and a study without
    a graph."""
    whole = configuration()
    tables, figures = whole["tables"], whole["figures"]
    for name in ("dsbm", "dsbm_hyperparameters"):
        for subtable in tables[name]["subtables"].values():
            columns = subtable["columns"].items()
            subtable["columns"] = {key: one for key, one in columns if one["variant"] in THREE}
    searches = {"dsbm": whole["searches"]["dsbm"] | {"variants": list(THREE)}}
    dsbm = {
        "datasets": {"dsbm": whole["datasets"]["dsbm"]},
        "variants": {name: whole["variants"][name] for name in THREE},
        "searches": searches,
        "tables": {name: tables[name] for name in ("dsbm", "dsbm_hyperparameters")},
        "figures": {"dsbm": figures["dsbm"]},
    }
    cell = {"source": "dsbm", "where": {"subtable": "net_flow", "row": "FLODE", "column": "0.20"}}
    claims = {"FLODE is better than <chance>": {"source": "Section 6"}}
    claims["FLODE is better than <chance>"]["checks"] = [{"greater": [cell, 0]}]
    learnt = [
        {"statement": "An {open} point", "table": "dsbm", "cells": [cell["where"]]},
        {"statement": "Balance", "figure": "weakly_balanced"},
    ]
    return {
        "dsbm": dsbm,
        "studies": {
            "studies": {"weakly_balanced": whole["studies"]["weakly_balanced"]},
            "figures": {"weakly_balanced": figures["weakly_balanced"]},
        },
        "reproduction": {
            "tables": {
                "reproduction": tables["reproduction"] | {"tables": ["dsbm"]},
                "claims": tables["claims"] | {"claims": claims},
            }
        },
        "report": {"report": {"learnt": learnt}},
        "node_classification": {},
        "models": {"models": {}},
        "ablation": {},
        "depth": {},
        "discrepancies": {},
    }
