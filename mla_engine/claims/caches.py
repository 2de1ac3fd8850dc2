"""Statements about caches and their bytes, and about the worked example."""

from collections.abc import Iterable
from dataclasses import replace

import torch

from mla_engine import costs, mechanisms, worked_example
from mla_engine.claims.claim import Check, Figure, Verdict, judge, listed
from mla_engine.claims.layers import (
    GQA,
    MHA,
    MLA,
    NO_ROPE,
    PLAIN_QUERY,
    TOLERANCE,
    deviation,
    hidden,
    layer,
    plain_attention,
    same,
)
from mla_engine.config import RopeConfig
from mla_engine.grouped import GroupedConfig
from mla_engine.latent import LatentConfig
from mla_engine.ops import softmax
from mla_engine.presets import PRESETS
from mla_engine.worked_example import Step

V2 = PRESETS["deepseek-v2"].config
V3 = PRESETS["deepseek-v3"].config


def held_elements(config: GroupedConfig | LatentConfig, tokens: int = 5) -> int:
    """Count the numbers that a real cache holds after decoding `tokens` tokens."""
    cache = mechanisms.of(config).caches[0].empty(config, dtype=torch.float64)
    _, cache = layer(config).decode(hidden(config, tokens), cache)
    return cache.nbytes // torch.float64.itemsize


def _in_all_layers(config: GroupedConfig | LatentConfig, layers: int) -> float:
    """Count the numbers per token in the caches of so many layers."""
    return sum(held_elements(config, tokens=5) for _ in range(layers)) / 5


def rope_on_expanded_keys(config: LatentConfig = V3, context: int = 4096) -> Verdict:
    """N4: one decoded token with keys rebuilt from c_KV, and with the split into two parts.

    In both the values stay in the latent: the statement is only on keys.
    """
    rebuilt, split = (costs.decode(config, context, form) for form in ("expanded", "absorbed"))
    one_key = 2 * config.n_heads * config.d_head * config.d_latent_kv
    rebuilt_keys = rebuilt.step_flops["k_C"] // one_key
    split_keys = split.step_flops.get("k_C", 0) // one_key
    in_place_of = {"k_C": "q_C_absorbed", "scores_C": "scores_C"}
    rebuilt_flops = split.total_flops + sum(
        rebuilt.step_flops[name] - split.step_flops[other] for name, other in in_place_of.items()
    )
    figures = (
        Figure("context", context, "tokens"),
        Figure("rebuilt_keys", rebuilt_keys, "tokens"),
        Figure("split_keys", split_keys, "tokens"),
        Figure("rebuilt_gflops", rebuilt_flops / 1e9, "GFLOP"),
        Figure("split_gflops", split.total_flops / 1e9, "GFLOP"),
    )
    again = rebuilt_keys > 1 and split_keys <= 1
    return Verdict(judge(again and rebuilt_flops > split.total_flops), figures)


def groups_between(config: GroupedConfig = MHA) -> Verdict:
    """S2: g = h and g = 1 through plain attention; measured caches of every g that divides h."""
    h, heads = hidden(config), config.n_heads
    differences = []
    for groups in (heads, 1):
        trace = layer(replace(config, n_kv_heads=groups))(h)
        k, v = (x.expand(-1, -1, heads, -1) for x in (trace.k, trace.v))
        differences.append(deviation(trace.o, plain_attention(trace.q, k, v, config.scale)))
    full = held_elements(replace(config, n_kv_heads=heads))
    held = {
        g: held_elements(replace(config, n_kv_heads=g)) / full
        for g in range(1, heads + 1)
        if heads % g == 0
    }
    holds = max(differences) < TOLERANCE and all(share == g / heads for g, share in held.items())
    figures = (
        Figure("as_mha", differences[0]),
        Figure("as_mqa", differences[1]),
        Figure("shares", listed(f"g = {g}: {share:.3g}" for g, share in held.items())),
    )
    return Verdict(judge(holds), figures)


def head_of_group(config: GroupedConfig = GQA) -> Verdict:
    """S3: KV heads chosen by ceil(s g / h), and by counting round, against the engine."""
    trace, heads, groups = layer(config)(hidden(config)), config.n_heads, config.n_kv_heads
    stated = [-(-s * groups // heads) - 1 for s in range(1, heads + 1)]
    rounds = [s % groups for s in range(heads)]
    by_rule, by_turns = (
        plain_attention(trace.q, trace.k[:, :, chosen], trace.v[:, :, chosen], config.scale)
        for chosen in (stated, rounds)
    )
    in_torch = plain_attention(trace.q, trace.k, trace.v, config.scale)
    figures = (
        Figure("by_rule", deviation(trace.o, by_rule)),
        Figure("in_torch", deviation(in_torch, by_rule)),
        Figure("by_turns", deviation(trace.o, by_turns)),
    )
    return Verdict(judge(same(trace.o, by_rule) and same(in_torch, by_rule)), figures)


def query_compression(plain: LatentConfig = PLAIN_QUERY, compressed: LatentConfig = MLA) -> Verdict:
    """S8: real caches of a layer with and without a query latent."""
    held = [held_elements(config) for config in (plain, compressed)]
    figures = tuple(
        Figure(name, n, "elements") for name, n in zip(("plain", "compressed"), held, strict=True)
    )
    return Verdict(judge(held[0] == held[1]), figures)


def mha_cache(config: GroupedConfig = MHA, layers: int = 3) -> Verdict:
    """P1: real caches of several layers."""
    stated, held = 2 * config.n_heads * config.d_head * layers, _in_all_layers(config, layers)
    figures = (Figure("held", int(held), "elements"), Figure("stated", stated, "elements"))
    return Verdict(judge(held == stated), figures)


def latent_cache(
    joint: LatentConfig = NO_ROPE, decoupled: LatentConfig = MLA, layers: int = 3
) -> Verdict:
    """P2: real caches without and with the rotary key."""
    held = [_in_all_layers(config, layers) for config in (joint, decoupled)]
    stated = (joint.d_latent_kv * layers, (decoupled.d_latent_kv + decoupled.d_rope) * layers)
    figures = (
        Figure("joint", int(held[0]), "elements"),
        Figure("decoupled", int(held[1]), "elements"),
        Figure("stated", listed(stated), "elements"),
    )
    return Verdict(judge(tuple(held) == stated), figures)


def equal_latents(configs: Iterable[LatentConfig] | None = None) -> Verdict:
    """P6: how many published configurations have query latents as wide as the KV latents."""
    if configs is None:
        configs = [p.config for p in PRESETS.values() if p.config.has_latent]
    sizes = [(c.d_latent_q, c.d_latent_kv) for c in configs if c.d_latent_q]
    equal = sum(query == key for query, key in sizes)
    figures = (
        Figure("equal", equal, "models"),
        Figure("models", len(sizes), "models"),
        Figure("v3_query", V3.d_latent_q),
        Figure("v3_kv", V3.d_latent_kv),
    )
    return Verdict(judge(2 * equal > len(sizes)), figures)


def _cache_ratio(config: LatentConfig) -> tuple[float, float, float]:
    """Return the ratio as stated, 2 n_h d_h / d_c; of the real cache; and without k_R."""
    full = costs.mha_cache_elements(config)
    without_key = costs.cache_elements(replace(config, d_rope=0))
    stated = 2 * config.d_head * config.n_heads / config.d_latent_kv
    return stated, full / costs.cache_elements(config), full / without_key


def compression_ratio(config: LatentConfig = V2) -> Verdict:
    """C1: the formula against the sizes of a published model."""
    stated, cached, without_key = _cache_ratio(config)
    own_heads = costs.cache_elements(config, "kv") / costs.cache_elements(config)
    figures = (
        Figure("stated", stated, "times"),
        Figure("cached", cached, "times"),
        Figure("own_heads", own_heads, "times"),
    )
    return Verdict(judge(stated == cached, in_part=stated == without_key), figures)


def share_of_cache(config: LatentConfig = V2) -> Verdict:
    """C7: the same as a share of the original cache."""
    stated, cached, without_key = (100 / times for times in _cache_ratio(config))
    figures = (Figure("stated", stated, "%"), Figure("cached", cached, "%"))
    return Verdict(judge(stated == cached, in_part=stated == without_key), figures)


def _step(variant: str, key: str) -> Step:
    return next(step for step in worked_example.steps(variant) if step.key == key)


def odd_rotation(d_rope: int = 1) -> Verdict:
    """C10: whether a layer of the example's sizes with a rotation can be built."""
    sizes = {"d_model": 4, "n_heads": 2, "d_head": 2, "d_latent_kv": 2}
    answer = ""
    try:
        LatentConfig(d_rope=d_rope, rope=RopeConfig(), **sizes)
    except ValueError as error:
        answer = str(error)
    figures = (Figure("d_rope", d_rope), Figure("answer", answer or "accepted"))
    return Verdict(judge(not answer), figures)


def _follows(variant: str, inputs: dict[str, worked_example.Rows] | None) -> Verdict:
    """Count the printed figures that follow from the inputs; half of them is true in part."""
    follow, printed = worked_example.printed_count(worked_example.steps(variant, inputs))
    figures = (Figure("follow", follow, "figures"), Figure("printed", printed, "figures"))
    return Verdict(judge(follow == printed, in_part=2 * follow >= printed), figures)


def mla_numbers(inputs: dict[str, worked_example.Rows] | None = None) -> Verdict:
    """C11: exact arithmetic on the MLA example."""
    return _follows("mla", inputs)


def mha_numbers(inputs: dict[str, worked_example.Rows] | None = None) -> Verdict:
    """C12: exact arithmetic on the MHA example, and figures it shares with the MLA example."""
    found = _follows("mha", inputs)
    pairs = (("q", "q_C"), ("k", "k_C"), ("v", "v_C"))
    alike = [
        _step("mha", plain).published == _step("mla", latent).published for plain, latent in pairs
    ]
    return Verdict(found.verdict, (*found.evidence, Figure("alike", sum(alike), "vectors")))


def example_cache(d_rope: int = 1, tokens: int = 2) -> Verdict:
    """C13: what real caches of the example's sizes hold, against the printed figures."""
    sizes = {"d_model": 4, "n_heads": 2, "d_head": 2}
    full = held_elements(GroupedConfig(n_kv_heads=2, **sizes), tokens)
    latent = LatentConfig(d_latent_kv=2, d_latent_q=2, d_rope=d_rope, rope=None, **sizes)
    small = held_elements(latent, tokens)
    keys = ("cache_mha", "cache_mla", "cache_ratio")
    printed = [float(_step("mla", key).printed(0, 0)) for key in keys]
    figures = (
        Figure("mha", full, "elements"),
        Figure("mla", small, "elements"),
        Figure("times", full / small, "times"),
        Figure("printed", listed(f"{figure:g}" for figure in printed)),
    )
    return Verdict(judge([full, small, full / small] == printed), figures)


def softmax_of_one(variant: str = "mla_completed") -> Verdict:
    """C14: weights of one key, whatever its score, and of the tokens that the example announces."""
    alone = softmax(torch.tensor([[-30.0], [0.021], [30.0]], dtype=torch.float64))
    rows = _step(variant, "attention").result.rows
    weights = [max(row) for row in rows]
    figures = (
        Figure("one_key", float(alone.min())),
        Figure("smallest", float(min(weights))),
        Figure("rows", len(rows)),
    )
    one_key = bool((alone == 1).all())
    return Verdict(judge(all(w == 1 for w in weights), in_part=one_key), figures)


CHECKS: dict[str, Check] = {
    "N4": rope_on_expanded_keys,
    "S2": groups_between,
    "S3": head_of_group,
    "S8": query_compression,
    "P1": mha_cache,
    "P2": latent_cache,
    "P6": equal_latents,
    "C1": compression_ratio,
    "C7": share_of_cache,
    "C10": odd_rotation,
    "C11": mla_numbers,
    "C12": mha_numbers,
    "C13": example_cache,
    "C14": softmax_of_one,
}
