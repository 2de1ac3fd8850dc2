"""One model and the ways of caching that it is compared with, in bytes.

There is one way for each kind of attention, with the model's own heads: the model's own where it
is of that kind, and else what the mechanism suggests, for MLA DeepSeek-V2's proportions.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import torch

from kvcount import Model, Storage, numbers_per_token
from kvcount.counting import number
from kvcount.dtypes import TYPES as OF_TYPES
from mla_engine import closed_forms, costs, mechanisms
from mla_engine.closed_forms import Amount
from mla_engine.config import AttentionConfig
from mla_engine.costs import Serving
from mla_engine.presets import Preset
from ui.engine import queue, shared_cache
from ui.parts.ways import kind_of
from ui.settings.page import PAGES
from ui.settings.parsers import preset_of
from ui.settings.sizes import divisors
from ui.words.text import t, variant_name

TYPES = "fp32", "bf16", "fp8", "int4", "q8_0", "q4_0"
WIDTHS = {name: number(OF_TYPES[name].bits_with_scales / 8) for name in TYPES}  # bytes of one
WIDTH_OF_STATES = 4  # bytes of a number of a state, at least
HELD = {"fp32": torch.float32, "bf16": torch.bfloat16}  # what a cache of the engine can hold
ASSUMED = (
    "d_latent_kv",
    "d_index",
    "d_latent_o",
    "pooling",
    "window",
    "conv_width",
)  # sizes that only some kinds of attention have
SAID_KINDS = 2  # in the label of a model that has more: it names the first
MEASURED = (64, 256, 1024)


def type_label(code: str) -> str:
    """Return the name of a type of numbers in the reader's language."""
    return t("kv_cache.four_bit") if code == "int4" else code


def _short(config: AttentionConfig) -> str:
    """Name a kind of attention in a label: a window says no more."""
    return t("kv_cache.part_window") if config.sliding_window else kind_of(config)


@dataclass(frozen=True)
class Scene:
    """One model and the reader's choices; `layers` 0 means every layer that keeps a cache.

    With `first` only the layers of its first kind are counted, where it has several. Beside the
    model's own way only those of `beside` are compared, or every one where that is empty.
    """

    key: str
    kv_heads: int
    layers: int
    batch: int
    dtype: str
    first: bool = False
    beside: tuple[str, ...] = ()

    @cached_property
    def preset(self) -> Preset:
        """The model."""
        return preset_of(self.key)

    @property
    def all_caches(self) -> int:
        """Caches of the whole model, of whatever kind."""
        return self.preset.n_caches if self.first else self.preset.n_attentions

    @property
    def n_caches(self) -> int:
        """Caches that are counted."""
        return min(self.layers, self.all_caches) if self.layers else self.all_caches

    @property
    def width(self) -> float:
        """Bytes of a number."""
        return WIDTHS[self.dtype]

    @property
    def storage(self) -> Storage:
        """The types in which the parts of a cache are stored."""
        return Storage(self.dtype)

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
        own = {one.code: self.preset.beside_of(one.kind) for one in first}
        whole = whole_text(config)
        made = {
            one.code: own[one.code] or one.config(sizes, whole)
            for one in first
            if not self.beside or one.code in self.beside
        }
        return made | {self.own: config}

    @property
    def latents(self) -> str:
        """The way of the model's own latents; MLA, which is assumed for it, where it has none."""
        return "mla" if self.assumes("mla") else self.own

    def assumes(self, way: str) -> bool:
        """Tell if a way has a size that the model itself has not, or has otherwise."""
        own, other = self.preset.config, self.ways[way]
        if other in (config for config, _ in self.preset.kinds):
            return False
        if other.has_latent and not own.has_latent:
            return True
        return any(other.size(size) not in (None, 0, own.size(size)) for size in ASSUMED)

    @cached_property
    def uneven(self) -> bool:
        """Tell if some tokens add more than others to what the model keeps."""
        return bool(costs.kept_parts(self.preset.config, 1, self.width))

    @cached_property
    def windows(self) -> list[int]:
        """The tokens that its counted layers look back at most, the shortest first."""
        kinds = (config.sliding_window for config, _ in self.kinds(self.own))
        return sorted({window for window in kinds if window})

    @property
    def grows(self) -> bool:
        """Tell if what the model keeps grows with the tokens."""
        return bool(self.numbers(self.own))

    @property
    def each_token(self) -> bool:
        """Tell if each token adds as many numbers of the same width, so that they multiply."""
        layer = costs.kept(self.ways[self.own])
        stored = sum(self.storage.row_bytes(layer.kind, part) for part in layer.parts)
        plain = stored == sum(part.numbers for part in layer.parts) * self.width
        return plain and not self.uneven and not self.windows

    def rows(self, way: str, tokens: int) -> dict[str, Amount]:
        """Return what the cache of one layer and sequence keeps, by kind of row."""
        layer = costs.kept(self.ways[way])
        found = closed_forms.rows(
            layer, tokens, lambda part: self.storage.row_bytes(layer.kind, part)
        )
        return {kind: Amount(n, number(n_bytes)) for kind, (n, n_bytes) in found.items()}

    def label(self, way: str) -> str:
        """The short name of a way in the reader's language; a star marks the model's own."""
        if way == self.own and self.mixed:
            name = " + ".join(_short(one) for one, _ in self.kinds(way)[:SAID_KINDS])
        elif way in ("gqa", "own"):
            name = t("kv_cache.gqa", n=self.ways[way].n_kv_heads)
        elif self.assumes(way):
            name = t("kv_cache.kind_assumed", kind=variant_name(way))
        else:
            name = variant_name(way)
        return f"{name} ★" if way == self.own else name

    def role(self, way: str) -> str:
        """Return the key of a way's looks: a latent is kept for the absorbed form."""
        return {"own": "gqa", "mla": "mla_absorbed"}.get(way, way)

    def kinds(self, way: str, *, whole: bool = False) -> tuple[tuple[AttentionConfig, int], ...]:
        """Return the kinds of attention that are counted as a way, each with its number.

        They are the model's own where all its layers are counted; else each layer keeps the same.
        `whole` counts them all, however many are chosen.
        """
        every = whole or not 0 < self.layers < self.all_caches
        if way == self.own and every and not self.first:
            return self.preset.kinds
        return ((self.ways[way], self.all_caches if whole else self.n_caches),)

    @property
    def mixed(self) -> bool:
        """Tell if several kinds of attention are counted as the model's own."""
        return len(self.kinds(self.own)) > 1

    def model(self, way: str, *, whole: bool = False, cache: str | None = None) -> Model:
        """Return what is kept in one way: the model's own as its config.json says it.

        Args:
            way: a key of `ways`.
            whole: counts all layers, however many are chosen.
            cache: of MLA, "kv" for keys and values in full.
        """
        kinds = self.kinds(way, whole=whole)
        own = kinds == self.preset.kinds and cache is None
        return self.preset.model if own else costs.model(kinds, cache)

    def serving(
        self, way: str, *, whole: bool = False, cache: str | None = None, **gpus: object
    ) -> Serving:
        """Return the model with its cache kept in one way, on one GPU where nothing else is said.

        Args:
            way: a key of `ways`.
            whole: as `model`.
            cache: as `model`.
            gpus: arguments of Serving; without its parameters the cache is counted without weights.

        Raises:
            ValueError: more GPUs than heads to split.
        """
        model = self.model(way, whole=whole, cache=cache)
        alone = {"storage": self.storage, "total_parameters": 0, "gpu_bytes": 1}
        return Serving(model=model, **(alone | gpus))

    def held_bytes(self, way: str, tokens: int) -> float:
        """Bytes kept of `tokens` tokens, by the closed form."""
        return self.serving(way).held_bytes(tokens, self.batch)

    def numbers(self, way: str) -> float:
        """Numbers that each further token adds for good, on average over the layers."""
        layers = self.model(way).groups.items()
        return number(sum(n * numbers_per_token(one) for one, n in layers) / self.n_caches)

    def bytes_of(self, numbers: float, tokens: int) -> float:
        """Bytes of `tokens` tokens where each takes so many numbers in a layer."""
        return numbers * self.width * tokens * self.n_caches * self.batch

    @property
    def has_points(self) -> bool:
        """Tell if a cache of the engine can hold this type."""
        return self.dtype in HELD

    def points(self) -> dict[str, tuple[tuple[int, ...], list[int]]]:
        """Label -> lengths, and what a cache of one layer and sequence holds, times all of them.

        Nothing in a type that no cache of the engine can hold.
        """
        if not self.has_points:
            return {}
        return {self.label(way): (self._lengths(way), self._measured(way)) for way in self.ways}

    def _lengths(self, way: str) -> tuple[int, ...]:
        """None beyond a window: the engine's caches of keys and values drop no token."""
        most = min(self.windows, default=MEASURED[-1]) if way == self.own else MEASURED[-1]
        return tuple(tokens for tokens in MEASURED if tokens <= most)

    def _measured(self, way: str) -> list[int]:
        kinds = [(cache_nbytes(config, self.dtype), n) for config, n in self.kinds(way)]
        places = range(len(self._lengths(way)))
        return [self.batch * sum(n * held[at] for held, n in kinds) for at in places]


def whole_text(config: AttentionConfig) -> AttentionConfig:
    """Return the same attention to all tokens, where it has a window."""
    return replace(config, sliding_window=None) if config.sliding_window else config


@shared_cache.cached
def cache_nbytes(config: AttentionConfig, dtype: str) -> list[int]:
    """Bytes that a real cache of one layer and sequence holds at each length of MEASURED."""
    with queue.turn():
        empty = mechanisms.of(config).caches[0].empty(config, dtype=HELD[dtype])
        return [empty.with_zeros(tokens).nbytes for tokens in MEASURED]
