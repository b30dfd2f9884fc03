"""Metrics of stacked splits, computed where the logits are."""

from __future__ import annotations

import torch
from torch import Tensor


def accuracy(logits: Tensor, labels: Tensor, counted: Tensor) -> Tensor:
    """Share of nodes whose largest logit is their label's; a logit that is no number is none.

    Args:
        logits: ``(S, C, n)``.
        labels: ``(S, n)`` int64.
        counted: ``(S, n)`` bool; other nodes are padding.

    Returns:
        ``(S,)`` in [0, 1].
    """
    # An argmax would name the class of a nan.
    right = (logits.argmax(dim=1) == labels) & ~logits.isnan().any(dim=1) & counted
    return right.sum(dim=1).double() / counted.sum(dim=1)


def auroc(logits: Tensor, labels: Tensor, counted: Tensor) -> Tensor:
    """Area under the ROC curve of class 1 of two, ties counted half; arguments as for
    :func:`accuracy`. nan where only one class is present, or a score counted is no number."""
    scores = (logits[:, 1] - logits[:, 0]).double()
    unranked = (scores.isnan() & counted).any(dim=1)
    # Padding ranks above everything, so no other rank moves.
    scores = torch.where(counted, scores, torch.inf).contiguous()
    ordered = scores.sort(dim=1).values
    below = torch.searchsorted(ordered, scores, right=False)
    not_above = torch.searchsorted(ordered, scores, right=True)
    # But those of infinite scores, which padding is not among.
    not_above = not_above.minimum(counted.sum(dim=1, keepdim=True))
    ranks = (below + not_above + 1).double() / 2
    positive = (labels == 1) & counted
    positives = positive.sum(dim=1).double()
    negatives = counted.sum(dim=1) - positives
    rank_sum = torch.where(positive, ranks, 0.0).sum(dim=1)
    area = (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)
    return torch.where(unranked, torch.nan, area)


METRICS = {"accuracy": accuracy, "auroc": auroc}
