"""Products counted by hand, by torch's FlopCounterMode on the real run, and by the closed forms."""

from dataclasses import replace

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    costs,
)
from tests.engine.samples import counted, hidden

MLA = LatentConfig(  # sizes without a common factor, so that no wrong product can hide
    d_model=31, n_heads=6, d_head=5, d_latent_kv=7, d_rope=2, d_value=3, d_latent_q=11,
    latent_norm=True, bias=True,
)  # fmt: skip
PLAIN = replace(MLA, d_latent_q=None, d_rope=0, latent_norm=False, bias=False)
NO_ROPE = replace(MLA, d_rope=0, bias=False)
LATENT = {"MLA": MLA, "plain": PLAIN, "no rotary part": NO_ROPE}
GQA = GroupedConfig(
    d_model=31, n_heads=6, n_kv_heads=3, d_head=4, d_value=5, rope=RopeConfig(), qk_norm=True
)
MHA = GroupedConfig(d_model=31, n_heads=6, n_kv_heads=6, d_head=4)
GROUPED = {"GQA": GQA, "MHA": MHA, "MQA": replace(MHA, n_kv_heads=1)}
latents = pytest.mark.parametrize("config", LATENT.values(), ids=LATENT)
groups = pytest.mark.parametrize("config", GROUPED.values(), ids=GROUPED)
BATCH, TOKENS, PAST = 2, 13, 17
PARTS = {
    "all": (None, None),
    "two heads": ([4, 1], None),
    "three rows": (None, slice(5, 8)),
    "the last row": (None, slice(-1, None)),
    "every fourth row": ([0], slice(0, None, 4)),
    "both": ([0, 1, 5], slice(9, 13)),
}
parts = pytest.mark.parametrize(("heads", "queries"), PARTS.values(), ids=PARTS)
FORMS = {"expanded": "forward", "absorbed": "forward_absorbed"}


def latent_by_hand(c, form, h, t, s, compressed, expanded):
    """2 x multiply-adds of h heads, t queries, s keys; `compressed` tokens go into the latent.

    `expanded` tokens come out of it again, in the expanded form.
    """
    k, r, v, latent = c.d_head, c.d_rope, c.d_value, c.d_latent_kv
    source = c.d_latent_q or c.d_model
    total = compressed * c.d_model * (latent + r)
    total += t * c.d_model * (c.d_latent_q or 0) + t * h * source * (k + r)
    if form == "expanded":
        total += expanded * h * latent * (k + v) + h * t * s * (k + r + v)
    else:
        total += t * h * k * latent + h * t * s * (latent + r + latent) + t * h * latent * v
    return 2 * BATCH * (total + t * h * v * c.d_model)


def grouped_by_hand(c, h, g, t, s, new):
    total = t * c.d_model * h * c.d_head + new * c.d_model * g * (c.d_head + c.d_value)
    total += h * t * s * (c.d_head + c.d_value) + t * h * c.d_value * c.d_model
    return 2 * BATCH * total


def size(part, whole):
    return whole if part is None else len(range(whole)[part] if isinstance(part, slice) else part)


@parts
@pytest.mark.parametrize("shared", [True, False], ids=["latents given", "latents made"])
@pytest.mark.parametrize("form", FORMS)
@latents
def test_prefill(config, form, shared, heads, queries):
    mla, h = MultiHeadLatentAttention(config), hidden(BATCH, TOKENS, 31, dtype=torch.float32)
    latents = mla.compress(h) if shared else None
    run = getattr(mla, FORMS[form])
    real = counted(lambda: run(h, heads=heads, queries=queries, latents=latents))
    rows = size(queries, TOKENS)
    made = 0 if shared else TOKENS
    assert real == latent_by_hand(config, form, size(heads, 6), rows, TOKENS, made, TOKENS)
    given = {"batch": BATCH, "heads": heads, "queries": queries, "latents": shared}
    assert real == costs.prefill(config, TOKENS, form, **given).total_flops


@parts
@groups
def test_grouped_prefill(config, heads, queries):
    gqa, h = GroupedQueryAttention(config), hidden(BATCH, TOKENS, 31, dtype=torch.float32)
    real = counted(lambda: gqa(h, heads=heads, queries=queries))
    each = 6 // config.n_kv_heads
    kv_heads = len({head // each for head in heads or range(6)})
    rows = size(queries, TOKENS)
    assert real == grouped_by_hand(config, size(heads, 6), kv_heads, rows, TOKENS, TOKENS)
    cost = costs.prefill(config, TOKENS, batch=BATCH, heads=heads, queries=queries)
    assert real == cost.total_flops


WAYS = {  # cache, form, which tokens are up-projected
    "absorbed": (LatentCache, "absorbed", "latent", lambda new: 0),
    "expanded each step": (LatentCache, "expanded", "latent", lambda new: PAST + new),
    "keys and values": (KVCache, "expanded", "kv", lambda new: new),
}


@pytest.mark.parametrize("new", [2, 5])
@pytest.mark.parametrize(("cache", "form", "name", "expanded"), WAYS.values(), ids=WAYS)
@latents
def test_decode(config, cache, form, name, expanded, new):
    mla = MultiHeadLatentAttention(config)
    past, h = (hidden(BATCH, n, 31, dtype=torch.float32) for n in (PAST, new))
    _, held = mla.decode(past, cache.empty(config, batch=BATCH))
    real = counted(lambda: mla.decode(h, held, form=form))
    assert real == latent_by_hand(config, form, 6, new, PAST + new, new, expanded(new))
    cost = costs.decode(config, PAST, form, cache=name, new_tokens=new, batch=BATCH)
    assert real == cost.total_flops


@pytest.mark.parametrize("new", [2, 5])
@groups
def test_grouped_decode(config, new):
    gqa = GroupedQueryAttention(config)
    past, h = (hidden(BATCH, n, 31, dtype=torch.float32) for n in (PAST, new))
    _, held = gqa.decode(past, KVCache.empty(config, batch=BATCH))
    real = counted(lambda: gqa.decode(h, held))
    assert real == grouped_by_hand(config, 6, config.n_kv_heads, new, PAST + new, new)
    assert real == costs.decode(config, PAST, new_tokens=new, batch=BATCH).total_flops


def test_merging_costs_one_product_a_head_and_matrix():
    mla = MultiHeadLatentAttention(MLA)
    by_hand = 2 * 2 * (11 * 5 * 7 + 31 * 3 * 7)
    assert counted(lambda: mla.absorbed_matrices(heads=[5, 2])) == by_hand
