"""LongRoPE turns a text by one set of factors: keys of the other are never attended to."""

from dataclasses import replace

import pytest
import torch

from mla_engine import GroupedConfig, LatentCache, LatentConfig, RopeConfig
from mla_engine.config import LongRopeScaling
from tests.engine.kinds import layer_of, ways_of
from tests.engine.samples import hidden, refused

ORIGINAL = 8
SCALING = LongRopeScaling(
    short_factor=(1.0, 1.5), long_factor=(2.0, 5.0), original_max_position=ORIGINAL, factor=4.0
)
ROPE = RopeConfig(scaling=SCALING)
MLA = LatentConfig(d_model=12, n_heads=3, d_head=4, d_latent_kv=6, d_rope=4, rope=ROPE)
GQA = GroupedConfig(d_model=12, n_heads=4, n_kv_heads=2, d_head=4, rope=ROPE)
WAYS = ways_of({"MLA": MLA, "GQA": GQA})
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
rooms = pytest.mark.parametrize("capacity", [None, 40], ids=["growing", "reserved"])
H = hidden(1, 20, 12)


@rooms
@ways
def test_a_text_that_stays_on_one_side_is_decoded_as_it_is_computed_at_once(way, capacity):
    layer = way.layer()
    for start, tokens in ((0, ORIGINAL), (ORIGINAL, 10), (0, 10)):
        positions, held = torch.arange(start, start + tokens), way.empty(capacity, batch=1)
        whole, parts = layer(H[:, :tokens], positions=positions).u, []
        first = tokens - 3 if positions[0] or tokens <= ORIGINAL else ORIGINAL + 1
        for rows in (slice(0, first), *(slice(i, i + 1) for i in range(first, tokens))):
            trace, held = way.step(layer, H[:, rows], held, positions=positions[rows])
            parts.append(trace.u)
        torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-12, atol=1e-12)


@rooms
@ways
def test_the_step_across_the_original_context_is_refused(way, capacity):
    layer = way.layer()
    _, short = way.step(layer, H[:, :ORIGINAL], way.empty(capacity, batch=1))
    with refused("short factors", f"positions up to {ORIGINAL}", "long", f"is {ORIGINAL}", "again"):
        way.step(layer, H[:, ORIGINAL : ORIGINAL + 1], short)
    _, longer = way.step(layer, H[:, : ORIGINAL + 1], way.empty(capacity, batch=1))
    with refused("long factors", "positions up to 7", "short"):
        way.step(layer, H[:, :1], longer, positions=[7])
    for kept in (short.rewind(3), short.to("cpu"), short.rewind(2).with_zeros(1)):
        with refused("short factors", "long"):
            way.step(layer, H[:, :1], kept, positions=[ORIGINAL])
    way.step(layer, H[:, :1], short.rewind(0), positions=[ORIGINAL])  # nothing is held


@pytest.mark.parametrize("form", ["forward", "forward_absorbed"])
def test_latents_are_of_one_set(form):
    layer, empty = layer_of(MLA), LatentCache.empty(MLA, dtype=torch.float64)
    run, h = getattr(layer, form), H[:, :ORIGINAL]
    _, stepwise = layer.decode(h, empty)
    for latents in (stepwise, replace(layer.compress(h), positions=None)):
        torch.testing.assert_close(run(h, latents=latents).u, run(h).u, rtol=1e-12, atol=1e-12)
        with refused("short factors", "positions up to 9", "long"):
            run(h, latents=latents, positions=range(2, 2 + ORIGINAL))
