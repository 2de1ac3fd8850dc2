"""What the page on rotations shows: numbers of one head, by topic, computed and cached."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from mla_engine import PRESETS, LatentConfig, RopeConfig, YarnConfig
from mla_engine.rope import inverse_frequencies, yarn_bounds
from mla_engine.studies import conventions, relative
from ui.engine import layers as compute
from ui.engine import model, queue
from ui.engine.real_layer import Origin
from ui.settings import state
from ui.settings.page import Note
from ui.words.text import t

TOPICS = ("turning", "merged", "pairing", "scale", "yarn")
POSITIONS = 16  # at which one vector is shown
FAR = 64  # the largest distance of the merged matrix
WINDOW = 24  # rows and columns of it that are shown


@dataclass(frozen=True)
class Head:
    """One head of an MLA layer and the words it reads."""

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
    change: np.ndarray  # at distance 0 ... FAR


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


def mend() -> list[Note]:
    """Bring head and pair to the nearest that there are."""
    s = model.sizes()
    return state.at_most(rope_head=s["n_heads"] - 1, rope_pair=max(0, s["d_rope"] // 2 - 1))


def head() -> Head:
    """What the present settings stand for, once `mend` has brought them within what there is.

    Raises:
        ValueError: sizes that no layer can have, or no rotary part.
    """
    s = state.settings()
    config = model.config("mla")
    if not config.d_rope:
        raise ValueError(t("rope.no_width"))
    if config.rope is None:
        config = replace(config, rope=RopeConfig())
    origin, start = model.origin(config), s["rope_start"] if s["rope_topic"] == "pairing" else 0
    return Head(config, config.rope, origin, s["rope_head"], model.words(), start)


def _parts(one: Head) -> dict[str, Tensor]:
    """The head's queries and keys before their rotation, float64, by their code [t,...]."""
    layer = compute.layer(one.config, one.origin, (one.head,))
    h = compute.hidden(one.words, one.origin, one.config.d_model)
    with queue.turn(), torch.inference_mode():
        trace = layer(h)
    return {
        "q_C": trace.q_C[0, :, 0].double().cpu(),
        "k_C": trace.k_C[0, :, 0].double().cpu(),
        "q_R_pre": trace.q_R_pre[0, :, 0].double().cpu(),
        "k_R_pre": trace.k_R_pre[0].double().cpu(),
    }


@st.cache_data(max_entries=64, show_spinner=False)
def turning(one: Head, pair: int) -> Turning:
    """One word's query and key, turned at every position."""
    parts, positions = _parts(one), torch.arange(POSITIONS)
    rotary = parts["q_R_pre"][one.place], parts["k_R_pre"][one.place]
    q, k = (relative.turned(part, one.rope, positions) for part in rotary)
    dimensions = relative.pair_dimensions(pair, one.config.d_rope, one.rope.pairing)
    scores = q @ k.T
    angles = inverse_frequencies(one.rope, one.config.d_rope, POSITIONS)
    return Turning(
        compute.to_numpy(q[:, dimensions]),
        compute.to_numpy(k[:, dimensions]),
        compute.to_numpy(scores),
        relative.diagonal_spread(scores),
        dimensions,
        float(angles[pair]),
    )


@st.cache_data(max_entries=64, show_spinner=False)
def merged(one: Head, distance: int) -> Merged:
    """The head's W_UQ and W_UK merged across a rotation of all content dimensions, and without."""
    layer = compute.layer(one.config, one.origin, (one.head,))
    plain = replace(one.rope, scaling=None)  # a scaling is made for d_rope, not for d_head
    W_UQ, W_UK = layer.W_UQ[0].cpu(), layer.W_UK[0].cpu()
    corner = W_UQ[:, :WINDOW], W_UK[:, :WINDOW]
    with torch.inference_mode():
        change = relative.change_with_distance(W_UQ, W_UK, plain, range(FAR + 1))
        return Merged(
            compute.to_numpy(relative.rotated_merge(*corner, plain, distance)),
            compute.to_numpy(corner[0].T @ corner[1]),
            compute.to_numpy(change),
        )


@st.cache_data(max_entries=64, show_spinner=False)
def reading(one: Head, topic: str, code: str) -> Reading:
    """The head's map over the words, right and with this reading of its pairing or scale."""
    parts, count = _parts(one), len(one.words)
    positions = torch.arange(one.start, one.start + count)
    content = parts["q_C"] @ parts["k_C"].T

    def logits(pairing: str, scale: str) -> Tensor:
        rotary = parts["q_R_pre"], parts["k_R_pre"]
        position = conventions.position_logits(*rotary, one.rope, positions, pairing)
        return conventions.scaled_logits(content, position, one.config, scale)

    mask = torch.ones(count, count, dtype=torch.bool).tril()
    right = logits("own", "own")
    read = logits(code, "own") if topic == "pairing" else logits("own", code)
    kept = conventions.unharmed(right, read, mask)
    maps = [conventions.masked_attention(x, mask) for x in (right, read)]
    return Reading(
        *map(compute.to_numpy, maps),
        compute.to_numpy(read - right),
        float(right[mask].abs().max()),
        mask.numpy(),
        kept.numpy(),
        conventions.unharmed(*maps, mask).numpy(),
        conventions.whole_places(kept, mask),
        int(conventions.reordered(right, read, mask).sum()),
    )


@st.cache_data(max_entries=64, show_spinner=False)
def frequencies(rope: RopeConfig, width: int) -> Frequencies:
    """Every pair's frequency, without the scaling and with it, beyond the original context."""
    scaling = rope.scaling
    length = getattr(scaling, "original_max_position", 0) + 1
    plain = inverse_frequencies(replace(rope, scaling=None), width)
    band = yarn_bounds(rope.theta, width, scaling) if isinstance(scaling, YarnConfig) else None
    scaled = inverse_frequencies(rope, width, length)
    return Frequencies(plain.numpy(), scaled.numpy(), band)


@st.cache_data(max_entries=1, show_spinner=False)
def scales() -> pd.DataFrame:
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
