"""A trained model whose layers become MLA: what is left of its words and of its answers."""

from statistics import fmean

import torch

from mla_engine import LatentConfig
from mla_engine.language_model.accuracy import by_task
from mla_engine.language_model.cuts import measured
from mla_engine.language_model.retrofit import IntoMLA
from tests.engine.samples import refused
from tests.language_model.samples import shipped, tokens_of
from tests.language_model.test_retrofit import TEXTS

SEED = 9


def test_one_key_for_all_heads_becomes_mla_without_a_loss():
    model, _ = shipped("mqa")
    found = IntoMLA.by_texts(model, TEXTS)
    made, read = found.cut(found.most), tokens_of(model, TEXTS[0])
    assert isinstance(made.config.attention, LatentConfig)
    torch.testing.assert_close(made(read).logits, model(read).logits, atol=2e-4, rtol=0)
    absorbed = made(read, form="absorbed").logits
    torch.testing.assert_close(absorbed, model(read).logits, atol=2e-4, rtol=0)
    assert found.cached(found.most) == found.most + 16


def test_what_each_layer_reads_decides_its_latent():
    model, _ = shipped("mha")
    found, read = IntoMLA.by_texts(model, TEXTS), tokens_of(model, TEXTS[0])
    h = model(read).blocks[1].attention.h
    own = found.layers[1].layer(20)(h).u
    first = found.layers[0].layer(20)
    other = type(first).of_weights(first.config, dict(first.named_parameters()))(h).u
    exact = model.blocks[1].attention(h).u
    assert (own - exact).norm() < 0.7 * (other - exact).norm()


def test_the_rotation_that_is_given_up_costs_answers_and_the_model_stays():
    model, _ = shipped("mha")
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    found = IntoMLA.by_texts(model, measured(8, SEED))
    right = [fmean(by_task(made, 1, SEED).values()) for made in (model, found.cut(found.most))]
    assert right[0] > 0.95
    assert 0.4 < right[1] < 0.9
    assert all(weight.equal(before[name]) for name, weight in model.state_dict().items())


def test_a_model_of_latents_is_refused():
    with refused("latent"):
        IntoMLA.by_texts(shipped("mla")[0], TEXTS)
