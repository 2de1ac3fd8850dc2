"""Small layers of every mechanism: configurations, drawn ones, and all ways to decode with them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import strategies as st

from mla_engine import (
    DeltaConfig,
    GroupedConfig,
    IndexedConfig,
    LatentConfig,
    PooledConfig,
    PooledIndexConfig,
    RopeConfig,
    YarnConfig,
    mechanisms,
)
from mla_engine.mechanism import Form
from tests.engine.samples import YARN, grouped_configs, latent_configs, randomized

LATENT = {"d_model": 10, "n_heads": 3, "d_head": 4, "d_latent_kv": 5}
MLA = LatentConfig(
    **LATENT, d_rope=4, d_value=6, d_latent_q=7, latent_norm=True, kv_latent_scale=1.7, bias=True,
    rope=RopeConfig(scaling=YARN), output_gate="channel",
)  # fmt: skip
PLAIN_MLA = LatentConfig(**LATENT)
GQA = GroupedConfig(
    d_model=10, n_heads=4, n_kv_heads=2, d_head=4, d_value=6, rope=RopeConfig(pairing="half"),
    bias=True, qk_norm=True, logit_softcap=2.0,
)  # fmt: skip
WINDOW = GroupedConfig(
    d_model=10, n_heads=4, n_kv_heads=1, d_head=4, sliding_window=3, softmax_scale=0.7
)
SINKS = GroupedConfig(
    d_model=10, n_heads=4, n_kv_heads=2, d_head=4, sliding_window=4, bias=True, sinks=True,
    rope=RopeConfig(pairing="half"),
)  # fmt: skip
DSA = IndexedConfig(
    **LATENT, d_rope=4, d_value=6, d_latent_q=7, latent_norm=True, bias=True, n_index_heads=2,
    d_index=6, index_topk=3, output_gate="head",
)  # fmt: skip
PLAIN_DSA = IndexedConfig(**LATENT, n_index_heads=1, d_index=4, index_topk=3)
POOLED = {"d_model": 10, "n_heads": 4, "d_head": 6, "d_latent_q": 7, "d_latent_o": 3}
POOLED |= {"n_output_groups": 2, "window": 4, "d_rope": 4}
CSA = PooledConfig(**POOLED, pooling=3, overlap=True, n_index_heads=2, d_index=5, index_topk=2)
HCA = PooledConfig(**POOLED, pooling=5)
SWA = PooledConfig(**POOLED)
GLM = PooledIndexConfig(
    **LATENT, d_value=6, d_latent_q=7, latent_norm=True, bias=True, n_index_heads=2, d_index=6,
    index_topk=6, pooling=3,
)  # fmt: skip
PLAIN_GLM = PooledIndexConfig(
    **LATENT, d_rope=2, rope=None, n_index_heads=1, d_index=4, index_topk=4, pooling=2
)
DELTA = {"d_model": 10, "n_heads": 3, "d_head": 4, "d_value": 6}
KDA = DeltaConfig(**DELTA, d_decay=5, d_gate=7)
FULL_KDA = DeltaConfig(**DELTA)
FLOOR_KDA = DeltaConfig(**DELTA, d_decay=5, decay_floor=-5.0)
OF_POOLED = {"CSA": CSA, "HCA": HCA, "window": SWA}
OF_DELTA = {"KDA": KDA, "KDA, full": FULL_KDA, "KDA, floor": FLOOR_KDA}
CONFIGS = {
    "MLA": MLA, "MLA, plain": PLAIN_MLA, "GQA": GQA, "MQA, window": WINDOW, "GQA, sinks": SINKS,
    "DSA": DSA, "DSA, plain": PLAIN_DSA, **OF_POOLED, "GLM": GLM, "GLM, plain": PLAIN_GLM,
    **OF_DELTA,
}  # fmt: skip


def layer_of(config, seed=2, dtype=torch.float64, heads=None):
    """A layer with random norms and biases."""
    return randomized(mechanisms.of(config).layer(config, seed=seed, dtype=dtype, heads=heads))


def only_chooses(name):
    """Tell whether a weight is of an indexer, whose choice has no gradient."""
    return "I" in name or "k_E" in name


@dataclass(frozen=True)
class Way:
    """A configuration, the form that computes it and the kind of cache that it decodes with."""

    config: object
    form: Form
    kind: str

    @property
    def cache(self):
        return mechanisms.of(self.config).cache(self.kind)

    @property
    def in_rows(self):
        """Tell whether the cache has a row of every buffer a token, which can be reserved."""
        return self.cache.grows_evenly and not self.cache.fixed

    def layer(self, dtype=torch.float64, heads=None):
        return layer_of(self.config, dtype=dtype, heads=heads)

    def empty(self, capacity=None, batch=2, dtype=torch.float64):
        return self.cache.empty(self.config, batch, dtype, capacity=capacity)

    def step(self, layer, h, cache, **more):
        return layer.decode(h, cache, form=self.form.name, **more)

    def decoded(self, layer, h, lengths, cache=None):
        """The traces of all tokens, decoded in pieces of these lengths, and the cache."""
        cache, traces = cache or layer.empty_cache(self.cache, len(h)), []
        for piece in h.split(lengths, dim=1):
            trace, cache = self.step(layer, piece, cache)
            traces.append(trace)
        return traces, cache


def ways_of(configs: Mapping[str, object]) -> dict[str, Way]:
    """Every form of these configurations with every cache that it decodes with."""
    return {
        f"{name}, {form.name}, {kind}": Way(config, form, kind)
        for name, config in configs.items()
        for form in mechanisms.of(config).forms
        for kind in form.decode
    }


WAYS = ways_of(CONFIGS)
FORMS = {
    f"{name}, {form.name}": (config, form)
    for name, config in CONFIGS.items()
    for form in mechanisms.of(config).forms
}
configs = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
forms = pytest.mark.parametrize(("config", "form"), FORMS.values(), ids=FORMS)
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@st.composite
def indexed_configs(draw):
    """Small IndexedConfigs with every option on and off."""
    base = draw(latent_configs())
    return IndexedConfig(
        **vars(base),
        n_index_heads=draw(st.integers(1, 3)),
        d_index=base.d_rope + draw(st.integers(1, 4)),
        index_topk=draw(st.integers(1, 5)),
        index_pairing=draw(st.sampled_from(["half", "interleaved"])),
    )


@st.composite
def pooled_index_configs(draw):
    """Small PooledIndexConfigs with every option on and off."""
    base, pooling = replace(draw(latent_configs()), rope=None), draw(st.integers(1, 4))
    return PooledIndexConfig(
        **vars(base),
        n_index_heads=draw(st.integers(1, 3)),
        d_index=draw(st.integers(3, 5)),  # normed, fewer are the same but for their signs: ties
        index_topk=pooling * draw(st.integers(1, 3)),
        pooling=pooling,
    )


UNSTRETCHED = YarnConfig(factor=16.0, original_max_position=16, attention_factor=1.0)


@st.composite
def pooled_configs(draw):
    """Small PooledConfigs with every option on and off."""
    groups, pooling = draw(st.integers(1, 2)), draw(st.integers(0, 4))
    d_rope, small = draw(st.sampled_from([0, 2, 4])), st.integers(1, 4)
    rope = RopeConfig(
        theta=draw(st.sampled_from([100.0, 10000.0])),
        pairing=draw(st.sampled_from(["interleaved", "half"])),
        scaling=draw(st.sampled_from([None, UNSTRETCHED])),
    )
    indexer = {"n_index_heads": draw(small), "d_index": d_rope + draw(small)}
    indexer |= {"index_topk": draw(small)}
    return PooledConfig(
        d_model=draw(st.integers(2, 6)),
        n_heads=groups * draw(st.integers(1, 2)),
        d_head=d_rope + draw(small),
        d_latent_q=draw(small),
        d_latent_o=draw(small),
        n_output_groups=groups,
        window=draw(small),
        d_rope=d_rope,
        pooling=pooling,
        overlap=bool(pooling) and draw(st.booleans()),
        norm_eps=draw(st.sampled_from([1e-6, 1e-2])),
        rope=draw(st.sampled_from([None, rope])),
        softmax_scale=draw(st.none() | st.floats(0.1, 1)),
        **(indexer if pooling and draw(st.booleans()) else {}),
    )


@st.composite
def delta_configs(draw):
    """Small DeltaConfigs with every option on and off."""
    small = st.integers(1, 5)
    return DeltaConfig(
        d_model=draw(st.integers(2, 8)),
        n_heads=draw(st.integers(1, 3)),
        d_head=draw(small),
        d_value=draw(st.none() | small),
        conv_width=draw(st.integers(1, 5)),
        d_decay=draw(st.none() | small),
        d_gate=draw(st.none() | small),
        decay_floor=draw(st.none() | st.floats(-8, -0.1)),
        norm_eps=draw(st.sampled_from([1e-6, 1e-2])),
    )


DRAWN = {
    "grouped": grouped_configs(), "latent": latent_configs(), "indexed": indexed_configs(),
    "pooled": pooled_configs(), "pooled_index": pooled_index_configs(), "delta": delta_configs(),
}  # fmt: skip
drawn = pytest.mark.parametrize("key", DRAWN)
