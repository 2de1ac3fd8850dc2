"""The glossary against the runs it describes: axes, inputs and contractions, field by field."""

from dataclasses import fields, replace

import pytest
import torch

from mla_engine import (
    SYMBOLS,
    DeltaAttention,
    DeltaConfig,
    GroupedConfig,
    IndexedConfig,
    LatentConfig,
    PooledConfig,
    PooledIndexConfig,
    RopeConfig,
    mechanisms,
)
from mla_engine.mechanism import Mechanism
from mla_engine.symbols import SIZES, sources
from mla_engine.trace import Trace

BATCH, QUERIES, KEYS = 2, 3, 5
SIZES_OF_LATENT = {"d_model": 14, "n_heads": 3, "d_head": 6, "d_value": 7, "d_latent_kv": 11}
LATENT = LatentConfig(
    **SIZES_OF_LATENT, d_rope=4, d_latent_q=9, latent_norm=True, output_gate="channel"
)
PLAIN = LatentConfig(**SIZES_OF_LATENT, output_gate="head")
OF_INDEX = {"n_index_heads": 4, "d_index": 8, "index_topk": 2}
INDEXED = IndexedConfig(**vars(LATENT), **OF_INDEX)
GROUPED = GroupedConfig(
    d_model=14, n_heads=6, n_kv_heads=2, d_head=8, d_value=7, rope=RopeConfig(), qk_norm=True
)
SINKS = replace(GROUPED, sinks=True)
SIZES_OF_POOLED = {"d_model": 14, "n_heads": 6, "d_head": 8, "d_latent_q": 9, "d_latent_o": 11}
SIZES_OF_POOLED |= {"n_output_groups": 2, "window": 3, "d_rope": 4}
HCA = PooledConfig(**SIZES_OF_POOLED, pooling=2)
CSA = PooledConfig(**SIZES_OF_POOLED, pooling=2, overlap=True, **(OF_INDEX | {"d_index": 7}))
POOLED_INDEX = PooledIndexConfig(**vars(LATENT) | {"d_rope": 0}, **OF_INDEX, pooling=2)
ENTRIES = KEYS // 2
KDA = DeltaConfig(d_model=14, n_heads=3, d_head=6, d_value=7, d_decay=9, d_gate=11)
FULL_KDA = DeltaConfig(d_model=14, n_heads=3, d_head=6, d_value=7)


def runs() -> list[tuple[torch.nn.Module, Trace]]:
    h = torch.randn(BATCH, KEYS, 14, dtype=torch.float64, generator=torch.manual_seed(0))
    rows = slice(1, 1 + QUERIES)
    pairs = []
    sparse = INDEXED, IndexedConfig(**vars(PLAIN), **OF_INDEX), POOLED_INDEX
    for config in (LATENT, PLAIN, *sparse):
        layer = mechanisms.of(config).layer(config, dtype=torch.float64)
        pairs += [(layer, layer(h, queries=rows)), (layer, layer.forward_absorbed(h, queries=rows))]
    for config in (GROUPED, SINKS, CSA, HCA):
        layer = mechanisms.of(config).layer(config, dtype=torch.float64)
        pairs.append((layer, layer(h, queries=rows)))
    for config in (KDA, FULL_KDA):  # whose queries all carry the state
        layer = DeltaAttention(config, dtype=torch.float64)
        pairs += [(layer, layer(h[:, rows])), (layer, layer.forward_recurrent(h[:, rows]))]
    return pairs


def axes(code: str, layer: torch.nn.Module) -> tuple[int, ...]:
    config = layer.config
    width = {letter: getattr(config, name, None) for letter, name in SIZES.items()}
    width |= {"b": BATCH, "t": QUERIES, "s": KEYS, "i": ENTRIES}
    if isinstance(config, DeltaConfig):
        width |= {"i": config.d_decay or 14, "e": config.d_gate or 14}
    if isinstance(config, LatentConfig) and not config.d_latent_q:
        width["l"] = config.d_model  # the queries come straight from h
    return tuple(width[letter] for letter in SYMBOLS[code].axes.split())


every_run = pytest.mark.parametrize(
    ("layer", "trace"), runs(), ids=lambda x: getattr(x, "form", "")
)


@pytest.mark.parametrize("mechanism", mechanisms.all(), ids=lambda one: one.key)
def test_every_field_has_a_symbol_and_no_trace_can_be_changed(mechanism: Mechanism) -> None:
    for form in mechanism.forms:
        assert {field.name for field in fields(form.trace)} <= set(SYMBOLS)
        assert form.trace.__dataclass_params__.frozen


@every_run
def test_axes_are_the_shapes_of_the_run(layer: torch.nn.Module, trace: Trace) -> None:
    for code in trace.steps:
        held = trace.h[:, :QUERIES] if code == "h" else getattr(trace, code)
        assert tuple(held.shape) == axes(code, layer), code
    if hasattr(trace, "mask"):
        assert tuple(trace.mask.shape) == axes("mask", layer)
    for name, weight in layer.named_parameters():
        assert tuple(weight.shape) == axes(name, layer), name


@every_run
def test_contractions_replay_the_run(layer: torch.nn.Module, trace: Trace) -> None:
    replayed = 0
    for code in trace.steps:
        step = SYMBOLS[code].step(trace.form)
        if step.einsum is None:
            continue
        operands = []
        for name, letters in zip(step.inputs, step.einsum.split("->")[0].split(","), strict=True):
            held = getattr(trace, name, None)
            if held is None:
                held = getattr(layer, name, None)
            if held is None:
                held = getattr(trace, SYMBOLS[name].instead)
            if held is trace.h and held.shape[1] == KEYS:
                held = held[:, 1 : 1 + QUERIES] if "t" in letters else held
            operands.append(held)
        wanted = torch.einsum(step.einsum, *operands)
        if code in ("scores_C", "scores_R", "scores", "scores_T", "scores_E"):
            wanted = wanted * layer.config.scale
        torch.testing.assert_close(getattr(trace, code), wanted, rtol=1e-12, atol=1e-13)
        replayed += 1
    assert replayed >= 4


@every_run
def test_sources_come_before_what_they_feed(layer: torch.nn.Module, trace: Trace) -> None:
    seen: list[str] = []
    for code in trace.steps:
        feeding = sources(code, trace.form, trace.steps)
        assert set(feeding) <= set(seen), code
        assert bool(feeding) == (code != "h"), code
        seen.append(code)
    used = {source for code in seen for source in sources(code, trace.form, trace.steps)}
    told = {"left_out", "sink_mass", "S", "erased"}
    assert set(seen) - used - told == {"u"}, "everything but these is used"


def test_a_formula_names_the_sink_where_there_is_one() -> None:
    for config in (GROUPED, SINKS):
        step = SYMBOLS["attention"].step("grouped", sinks=config.sinks)
        assert ("sink" in step.formula, "sink" in step.inputs) == (config.sinks, config.sinks)
        assert SYMBOLS["k"].step("grouped", sinks=config.sinks) == SYMBOLS["k"].step("grouped")


def test_cached_symbols_are_what_the_caches_hold() -> None:
    cached = {code for code, symbol in SYMBOLS.items() if symbol.cached}
    of_states = {"S", "q_D_pre", "k_D_pre", "v_D_pre"}
    of_entries = {"kv_T", "kv_E", "c_E", "z_E", "k_E", "c_IE", "z_IE"}
    assert cached == {"c_KV", "k_R", "k_I", "k", "v"} | of_states | of_entries
