"""Small published values, run files and a specification for the tests of `flode.reporting`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

PUBLISHED = """\
subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source
density,0,Cheb_Net,0.10,accuracy,%,19.9,0.6,std,5,,t
density,0,Cheb_Net,0.05,accuracy,%,20.0,0.7,std,5,,t
density,1,MagNet,0.10,accuracy,%,99.6,0.2,std,5,,t
density,1,MagNet,0.05,accuracy,%,,,,,OOM,t
density,2,FLODE,0.10,accuracy,%,99.3,0.1,standard error,5,,t
density,2,FLODE,0.05,accuracy,%,97.5,0.1,standard error,5,,t
flow,0,MagNet,0.2,accuracy,%,94.2,1.6,std,5,,t
flow,1,FLODE,0.2,accuracy,%,92.8,0.1,standard error,5,,t
"""

HYPERPARAMETERS = """\
subtable,group,row,column,metric,unit,mean,error,error_kind,n,note,source
density,0,learning_rate,0.10,learning_rate,,0.005,,,,,t
density,0,learning_rate,0.05,learning_rate,,0.005,,,,,t
density,0,hidden_channels,0.10,hidden_channels,,256,,,,,t
density,0,hidden_channels,0.05,hidden_channels,,256,,,,,t
"""


def column(variant: str, **extra: str) -> dict[str, str]:
    return {"variant": variant, "configuration": "default", **extra}


DENSITY = {
    "caption": "Varying edge density.",
    "header": r"$\alpha^{\ast}$",
    "columns": {"0.10": column("a0.1"), "0.05": column("a0.05")},
}
SPEC: dict[str, Any] = {
    "caption": r"Accuracy: top three as \first{1st}, \second{2nd} and \third{3rd}.",
    "label": "tab:demo",
    "metric": "accuracy",
    "marked": 3,
    "subtables": {
        "density": DENSITY,
        "flow": {"caption": "Varying net flow.", "columns": {"0.2": column("b0.2", label="$.2$")}},
    },
}
HYPERPARAMETER_SPEC = {"caption": "Settings.", "subtables": {"density": DENSITY}}


def published(text: str = PUBLISHED) -> pd.DataFrame:
    """As `read_published` gives it, without a file."""
    header, *lines = (line.split(",") for line in text.splitlines())
    return pd.DataFrame(lines, columns=header, dtype=str)


def run_content(
    variant: str = "a0.1", test: list[float] | None = None, first: int = 0, **changes: Any
) -> dict[str, Any]:
    """A run file's content, with one record for each test accuracy."""
    tests = [0.991, 0.993, 0.992, 0.994, 0.995] if test is None else test
    content = {
        "schema": 1,
        "variant": variant,
        "configuration": "default",
        "dataset": "dsbm",
        "metric": "accuracy",
        "hyperparameters": {
            "learning_rate": 0.005,
            "hidden_channels": 256,
            "num_layers": 3,
            "encoder_layers": 1,
            "decoder_layers": 2,
        },
        "training": {"max_epochs": 3000},
        "seed": 12345,
        "versions": {"flode": "0.1.0"},
        "device": "cpu",
        "commit": "abc",
        "quick": False,
        "records": [
            {
                "split": first + k,
                "epochs": 300,
                "train": 1.0,
                "validation": 0.97,
                "test": accuracy,
                "exponent": [0.9 + 0.01 * k],
                "step_size": [[1.05, 0.01]],
                "dirichlet_energy": 0.2,
            }
            for k, accuracy in enumerate(tests)
        ],
    }
    return content | changes


def write_run(folder: Path, name: str, content: Any) -> Path:
    path = folder / f"{name}.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path
