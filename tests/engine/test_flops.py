"""Products counted by hand, by torch's FlopCounterMode on the real run, and by the closed forms."""

from dataclasses import replace

import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    MultiHeadLatentAttention,
    RopeConfig,
    costs,
    mechanisms,
)
from tests.engine.by_hand import BATCH, DSA, MLA, OF_DSA, OF_GLM, choice_for, flops
from tests.engine.kinds import layer_of
from tests.engine.samples import counted, hidden

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
TOKENS, PAST = 13, 17
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
    assert real == flops(config, form, size(heads, 6), rows, made, TOKENS, expanded=TOKENS)
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
    assert real == flops(config, form, 6, new, new, PAST + new, expanded=expanded(new))
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


ATTENDED = {"DSA": [(3, 3), (8, 8), (21, 8)], "GLM": [(3, 3), (11, 11), (12, 8), (23, 11)]}
CHOOSING = {
    f"{name}, {tokens} tokens": (config, tokens, attended)
    for name, config in (OF_DSA | OF_GLM).items()
    for tokens, attended in ATTENDED[name.partition(",")[0]]
}


@pytest.mark.parametrize("heads", [None, [4, 1]])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("config", "tokens", "attended"), CHOOSING.values(), ids=CHOOSING)
def test_a_choosing_run_makes_all_logits_and_the_costs_count_the_chosen(
    config, tokens, attended, form, heads
):
    """The last of GLM's 23 tokens attends to two blocks of 4 and to 3 tokens of its own."""
    layer, h = layer_of(config, dtype=torch.float32), hidden(BATCH, tokens, 31, 1, torch.float32)
    run = getattr(layer, FORMS[form])
    real = counted(lambda: run(h, heads=heads, **choice_for(config, tokens, tokens)))
    sizes = (config, form, size(heads, 6), tokens, tokens, tokens)
    assert real == flops(*sizes, expanded=tokens)
    given = {"batch": BATCH, "heads": heads}
    cost = costs.prefill(config, tokens, form, **given)
    assert cost.total_flops == flops(*sizes, over=attended, expanded=tokens)
    assert (cost.total_flops == real) == (attended == tokens)
    dense = mechanisms.of(config).costs.with_every_key(config)
    assert costs.prefill(dense, tokens, form, **given).total_flops == real
    if config == DSA:
        grows = {"scores_C", "scores_R", "scores_I", "index"}
        assert set(cost.growing) == grows | {"o" if form == "expanded" else "o_latent"}


def test_merging_costs_one_product_a_head_and_matrix():
    mla = MultiHeadLatentAttention(MLA)
    by_hand = 2 * 2 * (11 * 5 * 7 + 31 * 3 * 7)
    assert counted(lambda: mla.absorbed_matrices(heads=[5, 2])) == by_hand
