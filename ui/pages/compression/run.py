"""What the compression page has the engine compute, cached and shared by all sessions."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import GroupedConfig, GroupedQueryAttention, MultiHeadLatentAttention
from mla_engine.studies.compression import (
    Joint,
    Loss,
    Separate,
    joint,
    loss,
    separate,
    with_spectrum,
)
from mla_engine.studies.merging import content_attention
from ui.engine import kept, layers, queue, real_layer
from ui.engine.real_layer import Origin, RealLayer
from ui.words.text import t

WAYS = ("joint", "separate")
ERRORS = ("k", "v", "scores", "u")


@dataclass(frozen=True)
class Source:
    """Where a layer's weights come from; `decay` None leaves them as they are.

    The heads are whole groups that share a KV head. What they read is `inputs`, a real layer's, or
    what the origin of the weights goes with.
    """

    config: GroupedConfig
    origin: Origin
    heads: tuple[int, ...]
    decay: float | None
    inputs: RealLayer | None = None

    @property
    def full(self) -> int:
        """Numbers that these heads cache per token without compression."""
        n_kv_heads = len(self.heads) // self.config.group_size
        return n_kv_heads * (self.config.d_head + self.config.d_value)

    @property
    def weights(self) -> "Source":
        """This layer without its inputs, as its weights go with any text."""
        real = isinstance(self.origin, RealLayer)
        return replace(self, inputs=None, origin=self.origin.weights if real else self.origin)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A layer and the factors of its keys' and values' weights."""

    layer: GroupedQueryAttention
    ways: dict[str, Joint | Separate]

    @property
    def spectra(self) -> dict[str, np.ndarray]:
        """Singular values of both together, of W_K and of W_V."""
        one, two = (self.ways[way] for way in WAYS)
        found = {"both": one.factors, "W_K": two.keys, "W_V": two.values}
        return {name: layers.to_numpy(f.singular_values) for name, f in found.items()}


def prepared(source: Source) -> Prepared:
    """The layer with the chosen spectrum, its weights factored.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    return _prepared(source.weights)


@kept.keep
def _prepared(source: Source) -> Prepared:
    with queue.turn(), torch.inference_mode():
        layer = _layer(source)
        if source.decay is not None:
            W_K, W_V = with_spectrum(layer.W_K, layer.W_V, source.decay)
            layer.W_K.copy_(W_K)
            layer.W_V.copy_(W_V)
        found = joint(layer.W_K, layer.W_V), separate(layer.W_K, layer.W_V)
    return Prepared(layer, dict(zip(WAYS, found, strict=True)))


def _layer(source: Source) -> GroupedQueryAttention:
    """A layer of its own, seeded or real; of an MLA what its latents stand for."""
    made = {"heads": source.heads, "dtype": torch.float32, "device": layers.DEVICE}
    if isinstance(source.origin, int):
        return GroupedQueryAttention(source.config, seed=source.origin, **made)
    real = real_layer.attention(source.origin, **made)
    return content_attention(real) if isinstance(real, MultiHeadLatentAttention) else real


@kept.keep
def lost(source: Source, words: tuple[str, ...], way: str, rank: int) -> Loss:
    """What a latent of `rank` numbers loses on these words; beyond full rank nothing.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    ready = prepared(source)
    factors = ready.ways[way]
    h = layers.hidden(words, source.inputs or source.origin, source.config.d_model)
    with queue.turn(), torch.inference_mode():
        return loss(ready.layer, h, factors, [min(rank, factors.most)])[0]


def curves(source: Source, words: tuple[str, ...], ranks: list[int]) -> pd.DataFrame:
    """The errors of both ways at every rank; long work in pieces, with its progress.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    wanted = [(way, rank) for way in WAYS for rank in ranks]
    bar = st.progress(0.0, t("compression.running"))
    rows = []
    try:
        for done, (way, rank) in enumerate(wanted, start=1):
            found = vars(lost(source, words, way, rank))
            rows.append({"way": way, "rank": rank} | {error: found[error] for error in ERRORS})
            bar.progress(done / len(wanted), t("compression.running"))
    finally:
        bar.empty()
    return pd.DataFrame(rows)


def split(source: Source, rank: int) -> tuple[int, int]:
    """How separate compression shares a latent's numbers between keys and values."""
    separate = prepared(source).ways["separate"]
    return separate.ranks(min(rank, separate.most))
