"""KDA against the modules of Kimi-Linear, GLM-5.3 and Ling-3.0 in transformers, with our weights.

They compute states, norms and decays in float32 whatever the dtype; nothing here is in float64.
"""

from dataclasses import dataclass, field

import pytest
import torch
from transformers import DynamicCache
from transformers.models.bailing_hybrid import modeling_bailing_hybrid as ling
from transformers.models.glm5_next import modeling_glm5_next as glm
from transformers.models.kimi_linear import modeling_kimi_linear as kimi

from mla_engine import DeltaCache, DeltaConfig
from tests.engine.families import loaded
from tests.engine.kinds import layer_of
from tests.engine.samples import hidden, relative

pytestmark = pytest.mark.usefixtures("unmeasured")
SIZES = {"d_model": 48, "n_heads": 4, "d_head": 12}
LINEAR = {"linear_head_dim": 12, "linear_num_heads": 4}


@dataclass(frozen=True)
class Family:
    """A module of transformers and the configuration of ours that should equal it."""

    module: type
    config: type
    ours: DeltaConfig
    theirs: dict = field(default_factory=lambda: LINEAR)


FLOOR = {"decay_floor": -5.0}
FAMILIES = {
    "Kimi-Linear": Family(
        kimi.KimiLinearDeltaAttention,
        kimi.KimiLinearConfig,
        DeltaConfig(**SIZES, d_decay=12, d_gate=12),
    ),
    "Kimi-Linear, other kernel and eps": Family(
        kimi.KimiLinearDeltaAttention,
        kimi.KimiLinearConfig,
        DeltaConfig(**SIZES, d_decay=12, d_gate=12, conv_width=2, norm_eps=1e-3),
        LINEAR | {"linear_conv_kernel_dim": 2, "rms_norm_eps": 1e-3},
    ),
    "GLM-5.3": Family(
        glm.Glm5NextTextLinearAttention,
        glm.Glm5NextTextConfig,
        DeltaConfig(**SIZES, d_decay=12, d_gate=12, **FLOOR),
        LINEAR | {"linear_lower_bound": -5.0},
    ),
    "Ling-3.0": Family(
        ling.BailingHybridDeltaAttention,
        ling.BailingHybridConfig,
        DeltaConfig(**SIZES, norm_eps=1e-6, **FLOOR),
        {"head_dim": 12},
    ),
    "Ling-3.0 without a floor": Family(
        ling.BailingHybridDeltaAttention,
        ling.BailingHybridConfig,
        DeltaConfig(**SIZES, norm_eps=1e-6),
        {"head_dim": 12, "kda_safe_gate": False},
    ),
}
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def their_config(family):
    return family.config(
        hidden_size=48, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4,
        **family.theirs,
    )  # fmt: skip


def state_of(layer):
    """Our weights under their names."""
    kernels = torch.cat([k.flatten(0, 1) for k in (layer.conv_Q, layer.conv_K, layer.conv_V)])
    state = {
        "q_proj.weight": layer.W_Q.flatten(0, 1),
        "k_proj.weight": layer.W_K.flatten(0, 1),
        "v_proj.weight": layer.W_V.flatten(0, 1),
        "conv1d.weight": kernels.unsqueeze(1),
        "b_proj.weight": layer.W_B,
        "forget_gate.A_log": layer.A_log,
        "forget_gate.dt_bias": layer.b_A.flatten(),
        "o_norm.weight": layer.o_norm,
        "o_proj.weight": layer.W_O.flatten(1),
    }
    ranks = {"f": (layer.W_DA, layer.W_UA, "forget_gate."), "g": (layer.W_DG, layer.W_UG, "")}
    for name, (down, up, path) in ranks.items():
        if down is None:
            state[f"{path}{name}_proj.weight"] = up.flatten(0, 1)
        else:
            state |= {f"{path}{name}_a_proj.weight": down}
            state |= {f"{path}{name}_b_proj.weight": up.flatten(0, 1)}
    return state


def their_module(family, layer):
    return loaded(family.module(their_config(family), layer_idx=0), state_of(layer))


def both(family, tokens=100):
    layer = layer_of(family.ours, dtype=torch.float32)
    return layer, their_module(family, layer), hidden(2, tokens, 48, dtype=torch.float32)


@families
@torch.no_grad()
def test_equals_the_module(family):
    layer, module, h = both(family)
    u = module(h)
    assert relative(layer(h).u, u) < 1e-5
    assert relative(layer.forward_recurrent(h).u, u) < 1e-5


@families
@pytest.mark.parametrize("cuts", [(1,) * 8, (70, 1, 29), (99, 1)], ids=str)
@torch.no_grad()
def test_caches_and_decodes_as_the_module_does(family, cuts):
    layer, module, h = both(family, sum(cuts))
    theirs, held = DynamicCache(config=their_config(family)), DeltaCache.empty(family.ours, 2)
    for piece in h.split(cuts, dim=1):
        trace, held = layer.decode(piece, held)
        assert relative(trace.u, module(piece, cache_params=theirs)) < 1e-5
    assert relative(held.S, theirs.get_recurrent_state(0, state_idx=0)) < 1e-5
    tails = torch.cat([tail.flatten(2) for tail in held.tails], dim=2).mT
    kept = theirs.get_conv_state(0, state_idx=0)[..., -tails.shape[-1] :]
    assert relative(tails, kept) < 1e-6
