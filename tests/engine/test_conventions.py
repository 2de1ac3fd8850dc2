"""Wrong readings of pairing and scale: which cells they spare, and what the right ones equal."""

import numpy as np
import pytest
import torch

from mla_engine import LatentConfig, MultiHeadLatentAttention, RopeConfig, YarnConfig
from mla_engine.studies.conventions import (
    PAIRING_READINGS,
    SCALE_READINGS,
    masked_attention,
    position_logits,
    reordered,
    scaled_logits,
    stored_for,
    unharmed,
    whole_places,
)
from tests.engine.samples import hidden

TOKENS = 6
YARN = YarnConfig(factor=40, original_max_position=64, mscale=1.0, mscale_all_dim=1.0)
SIZES = {"d_model": 24, "n_heads": 2, "d_head": 8, "d_latent_kv": 12, "d_rope": 8}
MASK = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()


def layer(pairing: str = "interleaved", scaling: YarnConfig | None = YARN):
    config = LatentConfig(**SIZES, rope=RopeConfig(pairing=pairing, scaling=scaling))
    return MultiHeadLatentAttention(config, dtype=torch.float64)


def rotary(pairing: str, reading: str, start: int = 0) -> torch.Tensor:
    trace = layer(pairing)(hidden(1, TOKENS, 24).double())
    q, k = trace.q_R_pre[0, :, 1], trace.k_R_pre[0]
    positions = torch.arange(start, start + TOKENS)
    return position_logits(q, k, layer(pairing).config.rope, positions, reading)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_the_models_own_reading_is_the_engines(pairing):
    mla = layer(pairing)
    trace = mla(hidden(1, TOKENS, 24).double())
    content = trace.q_C[0, :, 1] @ trace.k_C[0, :, 1].T
    logits = scaled_logits(content, rotary(pairing, "own"), mla.config)
    wanted = (trace.scores_C + trace.scores_R)[0, 1]
    torch.testing.assert_close(logits, wanted, rtol=1e-12, atol=1e-12)
    attention = masked_attention(logits, MASK)
    torch.testing.assert_close(attention, trace.attention[0, 1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
@pytest.mark.parametrize(
    ("reading", "start", "spared"),
    [
        ("regrouped", 0, ("all",)),
        ("regrouped", 700, ("all",)),
        ("both", 0, ("diagonal", "first_row")),
        ("both", 700, ("diagonal", "first_row")),
        ("keys", 0, ("first_column", "first_row")),
        ("keys", 700, ()),
        ("layout", 0, ()),
    ],
)
def test_what_a_pairing_spares(pairing, reading, start, spared):
    right = rotary(pairing, "own", start)
    kept = unharmed(right, rotary(pairing, reading, start), MASK)
    assert whole_places(kept, MASK) == spared
    cells = {
        ("all",): 21,
        ("diagonal", "first_row"): TOKENS,
        ("first_column", "first_row"): TOKENS,
        (): 0,
    }
    assert int(kept.sum()) == cells[spared]


def test_regrouping_orders_dimensions_as_checkpoints_do():
    assert stored_for(torch.arange(8), "half").tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert stored_for(stored_for(torch.arange(8), "half"), "interleaved").tolist() == [*range(8)]


def test_wrong_scales():
    config = layer().config
    content, position = torch.tensor([[3.0]]), torch.tensor([[5.0]])
    m2 = (0.1 * np.log(40) + 1) ** 2
    wanted = {
        "own": 8 * m2 / 4,
        "absorbed_width": 8 / np.sqrt(12 + 8),
        "no_mscale": 8 / 4,
        "rotation_alone": (3 + 5 * m2) / 4,
    }
    assert set(wanted) == set(SCALE_READINGS)
    got = {r: float(scaled_logits(content, position, config, r)) for r in SCALE_READINGS}
    assert got == pytest.approx(wanted)


def test_rows_in_another_order_are_those_whose_ranks_differ():
    right = torch.tensor([[5.0, 9, 9], [1, 2, 9], [3, 1, 2]], dtype=torch.float64)
    read = torch.tensor([[7.0, 0, 0], [2, 1, 0], [6, 2, 4]], dtype=torch.float64)
    assert reordered(right, read, MASK[:3, :3]).tolist() == [False, True, False]


def test_unknown_readings_are_refused():
    one = torch.ones(1, 8)
    with pytest.raises(ValueError, match="reading"):
        position_logits(one, one, RopeConfig(), torch.tensor([0]), "backwards")
    with pytest.raises(ValueError, match="reading"):
        scaled_logits(one, one, layer().config, "576")
    assert PAIRING_READINGS[0] == SCALE_READINGS[0] == "own"
