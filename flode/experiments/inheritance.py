"""Variants that are like another one, but for what they say themselves.

Light on purpose, as the configuration is read in the Snakefile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flode.experiments.validation import ConfigurationError, did_you_mean


def completed_variants(variants: Mapping[str, Mapping]) -> dict[str, dict]:
    """Variants, those that are ``like`` another with what they do not say themselves from it, so
    that two of them differ in nothing else.

    Raises:
        ConfigurationError: there is no such variant, or it is itself like another.
    """
    completed = {}
    for name, spec in variants.items():
        if "like" not in spec:
            completed[name] = dict(spec)
            continue
        other, alone = spec["like"], [one for one, found in variants.items() if "like" not in found]
        if other not in alone:
            raise ConfigurationError(
                f"variants.{name}.like is {other!r}{_why_not(name, variants, alone)}; allowed are"
                f" {', '.join(map(repr, alone))}"
            )
        own = {key: value for key, value in spec.items() if key != "like"}
        for key in ("generator", "hyperparameters"):
            if key in own:
                own[key] = {**variants[other].get(key, {}), **own[key]}
        completed[name] = {**variants[other], **own}
    return completed


def _why_not(name: str, variants: Mapping[str, Mapping], alone: Iterable[str]) -> str:
    """Why a variant cannot be like the one that it names: a cycle, a chain, or a misspelt name."""
    chain = [name]
    while (other := variants.get(chain[-1], {}).get("like")) is not None:
        if other in chain:
            return f", a cycle: {' like '.join(map(repr, [*chain, other]))}"
        chain.append(other)
    if len(chain) > 2:
        return f", which is like {chain[2]!r} itself"
    return did_you_mean(chain[1], alone)
