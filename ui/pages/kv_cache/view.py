"""What the cache page compares: every way of caching one model's context, in bytes.

MHA, GQA and MQA get the model's own heads. MLA is the model's own where it has one, and else one
in DeepSeek-V2's proportions: d_c = 4 d_h and d_R = d_h / 2.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import PRESETS, GroupedConfig, KVCache, LatentCache, LatentConfig, costs
from mla_engine.presets import Preset
from ui.engine import queue
from ui.engine.model import divisors
from ui.parts.growth import CONTEXTS
from ui.settings.page import Note
from ui.settings.state import at_most, nearest, settings
from ui.words.text import t

Config = GroupedConfig | LatentConfig
WIDTHS = {"fp32": 4, "bf16": 2, "fp8": 1, "int4": 0.5}  # bytes a number
HELD = {"fp32": torch.float32, "bf16": torch.bfloat16}  # what a cache of the engine can hold
MEASURED = (64, 256, 1024)
BATCHES = tuple(2**n for n in range(11))


@dataclass(frozen=True)
class Scene:
    """One model and the reader's choices; `layers` 0 means every layer that keeps a cache."""

    key: str
    kv_heads: int
    layers: int
    batch: int
    dtype: str

    @property
    def preset(self) -> Preset:
        """The published model."""
        return PRESETS[self.key]

    @property
    def n_caches(self) -> int:
        """Caches that are counted: of a hybrid whose caches are unknown, one a layer."""
        every = self.preset.n_caches or self.preset.n_layers
        return min(self.layers, every) if self.layers else every

    @property
    def gqa_heads(self) -> int:
        """The largest number of KV heads up to `kv_heads` that divides the model's heads."""
        return max(n for n in divisors(self.preset.config.n_heads) if n <= self.kv_heads)

    @property
    def own(self) -> str:
        """The way of the model itself; "own" where GQA is set to other KV heads than it has."""
        if self.preset.kind != "GQA":
            return self.preset.kind.lower()
        return "gqa" if self.gqa_heads == self.preset.config.n_kv_heads else "own"

    @property
    def ways(self) -> dict[str, Config]:
        """Code of a way of caching -> its configuration, in the order of the legend."""
        config = self.preset.config
        sizes = ("d_model", "n_heads", "d_head", "d_value")
        heads = {name: getattr(config, name) for name in sizes}
        n_kv_heads = {"mha": config.n_heads, "gqa": self.gqa_heads, "mqa": 1}
        ways = {way: GroupedConfig(**heads, n_kv_heads=n) for way, n in n_kv_heads.items()}
        if self.preset.kind == "MLA":
            return ways | {"mla": config}
        d_head = config.d_head
        ways["mla"] = LatentConfig(**heads, d_latent_kv=4 * d_head, d_rope=d_head // 2)
        return ways if self.own in ways else ways | {"own": config}

    def label(self, way: str) -> str:
        """The short name of a way in the reader's language; a star marks the model's own."""
        if way in ("gqa", "own"):
            name = t("kv_cache.gqa", n=self.ways[way].n_kv_heads)
        elif way == "mla" and self.own != "mla":
            name = t("kv_cache.mla_assumed")
        else:
            name = way.upper()
        return f"{name} ★" if way == self.own else name

    def held_bytes(self, way: str, tokens: int) -> float:
        """Bytes kept of `tokens` tokens, by the closed form."""
        per_token = costs.cache_bytes_per_token(self.ways[way], WIDTHS[self.dtype])
        return per_token * tokens * self.n_caches * self.batch

    def curves(self, contexts: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Label -> bytes [context]."""
        return {
            self.label(way): np.array([self.held_bytes(way, tokens) for tokens in contexts])
            for way in self.ways
        }

    def points(self) -> dict[str, tuple[tuple[int, ...], list[int]]]:
        """Label -> lengths, and what a cache of one layer and sequence holds, times all of them.

        Nothing in a type that no cache of the engine can hold.
        """
        if self.dtype not in HELD:
            return {}
        caches = self.n_caches * self.batch
        return {
            self.label(way): (MEASURED, [caches * n for n in cache_nbytes(config, self.dtype)])
            for way, config in self.ways.items()
        }


@st.cache_data(max_entries=512, show_spinner=False)
def cache_nbytes(config: Config, dtype: str) -> list[int]:
    """Bytes that a real cache of one layer and sequence holds at each length of MEASURED."""
    with queue.turn():
        return [filled(config, HELD[dtype], tokens).nbytes for tokens in MEASURED]


def filled(config: Config, dtype: torch.dtype, tokens: int) -> KVCache | LatentCache:
    """A real cache of the engine that holds so many tokens, all of them zero."""

    def rows(*shape: int) -> torch.Tensor:
        return torch.zeros(1, dtype=dtype).expand(1, tokens, *shape)  # the cache makes the copy

    if isinstance(config, LatentConfig):
        empty = LatentCache.empty(config, dtype=dtype)
        return empty.append(rows(config.d_latent_kv), rows(config.d_rope))
    heads = config.n_kv_heads
    empty = KVCache.empty(config, dtype=dtype)
    return empty.append(rows(heads, config.d_head), rows(heads, config.d_value))


def mend() -> list[Note]:
    """Bring KV heads, layers and GPUs to what at least one of the two models can have."""
    heads = max(scene.preset.config.n_heads for scene in scenes())
    groups = max(n for n in kv_heads() if n <= settings()["kv_groups"])
    notes = nearest(kv_groups=groups) + at_most(kv_layers=most_caches())
    return notes + at_most(kv_ranks=1 << heads.bit_length() - 1)


def most_caches() -> int:
    """Caches of the model that has more of them."""
    return max(replace(scene, layers=0).n_caches for scene in scenes())


def kv_heads() -> list[int]:
    """Numbers of KV heads that the heads of one of the two models can share."""
    heads = [scene.preset.config.n_heads for scene in scenes()]
    return sorted({n for all_heads in heads for n in divisors(all_heads)})


def scenes() -> tuple[Scene, Scene]:
    """The two models that the settings choose."""
    s = settings()
    choices = (s["kv_groups"], s["kv_layers"], s["kv_batch"], s["kv_type"])
    return Scene(s["kv_left"], *choices), Scene(s["kv_right"], *choices)


def contexts() -> tuple[int, ...]:
    """The lengths that are drawn: powers of two, or even steps up to the chosen length."""
    s = settings()
    return CONTEXTS if s["kv_log"] else tuple(range(0, s["kv_context"] + 1, s["kv_context"] // 32))


def limits() -> tuple[float, float]:
    """The ends of the y axis, with room below and above the curves of both models."""
    lengths = contexts()
    ends = [s.held_bytes(way, n) for s in scenes() for way in s.ways for n in lengths]
    return (min(ends) / 2, max(ends) * 2) if settings()["kv_log"] else (0, max(ends) * 1.05)


def download(scenes: tuple[Scene, ...]) -> pd.DataFrame:
    """Every curve as a table, numbers as numbers.

    In codes, not in the reader's words: a download is made outside the session, with no settings.
    """
    rows = [
        {
            "model": scene.preset.name,
            "cache": "gqa" if way == "own" else way,
            "kv_heads": getattr(config, "n_kv_heads", None),
            "is_the_models_own": way == scene.own,
            "layers": scene.n_caches,
            "batch": scene.batch,
            "type": scene.dtype,
            "context_tokens": tokens,
            "numbers_per_token_and_layer": costs.cache_elements(config),
            "bytes": scene.held_bytes(way, tokens),
        }
        for scene in scenes
        for way, config in scene.ways.items()
        for tokens in CONTEXTS
    ]
    return pd.DataFrame(rows).astype({"kv_heads": "Int64"})
