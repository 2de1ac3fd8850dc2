"""Layers with random norms and biases, hidden states, and drawn configurations."""

import re
from dataclasses import fields

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from kvcount.refusals import RefusedError, sentence
from mla_engine import GroupedConfig, LatentConfig, RopeConfig, YarnConfig
from mla_engine.config import LinearScaling, Llama3Scaling, LongRopeScaling


def randomized(layer, seed=3):
    """The layer with norm weights around 1 and biases around 0 instead of what they start as."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in layer.named_parameters():
        if not name.startswith("W_"):
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(1 + 0.3 * drawn if "norm" in name else 0.5 * drawn)
    return layer


def arrays(layer):
    """The layer's parameters as float64 arrays, by name."""
    return {name: p.double().numpy() for name, p in layer.named_parameters()}


def hidden(batch, tokens, d_model, seed=1, dtype=torch.float64):
    """Normal hidden states [b,t,d], the same numbers in every dtype."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(batch, tokens, d_model, generator=generator, dtype=torch.float64)
    return drawn.to(dtype)


def counted(run):
    """FLOPs of what a call multiplies, by torch's own counter."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def relative(got, wanted):
    """The norm of the difference over the norm of what is wanted, over the whole tensor."""
    got, wanted = torch.as_tensor(got).double(), torch.as_tensor(wanted).double()
    assert got.shape == wanted.shape
    return float((got - wanted).norm() / wanted.norm())


def assert_equals_oracle(trace, expected, names, beside=()):
    """The trace has these steps in this order and only those `beside`, each equal to 1e-12."""
    assert [name for name in trace.steps if name not in beside] == list(names)
    for name in names:
        np.testing.assert_allclose(
            getattr(trace, name).numpy(), expected[name], rtol=1e-12, atol=1e-12, err_msg=name
        )


def dense(config):
    """The MLA of a configuration that may have an indexer beside it."""
    return LatentConfig(
        **{field.name: getattr(config, field.name) for field in fields(LatentConfig)}
    )


def refused(*words):
    """A refusal whose text has all of these words, in order, and that is said in Chinese, too."""
    pattern = ".*".join(re.escape(str(word)) for word in words)
    return pytest.raises(RefusedError, match=f"(?s){pattern}", check=translated)


def translated(error):
    """Tell whether a refusal has a sentence of Chinese characters."""
    return bool(re.search("[\u4e00-\u9fff]", sentence(error, "zh")))


YARN = YarnConfig(factor=8.0, original_max_position=32, mscale=0.7, mscale_all_dim=0.9)


@st.composite
def rotations(draw, width):
    """RopeConfigs of both pairings and every scaling for `width` rotated dimensions."""
    factors = st.tuples(*[st.floats(0.5, 8)] * (width // 2))
    scaling = draw(
        st.sampled_from([None, YARN])
        | st.builds(
            YarnConfig,
            factor=st.sampled_from([0.5, 4.0, 40.0]),
            original_max_position=st.sampled_from([16, 64]),
            beta_fast=st.sampled_from([1, 32]),
            mscale=st.sampled_from([0.7, 1.0]),
            mscale_all_dim=st.sampled_from([0.0, 0.7, 1.0]),
            truncate=st.booleans(),
            attention_factor=st.sampled_from([None, 1.3]),
        )
        | st.builds(LinearScaling, factor=st.floats(1, 8))
        | st.just(Llama3Scaling(factor=8.0, original_max_position=64))
        | st.builds(
            LongRopeScaling,
            short_factor=factors,
            long_factor=factors,
            original_max_position=st.just(64),
            factor=st.sampled_from([1.0, 4.0]),
        )
    )
    theta = draw(st.sampled_from([100.0, 10000.0]))
    pairing = draw(st.sampled_from(["interleaved", "half"]))
    return RopeConfig(theta=theta, pairing=pairing, scaling=scaling)


@st.composite
def latent_configs(draw):
    """Small LatentConfigs with every option on and off."""
    d_rope = draw(st.sampled_from([0, 2, 4, 6]))
    rope = draw(st.none() | rotations(d_rope)) if d_rope else None
    small = st.integers(1, 6)
    return LatentConfig(
        d_model=draw(st.integers(2, 8)),
        n_heads=draw(st.integers(1, 3)),
        d_head=draw(small),
        d_latent_kv=draw(small),
        d_rope=d_rope,
        d_value=draw(st.none() | small),
        d_latent_q=draw(st.none() | small),
        latent_norm=draw(st.booleans()),
        norm_eps=draw(st.sampled_from([1e-6, 1e-2])),
        rope=rope,
        softmax_scale=draw(st.none() | st.floats(0.1, 1)),
        q_latent_scale=draw(st.sampled_from([1.0, 2.0])),
        kv_latent_scale=draw(st.sampled_from([1.0, 3.464])),
        bias=draw(st.booleans()),
    )


@st.composite
def grouped_configs(draw):
    """Small GroupedConfigs with every option on and off."""
    n_kv_heads = draw(st.integers(1, 3))
    d_head = draw(st.sampled_from([2, 4, 6]))
    return GroupedConfig(
        d_model=draw(st.integers(2, 8)),
        n_heads=n_kv_heads * draw(st.integers(1, 3)),
        n_kv_heads=n_kv_heads,
        d_head=d_head,
        d_value=draw(st.none() | st.integers(1, 6)),
        rope=draw(st.none() | rotations(d_head)),
        softmax_scale=draw(st.none() | st.floats(0.1, 1)),
        bias=draw(st.booleans()),
        qk_norm=draw(st.booleans()),
        norm_eps=draw(st.sampled_from([1e-6, 1e-2])),
        logit_softcap=draw(st.none() | st.floats(0.5, 5)),
        sliding_window=draw(st.none() | st.integers(1, 4)),
        sinks=draw(st.booleans()),
    )
