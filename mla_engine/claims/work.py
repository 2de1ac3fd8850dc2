"""Statements on parameters, work and memory, at the sizes of published models."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import torch

from mla_engine import costs
from mla_engine.claims.claim import MILLION, Check, Figure, Verdict, judge, listed
from mla_engine.claims.layers import MLA, hidden, layer
from mla_engine.grouped import GroupedConfig
from mla_engine.latent import LatentConfig, LatentTrace
from mla_engine.presets import PRESETS

V2_LITE = PRESETS["deepseek-v2-lite"].config
V3 = PRESETS["deepseek-v3"].config
# dense bfloat16 FLOP per byte by the data sheets; an H800 SXM has an H100's rates
RIDGES = MappingProxyType({"H200": costs.GPUS["h200"].ridge, "H800": costs.GPUS["h100"].ridge})
# of an H800 at the clock it keeps: FlashMLA, docs/20250422-new-kernel-deep-dive.md
PRACTICAL_RIDGE = 865e12 / 3.35e12
CONTEXT = 32_768


def _mha_of(config: LatentConfig) -> GroupedConfig:
    """Return the plain MHA with as many heads of the same content width."""
    heads = config.n_heads
    return GroupedConfig(
        d_model=config.d_model, n_heads=heads, n_kv_heads=heads, d_head=config.d_head
    )


def compute_and_memory_bound(
    few: LatentConfig = V2_LITE, many: LatentConfig = V3, ridges: Mapping[str, float] = RIDGES
) -> Verdict:
    """T5: FLOP per byte of training's forward pass, and of decoding's attention over the cache."""

    def decoding(config: LatentConfig) -> float:
        cost = costs.decode(config, CONTEXT)
        return cost.attention_flops / (cost.cache_read_bytes + cost.cache_written_bytes)

    training = min(costs.prefill(config, 4096).flops_per_byte for config in (few, many))
    decode = [decoding(config) for config in (few, many)]
    cases = [intensity < ridge < training for intensity in decode for ridge in ridges.values()]
    figures = (
        Figure("training", training, "FLOP/byte"),
        Figure("few_heads", few.n_heads),
        Figure("few", decode[0], "FLOP/byte"),
        Figure("many_heads", many.n_heads),
        Figure("many", decode[1], "FLOP/byte"),
        Figure("ridges", listed(f"{gpu} {ridge:.0f}" for gpu, ridge in ridges.items())),
        Figure("rounded", 2 * many.n_heads, "FLOP/byte"),
        Figure("practical", PRACTICAL_RIDGE, "FLOP/byte"),
        Figure("step", costs.decode(many, CONTEXT).flops_per_byte, "FLOP/byte"),
    )
    return Verdict(judge(*cases), figures)


def _products(config: LatentConfig | GroupedConfig, *made: str) -> float:
    """Count the multiply-adds per token that make these fields of a trace."""
    steps = costs.prefill(config, 1).step_flops
    return sum(steps[name] for name in made) / 2


def projection_cost(config: LatentConfig = V3) -> Verdict:
    """C3: multiply-adds of keys and values; the stated plain cost does not grow with d_model."""
    doubled = replace(config, d_model=2 * config.d_model)
    plain, of_doubled = (_products(_mha_of(c), "k_pre", "v") for c in (config, doubled))
    down, wide_down = (_products(c, "c_KV_pre") for c in (config, doubled))
    up, wide_up = (_products(c, "k_C", "v_C") for c in (config, doubled))
    figures = (
        Figure("plain", plain / MILLION, "M multiply-adds"),
        Figure("compressed", (down + up) / MILLION, "M multiply-adds"),
        Figure("growth", of_doubled / plain, "times"),
        Figure("latent_growth", wide_down / down, "times"),
        Figure("rebuilt_growth", wide_up / up, "times"),
    )
    less = down + up < plain
    return Verdict(judge(less and of_doubled == plain, in_part=less), figures)


def training_losses(steps: Iterable[str] | None = None) -> Verdict:
    """C4: is there anything in an MLA layer that k_C and v_C could be compared with?"""
    steps = layer(MLA)(hidden(MLA)).steps if steps is None else tuple(steps)
    rebuilt = [name for name in steps if name in ("k_C", "v_C")]
    targets = [name for name in steps if name in ("k", "v")]
    figures = (
        Figure("rebuilt", listed(rebuilt)),
        Figure("targets", len(targets)),
        Figure("steps", len(steps)),
    )
    return Verdict(judge(bool(targets), decidable=bool(targets)), figures)


def _one_token(config: LatentConfig) -> LatentTrace:
    """Return every shape of one token's run, without data."""
    h = torch.empty(1, 1, config.d_model, dtype=torch.float64, device="meta")
    return layer(config, "meta")(h)


def _elements(trace: LatentTrace, *names: str) -> int:
    tensors = (getattr(trace, name) for name in names)
    return sum(tensor.numel() for tensor in tensors if tensor is not None)


def query_activations(config: LatentConfig = V3) -> Verdict:
    """C5: query numbers kept per token for the backward pass, and the cache, with and without."""
    plain = replace(config, d_latent_q=None)
    before = _elements(_one_token(plain), "q_C", "q_R")
    trace = _one_token(config)
    recomputed, kept = _elements(trace, "c_Q"), _elements(trace, "c_Q", "q_C", "q_R")
    caches = [costs.cache_elements(c) for c in (plain, config)]
    figures = (
        Figure("before", before, "elements"),
        Figure("recomputed", recomputed, "elements"),
        Figure("kept", kept, "elements"),
        Figure("cache_before", caches[0], "elements"),
        Figure("cache_after", caches[1], "elements"),
    )
    same_cache = caches[0] == caches[1]
    return Verdict(judge(*(same_cache and now < before for now in (recomputed, kept))), figures)


def all_activations(config: LatentConfig = V3) -> Verdict:
    """C8: numbers kept per token for the backward pass, recomputed from the latents or not."""
    trace, latents = _one_token(config), ("c_KV", "c_Q")
    recomputed = _elements(trace, *latents)
    kept = _elements(trace, *latents, "q_C", "k_C", "v_C")
    before, stated = 3 * config.n_heads * config.d_head, config.d_latent_kv + config.d_latent_q
    figures = (
        Figure("before", before, "elements"),
        Figure("stated", stated, "elements"),
        Figure("recomputed", recomputed, "elements"),
        Figure("kept", kept, "elements"),
        Figure("key_rotary", _elements(trace, "k_R"), "elements"),
        Figure("query_rotary", _elements(trace, "q_R"), "elements"),
    )
    return Verdict(judge(*(now == stated < before for now in (recomputed, kept))), figures)


def parameter_counts(config: LatentConfig = V3, left_out: Iterable[str] = ()) -> Verdict:
    """C9: the matrices of the engine's own layers against the two counts."""

    def matrices(of: LatentConfig | GroupedConfig) -> dict[str, int]:
        named = layer(of, "meta").named_parameters()
        return {n: p.numel() for n, p in named if n.startswith("W_") and n not in left_out}

    full, d = config.n_heads * config.d_head, config.d_model
    mha, mla = sum(matrices(_mha_of(config)).values()), matrices(config)
    stated = d * config.d_latent_kv + 2 * full * config.d_latent_kv + full * d
    missing = sum(mla.get(name, 0) for name in ("W_DQ", "W_UQ", "W_QR", "W_KR"))
    figures = (
        Figure("mha_counted", mha / MILLION, "M weights"),
        Figure("mha_stated", 4 * d * full / MILLION, "M weights"),
        Figure("mla_counted", sum(mla.values()) / MILLION, "M weights"),
        Figure("mla_stated", stated / MILLION, "M weights"),
        Figure("missing", missing / MILLION, "M weights"),
    )
    return Verdict(judge(mha == 4 * d * full and sum(mla.values()) == stated), figures)


CHECKS: dict[str, Check] = {
    "T5": compute_and_memory_bound,
    "C3": projection_cost,
    "C4": training_losses,
    "C5": query_activations,
    "C8": all_activations,
    "C9": parameter_counts,
}
