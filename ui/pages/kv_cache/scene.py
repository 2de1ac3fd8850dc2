"""One model and the ways of caching that it is compared with, in bytes.

MHA, GQA and MQA get the model's own heads. MLA is the model's own where it has one, and else one
in DeepSeek-V2's proportions: d_c = 4 d_h and d_R = d_h / 2.
"""

from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from mla_engine import PRESETS, GroupedConfig, KVCache, LatentCache, LatentConfig, costs
from mla_engine.presets import Preset
from ui.engine import queue
from ui.settings.sizes import divisors
from ui.words.text import t

Config = GroupedConfig | LatentConfig
WIDTHS = {"fp32": 4, "bf16": 2, "fp8": 1, "int4": 0.5}  # bytes a number
HELD = {"fp32": torch.float32, "bf16": torch.bfloat16}  # what a cache of the engine can hold
MEASURED = (64, 256, 1024)


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
    def all_caches(self) -> int:
        """Caches of the whole model: one a layer where a hybrid's are unknown."""
        return self.preset.n_caches or self.preset.n_layers

    @property
    def n_caches(self) -> int:
        """Caches that are counted."""
        return min(self.layers, self.all_caches) if self.layers else self.all_caches

    @property
    def width(self) -> float:
        """Bytes of a number."""
        return WIDTHS[self.dtype]

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
        if self.preset.kind != "MLA":
            d_head = config.d_head
            ways["mla"] = LatentConfig(**heads, d_latent_kv=4 * d_head, d_rope=d_head // 2)
        return ways | {self.own: config}

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
        per_token = costs.cache_bytes_per_token(self.ways[way], self.width)
        return per_token * tokens * self.n_caches * self.batch

    def bytes_of(self, numbers: float, tokens: int) -> float:
        """Bytes of `tokens` tokens where each takes so many numbers in a layer."""
        return numbers * self.width * tokens * self.n_caches * self.batch

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
