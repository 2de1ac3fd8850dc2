"""Configurations and layers of Kimi Delta Attention, for several tests."""

import torch
from hypothesis import strategies as st

from mla_engine import DeltaAttention, DeltaConfig
from tests.engine.samples import randomized

SIZES = {"d_model": 10, "n_heads": 3, "d_head": 4, "d_value": 6}
KDA = DeltaConfig(**SIZES, d_decay=5, d_gate=7)
FULL = DeltaConfig(**SIZES)
FLOOR = DeltaConfig(**SIZES, d_decay=5, decay_floor=-5.0)
CONFIGS = {"KDA": KDA, "full matrices": FULL, "with a floor": FLOOR}
FORMS = ("forward", "forward_recurrent")


def layer_of(config, seed=2, dtype=torch.float64, heads=None):
    return randomized(DeltaAttention(config, seed=seed, dtype=dtype, heads=heads))


@st.composite
def delta_configs(draw):
    """Small DeltaConfigs with every option on and off."""
    small = st.integers(1, 5)
    return DeltaConfig(
        d_model=draw(st.integers(2, 8)),
        n_heads=draw(st.integers(1, 3)),
        d_head=draw(small),
        d_value=draw(st.none() | small),
        conv_width=draw(st.integers(1, 5)),
        d_decay=draw(st.none() | small),
        d_gate=draw(st.none() | small),
        decay_floor=draw(st.none() | st.floats(-8, -0.1)),
        norm_eps=draw(st.sampled_from([1e-6, 1e-2])),
    )
