"""Layers with seeded or real weights, cached and bounded, and what enters them."""

import numpy as np
import streamlit as st
import torch

from mla_engine import GroupedConfig, GroupedQueryAttention, LatentConfig, MultiHeadLatentAttention
from mla_engine.checkpoints import load_attention
from mla_engine.studies.words import hidden_states
from ui.engine import queue, real_layer
from ui.engine.real_layer import Origin, RealLayer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The one place where torch becomes numpy: float32, contiguous, on the CPU."""
    return np.ascontiguousarray(tensor.detach().to("cpu", torch.float32).numpy())


@st.cache_resource(
    max_entries=4, show_spinner=False, hash_funcs={RealLayer: lambda one: repr(one.weights)}
)
def layer(
    config: GroupedConfig | LatentConfig, origin: Origin, heads: tuple[int, ...] | None
) -> GroupedQueryAttention | MultiHeadLatentAttention:
    """A layer with seeded or real weights; `heads` builds these alone.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with queue.turn():
        return built(config, origin, heads, torch.float32)


def built(
    config: GroupedConfig | LatentConfig,
    origin: Origin,
    heads: tuple[int, ...] | None,
    dtype: torch.dtype,
) -> GroupedQueryAttention | MultiHeadLatentAttention:
    """The same in any dtype, made anew.

    A real layer's weights may be asked for with another rotation, or without its latent norms.
    """
    kind = MultiHeadLatentAttention if isinstance(config, LatentConfig) else GroupedQueryAttention
    made = {"heads": heads, "dtype": dtype, "device": DEVICE}
    if isinstance(origin, int):
        return kind(config, seed=origin, **made)
    real = load_attention(real_layer.checkpoint(origin), origin.layer, **made)
    if config == real.config:
        return real
    wanted = dict(kind(config, heads=heads, device="meta").named_parameters())
    weights = {name: weight for name, weight in real.named_parameters() if name in wanted}
    return kind.of_weights(config, weights, **made)


def hidden(words: tuple[str, ...], origin: Origin, d_model: int) -> torch.Tensor:
    """The hidden states of these words, h [1,t,d], where the layers are."""
    if isinstance(origin, int):
        return torch.from_numpy(hidden_states(words, origin, d_model))[None].to(DEVICE)
    return real_layer.inputs(origin).h[:, : len(words)].to(DEVICE, torch.float32)


@st.cache_data(max_entries=64, show_spinner=False)
def shapes(
    config: GroupedConfig | LatentConfig, form: str, tokens: int
) -> dict[str, tuple[int, ...]]:
    """The shape of every step of a whole layer's trace, from a run without data.

    Args:
        config: a layer of any size.
        form: "expanded", "absorbed" or "grouped".
        tokens: how many; the batch is 1.
    """
    latent = isinstance(config, LatentConfig)
    kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
    whole = kind(config, device="meta")
    h = torch.empty(1, tokens, config.d_model, device="meta")
    trace = whole.forward_absorbed(h) if form == "absorbed" else whole(h)
    return {name: tuple(getattr(trace, name).shape) for name in trace.steps}
