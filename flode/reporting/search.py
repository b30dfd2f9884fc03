"""Choice of a hyperparameter by mean validation metric, never by test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from flode.experiments.hyperparameters import DEFAULT
from flode.reporting.records import Runs, splits_in_words, summarise
from flode.reporting.verdicts import QUICK_RUN

#: Columns after the variant's and those of the hyperparameters searched.
COLUMNS = (
    "configuration", "n", "validation_mean", "validation_std", "test_mean", "test_std",
    "mean_epochs", "chosen", "configured", "note", "runs",
)  # fmt: skip


def search_table(candidates: Mapping, runs: Mapping) -> pd.DataFrame:
    """Mean validation metric of each candidate, and which one is best.

    Args:
        candidates: variant → configuration → values, see ``Catalogue.search_settings``.
        runs: (variant, configuration) → ``Runs``, from ``flode.reporting.records.load_runs``.

    Returns:
        DataFrame with ``variant``, a column for each hyperparameter searched, ``configuration, n,
        validation_mean, validation_std, test_mean, test_std, mean_epochs, chosen, configured,
        note, runs``; metrics in percent, population standard deviations. Candidates are compared
        on the splits that all of them have, the first of equal ones is chosen, and ``configured``
        marks the variant's default. Test metrics are shown, and have no part in the choice. A
        candidate that diverged has no metrics.
    """
    rows = []
    for variant, by_configuration in candidates.items():
        compared = comparable(variant, by_configuration, runs)
        chosen = _best(compared)
        for configuration, values in by_configuration.items():
            found = runs[variant, configuration]
            row = {"variant": variant, **values, "configuration": configuration}
            if not found.diverged:
                validation, test = found.score("validation"), found.score("test")
                row |= {
                    "n": validation.n,
                    "validation_mean": validation.mean,
                    "validation_std": validation.std,
                    "test_mean": test.mean,
                    "test_std": test.std,
                    "mean_epochs": summarise(record["epochs"] for record in found.records).mean,
                }
            row |= {"chosen": configuration == chosen, "configured": configuration == DEFAULT}
            own = compared.get(configuration)
            part = own is not None and own.splits != found.splits
            shared = f"compared by splits {splits_in_words(own.splits)}" if part else None
            if own is None and not found.diverged:
                shared = "not compared: no split is there of all"
            notes = filter(None, [QUICK_RUN if found.quick else None, found.diverged, shared])
            rows.append(row | {"note": "; ".join(notes), "runs": ";".join(found.files)})
    searched = dict.fromkeys(
        name for found in candidates.values() for values in found.values() for name in values
    )
    frame = pd.DataFrame(rows, columns=["variant", *searched, *COLUMNS])
    # A whole number stays one where other candidates leave it empty.
    for name in searched:
        values = [row.get(name) for row in rows]
        frame[name] = pd.Series(values, dtype=object, index=frame.index)
    return frame


def best_configuration(variant: str, configurations: Iterable[str], runs: Mapping) -> str | None:
    """The configuration of the best mean validation metric, the first of equal ones; None if the
    training of each diverged, or they have no split in common."""
    return _best(comparable(variant, configurations, runs))


def _best(compared: Mapping[str, Runs]) -> str | None:
    means = {one: found.score("validation").mean for one, found in compared.items()}
    return max(means, key=means.__getitem__) if means else None


def comparable(variant: str, configurations: Iterable[str], runs: Mapping) -> dict[str, Runs]:
    """The runs of configurations that have a result, on the splits that all of these have: means
    over different splits are not compared. Empty where they have none in common."""
    found = {one: runs[variant, one] for one in configurations}
    found = {one: own for one, own in found.items() if not own.diverged}
    shared = set.intersection(*(own.splits for own in found.values())) if found else set()
    return {one: own.of_splits(shared) for one, own in found.items()} if shared else {}
