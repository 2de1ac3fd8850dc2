"""Layers with seeded, trained or real weights, in the shared cache, and what enters them."""

from collections.abc import Iterable

import numpy as np
import torch

from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.layer import AttentionLayer
from mla_engine.mechanism import Form
from mla_engine.studies.words import hidden_states
from mla_engine.trace import Trace
from ui.engine import queue, real_layer, shared_cache, trained_layer
from ui.engine.device import DEVICE
from ui.engine.real_layer import RealLayer
from ui.engine.trained_layer import TrainedLayer

Origin = int | TrainedLayer | RealLayer  # whose the weights are: a seed's, or one of these


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The one place where torch becomes numpy: float32, contiguous, on the CPU."""
    return np.ascontiguousarray(tensor.detach().to("cpu", torch.float32).numpy())


def _weights(config: AttentionConfig, origin: Origin, heads: tuple[int, ...] | None) -> tuple:
    """Return what a layer depends on: of a real one any text will do."""
    return config, origin.weights if isinstance(origin, RealLayer) else origin, heads


def layer(config: AttentionConfig, origin: Origin, heads: tuple[int, ...] | None) -> AttentionLayer:
    """Return a layer with seeded, trained or real weights, or these heads of it.

    A seeded one is built in a turn of the queue. Who runs it asks for it within the turn of that
    run: a layer that somebody holds while he waits takes memory beside all that is kept. Before
    that turn he has a real one read, by `bring`.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    found = _layer.peek(config, origin, heads)
    if found is None:
        if isinstance(origin, RealLayer):
            return _layer(config, origin, heads)
        with queue.turn():  # before the key is locked: nobody waits in his turn for one who waits
            found = _layer(config, origin, heads)
    return found


def bring(config: AttentionConfig, origin: Origin, heads: tuple[int, ...] | None) -> None:
    """Have a real layer read before the turn of its run: nobody else waits for its worker."""
    if isinstance(origin, RealLayer):
        layer(config, origin, heads)


@shared_cache.cached(key=_weights)
def _layer(
    config: AttentionConfig, origin: Origin, heads: tuple[int, ...] | None
) -> AttentionLayer:
    shared_cache.evict_for(n_bytes(config, heads))
    with torch.inference_mode(False):  # it lives on outside of the run that asks first
        return built(config, origin, heads, torch.float32)


def n_bytes(config: AttentionConfig, heads: Iterable[int] | None) -> int:
    """Return how many bytes `layer` takes."""
    return costs.parameters(config, heads) * torch.float32.itemsize


def built(
    config: AttentionConfig,
    origin: Origin,
    heads: tuple[int, ...] | None,
    dtype: torch.dtype,
) -> AttentionLayer:
    """Build a layer as `layer` returns it, in any dtype and outside of the cache."""
    if isinstance(origin, RealLayer):
        return real(config, origin, heads, dtype)
    if isinstance(origin, TrainedLayer):
        return trained_layer.attention(origin, config, heads, dtype, DEVICE)
    made = {"heads": heads, "dtype": dtype, "device": DEVICE}
    return mechanisms.of(config).layer(config, seed=origin, **made)


def real(
    config: AttentionConfig, loaded: RealLayer, heads: tuple[int, ...] | None, dtype: torch.dtype
) -> AttentionLayer:
    """Have a worker read a real layer: no turn is needed, and none should be held meanwhile.

    Its weights may be asked for with another rotation, or without its latent norms.
    """
    kind = mechanisms.of(config).layer
    made = {"heads": heads, "dtype": dtype, "device": DEVICE}
    read = real_layer.attention(loaded, **made)
    if config == read.config:
        return read
    wanted = dict(kind(config, heads=heads, device="meta").named_parameters())
    weights = {name: weight for name, weight in read.named_parameters() if name in wanted}
    return kind.of_weights(config, weights, **made)


def hidden(words: tuple[str, ...], origin: Origin, d_model: int) -> torch.Tensor:
    """Return the hidden states of these words, h [1,t,d], on the device of the layers."""
    if isinstance(origin, int):
        return _drawn(words, origin, d_model)
    if isinstance(origin, TrainedLayer):
        return trained_layer.inputs(origin, words).to(DEVICE)
    return real_layer.inputs(origin).h[:, : len(words)].to(DEVICE, torch.float32)


@shared_cache.cached
def _drawn(words: tuple[str, ...], seed: int, d_model: int) -> torch.Tensor:
    return torch.from_numpy(hidden_states(words, seed, d_model))[None].to(DEVICE)


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
