"""Layers of every source, in the shared cache, and how they are run."""

from collections.abc import Iterable

import numpy as np
import torch

from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.mechanism import Form
from mla_engine.trace import Trace
from ui.engine import queue, shared_cache
from ui.sources import Checkpoint, Source


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The one place where torch becomes numpy: float32, contiguous, on the CPU."""
    return np.ascontiguousarray(tensor.detach().to("cpu", torch.float32).numpy())


def _weights(config: AttentionConfig, source: Source, heads: tuple[int, ...] | None) -> tuple:
    """Return what a layer depends on: of a checkpoint's any text will do."""
    return config, source.weights, heads


def layer(config: AttentionConfig, source: Source, heads: tuple[int, ...] | None) -> AttentionLayer:
    """Return a layer with the weights of a source, or these heads of it.

    A drawn one is built in a turn of the queue. Who runs it asks for it within the turn of that
    run: a layer that somebody holds while he waits takes memory beside all that is kept. Before
    that turn he has one of a checkpoint read, by `bring`.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    found = _layer.peek(config, source, heads)
    if found is None:
        if isinstance(source, Checkpoint):
            return _layer(config, source, heads)
        with queue.turn():  # before the key is locked: nobody waits in his turn for one who waits
            found = _layer(config, source, heads)
    return found


def bring(config: AttentionConfig, source: Source, heads: tuple[int, ...] | None) -> None:
    """Have a checkpoint's layer read before the turn of its run: nobody waits for its worker."""
    if isinstance(source, Checkpoint):
        layer(config, source, heads)


@shared_cache.cached(key=_weights)
def _layer(
    config: AttentionConfig, source: Source, heads: tuple[int, ...] | None
) -> AttentionLayer:
    shared_cache.evict_for(n_bytes(config, heads))
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return built(config, source, heads, torch.float32)


def built(
    config: AttentionConfig, source: Source, heads: tuple[int, ...] | None, dtype: torch.dtype
) -> AttentionLayer:
    """Build a layer as `layer` returns it, in any dtype and outside of the cache, in a turn."""
    return source.attention(config, heads, dtype)


def n_bytes(config: AttentionConfig, heads: Iterable[int] | None) -> int:
    """Return how many bytes `layer` takes."""
    return costs.parameters(config, heads) * torch.float32.itemsize


@shared_cache.cached
def shapes(config: AttentionConfig, form: str, tokens: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every step of a whole layer's trace, from a run without data.

    Args:
        config: a layer of any size.
        form: "expanded", "absorbed", "grouped", ..., as SYMBOLS names it.
        tokens: how many; the batch is 1.
    """
    whole = mechanisms.of(config).layer(config, device="meta")
    trace = run(whole, torch.empty(1, tokens, config.d_model, device="meta"), form)
    return {name: tuple(vars(trace)[name].shape) for name in trace.steps}


def run(layer: AttentionLayer, h: torch.Tensor, form: str) -> Trace:
    """Run a whole sequence in the form of this name."""
    return form_of(layer.config, form).forward(layer, h)


def form_of(config: AttentionConfig, name: str) -> Form:
    """Return the form that SYMBOLS knows by this name."""
    return next(form for form in mechanisms.of(config).forms if form.symbols == name)
