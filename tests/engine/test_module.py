"""A layer is a module of torch: what torch's own calls make of its weights, the layer follows."""

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
)
from tests.engine.samples import hidden, refused
from tests.language_model.samples import ATTENTIONS, model, text

MLA = LatentConfig(
    d_model=24, n_heads=4, d_head=6, d_latent_kv=8, d_rope=4, d_latent_q=10, latent_norm=True
)
GQA = GroupedConfig(d_model=24, n_heads=4, n_kv_heads=2, d_head=6, rope=RopeConfig(), qk_norm=True)
LAYERS = {
    "latent": (MultiHeadLatentAttention, MLA, LatentCache),
    "grouped": (GroupedQueryAttention, GQA, KVCache),
}
layers = pytest.mark.parametrize(("kind", "config", "cache"), LAYERS.values(), ids=LAYERS)
CASTS = {
    "double": (lambda m: m.double(), torch.float64),
    "half": (lambda m: m.half(), torch.float16),
    "bfloat16": (lambda m: m.bfloat16(), torch.bfloat16),
    "to dtype": (lambda m: m.to(torch.float64), torch.float64),
    "to device and dtype": (lambda m: m.to("cpu", torch.float64), torch.float64),
}
casts = pytest.mark.parametrize(("cast", "dtype"), CASTS.values(), ids=CASTS)


@casts
@layers
def test_a_layer_that_was_cast_is_the_layer_of_that_type(kind, config, cache, cast, dtype):
    layer = cast(kind(config, seed=3))
    assert (layer.dtype, layer.device.type) == (dtype, "cpu")
    single = kind(config, seed=3)
    cast_weights = {name: weight.to(dtype) for name, weight in single.named_parameters()}
    wanted = kind.of_weights(config, cast_weights, dtype=dtype)
    h = hidden(2, 5, 24, dtype=dtype)
    assert torch.equal(layer(h).u, wanted(h).u)
    held = layer.empty_cache(cache, batch=2, capacity=5)
    assert held.dtype == dtype
    assert torch.equal(layer.decode(h, held)[0].u, wanted.decode(h, held.rewind(0))[0].u)
    with refused("h is torch.float32", f"layer {dtype}"):
        layer(h.float())


@layers
def test_an_empty_copy_of_a_layer_without_data_takes_the_weights_given(kind, config, cache):
    drawn, layer = kind(config, seed=3), kind(config, device="meta")
    assert layer.device.type == "meta"
    layer.to_empty(device="cpu")
    assert layer.device.type == "cpu"
    layer.load_state_dict(drawn.state_dict())
    h = hidden(1, 5, 24, dtype=torch.float32)
    assert torch.equal(layer(h).u, drawn(h).u)


@layers
def test_assigned_weights_bring_their_type_and_their_place(kind, config, cache):
    drawn, layer = kind(config, seed=3, dtype=torch.float64), kind(config, device="meta")
    layer.load_state_dict(drawn.state_dict(), assign=True)
    assert (layer.dtype, layer.device.type) == (torch.float64, "cpu")
    h = hidden(1, 5, 24)
    assert torch.equal(layer(h).u, drawn(h).u)
    assert layer.to("meta")(h.to("meta")).u.shape == (1, 5, 24)
    with refused("h is on cpu", "layer on meta"):
        layer(h)


@casts
@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_a_language_model_that_was_cast_runs_in_every_way(attention, cast, dtype):
    decoder, tokens = cast(model(attention, torch.float32)), text()
    whole = decoder(tokens).logits
    _, caches = decoder.decode(tokens[:, :4], decoder.empty_caches(batch=2, capacity=7))
    step, _ = decoder.decode(tokens[:, 4:], caches)
    close = {"rtol": 0, "atol": 1e-10 if dtype == torch.float64 else 0.3}
    torch.testing.assert_close(step.logits, whole[:, 4:], **close)
    torch.testing.assert_close(decoder.logits(tokens), whole, **close)
    assert {whole.dtype, step.logits.dtype, caches[0].dtype} == {dtype}


def test_a_language_model_takes_assigned_weights_of_another_type():
    decoder, double = model(MLA, torch.float32), model(MLA, torch.float64)
    decoder.load_state_dict(double.state_dict(), assign=True)
    assert torch.equal(decoder(text()).logits, double(text()).logits)
    assert {block.attention.dtype for block in decoder.blocks} == {torch.float64}
