"""Run files as a training writes them, with numbers made up."""

import json
from pathlib import Path

from flode.experiments.runfiles import save_run


def run_document(found, run, splits, *, changes=(), record=(), test=0.5, **facts):
    """What a run file of some splits holds.

    Args:
        found: the catalogue whose settings it has.
        changes: settings that it has instead.
        record: what each record has besides or instead.
        test: of each split, or by split.
        facts: what the file has instead.
    """
    settings = found.run_settings(run, splits) | dict(changes)
    scores = {split: test(split) if callable(test) else test for split in splits}
    return {
        "schema": 1,
        **{key: settings[key] for key in ("variant", "configuration", "dataset", "origin")},
        "metric": "accuracy",
        "hyperparameters": settings["hyperparameters"],
        "training": {"tf32": settings["tf32"], "flow": settings["flow"]},
        **{key: settings[key] for key in ("model",) if key in settings},
        "seed": settings["hyperparameters"]["seed"],
        "quick": settings["quick"],
        "versions": {"torch": "2.13.0", "training_stage": settings["version"]},
        "device": "cpu",
        "threads": 1,
        "commit": "c" * 40,
        "records": [
            {"split": split, "epochs": 300, **dict.fromkeys(("train", "validation", "test"), score)}
            | dict(record)
            for split, score in scores.items()
        ],
    } | facts


def put_run_file(found, root, run, splits, **options):
    """A run file under ``root``, in the place that its name has there."""
    folder = Path(root, run.variant, run.configuration)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"splits-{min(splits)}-{max(splits)}.json"
    # As JSON has it: no tuples, no keys that are numbers.
    save_run(json.loads(json.dumps(run_document(found, run, splits, **options))), path)
    return path
