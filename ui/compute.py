"""The one seam between the app and the engine: cached, bounded, first come first served."""

import gc
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import streamlit as st
import torch

from mla_engine import GroupedConfig, GroupedQueryAttention, LatentConfig, MultiHeadLatentAttention
from mla_engine.checkpoints import load_attention
from mla_engine.checks import RefusedError
from ui import source
from ui.tokens import hidden_states

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
MOST_WAITING = 64


class Queue:
    """One piece of work at a time, in the order of arrival, so that nobody waits twice as long."""

    def __init__(self, most_waiting: int) -> None:
        self._most, self._line, self._moved = most_waiting, deque(), threading.Condition()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn; ValueError if the line is full."""
        ticket = object()
        with self._moved:
            if len(self._line) > self._most:
                said = f"{self._most} pieces of work are waiting: try again soon"
                raise RefusedError("waiting", said, most=self._most)
            self._line.append(ticket)
            self._moved.wait_for(lambda: self._line[0] is ticket)
        try:
            yield
        finally:
            with self._moved:
                self._line.popleft()
                self._moved.notify_all()


@st.cache_resource(show_spinner=False)
def queue() -> Queue:
    """The line that all sessions share."""
    return Queue(MOST_WAITING)


@st.cache_resource(show_spinner=False)
def warm_up() -> None:
    """Once a server: threads, a dry run, then spare the garbage collector all that was imported.

    Streamlit collects after every run; with torch's 200,000 objects that takes 70 ms each time.
    """
    torch.set_num_threads(1)  # many sessions share the cores; one thread each serves them best
    config = LatentConfig(d_model=8, n_heads=2, d_head=4, d_latent_kv=4, d_rope=2)
    with torch.inference_mode():
        MultiHeadLatentAttention(config)(torch.zeros(1, 2, 8))
    gc.collect()
    gc.freeze()


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The one place where torch becomes numpy: float32, contiguous, on the CPU."""
    return np.ascontiguousarray(tensor.detach().to("cpu", torch.float32).numpy())


@st.cache_resource(
    max_entries=4, show_spinner=False, hash_funcs={source.Loaded: lambda one: repr(one.weights)}
)
def layer(
    config: GroupedConfig | LatentConfig, origin: source.Origin, heads: tuple[int, ...] | None
) -> GroupedQueryAttention | MultiHeadLatentAttention:
    """A layer with seeded or real weights; `heads` builds these alone.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    with queue().turn():
        return built(config, origin, heads, torch.float32)


def built(
    config: GroupedConfig | LatentConfig,
    origin: source.Origin,
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
    real = load_attention(source.checkpoint(origin), origin.layer, **made)
    if config == real.config:
        return real
    wanted = dict(kind(config, heads=heads, device="meta").named_parameters())
    weights = {name: weight for name, weight in real.named_parameters() if name in wanted}
    return kind.of_weights(config, weights, **made)


def hidden(words: tuple[str, ...], origin: source.Origin, d_model: int) -> torch.Tensor:
    """The hidden states of these words, h [1,t,d], where the layers are."""
    if isinstance(origin, int):
        return torch.from_numpy(hidden_states(words, origin, d_model))[None].to(DEVICE)
    return source.inputs(origin).h[:, : len(words)].to(DEVICE, torch.float32)


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
