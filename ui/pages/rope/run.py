"""The numbers of one head, topic by topic, each computed in a turn of the queue and kept."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mla_engine import PRESETS, LatentConfig, MultiHeadLatentAttention, RopeConfig, YarnConfig
from mla_engine.late import Late
from mla_engine.rope import inverse_frequencies, yarn_bounds
from mla_engine.studies import conventions, relative
from ui.engine import layers, queue, shared_cache, work
from ui.engine.origin import Origin

pd = Late("pandas")

POSITIONS = 16  # at which one vector is shown
FAR = 64  # the largest distance of the merged matrix
WINDOW = 24  # rows and columns of it that are shown


@dataclass(frozen=True)
class Head:
    """One head of an MLA layer, and the words that it reads."""

    config: LatentConfig
    rope: RopeConfig  # the layer's rotation, or the one assumed where it has none
    origin: Origin
    head: int
    words: tuple[str, ...]
    start: int  # position of the first word

    @property
    def place(self) -> int:
        """Where the word stands that is turned: the second, or the only one."""
        return min(1, len(self.words) - 1)

    @property
    def word(self) -> str:
        """That word."""
        return self.words[self.place]

    @property
    def pairs(self) -> int:
        """How many pairs of the rotary part turn."""
        return self.config.d_rope // 2


@dataclass(frozen=True, eq=False)
class Turning:
    """One word's rotary query and key at positions 0 ... 15."""

    query: np.ndarray  # [t,2], the chosen pair
    key: np.ndarray  # [s,2]
    scores: np.ndarray  # [t,s], of all pairs, unscaled
    spread: float  # between cells of one distance
    dimensions: tuple[int, int]
    angle: float  # radians a position


@dataclass(frozen=True, eq=False)
class Merged:
    """The matrix between a query's and a key's input, rotated in full and decoupled."""

    rotated: np.ndarray  # [l,c], a corner of it
    decoupled: np.ndarray  # the same corner
    change: np.ndarray  # of the whole matrix, at distance 0 ... FAR
    shape: tuple[int, int]  # of the whole matrix


@dataclass(frozen=True, eq=False)
class Reading:
    """A head's map as it is and as a wrong convention makes it."""

    right: np.ndarray  # attention [t,s]
    read: np.ndarray
    difference: np.ndarray  # of the logits
    limit: float  # the largest right logit, the end of the difference's scale
    mask: np.ndarray  # bool
    kept: np.ndarray  # bool: logits unharmed
    kept_attention: np.ndarray  # bool
    places: tuple[str, ...]  # unharmed as a whole
    reordered: int  # rows in which the keys' order changes


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Radians a position of each pair, before and after the scaling."""

    before: np.ndarray
    after: np.ndarray
    band: tuple[float, float] | None  # the pairs of YaRN's ramp


def _bring(one: Head) -> None:
    """See that a layer can be had; a real one is at hand then."""
    heads = (one.head,)
    operations = work.running(one.config, "expanded", len(one.words), heads)
    work.require(operations + work.drawing(one.config, heads, one.origin), work.FEWER_WORDS)
    layers.bring(one.config, one.origin, heads)


def _layer(one: Head) -> MultiHeadLatentAttention:
    return layers.layer(one.config, one.origin, (one.head,))


def _hidden(one: Head) -> Tensor:
    return layers.hidden(one.words, one.origin, one.config.d_model)


def _parts(layer: MultiHeadLatentAttention, h: Tensor) -> dict[str, Tensor]:
    """The head's queries and keys before their rotation, float64, by their code [t,...]."""
    trace = layer(h)
    parts = {
        "q_C": trace.q_C[0, :, 0],
        "k_C": trace.k_C[0, :, 0],
        "q_R_pre": trace.q_R_pre[0, :, 0],
        "k_R_pre": trace.k_R_pre[0],
    }
    return {code: part.double().cpu() for code, part in parts.items()}


@shared_cache.cached(anywhere=True)
def turning(one: Head, pair: int) -> Turning:
    """One word's query and key, turned at every position.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    positions = torch.arange(POSITIONS)
    _bring(one)
    with queue.turn(), torch.inference_mode():
        parts = _parts(_layer(one), _hidden(one))
        rotary = parts["q_R_pre"][one.place], parts["k_R_pre"][one.place]
        q, k = (relative.turned(part, one.rope, positions) for part in rotary)
        scores = q @ k.T
        spread = relative.diagonal_spread(scores)
    dimensions = relative.pair_dimensions(pair, one.config.d_rope, one.rope.pairing)
    angles = inverse_frequencies(one.rope, one.config.d_rope, POSITIONS)
    return Turning(
        layers.to_numpy(q[:, dimensions]),
        layers.to_numpy(k[:, dimensions]),
        layers.to_numpy(scores),
        spread,
        dimensions,
        float(angles[pair]),
    )


@shared_cache.cached(anywhere=True)
def merged(one: Head, distance: int) -> Merged:
    """The head's W_UQ and W_UK merged across a rotation of all content dimensions, and without.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    plain = replace(one.rope, scaling=None)  # a scaling is made for d_rope, not for d_head
    _require_merging(one)
    _bring(one)
    with queue.turn(), torch.inference_mode():
        layer = _layer(one)
        W_UQ, W_UK = layer.W_UQ[0].cpu(), layer.W_UK[0].cpu()
        corner = W_UQ[:, :WINDOW], W_UK[:, :WINDOW]
        change = relative.change_with_distance(W_UQ, W_UK, plain, range(FAR + 1))
        return Merged(
            layers.to_numpy(relative.rotated_merge(*corner, plain, distance)),
            layers.to_numpy(corner[0].T @ corner[1]),
            layers.to_numpy(change),
            (W_UQ.shape[1], W_UK.shape[1]),
        )


def _require_merging(one: Head) -> None:
    """Refuse what takes too long: two products [k,k] a distance, after a Gram matrix of each."""
    config = one.config
    columns = (config.d_latent_q or config.d_model) + config.d_latent_kv
    products = 4 * (FAR + 1) * config.d_head**3 + 2 * config.d_head**2 * columns
    drawing = work.drawing(config, (one.head,), one.origin)
    work.require(work.DOUBLE * products + drawing, work.SMALLER_LAYER)


@shared_cache.cached(anywhere=True)
def reading(one: Head, pairing: str, scale: str) -> Reading:
    """The head's map over the words, right and with this reading of its pairing and scale.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    _bring(one)
    with queue.turn(), torch.inference_mode():
        parts = _parts(_layer(one), _hidden(one))
        right, read = _logits(one, parts, "own", "own"), _logits(one, parts, pairing, scale)
        mask = torch.ones_like(right, dtype=torch.bool).tril()
        maps = [conventions.masked_attention(logits, mask) for logits in (right, read)]
        kept = conventions.unharmed(right, read, mask)
        return Reading(
            *map(layers.to_numpy, maps),
            layers.to_numpy(read - right),
            float(right[mask].abs().max()),
            mask.numpy(),
            kept.numpy(),
            conventions.unharmed(*maps, mask).numpy(),
            conventions.whole_places(kept, mask),
            int(conventions.reordered(right, read, mask).sum()),
        )


def _logits(one: Head, parts: dict[str, Tensor], pairing: str, scale: str) -> Tensor:
    positions = torch.arange(one.start, one.start + len(one.words))
    rotary = parts["q_R_pre"], parts["k_R_pre"]
    content = parts["q_C"] @ parts["k_C"].T
    position = conventions.position_logits(*rotary, one.rope, positions, pairing)
    return conventions.scaled_logits(content, position, one.config, scale)


@shared_cache.cached
def frequencies(rope: RopeConfig, width: int) -> Frequencies:
    """Every pair's frequency, without the scaling and with it, beyond the original context."""
    scaling = rope.scaling
    length = getattr(scaling, "original_max_position", 0) + 1
    plain = inverse_frequencies(replace(rope, scaling=None), width)
    band = yarn_bounds(rope.theta, width, scaling) if isinstance(scaling, YarnConfig) else None
    scaled = inverse_frequencies(rope, width, length)
    return Frequencies(plain.numpy(), scaled.numpy(), band)


@shared_cache.cached
def scales() -> "pd.DataFrame":
    """The softmax scale of every published model, and how it comes about."""
    rows = []
    for preset in PRESETS.values():
        config = preset.config
        latent = isinstance(config, LatentConfig)
        scaling = config.rope.scaling if config.rope else None
        width = config.d_head + (config.d_rope if latent else 0)
        rows.append(
            {
                "model": preset.name,
                "width": width,
                "plain": width**-0.5,
                "softmax_magnitude": config.scale * width**0.5,
                "scale": config.scale,
                "rotation_magnitude": scaling.rotation_magnitude if scaling else 1.0,
            }
        )
    return pd.DataFrame(rows)
