"""Bad input is refused before anything runs, with the name, the value and often the fix."""

import pickle
import re

import pytest
import torch

from kvcount.refusals import Phrase, RefusedError
from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    YarnConfig,
)
from mla_engine.budget import MemoryBudgetError
from mla_engine.config import LinearScaling, Llama3Scaling, LongRopeScaling
from tests.engine.kinds import DSA
from tests.engine.samples import refused

GROUPED = {"d_model": 8, "n_heads": 4, "n_kv_heads": 2, "d_head": 4}
LATENT = {"d_model": 8, "n_heads": 4, "d_head": 4, "d_latent_kv": 6, "d_rope": 2}
NAN, INF = float("nan"), float("inf")


NOT_SIZES = [0, -1, 2.0, 2.5, NAN, INF, True, False, "8", None, [8], torch.tensor(8), 1 + 2j]


@pytest.mark.parametrize("value", NOT_SIZES, ids=repr)
@pytest.mark.parametrize(
    ("config", "sizes", "name"),
    [(LatentConfig, LATENT, n) for n in ("d_model", "n_heads", "d_head", "d_latent_kv")]
    + [(LatentConfig, LATENT, n) for n in ("d_rope", "d_value", "d_latent_q")]
    + [(GroupedConfig, GROUPED, n) for n in (*GROUPED, "d_value", "sliding_window")],
)
def test_sizes(config, sizes, name, value):
    if value is None and name in ("d_value", "d_latent_q", "sliding_window"):
        assert getattr(config(**(sizes | {name: None})), name) in (None, 4)
    elif value == 0 and value is not False and name == "d_rope":
        assert config(**(sizes | {name: 0})).d_rope == 0
    else:
        with refused(name, value):
            config(**(sizes | {name: value}))


HUGE = 10**400  # an int that no float can hold


@pytest.mark.parametrize(
    "value", [0, -1.0, NAN, INF, -INF, HUGE, True, "1", [1.0]], ids=lambda v: repr(v)[:8]
)
@pytest.mark.parametrize(
    ("build", "name"),
    [(lambda **k: LatentConfig(**LATENT, **k), n) for n in ("norm_eps", "softmax_scale")]
    + [(lambda **k: LatentConfig(**LATENT, **k), n) for n in ("q_latent_scale", "kv_latent_scale")]
    + [(lambda **k: GroupedConfig(**GROUPED, **k), n) for n in ("norm_eps", "logit_softcap")]
    + [(lambda **k: RopeConfig(**k), "theta"), (lambda **k: LinearScaling(**k), "factor")]
    + [(lambda **k: YarnConfig(**({"factor": 2, "original_max_position": 9} | k)), "factor")]
    + [(lambda **k: YarnConfig(factor=2, original_max_position=9, **k), "beta_fast")]
    + [(lambda **k: YarnConfig(factor=2, original_max_position=9, **k), "attention_factor")],
)
def test_numbers(build, name, value):
    with refused(name, repr(value)[:8]):
        build(**{name: value})


@pytest.mark.parametrize("value", [1, 0, None, "yes", NAN], ids=repr)
@pytest.mark.parametrize(
    ("config", "sizes", "name"),
    [(LatentConfig, LATENT, n) for n in ("bias", "latent_norm")]
    + [(GroupedConfig, GROUPED, n) for n in ("bias", "qk_norm")],
)
def test_flags(config, sizes, name, value):
    with refused(name, value):
        config(**(sizes | {name: value}))


@pytest.mark.parametrize(
    ("n_heads", "n_kv_heads", "text"),
    [
        (8, 3, "n_heads (8) must be a multiple of n_kv_heads (3): try 1, 2, 4 or 8"),
        (4, 8, "n_heads (4) must be a multiple of n_kv_heads (8): try 1, 2 or 4"),
        (1, 2, "n_heads (1) must be a multiple of n_kv_heads (2): try 1"),
        (7, 2, "n_heads (7) must be a multiple of n_kv_heads (2): try 1 or 7"),
    ],
)
def test_heads_that_do_not_divide(n_heads, n_kv_heads, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        GroupedConfig(d_model=8, n_heads=n_heads, n_kv_heads=n_kv_heads, d_head=4)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: LatentConfig(**(LATENT | {"d_rope": 3})), ("d_rope", 3, "even", 4)),
        (lambda: GroupedConfig(**(GROUPED | {"d_head": 5}), rope=RopeConfig()), ("d_head", 5, 6)),
        (lambda: RopeConfig(pairing="neox"), ("pairing", "neox", "interleaved", "half")),
        (lambda: RopeConfig(scaling="yarn"), ("scaling", "yarn")),
        (lambda: LatentConfig(**LATENT, rope="interleaved"), ("rope", "interleaved")),
        (lambda: GroupedConfig(**GROUPED, rope=10000.0), ("rope", 10000.0)),
        (
            lambda: YarnConfig(factor=2, original_max_position=9, beta_fast=1, beta_slow=32),
            ("beta_fast", 1, "beta_slow", 32),
        ),
        (lambda: YarnConfig(factor=2, original_max_position=0), ("original_max_position", 0)),
        (
            lambda: RopeConfig(theta=1.0, scaling=YarnConfig(factor=2, original_max_position=9)),
            ("theta", 1.0),
        ),
        (lambda: YarnConfig(factor=2, original_max_position=9, truncate=1), ("truncate", 1)),
        (
            lambda: Llama3Scaling(
                factor=8, original_max_position=9, low_freq_factor=4, high_freq_factor=1
            ),
            ("low_freq_factor", 4, "high_freq_factor", 1),
        ),
        (
            lambda: LatentConfig(
                **(LATENT | {"d_rope": 4}),
                rope=RopeConfig(
                    scaling=LongRopeScaling(
                        short_factor=(1.0,), long_factor=(1.0,), original_max_position=9
                    )
                ),
            ),
            ("d_rope", 4, "short_factor", 1),
        ),
        (
            lambda: LongRopeScaling(
                short_factor=(1.0, 2.0), long_factor=(1.0,), original_max_position=9
            ),
            ("short_factor", 2, "long_factor", 1),
        ),
    ],
)
def test_rotations(build, words):
    with refused(*words):
        build()


def mla(**kwargs):
    return MultiHeadLatentAttention(LatentConfig(**LATENT), **kwargs)


def gqa(**kwargs):
    return GroupedQueryAttention(GroupedConfig(**GROUPED), **kwargs)


@pytest.mark.parametrize("build", [mla, gqa])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"heads": [4]}, ("heads", 4, 0, 3)),
        ({"heads": [-1]}, ("heads", -1)),
        ({"heads": [1, 1]}, ("heads", 1, "twice")),
        ({"heads": []}, ("heads", "empty")),
        ({"heads": 2}, ("heads", 2)),
        ({"heads": "01"}, ("heads", "01")),
        ({"heads": [True]}, ("heads", True)),
        ({"heads": [1.0]}, ("heads", 1.0)),
        ({"dtype": torch.int64}, ("dtype", "int64", "float32")),
        ({"dtype": "float32"}, ("dtype", "float32")),
        ({"device": "gpu"}, ("device", "gpu", "cpu")),
        ({"seed": 1.5}, ("seed", 1.5)),
        ({"seed": -1}, ("seed", -1)),
        ({"seed": None}, ("seed", None)),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_layers(build, arguments, words):
    with refused(*words):
        build(**arguments)


def test_a_layer_wants_its_own_kind_of_configuration():
    with refused("config", "GroupedConfig", "LatentConfig"):
        MultiHeadLatentAttention(GroupedConfig(**GROUPED))
    with refused("config", "LatentConfig", "GroupedConfig"):
        GroupedQueryAttention(LatentConfig(**LATENT))
    with refused("config", "LatentConfig"):
        MultiHeadLatentAttention(DSA)
    with refused("config"):
        MultiHeadLatentAttention(LATENT)


H = torch.zeros(2, 5, 8)
CALLS = {
    "heads out of range": ({"heads": [9]}, ("heads", 9, 0, 3)),
    "head twice": ({"heads": [2, 0, 2]}, ("heads", 2, "twice")),
    "no heads": ({"heads": []}, ("heads", "empty")),
    "heads of another type": ({"heads": ["1"]}, ("heads", "1")),
    "no queries": ({"queries": slice(5, None)}, ("queries", 5, "none", 5)),
    "queries backwards": ({"queries": slice(None, None, -1)}, ("queries", -1)),
    "queries as a number": ({"queries": 3}, ("queries", 3)),
    "too few positions": ({"positions": torch.arange(4)}, ("positions", 4, 5)),
    "positions of another batch": (
        {"positions": torch.zeros(3, 5, dtype=int)},
        ("positions", 3, 5),
    ),
    "positions before the text": ({"positions": torch.arange(5) - 1}, ("positions", -1, 0)),
    "half positions": ({"positions": torch.arange(5) / 2}, ("positions", "float32")),
    "positions as bools": ({"positions": torch.ones(5, dtype=bool)}, ("positions", "bool")),
    "positions as a word": ({"positions": "01234"}, ("positions", "01234")),
    "positions as a set": ({"positions": {0, 1, 2, 3, 4}}, ("positions", "{0, 1, 2, 3, 4}")),
    "one position": ({"positions": 5}, ("positions", 5)),
    "queries of another type": ({"queries": slice(0.5, 2)}, ("queries", 0.5)),
    "two axes": ({"h": H[0]}, ("h", [5, 8])),
    "another width": ({"h": torch.zeros(2, 5, 7)}, ("h", [2, 5, 7], "d_model", 8)),
    "no tokens": ({"h": torch.zeros(2, 0, 8)}, ("h", [2, 0, 8])),
    "no sequences": ({"h": torch.zeros(0, 5, 8)}, ("h", [0, 5, 8])),
    "another dtype": ({"h": H.double()}, ("h", "float64", "float32")),
    "a list": ({"h": [[0.0] * 8]}, ("h",)),
}


@pytest.mark.parametrize(
    "run", [mla(), mla().forward_absorbed, gqa()], ids=["expanded", "absorbed", "grouped"]
)
@pytest.mark.parametrize(("arguments", "words"), CALLS.values(), ids=CALLS)
def test_calls(run, arguments, words):
    with refused(*words):
        run(**({"h": H} | arguments))


def test_a_layer_of_some_heads_has_no_others():
    for layer in (mla(heads=[2, 0]), gqa(heads=[2, 0])):
        with refused("heads", 1, 2, 0):
            layer(H, heads=[1])


def test_latents_of_something_else():
    layer = mla()
    with refused("latents", 4, 5):
        layer(H, latents=layer.compress(H[:, :4]))
    with refused("batch", 1, 2):
        layer(H, latents=layer.compress(H[:1]))
    with refused("latents"):
        layer(H, latents=KVCache.empty(layer.config, batch=2))
    with refused("heads", 4):
        layer.absorbed_matrices(heads=[4])


@pytest.mark.parametrize("kind", [RefusedError, MemoryBudgetError])
def test_a_refusal_is_pickled_as_it_was_made(kind):
    told = kind("memory", what=Phrase("less_deep"), needed=2.5, limit=1.0, lower="it")
    again = pickle.loads(pickle.dumps(told))
    assert (type(again), again.code, str(again)) == (kind, "memory", str(told))
    assert (again.values["needed"], str(again.values["what"])) == (2.5, str(Phrase("less_deep")))


LATENT_CONFIG, GROUPED_CONFIG = LatentConfig(**LATENT), GroupedConfig(**GROUPED)
STEPS = {
    "absorbed with keys and values": (
        lambda: mla().decode(H, KVCache.empty(LATENT_CONFIG, batch=2), form="absorbed"),
        ("absorbed", "LatentCache", "KVCache"),
    ),
    "another batch": (
        lambda: mla().decode(H, LatentCache.empty(LATENT_CONFIG, batch=3)),
        ("batch", 3, 2),
    ),
    "another batch, grouped": (
        lambda: gqa().decode(H, KVCache.empty(GROUPED_CONFIG, batch=1)),
        ("batch", 1, 2),
    ),
    "another dtype": (
        lambda: mla().decode(H, LatentCache.empty(LATENT_CONFIG, batch=2, dtype=torch.float64)),
        ("float64", "float32"),
    ),
    "MLA's keys for grouped heads": (
        lambda: gqa().decode(H, KVCache.empty(LATENT_CONFIG, batch=2)),
        ("cache", "LatentConfig", "layer", "GroupedConfig"),
    ),
    "keys of more heads than the layer has": (
        lambda: mla(heads=[2, 0]).decode(H, KVCache.empty(LATENT_CONFIG, batch=2)),
        ("n_kv_heads", 4, 2),
    ),
    "no cache": (lambda: mla().decode(H, None), ("cache", None, "LatentCache")),
    "no capacity": (lambda: KVCache.empty(GROUPED_CONFIG, capacity=0), ("capacity", 0)),
    "no batch": (lambda: KVCache.empty(GROUPED_CONFIG, batch=0), ("batch", 0)),
    "batch as a word": (lambda: KVCache.empty(GROUPED_CONFIG, batch="2"), ("batch", "2")),
    "whole numbers": (
        lambda: KVCache.empty(GROUPED_CONFIG, dtype=torch.int8),
        ("dtype", "int8", "float32"),
    ),
    "positions of other tokens": (
        lambda: mla().decode(H, LatentCache.empty(LATENT_CONFIG, batch=2), positions=[0, 1]),
        ("positions", 2, 5),
    ),
}


@pytest.mark.parametrize(("step", "words"), STEPS.values(), ids=STEPS)
def test_decoding(step, words):
    with refused(*words):
        step()


def test_a_refused_step_leaves_the_cache_as_it_was():
    layer = mla()
    _, cache = layer.decode(H, LatentCache.empty(LATENT_CONFIG, batch=2, capacity=8))
    kept = cache.c_KV.clone()
    with refused("capacity", 8, 5):
        layer.decode(torch.ones(2, 5, 8), cache)
    assert cache.length == 5
    assert torch.equal(cache.c_KV, kept)
    trace, longer = layer.decode(torch.ones(2, 3, 8), cache)
    assert (longer.length, trace.attention.shape[-1]) == (8, 8)
