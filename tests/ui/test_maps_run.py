"""A run has as many heads as take a moment, and each has the numbers that it has among all."""

import numpy as np
import pytest

from mla_engine import PRESETS, LatentConfig
from ui.parts.maps.run import block_of_heads, run
from ui.sources import Drawn

WORDS = ("the", "cat", "sees", "the", "dog")
SMALL = LatentConfig(
    d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_latent_q=48, d_rope=8, latent_norm=True
)


def test_as_many_heads_are_run_as_take_a_moment():
    v3 = PRESETS["deepseek-v3"].config
    assert block_of_heads(PRESETS["deepseek-v2-lite"].config, 256, 9, 0) == tuple(range(16))
    assert block_of_heads(v3, 64, 77, 1) == (77,)
    few = block_of_heads(v3, 64, 77, 0)
    assert 77 in few
    assert len(few) < 16
    many = block_of_heads(v3, 64, 77, 128)
    assert len(few) < len(many) < 128, "what is asked for is bounded by memory"


def test_a_run_of_some_heads_is_the_same_as_of_all():
    whole = run(SMALL, "expanded", WORDS, Drawn(0), (0, 1, 2, 3))
    part = run(SMALL, "expanded", WORDS, Drawn(0), (2,))
    assert np.array_equal(whole.matrix("W_UK", 2), part.matrix("W_UK", 2))
    assert part.attention(True, 1.0)[0] == pytest.approx(whole.attention(True, 1.0)[2], abs=1e-6)
