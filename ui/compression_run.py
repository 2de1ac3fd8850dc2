"""What the compression page has the engine compute, cached and shared by all sessions."""

from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from mla_engine import GroupedConfig, GroupedQueryAttention
from mla_engine.compression import Joint, Loss, Separate, joint, loss, separate, with_spectrum
from ui import compute

WAYS = ("joint", "separate")


@dataclass(frozen=True)
class Source:
    """Where a layer's weights come from; `decay` None leaves them as they were drawn."""

    config: GroupedConfig
    seed: int
    heads: tuple[int, ...]
    decay: float | None

    @property
    def full(self) -> int:
        """Numbers that these heads cache per token without compression."""
        return len(self.heads) * (self.config.d_head + self.config.d_value)


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
        return {name: compute.to_numpy(f.singular_values) for name, f in found.items()}


@st.cache_resource(max_entries=3, show_spinner=False)
def prepared(source: Source) -> Prepared:
    """Draw the layer, give it the chosen spectrum, and factor its weights.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with compute.queue().turn(), torch.inference_mode():
        layer = GroupedQueryAttention(
            source.config, seed=source.seed, heads=source.heads, device=compute.DEVICE
        )
        if source.decay is not None:
            W_K, W_V = with_spectrum(layer.W_K, layer.W_V, source.decay)
            layer.W_K.copy_(W_K)
            layer.W_V.copy_(W_V)
        found = joint(layer.W_K, layer.W_V), separate(layer.W_K, layer.W_V)
    return Prepared(layer, dict(zip(WAYS, found, strict=True)))


@st.cache_data(max_entries=2048, show_spinner=False)
def lost(source: Source, words: tuple[str, ...], way: str, rank: int) -> Loss:
    """What a latent of `rank` numbers loses on these words; beyond full rank nothing.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    ready = prepared(source)
    factors = ready.ways[way]
    h = compute.hidden(words, source.seed, source.config.d_model)
    with compute.queue().turn(), torch.inference_mode():
        return loss(ready.layer, h, factors, [min(rank, factors.most)])[0]
