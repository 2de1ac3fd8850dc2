"""A latent made after training: against numpy's SVD, plain truncation, and MLA of the factors."""

from statistics import fmean

import numpy as np
import pytest
import torch

from mla_engine import costs
from mla_engine.language_model.accuracy import by_task
from mla_engine.language_model.cuts import measured
from mla_engine.language_model.retrofit import Retrofit
from tests.engine.samples import refused
from tests.language_model.samples import (
    ATTENTIONS,
    GQA,
    MLA,
    of_words,
    shipped,
    text,
    tokens_of,
)
from tests.language_model.samples import model as of_sample

TEXTS = measured(3, seed=8)
TEXTS[1] = TEXTS[1][:9]
WAYS = {"weights": Retrofit.by_weights, "texts": lambda model: Retrofit.by_texts(model, TEXTS)}
GROUPED = {name: one for name, one in ATTENTIONS.items() if "mla" not in name}


def stacked(layer) -> np.ndarray:
    return np.concatenate([layer.W_K.flatten(0, 1), layer.W_V.flatten(0, 1)])


def hidden(model, layer) -> np.ndarray:
    """Return what enters a layer, a text after the other."""
    traces = (model(tokens_of(model, one)) for one in TEXTS)
    return torch.cat([trace.blocks[layer].attention.h[0] for trace in traces]).numpy()


@pytest.mark.parametrize("attention", GROUPED.values(), ids=GROUPED)
@pytest.mark.parametrize("rank", [0, 1, 7])
def test_by_weights_every_layer_is_numpys_truncated_svd(attention, rank):
    model = of_words(attention)
    cut = Retrofit.by_weights(model).cut(rank)
    for block, whole in zip(cut.blocks, model.blocks, strict=True):
        left, values, right = np.linalg.svd(stacked(whole.attention), full_matrices=False)
        wanted = left[:, :rank] * values[:rank] @ right[:rank]
        np.testing.assert_allclose(stacked(block.attention), wanted, atol=1e-12)


@pytest.mark.parametrize("rank", [1, 7, 15])
def test_by_texts_no_latent_of_the_size_loses_less_of_their_keys_and_values(rank):
    model = of_words(GQA)
    cut = Retrofit.by_texts(model, TEXTS).cut(rank)
    plain = Retrofit.by_weights(model).cut(rank)
    for layer, whole in enumerate(model.blocks):
        h = hidden(model, layer)
        exact = h @ stacked(whole.attention).T
        least = (np.linalg.svd(exact, compute_uv=False)[rank:] ** 2).sum()  # Eckart and Young
        lost, more = (
            (np.abs(exact - h @ stacked(one.blocks[layer].attention).T) ** 2).sum()
            for one in (cut, plain)
        )
        assert lost == pytest.approx(least, rel=1e-9)
        assert more > 1.01 * lost
        assert np.linalg.matrix_rank(stacked(cut.blocks[layer].attention)) == rank


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("attention", GROUPED.values(), ids=GROUPED)
def test_a_full_latent_is_the_model_and_a_smaller_one_leaves_the_rest(way, attention):
    model, tokens = of_words(attention), text()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    found = way(model)
    keys_and_values = 2 * attention.n_kv_heads * attention.d_head
    assert found.most == min(keys_and_values, attention.d_model)
    whole, cut = found.cut(found.most), found.cut(3)
    torch.testing.assert_close(whole(tokens).logits, model(tokens).logits, rtol=0, atol=1e-10)
    assert (cut(tokens).logits - model(tokens).logits).abs().max() > 1e-3
    for name, weight in cut.state_dict().items():
        assert torch.equal(model.state_dict()[name], before[name])
        assert torch.equal(weight, before[name]) != name.endswith(("W_K", "W_V")), name


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_model_with_a_latent_of_its_own_is_refused(way):
    with refused("a latent of its own"):
        way(of_sample(MLA))


@pytest.mark.parametrize("rank", [-1, 25])
def test_a_size_that_there_is_not_is_refused(rank):
    with pytest.raises(ValueError, match=rf"rank \({rank}\)"):
        Retrofit.by_weights(of_sample(GQA)).cut(rank)


def test_trained_with_its_latent_the_shipped_mla_answers_more_than_an_mha_cut_to_it():
    """The compression page says so, on texts that it does not show."""
    mha, mla = (shipped(code)[0] for code in ("mha", "mla"))
    size = costs.cache_elements(mla.config.attention)
    assert size < costs.cache_elements(mha.config.attention) / 2
    trained = by_task(mla, 8, 77)
    for found in (Retrofit.by_weights(mha), Retrofit.by_texts(mha, measured(16))):
        cut = by_task(found.cut(size), 8, 77)
        assert fmean(cut.values()) < fmean(trained.values())
