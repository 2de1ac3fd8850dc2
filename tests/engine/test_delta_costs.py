"""The costs of Kimi Delta Attention: counted by hand, and by torch on real runs."""

from math import isclose

import pytest
import torch

from mla_engine import DeltaCache, DeltaConfig, costs
from tests.engine.kinds import layer_of
from tests.engine.samples import counted, hidden, refused

KDA = DeltaConfig(  # sizes without a common factor, so that no wrong product can hide
    d_model=31, n_heads=6, d_head=5, d_value=3, conv_width=4, d_decay=7, d_gate=11
)
FULL = DeltaConfig(d_model=31, n_heads=6, d_head=5, d_value=3, conv_width=2)
CONFIGS = {"KDA": KDA, "full matrices": FULL}
configs = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
forms = pytest.mark.parametrize("form", ["recurrent", "chunked"])
KIMI_LINEAR = DeltaConfig(d_model=2304, n_heads=32, d_head=128, d_decay=128, d_gate=128)
BATCH = 2
pytestmark = pytest.mark.usefixtures("unmeasured")


def by_hand(c, form, h, t):
    """2 x multiply-adds of h heads and t tokens."""
    k, v, d, w = c.d_head, c.d_value, c.d_model, c.conv_width
    total = t * h * (2 * k + v) * (d + w) + t * h * d + t * d * h * v
    total += t * h * k * (c.d_decay or d) + t * d * (c.d_decay or 0)
    total += t * h * v * (c.d_gate or d) + t * d * (c.d_gate or 0)
    total += 3 * t * h * k * v  # what is held, what is written, what is read
    if form == "chunked":
        pairs = sum(n * n for n in [64] * (t // 64) + [t % 64])
        total += pairs * h * (3 * k + 2 * v)
    return 2 * BATCH * total


@configs
@forms
@pytest.mark.parametrize("tokens", [1, 64, 150])
@pytest.mark.parametrize("heads", [None, [4, 1]])
def test_a_run_costs_what_torch_counts(config, form, tokens, heads):
    layer = layer_of(config, dtype=torch.float32)
    h = hidden(BATCH, tokens, 31, 1, torch.float32)
    run = layer.forward if form == "chunked" else layer.forward_recurrent
    cost = costs.prefill(config, tokens, form, batch=BATCH, heads=heads)
    assert cost.total_flops == counted(lambda: run(h, heads=heads))
    assert cost.total_flops == by_hand(config, form, len(heads or range(6)), tokens)
    assert cost.attention_flops == 0, "nothing grows with queries x keys"


@configs
@forms
@pytest.mark.parametrize("new", [1, 70])
def test_a_step_costs_the_same_whatever_came_before(config, form, new):
    layer = layer_of(config, dtype=torch.float32)
    h = hidden(BATCH, new, 31, 1, torch.float32)
    first, later = (
        costs.decode(config, context, form, batch=BATCH, new_tokens=new, dtype_bytes=4)
        for context in (1, 10**6)
    )
    assert first == later
    cache = DeltaCache.empty(config, BATCH)
    assert later.total_flops == counted(lambda: layer.decode(h, cache, form=form))
    assert later.cache_read_bytes == later.cache_written_bytes == cache.nbytes
    assert costs.decode(config, 0, form, batch=BATCH).cache_read_bytes == 0


def test_a_state_of_kimi_linear_is_as_large_as_it_is_published():
    """32 heads of 128 x 128 in float32 and 3 tokens of 12,288 channels in bfloat16.

    vLLM keeps them so (mamba_utils.py, kda_state_shape and kda_state_dtype).
    """
    assert costs.fixed_bytes(KIMI_LINEAR, 2) == 32 * 128 * 128 * 4 + 3 * 12288 * 2
    assert costs.cache_bytes_per_token(KIMI_LINEAR, 2) == 0


@pytest.mark.parametrize("tokens", [0, 2, 70])
def test_the_parts_are_a_state_of_all_tokens_and_the_last_ones_for_the_convolutions(tokens):
    held = DeltaCache.empty(KDA).with_zeros(tokens).buffers
    state, tails = costs.kept_parts(KDA, tokens, 4)
    assert state.n_bytes == held["S"].nbytes
    assert tails.n_bytes == sum(held[name].nbytes for name in "qkv")
    numbers = {"state": held["S"].numel(), "tails": sum(held[name].numel() for name in "qkv")}
    assert costs.kept_rows(KDA, tokens, 2) == {
        "state": (numbers["state"], state.n_bytes),  # in float32 beside bfloat16
        "tails": (numbers["tails"], tails.n_bytes / 2),
    }
    first = max(0, tokens - KDA.conv_width + 1)
    assert state.spans == (((0, tokens),) if tokens else ())
    assert tails.spans == (((first, tokens),) if tokens else ())


def test_what_fits_on_gpus_counts_the_states_and_no_tokens():
    model = costs.model(((KIMI_LINEAR, 20),))
    alone = {"model": model, "total_parameters": 0, "gpu_bytes": 1e9}
    room = costs.Serving(**alone)
    state = 20 * costs.fixed_bytes(KIMI_LINEAR, 2)
    assert room.token_bytes == 0
    assert room.held_bytes(10, batch=3) == room.held_bytes(10**9, batch=3) == 3 * state
    assert room.largest_batch(1) == room.largest_batch(10**9) == int(1e9 // state)
    assert room.longest_context(room.largest_batch(1)) > 10**12
    assert room.longest_context(room.largest_batch(1) + 1) == 0
    split = costs.Serving(**alone, ranks=5)
    assert isclose(split.held_bytes(1), state * 7 / 32), "7 of 32 heads on the fullest of 5"


def test_refuses_to_count_some_queries_and_forms_of_others():
    with refused("queries chooses 1 of 3 rows, but a state is carried through all of them"):
        costs.prefill(KDA, 3, queries=slice(0, 1))
    with refused("form 'absorbed' needs the latents, which a 'delta' cache does not hold"):
        costs.decode(KDA, 3, "absorbed")
    with refused("cache 'latent' needs a LatentConfig: delta attention (KDA) keep 'delta'"):
        costs.decode(KDA, 3, cache="latent")
    with refused("latents (True) needs", "delta attention (KDA) have none"):
        costs.prefill(KDA, 3, latents=True)
