"""Every mechanism against loops written from its equations: each form, field by field."""

from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mla_engine import GroupedConfig, LatentConfig, RopeConfig, mechanisms
from mla_engine.config import LinearScaling, Llama3Scaling, LongRopeScaling
from tests import reference
from tests.engine.kinds import (
    CSA,
    DRAWN,
    DSA,
    FLOOR_KDA,
    FULL_KDA,
    GLM,
    HCA,
    KDA,
    PLAIN_DSA,
    PLAIN_GLM,
    SWA,
    UNSTRETCHED,
    drawn,
    layer_of,
)
from tests.engine.samples import YARN, arrays, assert_equals_oracle, hidden
from tests.reference_delta import delta
from tests.reference_indexer import indexed
from tests.reference_pooled import pooled
from tests.reference_pooled_index import pooled_index
from tests.sampling import many

pytestmark = pytest.mark.usefixtures("unmeasured")
OF_LATENT = {"expanded": reference.latent, "absorbed": reference.absorbed}
ORACLES = {  # what each gives of (config, weights, h, positions), by the name of the form
    "grouped": {"expanded": reference.grouped},
    "latent": OF_LATENT,
    "indexed": {name: partial(indexed, form=form) for name, form in OF_LATENT.items()},
    "pooled": {"pooled": pooled},
    "pooled_index": {
        name: lambda c, w, h, _, form=form: pooled_index(c, w, h, form=form)
        for name, form in OF_LATENT.items()
    },
    "delta": dict.fromkeys(("chunked", "recurrent"), lambda c, w, h, _: delta(c, w, h)),
}
LLAMA = Llama3Scaling(factor=8.0, original_max_position=64)
LONG = LongRopeScaling(
    short_factor=(1.1, 1.5), long_factor=(2.0, 5.0), original_max_position=64, factor=4.0
)
GROUPED = GroupedConfig(d_model=6, n_heads=4, n_kv_heads=2, d_head=4)
LATENT = LatentConfig(d_model=6, n_heads=2, d_head=3, d_latent_kv=4, d_rope=4, d_latent_q=5)
HALF = RopeConfig(pairing="half")
CHANGES = {  # of one configuration, each option apart
    GROUPED: {
        "MHA": {"n_kv_heads": 4},
        "GQA": {},
        "MQA": {"n_kv_heads": 1},
        "one head": {"n_heads": 1, "n_kv_heads": 1},
        "three heads": {"n_heads": 3, "n_kv_heads": 1},
        "values wider than heads": {"d_value": 7},
        "values narrower than heads": {"d_value": 2},
        "interleaved": {"rope": RopeConfig()},
        "half": {"rope": HALF},
        "YaRN": {"rope": RopeConfig(pairing="half", scaling=YARN)},
        "Llama 3.1": {"rope": RopeConfig(scaling=LLAMA), "d_head": 8},
        "biases": {"bias": True},
        "QK norm": {"qk_norm": True, "rope": HALF, "norm_eps": 1e-2},
        "soft cap": {"logit_softcap": 0.5},
        "window": {"sliding_window": 2},
        "window of one": {"sliding_window": 1},
        "sinks": {"sinks": True},
        "sinks behind a window": {"sinks": True, "sliding_window": 2, "bias": True, "rope": HALF},
        "everything": {
            "sinks": True, "bias": True, "qk_norm": True, "logit_softcap": 0.5, "sliding_window": 3,
            "d_value": 5, "softmax_scale": 0.9, "rope": RopeConfig(scaling=YARN),
        },
    },
    LATENT: {
        "one head": {"n_heads": 1},
        "three heads": {"n_heads": 3},
        "values wider than heads": {"d_value": 5},
        "values narrower than heads": {"d_value": 2},
        "no query compression": {"d_latent_q": None},
        "no rotary part": {"d_rope": 0},
        "rotary part not rotated": {"rope": None},
        "half pairing": {"rope": HALF},
        "latent norm": {"latent_norm": True, "norm_eps": 1e-2},
        "LongCat": {"latent_norm": True, "q_latent_scale": 2.0, "kv_latent_scale": 3.464},
        "biases": {"bias": True},
        "biases without query compression": {"bias": True, "d_latent_q": None, "d_rope": 0},
        "scale given": {"softmax_scale": 0.7, "rope": RopeConfig(scaling=YARN)},
        "YaRN": {"rope": RopeConfig(scaling=YARN)},
        "YaRN in halves": {"rope": RopeConfig(scaling=YARN, pairing="half"), "d_rope": 6},
        "linear": {"rope": RopeConfig(scaling=LinearScaling(factor=4.0))},
        "Llama 3.1": {"rope": RopeConfig(scaling=LLAMA), "d_rope": 8},
        "a gate of each channel": {"output_gate": "channel"},
        "a gate of each head": {"output_gate": "head"},
        "LongRoPE": {"rope": RopeConfig(scaling=LONG, pairing="half")},
    },
    DSA: {
        "one index head": {"n_index_heads": 1},
        "interleaved": {"index_pairing": "interleaved"},
        "index keys as wide as their rotated part": {"d_index": 4},
        "no query compression": {"d_latent_q": None},
        "no rotary part": {"d_rope": 0},
        "rotary part not rotated": {"rope": None},
        "YaRN": {"rope": RopeConfig(scaling=YARN)},
        "main pairing in halves": {"rope": HALF},
        "one key": {"index_topk": 1},
        "more keys than tokens": {"index_topk": 100},
    },
    PLAIN_DSA: {"plain": {}},
    CSA: {
        "CSA": {},
        "one entry": {"index_topk": 1},
        "more entries than there are": {"index_topk": 100},
        "chosen without overlap": {"overlap": False},
        "a window of one": {"window": 1},
        "no rotary part": {"d_rope": 0},
        "rotary part not rotated": {"rope": None},
        "YaRN": {"rope": RopeConfig(theta=160000.0, scaling=UNSTRETCHED)},
        "pairs in halves": {"rope": HALF},
        "a group a head": {"n_output_groups": 4},
    },
    HCA: {
        "HCA": {},
        "overlap, all entries": {"overlap": True},
        "each token an entry": {"pooling": 1},
        "a window of all": {"window": 50},
    },
    SWA: {"window alone": {}},
    GLM: {
        "as it is": {},
        "one index head": {"n_index_heads": 1},
        "no query compression": {"d_latent_q": None},
        "keys beside the latent": {"d_rope": 2, "rope": None},
        "one block": {"index_topk": 3},
        "more blocks than there are": {"index_topk": 300},
        "blocks of one token": {"pooling": 1, "index_topk": 4},
    },
    PLAIN_GLM: {"plain": {}},
    KDA: {"low rank": {}},
    FULL_KDA: {"full matrices": {}},
    FLOOR_KDA: {"with a floor": {}},
}  # fmt: skip
CASES = {
    f"{mechanisms.of(config).key}, {name}, {form.name}": (replace(config, **change), form)
    for config, changes in CHANGES.items()
    for name, change in changes.items()
    for form in mechanisms.of(config).forms
}
OF_CHUNKS = {"k_WY", "v_WY", "o_past", "o_near"}  # which the recurrence has not
OF_ROTATION = {"q_R_pre", "q_R", "k_R_pre", "k_R", "scores_R"}


def promised(trace, expected, config):
    """The fields of a trace that the oracle has and the configuration calls for, in order."""
    absent = set() if config.d_rope else OF_ROTATION
    absent = absent | (set() if config.d_latent_q else {"c_Q_pre", "c_Q"})
    absent = absent | ({"scores_E", "attention_E"} if config.pooling == 0 else set())
    return [f.name for f in fields(trace) if f.name in expected and f.name not in absent]


def check(config, form, batch, tokens, start):
    """One run against the oracle, far enough along the text for a rotation to matter."""
    layer, h = layer_of(config), hidden(batch, tokens, config.d_model)
    positions = list(range(start, start + tokens))
    trace = form.forward(layer, h, positions=positions)
    oracle = ORACLES[mechanisms.of(config).key][form.name]
    expected = oracle(config, arrays(layer), h.numpy(), positions)
    names = promised(trace, expected, config)
    assert_equals_oracle(trace, expected, names, beside=OF_CHUNKS)
    fused = mechanisms.of(config).fused(layer, h, torch.tensor(positions))
    np.testing.assert_allclose(fused.numpy(), expected["u"], rtol=1e-12, atol=1e-12)
    seen = np.tril(np.ones((tokens, tokens), dtype=bool))
    if "scores" in expected:
        seen = np.isfinite(expected["scores"][0, 0])
    if "scores_C" in expected:
        total = expected["scores_C"] + (expected["scores_R"] if config.d_rope else 0)
        chosen = expected["chosen"][:, None] if "chosen" in expected else seen
        wanted = np.where(chosen, total, -np.inf)
        np.testing.assert_allclose(trace.scores.numpy(), wanted, rtol=1e-12, atol=1e-12)
    if hasattr(trace, "mask") and config.window is None:
        np.testing.assert_array_equal(trace.mask.numpy(), seen)
    if "states" in expected:
        states = torch.stack([layer.states(trace, i) for i in range(config.n_heads)], dim=2)
        np.testing.assert_allclose(states, expected["states"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("tokens", "start"), [(1, 0), (9, 0), (8, 61)], ids=str)
@pytest.mark.parametrize(("config", "form"), CASES.values(), ids=CASES)
def test_equals_the_oracle(config, form, tokens, start):
    check(config, form, 2, tokens, start)


@drawn
@settings(max_examples=many(25, 60))
@given(
    data=st.data(),
    batch=st.integers(1, 2),
    tokens=st.integers(1, 9),
    start=st.sampled_from([0, 5, 60, 100]),
)
def test_equals_the_oracle_over_drawn_configurations(key, data, batch, tokens, start):
    config = data.draw(DRAWN[key])
    for form in mechanisms.of(config).forms:
        check(config, form, batch, tokens, start)


def test_every_mechanism_has_an_oracle():
    assert {one.key: {form.name for form in one.forms} for one in mechanisms.all()} == {
        key: set(of_forms) for key, of_forms in ORACLES.items()
    }
