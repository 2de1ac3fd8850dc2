"""Inputs of each layer, as transformers shows them, and models that are fitted to them."""

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from mla_engine import LatentConfig
from mla_engine.language_model.moments import WEIGHINGS, mixed, moments, roots
from mla_engine.language_model.real import load_real
from mla_engine.language_model.retrofit import IntoMLA, Retrofit, averaged
from tests.checkpoints.models import GROUPED, built
from tests.checkpoints.texts import IDS, add_tokenizer
from tests.engine.samples import refused
from tests.language_model.samples import of_words, shipped, tokens_of
from tests.language_model.test_retrofit import GQA, TEXTS

PARTS = [torch.tensor([IDS]), torch.tensor([IDS[::-1], IDS[3:] + IDS[:3]])]


@pytest.fixture(scope="module")
def theirs():
    return built("llama").eval()


@pytest.fixture(scope="module")
def ours(theirs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    theirs.save_pretrained(folder)
    return load_real(add_tokenizer(folder))


@torch.no_grad()
def entering(theirs, tokens):
    """Return the inputs of each layer's attention [b,t,d], and the layers' maps [b,h,t,s]."""
    seen = []
    keep = lambda _module, _args, given: seen.append(given["hidden_states"])  # noqa: E731
    hooks = [
        layer.self_attn.register_forward_pre_hook(keep, with_kwargs=True)
        for layer in theirs.model.layers
    ]
    maps = theirs(tokens, output_attentions=True, use_cache=False).attentions
    for hook in hooks:
        hook.remove()
    return zip(seen, maps, strict=True)


@pytest.mark.parametrize("weighing", WEIGHINGS)
def test_moments_are_those_of_what_transformers_gives_each_layer(ours, theirs, weighing):
    found = moments(ours, PARTS, [weighing])[weighing]
    per_text = [list(entering(theirs, tokens)) for tokens in PARTS]
    for layer, one in enumerate(found):
        rows, weights = [], []
        for h, seen in (text[layer] for text in per_text):
            weight = seen.sum((1, 2)) if "read" in weighing else torch.ones(h.shape[:2])
            begin = 1 if "but_first" in weighing else 0
            rows.append(h[:, begin:].flatten(0, 1))
            weights.append(weight[:, begin:].flatten())
        rows, weights = torch.cat(rows).double().numpy(), torch.cat(weights).double().numpy()
        wanted = np.average(rows[:, :, None] * rows[:, None, :], axis=0, weights=weights)
        np.testing.assert_allclose(one, wanted, atol=1e-5 * np.abs(wanted).max())
    torch.testing.assert_close(roots(found).mT @ roots(found), found, atol=1e-9, rtol=1e-9)


def test_kinds_of_text_count_as_much_as_each_other(ours):
    one, other = (moments(ours, [part], ["even"])["even"] for part in PARTS)
    torch.testing.assert_close(mixed([one, other]), (one + other) / 2)


def test_another_weighing_is_refused(ours):
    with refused("weighing"):
        moments(ours, PARTS, ["odd"])


@torch.no_grad()
def test_a_full_latent_is_the_model_that_transformers_runs(ours, theirs):
    found = Retrofit.by_moments(ours, moments(ours, PARTS)["even"])
    wanted = theirs(PARTS[1], use_cache=False).logits
    torch.testing.assert_close(found.cut(found.most)(PARTS[1]).logits, wanted, atol=1e-4, rtol=0)
    assert (found.cut(2)(PARTS[1]).logits - wanted).abs().max() > 1e-3


@pytest.mark.parametrize("rank", [1, 7, 15])
def test_no_latent_of_the_size_loses_less_of_keys_and_values_of_one_size(rank):
    model = of_words(GQA)
    tokens = [tokens_of(model, one) for one in TEXTS]
    cut = Retrofit.by_moments(model, moments(model, tokens)["even"]).cut(rank)
    traces = [model(one) for one in tokens]
    for layer, (whole, block) in enumerate(zip(model.blocks, cut.blocks, strict=True)):
        h = torch.cat([trace.blocks[layer].attention.h[0] for trace in traces]).numpy()

        def made(attention, h=h):
            return [h @ weight.flatten(0, 1).numpy().T for weight in (attention.W_K, attention.W_V)]

        keys, values = made(whole.attention)
        size = np.linalg.norm(values) / np.linalg.norm(keys)
        exact = np.concatenate([size * keys, values], axis=1)
        kept_keys, kept_values = made(block.attention)
        lost = np.concatenate([size * kept_keys, kept_values], axis=1) - exact
        least = (np.linalg.svd(exact, compute_uv=False)[rank:] ** 2).sum()  # Eckart and Young
        assert (lost**2).sum() == pytest.approx(least, rel=1e-6)


@torch.no_grad()
def test_mla_by_moments_is_mla_by_the_text_that_they_are_of(ours):
    model, _ = shipped("mha")
    tokens = torch.cat([tokens_of(model, one[:9]) for one in TEXTS])
    read = tokens_of(model, TEXTS[0])
    wanted = IntoMLA.by_texts(model, [one[:9] for one in TEXTS]).cut(12)(read).logits
    found = IntoMLA.by_moments(model, moments(model, [tokens])["even"]).cut(12)
    torch.testing.assert_close(found(read).logits, wanted, atol=1e-4, rtol=0)
    real = IntoMLA.by_moments(ours, moments(ours, PARTS)["even"]).cut(8)
    assert isinstance(real.config.attention, LatentConfig)
    absorbed = real(PARTS[1], form="absorbed").logits
    torch.testing.assert_close(absorbed, real(PARTS[1]).logits, atol=1e-4, rtol=0)
    assert real.config.tokenizer.to_str() == ours.config.tokenizer.to_str()


@torch.no_grad()
def test_averaged_heads_are_transformers_own_mqa(ours, theirs):
    mqa = LlamaForCausalLM(LlamaConfig(**GROUPED | {"num_key_value_heads": 1})).eval()
    weights = theirs.state_dict()
    for name, weight in weights.items():
        if "k_proj" in name or "v_proj" in name:
            d_head = mqa.config.head_dim
            weights[name] = weight.unflatten(0, (-1, d_head)).mean(0)
    mqa.load_state_dict(weights)
    wanted = mqa(PARTS[1], use_cache=False).logits
    torch.testing.assert_close(averaged(ours)(PARTS[1]).logits, wanted, atol=2e-5, rtol=1e-5)
