"""What the cache page has to show of one model: the engine asked apart from the page's code."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import torch

from mla_engine import (
    PRESETS,
    DeltaConfig,
    GroupedConfig,
    IndexedCache,
    IndexedConfig,
    KVCache,
    LatentCache,
    LatentConfig,
    PooledConfig,
    PooledIndexConfig,
    costs,
)
from mla_engine.costs import GPUS, Serving
from mla_engine.presets import Preset
from tests.engine.samples import dense
from ui.words.numbers import count, tied_size

Config = GroupedConfig | LatentConfig | PooledConfig | DeltaConfig
UNEVEN = PooledConfig | DeltaConfig | PooledIndexConfig
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
BYTES = {"fp32": 4, "bf16": 2, "fp8": 1, "int4": 0.5}
MEASURED = (64, 256, 1024)
POWERS = [2**n for n in range(6, 21)]


@dataclass(frozen=True)
class Side:
    """One model with what a link chooses, the page's defaults otherwise."""

    key: str
    context: int = 131_072
    groups: int = 8
    layers: int = 0
    batch: int = 1
    type: str = "bf16"
    unit: str = "GiB"
    log: bool = True
    gpu: str = "h200"
    ranks: int = 8
    attention: str = "tensor"
    weights: str = "fp8"
    sequences: int = 4

    @property
    def preset(self) -> Preset:
        return PRESETS[self.key]

    @property
    def name(self) -> str:
        return self.preset.name

    @property
    def config(self) -> Config:
        return self.preset.config

    @property
    def is_mla(self) -> bool:
        return isinstance(self.config, LatentConfig)

    @property
    def all_caches(self) -> int:
        return self.preset.n_caches

    @property
    def caches(self) -> int:
        return min(self.layers or self.all_caches, self.all_caches)

    @property
    def drawn_groups(self) -> int:
        heads = self.config.n_heads
        return max(n for n in range(1, heads + 1) if heads % n == 0 and n <= self.groups)

    def grouped(self, n_kv_heads: int) -> GroupedConfig:
        c = self.config
        return GroupedConfig(
            d_model=c.d_model, n_heads=c.n_heads, n_kv_heads=n_kv_heads, d_head=c.d_head,
            d_value=c.d_value,
        )  # fmt: skip

    @property
    def mla(self) -> LatentConfig:
        """The model's own without its indexer, or one in the proportions of DeepSeek-V2."""
        c = self.config
        if self.is_mla:
            return dense(c)
        return LatentConfig(
            d_model=c.d_model, n_heads=c.n_heads, d_head=c.d_head, d_value=c.d_value,
            d_latent_kv=4 * c.d_head, d_rope=c.d_head // 2,
        )  # fmt: skip

    @property
    def latents(self) -> LatentConfig:
        """Whose layouts are drawn."""
        return self.config if self.is_mla else self.mla

    @property
    def is_dsa(self) -> bool:
        return type(self.config) is IndexedConfig

    @property
    def is_blocks(self) -> bool:
        return isinstance(self.config, PooledIndexConfig)

    @property
    def dsa(self) -> IndexedConfig:
        """The model's own, or one in the proportions of DeepSeek-V3.2."""
        if self.is_dsa:
            return self.config
        if self.is_blocks:
            own = {one.name: getattr(self.config, one.name) for one in fields(IndexedConfig)}
            return IndexedConfig(**own)
        c = self.mla
        width = 2 * c.d_rope or c.d_head
        return IndexedConfig(
            **vars(c), n_index_heads=max(1, c.n_heads // 2), d_index=width, index_topk=2048
        )

    def entries(self, **pools: object) -> PooledConfig:
        """In the proportions of DeepSeek-V4: as wide as the latent, a window of 128."""
        c = self.mla
        window = 3 if c.d_model < 1024 else 128
        return PooledConfig(
            d_model=c.d_model, n_heads=c.n_heads, d_head=c.d_latent_kv, d_latent_q=1, d_latent_o=1,
            n_output_groups=1, window=window, **pools,
        )  # fmt: skip

    @property
    def kda(self) -> DeltaConfig:
        c = self.config
        return DeltaConfig(d_model=c.d_model, n_heads=c.n_heads, d_head=c.d_head, d_value=c.d_value)

    @property
    def blocks(self) -> PooledIndexConfig:
        """DSA's indexer over blocks of as many tokens as GLM-5.3-Flash's, without rotation."""
        if self.is_blocks:
            return self.config
        dsa = replace(self.dsa, d_rope=0, rope=None, index_topk=2048)
        return PooledIndexConfig(**vars(dsa), pooling=2 if dsa.d_model < 1024 else 4)

    @property
    def ways(self) -> dict[str, Config]:
        """English label -> what is cached in that way, the model's own marked."""
        narrow = self.config.d_model < 1024  # a short text is to fill entries
        kind, gqa = self.preset.kind, f"GQA, g = {self.drawn_groups}"
        ways = {
            "MHA": self.grouped(self.config.n_heads),
            gqa: self.grouped(self.drawn_groups),
            "MQA": self.grouped(1),
            "MLA" if self.is_mla else "MLA, assumed": self.mla,
            "DSA" if self.is_dsa or self.is_blocks else "DSA, assumed": self.dsa,
            "CSA, assumed": self.entries(
                pooling=2 if narrow else 4,
                overlap=True,
                index_topk=512,
                n_index_heads=self.mla.n_heads,
                d_index=2 * self.mla.d_rope or self.mla.d_latent_kv,
            ),
            "HCA, assumed": self.entries(pooling=4 if narrow else 128),
            "KDA, assumed": self.kda,
            "Block DSA" if self.is_blocks else "Block DSA, assumed": self.blocks,
        }
        own = gqa if kind == "GQA" else kind
        if kind == "GQA" and self.drawn_groups != self.config.n_kv_heads:
            own = f"GQA, g = {self.config.n_kv_heads}"
        ways[own] = self.config
        return {f"{n} ★" if n == own else n: config for n, config in ways.items()}

    @property
    def mha(self) -> GroupedConfig:
        return next(iter(self.ways.values()))

    @property
    def own(self) -> str:
        return next(name for name in self.ways if name.endswith("★"))

    def held(self, config: Config, tokens: int) -> float:
        """Bytes of all counted layers and sequences."""
        if isinstance(config, UNEVEN):
            return self.of_layer(config, tokens, BYTES[self.type]) * self.caches * self.batch
        return self.bytes_of(costs.cache_elements(config), tokens)

    def of_layer(self, config: Config, tokens: int, width: float) -> float:
        """Bytes of a layer and a sequence: entries, window and what waits; a state in float32."""
        if isinstance(config, DeltaConfig):
            k, v = config.d_head, config.d_value
            return config.n_heads * (4 * k * v + 3 * (2 * k + v) * width)
        full, waiting = divmod(tokens, config.pooling)
        if isinstance(config, PooledIndexConfig):
            return width * (tokens * config.d_latent_kv + (full + 2 * waiting) * config.d_index)
        series = 2 if config.overlap else 1
        ahead = config.pooling if config.overlap and full else 0
        of_each = config.d_head + (config.d_index or 0)
        pooled = full + 2 * (waiting * series + ahead)
        return width * (min(tokens, config.window - 1) * config.d_head + pooled * of_each)

    def bytes_of(self, numbers: float, tokens: int) -> float:
        return numbers * BYTES[self.type] * tokens * self.caches * self.batch

    def reserved(self, config: Config) -> list[int]:
        """Bytes that real caches of the engine have, at the lengths that are measured."""
        if isinstance(config, UNEVEN):
            return [self.held(config, n) for n in MEASURED]
        kinds = {LatentConfig: LatentCache, IndexedConfig: IndexedCache}
        kind = kinds.get(type(config), KVCache)
        return [
            kind.empty(config, dtype=DTYPES[self.type], capacity=n).reserved_nbytes
            * self.caches
            * self.batch
            for n in MEASURED
        ]

    def size(self, n_bytes: float) -> str:
        return tied_size(n_bytes, binary=self.unit == "GiB")

    @property
    def in_unit(self) -> int:
        return {"GiB": 2**30, "GB": 10**9}[self.unit]

    @property
    def contexts(self) -> list[int]:
        """The lengths that are drawn: 33 even steps where the axes are linear."""
        return POWERS if self.log else [k * self.context // 32 for k in range(33)]

    def served(self, config: Config | None = None, gpu: str = "") -> Serving:
        """The whole model on the chosen GPUs."""
        return Serving(
            config=config or self.config,
            caches=self.all_caches,
            total_parameters=self.preset.parameters or 0,
            gpu_bytes=GPUS[gpu or self.gpu].memory_bytes,
            ranks=self.ranks,
            attention=self.attention,
            weight_bytes=BYTES[self.weights],
            cache_bytes=BYTES[self.type],
        )

    @property
    def shares(self) -> dict[str, tuple[str, Config, str | None, str]]:
        """English label -> code, what is cached, as what, and shared by heads or sequences."""
        ways = self.ways
        mha, gqa, _, mla = list(ways)[:4]
        codes = {"MLA": "mla", "DSA": "dsa", "MHA": "mha", "MQA": "mqa", "Block DSA": "block_dsa"}
        own = codes.get(self.preset.kind)
        own = own or ("own" if len(ways) > 9 else "gqa")
        shares = {
            mha: ("mha_tensor", ways[mha], None, "tensor"),
            gqa: ("gqa_tensor", ways[gqa], None, "tensor"),
            "MLA in full": ("mla_full_tensor", ways[mla], "kv", "tensor"),
            mla: ("mla_tensor", ways[mla], None, "tensor"),
            f"{self.own} by seq.": (f"{own}_data", ways[self.own], None, "data"),
        }
        extra = {self.own: (f"{own}_tensor", ways[self.own], None, "tensor")}
        return shares | (extra if own in ("own", "dsa", "block_dsa") else {})

    def each(self, config: Config, cache: str | None, attention: str, ranks: int) -> float:
        """Bytes on the fullest of so many GPUs, layers all and sequences all."""
        sequences = self.sequences if attention == "tensor" else -(-self.sequences // ranks)
        of_token = costs.cache_elements(config, cache)
        if attention == "tensor":
            of_token = costs.rank_cache_elements(config, ranks, cache)
        waiting = 0
        if isinstance(config, PooledIndexConfig):  # all but one of a block, which no head owns
            waiting = (config.pooling - 1) * (2 - 1 / config.pooling) * config.d_index
        numbers = of_token * self.context + waiting
        return numbers * sequences * self.all_caches * BYTES[self.type]

    def copies(self, config: Config, cache: str | None, attention: str, ranks: int) -> float:
        whole = costs.cache_elements(config, cache) * self.sequences * self.context
        bytes_each = self.each(config, cache, attention, ranks)
        return ranks * bytes_each / (whole * self.all_caches * BYTES[self.type])

    @property
    def splits(self) -> list[int]:
        return [2**n for n in range(8) if 2**n <= self.config.n_heads]

    def limitations(self) -> Iterator[str]:
        """The sentences on what is not as asked, and what the numbers leave out."""
        preset, window = self.preset, getattr(self.config, "sliding_window", None)
        if self.layers > self.all_caches:
            most = self.all_caches
            yield f"It has {most} caches, not {self.layers}: {most} are counted."
        if self.drawn_groups != self.groups:
            yield (
                f"Its {self.config.n_heads} heads cannot share {self.groups} KV heads evenly: "
                f"the chart shows {self.drawn_groups}."
            )
        if preset.max_context and self.context > preset.max_context:
            yield self.published
        if preset.n_caches != preset.n_layers:
            yield (
                f"The model has {preset.n_layers} layers and {preset.n_caches} caches "
                "that grow with the context."
            )
        if window:
            yield (
                f"A layer with a window of {count(window)} tokens may drop older ones; the lines "
                "keep every token and say at most how much it takes."
            )
        yield from (GAPS[gap] for gap in preset.not_modelled)

    @property
    def published(self) -> str:
        return (
            f"The model was published for texts of at most {count(self.preset.max_context)} tokens."
        )


GAPS = {
    "alternating local and global layers": "Not modelled: local layers that alternate with global "
    "ones need only their window; every layer is counted as global.",
    "attention sinks": "Not modelled: a learned sink logit per head; it needs no cache.",
    "learned positions": "Not modelled: learned positions, added before attention; they need no "
    "cache.",
    "linear attention layers": "Not modelled: the linear attention of its other layers, whose "
    "state does not grow with the context.",
    "no output bias": "Not modelled: the output has no bias; the cache is the same.",
    "query scale by position": "Not modelled: queries scaled by their position; the cache is the "
    "same.",
}


def sides(link: dict[str, str]) -> tuple[Side, Side]:
    """Both models of a link to the page."""
    given = {name.removeprefix("kv_"): value for name, value in link.items()}
    left, right = given.pop("left", "deepseek-v3"), given.pop("right", "llama-3.1-405b")
    typed = {
        name: type(getattr(Side, name))(int(value) if value.isdigit() else value)
        for name, value in given.items()
        if name not in ("view", "lang")
    }
    return Side(left, **typed), Side(right, **typed)
