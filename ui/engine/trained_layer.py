"""A layer of our trained models in the place of seeded weights: it reads the reader's sentence.

Each variant was trained by itself, so another variant is another model; but DSA is MLA with an
indexer. Pages whose pictures are of values begin with them; whoever chooses sizes, a seed or a text
of any words has seeded weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.heads import with_heads
from mla_engine.language_model import heads as kinds
from mla_engine.layer import AttentionLayer
from ui.engine import queue, shared_cache, trained
from ui.settings import state
from ui.settings.parsers import TRAINED
from ui.settings.shared import SIZES
from ui.settings.visit import visit

SEEDED = (*SIZES, "seed", "map_text", "map_generated")  # what no trained model goes with
FIRST = "mla"  # the variant whose sizes are named
SCORE_TEXTS, SCORE_SEED = 6, 2 * 10**6  # of each load; texts that no training has seen


@dataclass(frozen=True)
class TrainedLayer:
    """One attention layer of a trained model: stands where a seed stands otherwise.

    Args:
        code: the variant.
        layer: counted from 0.
        written: when its file was, so that a newer one is read again.
    """

    code: str
    layer: int
    written: int


def chosen() -> int | None:
    """Return the number of the layer that stands in for sizes and seed; None where none does."""
    s = state.settings()
    if not visit().page.trained or s["preset"] != TRAINED or FIRST not in trained.readable():
        return None
    plain = all(s[name] == state.default(name) for name in SEEDED)
    return s["trained_layer"] if plain and not lacking() else None


def lacking() -> bool:
    """Tell whether the page has the variant that is set, but none of its kind is ever trained.

    Our own small sizes stand there then, with weights that are drawn, until sizes are chosen.
    """
    s, page = state.settings(), visit().page
    if not page.trained or s["preset"] != TRAINED or s["variant"] not in page.variants:
        return False
    if FIRST not in trained.readable() or any(s[name] != state.default(name) for name in SIZES):
        return False
    return never(s["variant"])


def never(variant: str) -> bool:
    """Tell whether no model of a variant's kind is trained in this project."""
    every = mechanisms.variants()
    kinds = {every[code].kind for code in trained.VARIANTS if code in every}
    return every[variant].kind not in kinds


def config() -> AttentionConfig:
    """Return the configuration of the layers whose sizes are named."""
    return trained.load(FIRST).config.attention


def sizes() -> dict[str, int]:
    """Return the sizes of all variants together."""
    found = mechanisms.sizes_of(config())
    if model := trained.readable().get("gqa"):
        found["n_kv_heads"] = mechanisms.sizes_of(model.config.attention)["n_kv_heads"]
    return found


def of(wanted: AttentionConfig, layer: int, free: Sequence[str]) -> TrainedLayer | None:
    """Return the trained layer of a configuration, whatever the fields in `free` say, or None."""
    for code, model in trained.readable().items():
        own = model.config.attention
        if type(own) is not type(wanted):
            continue
        same = {name: vars(own)[name] for name in free if name in vars(own)}
        if replace(wanted, **same) == own:
            return TrainedLayer(code, layer, model.written)
    return None


def attention(
    origin: TrainedLayer,
    wanted: AttentionConfig,
    heads: tuple[int, ...] | None,
    dtype: torch.dtype,
    device: torch.device | str,
) -> AttentionLayer:
    """Return the layer with its weights, in the wanted configuration, or these heads of it."""
    whole = trained.load(origin.code).model.blocks[origin.layer].attention
    return with_heads(whole, heads, wanted, dtype, device)


def inputs(origin: TrainedLayer, words: Sequence[str]) -> torch.Tensor:
    """Return what enters the layer when its model reads these words, h [1,t,d].

    Raises:
        WordError: words that it does not know.
    """
    model = trained.load(origin.code)
    tokens = tuple(model.config.tokens(" ".join(words)))
    return trained.run(model, tokens).blocks[origin.layer].attention.h


def words() -> tuple[str, ...]:
    """Return the words of the reader's sentence, or of the one that the app begins with."""
    return tuple((state.settings()["sentence"] or trained.OWN).lower().split())


@shared_cache.cached(anywhere=True)
def head_scores(origin: TrainedLayer, kind: str) -> tuple[float, ...]:
    """Return how much attention each head of the layer gives to such a place in fresh texts."""
    model = trained.load(origin.code).model
    with queue.turn(), torch.inference_mode():
        found = kinds.head_scores(model, SCORE_TEXTS, SCORE_SEED, (kind,))
        return tuple(found.table[origin.layer, :, 0].tolist())


@cache
def score_texts(kind: str) -> int:
    """Return how many texts a score is the mean over."""
    return sum(map(len, kinds.SCORES[kind].texts(SCORE_TEXTS, SCORE_SEED)))
