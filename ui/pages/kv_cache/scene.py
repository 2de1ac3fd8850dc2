"""One model and the ways of caching that it is compared with, in bytes.

There is one way for each kind of attention, with the model's own heads: the model's own where it
is of that kind, and else what the mechanism suggests, for MLA DeepSeek-V2's proportions.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from mla_engine import costs, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.presets import Preset
from ui.engine import kept, queue
from ui.settings.parsers import preset_of
from ui.settings.rooms import PAGES
from ui.settings.sizes import divisors
from ui.words.names import kind
from ui.words.text import t

WIDTHS = {"fp32": 4, "bf16": 2, "fp8": 1, "int4": 0.5}  # bytes a number
HELD = {"fp32": torch.float32, "bf16": torch.bfloat16}  # what a cache of the engine can hold
ASSUMED = (
    "d_latent_kv",
    "d_index",
    "d_latent_o",
    "pooling",
    "conv_width",
)  # sizes that only some kinds of attention have
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
        """The model."""
        return preset_of(self.key)

    @property
    def all_caches(self) -> int:
        """Caches of the whole model."""
        return self.preset.n_caches

    @property
    def n_caches(self) -> int:
        """Caches that are counted."""
        return min(self.layers, self.all_caches) if self.layers else self.all_caches

    @property
    def width(self) -> float:
        """Bytes of a number."""
        return WIDTHS[self.dtype]

    @cached_property
    def gqa_heads(self) -> int:
        """The largest number of KV heads up to `kv_heads` that divides the model's heads."""
        return max(n for n in divisors(self.preset.config.n_heads) if n <= self.kv_heads)

    @cached_property
    def own(self) -> str:
        """The way of the model itself; "own" where GQA is set to other KV heads than it has."""
        config = self.preset.config
        code = mechanisms.of(config).variant(config).code
        if code != "gqa":
            return code
        return "gqa" if self.gqa_heads == self.preset.config.n_kv_heads else "own"

    @cached_property
    def ways(self) -> dict[str, AttentionConfig]:
        """Code of a way of caching -> its configuration, in the order of the legend."""
        config = self.preset.config
        sizes = mechanisms.sizes_of(config) | {"n_kv_heads": self.gqa_heads}
        every = mechanisms.variants()
        of_kind = {every[code].kind: every[code] for code in reversed(PAGES["kv_cache"].variants)}
        first = sorted(of_kind.values(), key=lambda one: one.order)
        return {one.code: one.config(sizes, config) for one in first} | {self.own: config}

    @property
    def latents(self) -> str:
        """The way of the model's own latents; MLA, which is assumed for it, where it has none."""
        return "mla" if self.assumes("mla") else self.own

    def assumes(self, way: str) -> bool:
        """Whether a way has a size that the model itself has not."""
        own, other = vars(self.preset.config), vars(self.ways[way])
        return any(size in other and size not in own for size in ASSUMED)

    def label(self, way: str) -> str:
        """The short name of a way in the reader's language; a star marks the model's own."""
        if way in ("gqa", "own"):
            name = t("kv_cache.gqa", n=self.ways[way].n_kv_heads)
        elif self.assumes(way):
            name = t("kv_cache.kind_assumed", kind=kind(way))
        else:
            name = kind(way)
        return f"{name} ★" if way == self.own else name

    def role(self, way: str) -> str:
        """What picks a way's looks: a latent is kept for the absorbed form."""
        return {"own": "gqa", "mla": "mla_absorbed"}.get(way, way)

    def held_bytes(self, way: str, tokens: int) -> float:
        """Bytes kept of `tokens` tokens, by the closed form."""
        of_layer = costs.held_bytes(self.ways[way], tokens, self.width)
        return of_layer * self.n_caches * self.batch

    def bytes_of(self, numbers: float, tokens: int) -> float:
        """Bytes of `tokens` tokens where each takes so many numbers in a layer."""
        return numbers * self.width * tokens * self.n_caches * self.batch

    def curves(self, contexts: tuple[int, ...]) -> dict[str, np.ndarray]:
        """Label -> bytes [context]."""
        return {
            self.label(way): np.array([self.held_bytes(way, tokens) for tokens in contexts])
            for way in self.ways
        }

    @property
    def has_points(self) -> bool:
        """Whether a cache of the engine can hold this type."""
        return self.dtype in HELD

    def points(self) -> dict[str, tuple[tuple[int, ...], list[int]]]:
        """Label -> lengths, and what a cache of one layer and sequence holds, times all of them.

        Nothing in a type that no cache of the engine can hold.
        """
        if not self.has_points:
            return {}
        caches = self.n_caches * self.batch
        return {
            self.label(way): (MEASURED, [caches * n for n in cache_nbytes(config, self.dtype)])
            for way, config in self.ways.items()
        }


@kept.keep
def cache_nbytes(config: AttentionConfig, dtype: str) -> list[int]:
    """Bytes that a real cache of one layer and sequence holds at each length of MEASURED."""
    with queue.turn():
        empty = mechanisms.of(config).caches[0].empty(config, dtype=HELD[dtype])
        return [empty.with_zeros(tokens).nbytes for tokens in MEASURED]
