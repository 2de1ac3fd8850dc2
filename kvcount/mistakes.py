"""Wrong formulas of KV-cache size as they were published, each computed at a published model.

`mistakes.toml` says what each forgets and where it was read; PRINTED computes it from the sizes
that its source reads, and `Mistake.right` is what this package counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from types import MappingProxyType

from kvcount.counting import bytes_per_token, held_bytes, read_bytes
from kvcount.dtypes import Storage
from kvcount.models import MODELS, Published, in_config
from kvcount.tables import read_table

WIDE = 2  # bytes of a number in bf16
FULL = ("mha", "gqa", "mqa")


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes that calculators read of a model: config.json's keys by their letters.

    Args:
        layers: L; width: d; heads: h; kv_heads: g, of MLA as many as config.json says; head: d_h.
        latent: d_c; rope: d_R; index: d_I; wide_head: d_h of Gemma 4's full layers.
        full: layers that attend to everything; attending: these and those that read their caches.
        parameters: of the whole model.
    """

    layers: int
    width: int = 0
    heads: int = 1
    kv_heads: int = 1
    head: int = 0
    latent: int = 0
    rope: int = 0
    index: int = 0
    wide_head: int = 0
    full: int = 0
    attending: int = 0
    parameters: int = 0

    @property
    def even(self) -> int:
        """An even share of the model's width, d / h."""
        return self.width // self.heads

    def pair(self, layers: int, heads: int, width: int) -> int:
        """Return the bytes of a key and a value a head, 2 L g d_h x 2."""
        return 2 * layers * heads * width * WIDE


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A wrong formula at a model.

    Args:
        key: of PRINTED; short: a name of it; forgets: a sentence; both by language.
        formula: as arithmetic; source: where it was read.
        model: at which it is shown, a key of MODELS.
        context: tokens, None to compare what one token adds; measure: "stored" or "read".
        kv: type of the cache; ranks: GPUs that split the heads.
        of: sizes in place of those that the source reads of that model.
    """

    key: str
    short: Mapping[str, str]
    forgets: Mapping[str, str]
    formula: str
    source: str
    model: str
    context: int | None = None
    measure: str = "stored"
    kv: str = "bf16"
    ranks: int = 1
    of: Sizes | None = None

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes that the source reads of the model."""
        return self.of or _sizes(self.published)

    @property
    def published(self) -> Published:
        """The model at which it is shown."""
        return MODELS[self.model]

    @cached_property
    def right(self) -> Fraction:
        """Bytes as this package counts them."""
        storage, layers = Storage(self.kv), self.published.model().layers
        if self.context is None:
            return sum((bytes_per_token(one, storage, self.ranks) for one in layers), Fraction(0))
        count = read_bytes if self.measure == "read" else held_bytes
        return sum((count(one, storage, self.context, self.ranks) for one in layers), Fraction(0))

    @cached_property
    def printed(self) -> Fraction:
        """Bytes as the source computes them."""
        tokens = 1 if self.measure == "read" else self.context or 1
        return Fraction(PRINTED[self.key](self)) * tokens

    def numbers(self, sizes: Sizes) -> Fraction:
        """Return what its formula makes of a token with other sizes, in numbers of its 2 bytes."""
        return Fraction(PRINTED[self.key](replace(self, of=sizes))) / WIDE

    @property
    def ratio(self) -> float:
        """Its number over the right one."""
        return float(self.printed / self.right)


def _sizes(published: Published) -> Sizes:
    layers = published.model().layers
    full = sum(layer.kind in FULL for layer in layers)
    reading = [layer for layer in layers if layer.kind == "shared"]
    return Sizes(
        layers=len(layers),
        full=full,
        attending=full + sum(layer.parts[0].growth == "grows" for layer in reading),
        parameters=published.parameters or 0,
        **_by_letter(published.config),
    )


def sizes_of_layer(values: Mapping[str, int | None]) -> Sizes:
    """Return the sizes of a model of one layer, by the engine's names of them."""
    return Sizes(layers=1, **_by_letter(in_config(values)))


def _by_letter(config: Mapping[str, object]) -> dict[str, object]:
    return {letter: config[key] for key, letter in LETTERS.items() if config.get(key)}


LETTERS = {
    "hidden_size": "width",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head",
    "kv_lora_rank": "latent",
    "qk_rope_head_dim": "rope",
    "index_head_dim": "index",
    "global_head_dim": "wide_head",
}


def _latents(s: Sizes, numbers: int) -> int:
    return s.layers * numbers * WIDE


def _every_layer(found: Mistake) -> int:
    return found.sizes.pair(found.sizes.layers, found.sizes.kv_heads, found.sizes.head)


def _even_head(found: Mistake) -> int:
    return found.sizes.pair(found.sizes.layers, found.sizes.kv_heads, found.sizes.even)


def _by_parameters(found: Mistake) -> Fraction:
    named = found.sizes.parameters // 10**9 * 10**9  # 8 billion of Qwen3-8B
    most = min(max(named * Fraction("0.12"), 35 * 10**7), 35 * 10**8)
    return Fraction(most) / 2**15


def _each_head(found: Mistake) -> int:
    parts = (part for layer in found.published.model().layers for part in layer.parts)
    entries = sum(part.rows_read(found.context) for part in parts if part.name == "entry")
    return entries * found.sizes.heads * found.sizes.head * WIDE


PRINTED: dict[str, Callable[[Mistake], int | Fraction]] = {
    "mla_as_mha": _even_head,
    "one_kv_head": lambda m: m.sizes.pair(m.sizes.layers, 1, m.sizes.even),
    "latent_only": lambda m: _latents(m.sizes, m.sizes.latent),
    "latent_twice": lambda m: _latents(m.sizes, 2 * m.sizes.latent),
    "rope_each_head": lambda m: _latents(m.sizes, m.sizes.latent + m.sizes.heads * m.sizes.rope),
    "no_index": lambda m: m.sizes.layers * (m.sizes.latent + 4 * 4 + m.sizes.rope * WIDE),
    "index_every_layer": lambda m: _latents(m.sizes, m.sizes.latent + m.sizes.rope + m.sizes.index),
    "latent_split": lambda m: Fraction(_latents(m.sizes, m.sizes.latent + m.sizes.rope), m.ranks),
    "latent_all_layers": lambda m: _latents(m.sizes, m.sizes.latent + m.sizes.rope),
    "width_over_heads": _even_head,
    "all_query_heads": lambda m: m.sizes.pair(m.sizes.layers, m.sizes.heads, m.sizes.head),
    "model_width": lambda m: m.sizes.pair(m.sizes.layers, 1, m.sizes.width),
    "heads_times_width": lambda m: 2 * m.sizes.layers * m.sizes.heads * m.sizes.width * 4 // 8,
    "no_factor_two": lambda m: m.sizes.layers * m.sizes.width * WIDE,
    "one_of_the_heads": lambda m: m.sizes.pair(m.sizes.layers, 1, m.sizes.head),
    "weights_type_in_bits": lambda m: 2 * m.sizes.layers * m.sizes.width * 8,
    "by_parameters": _by_parameters,
    "delta_counted": _every_layer,
    "delta_and_width": _even_head,
    "mamba_counted": _every_layer,
    "windows_as_full": _every_layer,
    "most_windows_as_full": _every_layer,
    "windows_and_width": _even_head,
    "windows_left_out": lambda m: m.sizes.pair(m.sizes.full, m.sizes.kv_heads, m.sizes.head),
    "heads_of_windows": lambda m: m.sizes.pair(m.sizes.full, m.sizes.kv_heads, m.sizes.wide_head),
    "shared_counted": lambda m: m.sizes.pair(m.sizes.attending, m.sizes.kv_heads, m.sizes.head),
    "pooled_as_gqa": _every_layer,
    "pooled_each_head": _each_head,
    "gib_as_gb": lambda m: Fraction(
        _latents(m.sizes, m.sizes.latent + m.sizes.rope) * 10**9, 2**30
    ),
}


@cache
def mistakes() -> Mapping[str, Mistake]:
    """Return all of them by key, in the order of the file."""
    rows = read_table("kvcount", "data", "mistakes.toml")
    return MappingProxyType({key: Mistake(key=key, **row) for key, row in rows.items()})
