"""Questions on attention maps: each asks which picture belongs to which layer."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import numpy as np
import torch
from torch import Tensor

from mla_engine.claims.claim import Figure
from mla_engine.claims.layers import GQA
from mla_engine.config import RopeConfig
from mla_engine.grouped import GroupedQueryAttention
from mla_engine.latent import LatentConfig, MultiHeadLatentAttention
from mla_engine.quiz.question import Choice, Generator, Question

WORDS = ("the", "cat", "saw", "the", "cat", "saw", "the", "cat")
SIZES = LatentConfig(d_model=32, n_heads=2, d_head=8, d_latent_kv=16, d_rope=16, softmax_scale=0.5)


def _hidden(rng: Random, words: tuple[str, ...], d_model: int) -> Tensor:
    """Return equal vectors for equal words [1,t,d], whatever their position."""
    generator = torch.Generator().manual_seed(rng.randrange(10**6))
    vectors = {w: torch.randn(d_model, generator=generator) for w in sorted(set(words))}
    return torch.stack([vectors[word] for word in words]).unsqueeze(0)


def _map(layer: torch.nn.Module, h: Tensor) -> np.ndarray:
    """Return the attention of the first head [t,s]."""
    return layer(h).attention[0, 0].numpy()


def _mixed(
    rng: Random,
    kind: str,
    maps: Mapping[str, np.ndarray],
    right: str,
    found: Mapping[str, float],
    *facts: Figure,
) -> Question:
    """Return the question which map is the right one; `found` tells what was read off each."""
    order = rng.sample(sorted(maps), len(maps))
    return Question(
        kind,
        choices=tuple(Choice("ABCD"[place], name) for place, name in enumerate(order)),
        answer=order.index(right),
        facts=(*facts, *(Figure(name, amount) for name, amount in found.items())),
        unit="map",
        maps=tuple(maps[name] for name in order),
        tokens=WORDS,
    )


def _uneven(shares: np.ndarray) -> float:
    """Return the largest difference between a query's shares [s] of equal words."""
    places = ([i for i, other in enumerate(WORDS) if other == word] for word in set(WORDS))
    return max(float(np.ptp(shares[equal])) for equal in places)


def unrotated(rng: Random) -> Question:
    """Ask which layer rotates nothing: equal words get equal shares there."""
    seed = rng.randrange(1000)
    configs = {
        "rotated": SIZES,
        "half_pairing": replace(SIZES, rope=RopeConfig(pairing="half")),
        "unrotated": replace(SIZES, rope=None),
    }
    h = _hidden(rng, WORDS, SIZES.d_model)
    maps = {n: _map(MultiHeadLatentAttention(c, seed), h) for n, c in configs.items()}
    uneven = {name: _uneven(shares[-1]) for name, shares in maps.items()}
    right = min(uneven, key=uneven.get)
    return _mixed(rng, "unrotated", maps, right, uneven)


def window(rng: Random) -> Question:
    """Ask which layer lets a query see only the last few tokens."""
    seed, width = rng.randrange(1000), rng.choice((2, 3, 4))
    config = replace(GQA, rope=RopeConfig())
    configs = {
        "all_before": config,
        "other_window": replace(config, sliding_window=width + 1),
        "window": replace(config, sliding_window=width),
    }
    h = _hidden(rng, WORDS, config.d_model)
    maps = {n: _map(GroupedQueryAttention(c, seed), h) for n, c in configs.items()}
    seen = {name: int((shares[-1] > 0).sum()) for name, shares in maps.items()}
    right = next(name for name, keys in seen.items() if keys == width)
    return _mixed(rng, "window", maps, right, seen, Figure("width", width))


def wrong_scale(rng: Random) -> Question:
    """Ask which map comes of a sixth of the right scale: its shares are too even."""
    seed = rng.randrange(1000)
    right_scale = replace(SIZES, softmax_scale=None)
    configs = {
        "right_scale": right_scale,
        "too_small": replace(SIZES, softmax_scale=right_scale.scale / 6),
        "too_large": replace(SIZES, softmax_scale=right_scale.scale * 6),
    }
    h = _hidden(rng, WORDS, SIZES.d_model)
    maps = {n: _map(MultiHeadLatentAttention(c, seed), h) for n, c in configs.items()}
    largest = {name: float(shares[-1].max()) for name, shares in maps.items()}
    right = min(largest, key=largest.get)
    return _mixed(rng, "wrong_scale", maps, right, largest)


def not_causal(rng: Random) -> Question:
    """Ask which map is the transposed one: its queries would see what comes later."""
    seed = rng.randrange(1000)
    h = _hidden(rng, WORDS, SIZES.d_model)
    mla = MultiHeadLatentAttention(SIZES, seed)
    first, second = (mla(h).attention[0, head].numpy() for head in (0, 1))
    maps = {"causal": first, "other_head": second, "transposed": np.ascontiguousarray(first.T)}
    ahead = {name: float(np.triu(shares, 1).sum()) for name, shares in maps.items()}
    right = max(ahead, key=ahead.get)
    return _mixed(rng, "not_causal", maps, right, ahead)


KINDS: tuple[Generator, ...] = (unrotated, window, wrong_scale, not_causal)
