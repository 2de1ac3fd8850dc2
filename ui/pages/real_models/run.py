"""The measures of all heads: of one layer some heads at a time, and layer after layer."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.delta.reading import Memory, memory
from mla_engine.layer import AttentionLayer
from mla_engine.pooled.reading import Given, given
from mla_engine.studies.logit_shares import LogitShares, logit_shares
from mla_engine.studies.spectra import Spectrum, spectra
from ui.engine import layers, queue, real_layer, shared_cache
from ui.engine.real_layer import RealLayer
from ui.parts.maps.run import block_of_heads
from ui.settings.page import LATENT_LAYER

FEWEST_HEADS = 16  # of a block: each reads the layer again
Measured = LogitShares | Given | Memory
Block = tuple[Measured, dict[str, Spectrum]]
MEASURES: Mapping[str, Callable[..., Measured]] = {  # of a trace, by the mechanism of its layer
    LATENT_LAYER: logit_shares,
    "pooled": given,
    "delta": memory,
}


def can_measure(config: AttentionConfig, tokens: int) -> bool:
    """Tell whether all heads of a layer are measured: of MLA, whose keys have two parts."""
    key = mechanisms.of(config).key
    return key in MEASURES and (tokens > 1 or key != LATENT_LAYER)


def blocks(config: AttentionConfig, tokens: int) -> list[tuple[int, ...]]:
    """All heads in blocks that take a moment each."""
    size = max(len(block_of_heads(config, tokens, 0, 0)), FEWEST_HEADS)
    return [
        tuple(range(first, min(first + size, config.n_heads)))
        for first in range(0, config.n_heads, size)
    ]


def pieces(
    loaded: RealLayer, config: AttentionConfig, words: tuple[str, ...]
) -> Iterator[tuple[Block, float]]:
    """Block after block of all heads, with the share that is done."""
    parts = blocks(config, len(words))
    for done, heads in enumerate(parts, start=1):
        yield block(config, loaded, words, heads), done / len(parts)


@shared_cache.cached
def block(
    config: AttentionConfig, loaded: RealLayer, words: tuple[str, ...], heads: tuple[int, ...]
) -> Block:
    """Return what some heads do on these words, and the spectra of their matrices.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    measure = MEASURES[mechanisms.of(config).key]
    with queue.turn(), torch.inference_mode():
        layer, h = _weights(config, loaded, heads), layers.hidden(words, loaded, config.d_model)
        return measure(layer(h)), spectra(layer)


def _weights(config: AttentionConfig, loaded: RealLayer, heads: tuple[int, ...]) -> AttentionLayer:
    """These heads: those of a whole layer shared with the maps, others read for this once."""
    if len(heads) == config.n_heads:
        return layers.layer(config, loaded, heads)
    return layers.real(config, loaded, heads, torch.float32)


def joined(found: list[Measured]) -> Measured:
    """Join the results of some heads to those of all; heads are each tensor's first axis."""
    tensors = [name for name, value in vars(found[0]).items() if isinstance(value, Tensor)]
    return replace(
        found[0], **{name: torch.cat([vars(one)[name] for one in found]) for name in tensors}
    )


def joined_spectra(found: list[dict[str, Spectrum]]) -> dict[str, Spectrum]:
    """The spectra of all heads by matrix, from those of some."""
    values = {name: torch.cat([one[name].singular_values for one in found]) for name in found[0]}
    return {name: replace(one, singular_values=values[name]) for name, one in found[0].items()}


@dataclass(frozen=True)
class Reach:
    """The number of layers whose inputs can be had here, and the next one's size."""

    layers: int
    read_bytes: int  # to have their inputs
    next_bytes: int | None  # in memory; None where every layer is within reach


@shared_cache.cached
def reach(loaded: RealLayer, limit: int) -> Reach:
    """The layers whose input fits the memory budget of `limit` bytes: they are the first ones.

    Raises:
        CheckpointError: as `real_layer.inputs`.
    """
    last = real_layer.plan(loaded).n_layers
    found = real_layer.needed(replace(loaded, layer=0))
    for layer in range(1, last):
        deeper = real_layer.needed(replace(loaded, layer=layer))
        if deeper.memory_bytes > limit:
            return Reach(layer, found.read_bytes, deeper.memory_bytes)
        found = deeper
    return Reach(last, found.read_bytes, None)


def all_latent(loaded: RealLayer) -> bool:
    """Tell whether every layer of the model has latents, as hybrids' have not."""
    return set(real_layer.plan(loaded).mechanisms) == {LATENT_LAYER}


def measured(loaded: RealLayer, n_layers: int) -> Iterator[tuple[tuple[int, LogitShares], float]]:
    """Layer after layer and its shares, with the share that is done; each layer is kept."""
    inputs = _inputs(loaded, n_layers)
    for layer in range(n_layers):
        shares = _shares(replace(loaded, layer=layer), inputs[layer])
        yield (layer, shares), (layer + 1) / n_layers


@shared_cache.cached
def _inputs(loaded: RealLayer, n_layers: int) -> Mapping[int, Tensor]:
    """Return the input of each of the first layers, h [1,t,d], by one run of the beginning."""
    return real_layer.inputs_of_layers(loaded, n_layers)


@shared_cache.cached(key=lambda loaded, _: loaded)
def _shares(loaded: RealLayer, h: Tensor) -> LogitShares:
    """Return the shares of all heads of one layer, some heads at a time."""
    config, found = real_layer.plan(loaded).config, []
    for heads in blocks(config, h.shape[1]):
        layer = layers.real(config, loaded, heads, torch.float32)
        with queue.turn(), torch.inference_mode():
            found.append(logit_shares(layer(h.to(layers.DEVICE))))
    return joined(found)
