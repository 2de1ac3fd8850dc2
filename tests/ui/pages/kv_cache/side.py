"""The cache page's answers for one model: the engine asked apart from the page's code."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from math import ceil

import torch

from kvcount import Storage
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
    mechanisms,
)
from mla_engine.costs import GPUS, Serving
from mla_engine.given_preset import read_given
from mla_engine.presets import Preset
from tests.engine.samples import dense
from ui.words.numbers import count, tied_size

Config = GroupedConfig | LatentConfig | PooledConfig | DeltaConfig
UNEVEN = PooledConfig | DeltaConfig | PooledIndexConfig
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
BYTES = {"fp32": 4, "bf16": 2, "fp8": 1, "int4": 0.5, "q8_0": 34 / 32, "q4_0": 18 / 32}
MEASURED = (64, 256, 1024)
POWERS = [2**n for n in range(6, 21)]


def code_of(label: str) -> str:
    """Return the code of a way in tables, by its English label."""
    name = label.removesuffix(" ★").split(",")[0].split(" + ")[0]
    return name.lower().replace(" ", "_")


def kind_of(config: Config) -> str:
    """Name a kind of attention, with its window."""
    kind, window = mechanisms.of(config).kind(config), vars(config).get("sliding_window")
    return f"{kind} (window {count(window)})" if window else kind


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
    first: bool = False  # only the layers of its first kind
    lines: str = "all"  # the ways that are compared, where the topic leaves a choice
    split: str = "all"  # those that GPUs share

    @property
    def preset(self) -> Preset:
        return read_given(self.key) if self.key.startswith("own.") else PRESETS[self.key]

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
    def is_uneven(self) -> bool:
        """Tell whether a token does not just add its own to what the model keeps."""
        return isinstance(self.config, UNEVEN)

    @property
    def all_caches(self) -> int:
        beside = 0 if self.first else sum(n for _, n in self.preset.beside)
        return self.preset.n_caches + beside

    @property
    def mixed(self) -> bool:
        """Tell whether the model's own layers, of several kinds, are all counted."""
        some = 0 < self.layers < self.all_caches
        return bool(self.preset.beside) and not some and not self.first

    def own_of(self, kind: str) -> Config | None:
        """The model's own attention of a kind, where it has one."""
        for config, _ in self.preset.kinds:
            if mechanisms.of(config).kind(config) == kind:
                return config
        return None

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
        """The model's own without its indexer, or one in the proportions of DeepSeek-V2.

        As wide as the vectors of a model that keeps key and value in one.
        """
        c = self.config
        if self.is_mla:
            return dense(c)
        latent, rope = 4 * c.d_head, c.d_head // 2
        if isinstance(c, PooledConfig):
            latent, rope = c.d_head, c.d_rope
        return LatentConfig(
            d_model=c.d_model, n_heads=c.n_heads, d_head=c.d_head, d_value=c.d_value,
            d_latent_kv=latent, d_rope=rope,
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
        if isinstance(self.config, PooledConfig):
            none = {"overlap": False, "index_topk": None, "n_index_heads": None, "d_index": None}
            return replace(self.config, **none | pools)
        c = self.mla
        window = 3 if c.d_model < 1024 else 128
        return PooledConfig(
            d_model=c.d_model, n_heads=c.n_heads, d_head=c.d_latent_kv, d_latent_q=1, d_latent_o=1,
            n_output_groups=1, window=window, d_rope=c.d_rope, **pools,
        )  # fmt: skip

    @property
    def kda(self) -> DeltaConfig:
        c = self.config
        if isinstance(c, DeltaConfig):
            return c
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
        csa, hca, kda = map(self.own_of, ("CSA", "HCA", "KDA"))
        ways = {
            "MHA": self.grouped(self.config.n_heads),
            gqa: self.grouped(self.drawn_groups),
            "MQA": self.grouped(1),
            "MLA" if self.is_mla else "MLA, assumed": self.mla,
            "DSA" if self.is_dsa or self.is_blocks else "DSA, assumed": self.dsa,
            "CSA" if csa else "CSA, assumed": csa
            or self.entries(
                pooling=2 if narrow else 4,
                overlap=True,
                index_topk=512,
                n_index_heads=self.mla.n_heads,
                d_index=2 * self.mla.d_rope or self.mla.d_latent_kv,
            ),
            "HCA" if hca else "HCA, assumed": hca or self.entries(pooling=4 if narrow else 128),
            "KDA" if kda else "KDA, assumed": kda or self.kda,
            "Block DSA" if self.is_blocks else "Block DSA, assumed": self.blocks,
        }
        own = gqa if kind == "GQA" else kind
        if kind == "GQA" and self.drawn_groups != self.config.n_kv_heads:
            own = f"GQA, g = {self.config.n_kv_heads}"
        ways[own] = self.config
        kinds = [one for one, _ in self.preset.kinds[:2]]
        mix = " + ".join(
            "window" if vars(one).get("sliding_window") else kind_of(one) for one in kinds
        )
        starred = f"{mix if self.mixed else own} ★"
        shown = {"two": (0, 3), "four": range(4), "all": range(9)}[self.lines]
        kept = {name for place, name in enumerate(list(ways)[:9]) if place in shown} | {own}
        return {starred if n == own else n: ways[n] for n in ways if n in kept}

    @property
    def mha(self) -> GroupedConfig:
        return next(iter(self.ways.values()))

    @property
    def own(self) -> str:
        return next(name for name in self.ways if name.endswith("★"))

    def held(self, config: Config, tokens: int) -> float:
        """Bytes of all counted layers and sequences."""
        if self.mixed and config is self.config:
            return self.batch * sum(self._of_one(c, tokens) * n for c, n in self.preset.kinds)
        return self._of_one(config, tokens) * self.caches * self.batch

    def _of_one(self, config: Config, tokens: int) -> float:
        if isinstance(config, UNEVEN):
            return self.of_layer(config, tokens, BYTES[self.type])
        tokens = min(tokens, vars(config).get("sliding_window") or tokens)
        if isinstance(config, IndexedConfig) and self.type == "fp8":  # as FlashMLA has it
            scales = 4 * sum(ceil(d / 128) for d in (config.d_latent_kv, config.d_index))
            return tokens * (config.d_latent_kv + 2 * config.d_rope + config.d_index + scales)
        return costs.cache_elements(config) * BYTES[self.type] * tokens

    def of_layer(self, config: Config, tokens: int, width: float) -> float:
        """Bytes of a layer and a sequence: entries, window and what waits; a state in float32."""
        if isinstance(config, DeltaConfig):
            k, v = config.d_head, config.d_value
            return config.n_heads * (max(4, width) * k * v + 3 * (2 * k + v) * max(2, width))
        if not config.pooling:
            return min(tokens, config.window) * self.vector(config, width)[0]
        full, waiting = divmod(tokens, config.pooling)
        if isinstance(config, PooledIndexConfig):
            latent, key = (
                d * width + 4 * ceil(d / 128) * (width == 1)
                for d in (config.d_latent_kv, config.d_index)
            )
            of_tokens = tokens * latent + full * key
            return of_tokens + max(2, width) * 2 * waiting * config.d_index
        series = 2 if config.overlap else 1
        ahead = config.pooling if config.overlap and full else 0
        of_each = config.d_head + (config.d_index or 0)
        vector, key = self.vector(config, width)
        waits = 2 * (waiting * series + ahead) * of_each * max(2, width)
        return min(tokens, config.window) * vector + full * (vector + key) + waits

    def vector(self, config: PooledConfig, width: float) -> tuple[float, float]:
        """Bytes of a vector and of an index key; in fp8 with scales, rotated numbers in bf16."""
        d, r, x = config.d_head, config.d_rope, config.d_index or 0
        if width != 1:
            return width * d, width * x
        scales = 8 * ceil(ceil((d - r) / 64) / 8)
        return d - r + scales + 2 * r, x + 4 * -(-x // 128)

    def bytes_of(self, numbers: float, tokens: int) -> float:
        return numbers * BYTES[self.type] * tokens * self.caches * self.batch

    def reserved(self, config: Config) -> list[int]:
        """Bytes that real caches of the engine have, at the lengths that are measured."""
        mixed = self.mixed and config is self.config
        if mixed or isinstance(config, UNEVEN) or vars(config).get("sliding_window"):
            return [self.held(config, n) for n in self.measured(config)]
        kinds = {LatentConfig: LatentCache, IndexedConfig: IndexedCache}
        kind = kinds.get(type(config), KVCache)
        return [
            kind.empty(config, dtype=DTYPES[self.type], capacity=n).reserved_nbytes
            * self.caches
            * self.batch
            for n in MEASURED
        ]

    def measured(self, config: Config) -> list[int]:
        """The lengths that are measured: up to a window, of which our caches drop none."""
        most = min(self.windows, default=MEASURED[-1]) if config is self.config else MEASURED[-1]
        return [n for n in MEASURED if n <= most]

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
        own = config is None or config is self.config
        kinds = self.preset.kinds if own else ((config, self.all_caches),)
        return Serving(
            model=self.preset.model if own else costs.model(kinds),
            total_parameters=self.preset.parameters or 0,
            gpu_bytes=GPUS[gpu or self.gpu].memory_bytes,
            ranks=self.ranks,
            attention=self.attention,
            weight_bytes=BYTES[self.weights],
            storage=Storage(self.type),
        )

    @property
    def shares(self) -> dict[str, tuple[str, Callable[[int], float]]]:
        """English label -> code, and bytes on the fullest of so many GPUs."""
        ways = self.ways
        *heads, mla = list(ways)[:4]
        codes, every = ("mha", "gqa", "mqa"), self.split == "all"
        few = 1 if self.split == "two" else 3
        shares = {name: (f"{code}_tensor", self.by_heads(ways[name])) for name, code in
                  zip(heads[:few], codes, strict=False)}  # fmt: skip
        if every:
            shares["MLA in full"] = "mla_full_tensor", self.by_heads(ways[mla], "kv")
        shares[mla] = "mla_tensor", self.by_heads(ways[mla])
        if every and self.config.n_heads % 2 == 0:
            shares["GLA-2"] = "gla_tensor", self.by_latents
        for name, config in ways.items() if every else ():
            if isinstance(config, UNEVEN):
                shares[name] = f"{code_of(name)}_tensor", self.by_heads(config)
        own = code_of(self.preset.kind)
        if own == "gqa" and self.own not in shares:
            own = "own"
        shares[f"{self.own} by seq."] = f"{own}_data", self.by_sequences
        return shares | {self.own: (f"{own}_tensor", self.by_heads(self.config))}

    def by_heads(self, config: Config, cache: str | None = None) -> Callable[[int], float]:
        """The fullest of so many GPUs has some heads of every sequence."""
        own = config is self.config
        first = [(config, cache, self.preset.n_caches if own else self.all_caches)]
        every = first + [(one, None, n) for one, n in self.preset.beside if own]
        return lambda ranks: (
            self.sequences * sum(self.of_rank(one, ranks, kept) * n for one, kept, n in every)
        )

    def by_sequences(self, ranks: int) -> float:
        """The fullest of so many GPUs has some sequences, and all of these."""
        each = sum(self.of_rank(one, 1) * n for one, n in self.preset.kinds)
        return each * -(-self.sequences // ranks)

    def by_latents(self, ranks: int) -> float:
        """One of two latents on each of several GPUs, and the rotary key."""
        c = self.mla
        numbers = c.d_latent_kv // min(2, ranks) + c.d_rope
        whole = numbers * BYTES[self.type] * self.context
        return whole * self.all_caches * self.sequences

    def of_rank(self, config: Config, ranks: int, cache: str | None = None) -> float:
        """Bytes of a layer and a sequence: what serves all heads is whole, the rest is split."""
        width, heads = BYTES[self.type], -(-config.n_heads // ranks)
        if isinstance(config, PooledConfig | PooledIndexConfig):
            return self.of_layer(config, self.context, width)
        if isinstance(config, DeltaConfig):
            return self.of_layer(config, self.context, width) * heads / config.n_heads
        if isinstance(config, GroupedConfig):
            numbers = -(-config.n_kv_heads // ranks) * (config.d_head + config.d_value)
            return numbers * width * min(self.context, config.sliding_window or self.context)
        if cache == "kv":
            numbers = heads * (config.d_head + config.d_rope + config.d_value)
        else:
            index = config.d_index if isinstance(config, IndexedConfig) else 0
            numbers = config.d_latent_kv + config.d_rope + index
        return numbers * width * self.context

    def rows(self, config: Config) -> dict[str, tuple[int, float]]:
        """English name of a kind of row -> numbers and bytes of a layer and a sequence."""
        width, n = BYTES[self.type], self.context
        if isinstance(config, DeltaConfig):
            h, k, v = config.n_heads, config.d_head, config.d_value
            state, tails = h * k * v, h * 3 * (2 * k + v)
            of_tails = max(2, width) * tails
            return {"state": (state, max(4, width) * state), "convolutions": (tails, of_tails)}
        if isinstance(config, PooledConfig):
            full, waits = divmod(n, config.pooling)
            series = 2 if config.overlap else 1
            ahead = config.pooling if config.overlap and full else 0
            index = config.d_index or 0
            found = {
                "entries": full * config.d_head,
                "index keys": full * index,
                "window": min(n, config.window) * config.d_head,
                "waiting": 2 * (waits * series + ahead) * (config.d_head + index),
            }
        elif isinstance(config, GroupedConfig):
            each = config.n_kv_heads * min(n, config.sliding_window or n)
            found = {"keys": each * config.d_head, "values": each * config.d_value}
        else:
            found = {"rotary keys": n * config.d_rope, "latent": n * config.d_latent_kv}
            if isinstance(config, PooledIndexConfig):
                full, waits = divmod(n, config.pooling)
                found["index keys"] = full * config.d_index
                found["waiting"] = 2 * waits * config.d_index
            elif isinstance(config, IndexedConfig):
                found["index keys"] = n * config.d_index
        widths = {"waiting": max(2, width)}
        if isinstance(config, PooledConfig):
            vector, key = self.vector(config, width)
            widths |= dict.fromkeys(("entries", "window"), vector / config.d_head)
            widths |= {"index keys": key / (config.d_index or 1)}
        if isinstance(config, IndexedConfig | PooledIndexConfig) and width == 1:
            for kind, d in (("latent", config.d_latent_kv), ("index keys", config.d_index)):
                widths[kind] = 1 + 4 * ceil(d / 128) / d
            widths["rotary keys"] = 2
        return {kind: (n, n * widths.get(kind, width)) for kind, n in found.items() if n}

    @property
    def windows(self) -> list[int]:
        """The windows of the layers that are counted."""
        every = self.preset.kinds if self.mixed else ((self.config, 1),)
        found = (vars(config).get("sliding_window") for config, _ in every)
        return sorted({window for window in found if window})

    @property
    def splits(self) -> list[int]:
        return [2**n for n in range(8) if 2**n <= self.config.n_heads]

    def limitations(self) -> Iterator[str]:
        """The sentences on what is not as asked, and what the numbers leave out."""
        preset = self.preset
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
        if preset.beside:
            yield self._kinds
        if preset.n_caches + sum(n for _, n in preset.beside) != preset.n_layers:
            if isinstance(self.config, DeltaConfig):
                yield (
                    f"{self.all_caches} of the model's {preset.n_layers} layers keep this, which "
                    "does not grow."
                )
            else:
                yield f"The model has {preset.n_layers} layers and {self.all_caches} caches."
        if windows := self.windows:
            yield (
                f"A layer with a window of {'; '.join(map(count, windows))} tokens keeps no more "
                "than these, however long the text."
            )
        yield from (GAPS[gap] for gap in preset.not_modelled)

    @property
    def _kinds(self) -> str:
        """Say of which kinds the layers are, or as what they are counted."""
        kind = kind_of(self.config)
        if not (self.mixed or self.first):
            return f"All {self.caches} layers that you chose are counted as {kind}."
        found = [f"{n}\xa0×\xa0{kind_of(c)}" for c, n in self.preset.kinds]
        if self.first:
            others = ", ".join(found[1:])
            return f"Shown are its {self.caches} {kind} layers; the model also has {others}."
        return (
            f"Its {self.all_caches} layers are {', '.join(found)}; every other line gives all "
            f"{self.all_caches} the same attention."
        )

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
    "no output bias": "Not modelled: the output has no bias; the cache is the same.",
    "query scale by position": "Not modelled: queries scaled by their position; the cache is the "
    "same.",
}


def sides(link: dict[str, str], topic: str = "context") -> tuple[Side, Side]:
    """Both models of a link to the page, as a topic counts them."""
    given = {name.removeprefix("kv_"): value for name, value in link.items()}
    left, right = given.pop("left", "deepseek-v3"), given.pop("right", "llama-3.1-405b")
    lines = given.pop("ways", "four")
    typed = {
        name: type(getattr(Side, name))(int(value) if value.isdigit() else value)
        for name, value in given.items()
        if name not in ("view", "lang")
    }
    typed["first"] = topic in ("layouts", "formula")
    typed["split"] = lines
    if topic in ("memory", "parallel"):  # which count the whole model
        typed["layers"] = 0
    typed["lines"] = lines if topic in ("context", "memory") else "all"
    return Side(left, **typed), Side(right, **typed)
