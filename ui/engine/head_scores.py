"""What the heads of a trained layer do in fresh texts, one score at a time: a page waits for it."""

from functools import cache

import torch

from mla_engine.language_model.heads import SCORES, head_scores
from ui.engine import queue, shared_cache, trained
from ui.engine.trained_layer import TrainedLayer

TEXTS, SEED = 6, 2 * 10**6  # of each load; texts that no training has seen


@shared_cache.cached(anywhere=True)
def score(origin: TrainedLayer, kind: str) -> tuple[float, ...]:
    """How much of its attention each head of the layer gives to such a place, on average."""
    model = trained.load(origin.code).model
    with queue.turn(), torch.inference_mode():
        return tuple(head_scores(model, TEXTS, SEED, (kind,)).table[origin.layer, :, 0].tolist())


@cache
def texts(kind: str) -> int:
    """How many texts a score is the mean over."""
    return sum(map(len, SCORES[kind].texts(TEXTS, SEED)))
