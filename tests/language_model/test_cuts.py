"""Models with a part taken away: what is left is as it was, and as others compute it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mla_engine import mechanisms
from mla_engine.language_model.accuracy import accuracies
from mla_engine.language_model.cuts import (
    TopKeys,
    effect,
    measured,
    without_content,
    without_heads,
    without_minor_directions,
    without_rotary_key,
)
from tests.engine.kinds import CSA
from tests.engine.samples import refused
from tests.language_model.samples import (
    ATTENTIONS,
    GQA,
    MLA,
    in_pieces,
    of_words,
    text,
    tokens_of,
)
from tests.language_model.samples import model as of_sample

CUTS = {
    "head": lambda model: without_heads(model, 1, [2]),
    "content": without_content,
    "rotary key": without_rotary_key,
    "directions": lambda model: without_minor_directions(model, 3, measured(2)),
    "keys": lambda model: TopKeys(model, 2),
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_cut_changes_the_answers_and_not_the_model(cut):
    model, tokens = of_words(MLA), text()
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    logits = model(tokens).logits
    assert not torch.equal(cut(model)(tokens).logits, logits)
    assert all(torch.equal(weight, weights[name]) for name, weight in model.state_dict().items())
    assert torch.equal(model(tokens).logits, logits)


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_the_ways_to_run_a_cut_model_agree(cut):
    model, tokens = cut(of_words(MLA)), text()
    whole = model(tokens).logits
    torch.testing.assert_close(model.logits(tokens), whole, rtol=0, atol=1e-10)
    torch.testing.assert_close(model(tokens, "absorbed").logits, whole, rtol=0, atol=1e-10)
    for kind, form in (("latent", "absorbed"), ("latent", "expanded"), ("kv", "expanded")):
        parts = in_pieces(model, tokens, (3, 1, 3), kind, form)
        torch.testing.assert_close(parts, whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("attention", [MLA, GQA], ids=["mla", "gqa"])
def test_without_a_head_what_it_wrote_is_missing(attention, layer):
    model, tokens = of_sample(attention), text()
    before = model(tokens).blocks[layer].attention
    after = without_heads(model, layer, [1])(tokens).blocks[layer].attention
    W_O = model.blocks[layer].attention.W_O
    written = torch.einsum("btv,dv->btd", before.o[:, :, 1], W_O[:, 1])
    assert written.abs().max() > 0.01
    torch.testing.assert_close(after.u, before.u - written, rtol=0, atol=1e-12)
    assert torch.equal(after.attention, before.attention)


@pytest.mark.parametrize(
    ("cut", "gone", "left"),
    [(without_content, "scores_C", "scores_R"), (without_rotary_key, "scores_R", "scores_C")],
)
@pytest.mark.parametrize("queries", [14, None], ids=["latent queries", "queries"])
def test_one_part_of_the_scores_is_zero_and_the_other_as_it_was(cut, gone, left, queries):
    model, tokens = of_sample(replace(MLA, d_latent_q=queries)), text()
    before, after = vars(model(tokens).blocks[0].attention), cut(model)(tokens).blocks
    for block in after:
        assert not vars(block.attention)[gone].any()
        assert vars(block.attention)[left].any()
    first = vars(after[0].attention)
    assert before[gone].any()
    assert torch.equal(first[left], before[left])
    assert torch.equal(first["v_C"], before["v_C"])
    wanted = torch.softmax(before[left].masked_fill(~before["mask"], -torch.inf), -1)
    torch.testing.assert_close(first["attention"], wanted)


def test_the_directions_left_are_the_strongest_of_the_latents():
    model, texts, rank = of_words(MLA), measured(5, seed=8), 4
    texts[0] = texts[0][:9]
    cut = without_minor_directions(model, rank, texts)
    latents = [[], []]
    for one in texts:
        for layer, block in enumerate(model(tokens_of(model, one)).blocks):
            latents[layer].append(block.attention.c_KV[0].numpy())
    for layer, (block, whole) in enumerate(zip(cut.blocks, model.blocks, strict=True)):
        strongest = np.linalg.svd(np.concatenate(latents[layer]))[2][:rank]
        for name in ("W_UK", "W_UV"):
            weight = whole.attention.state_dict()[name].numpy()
            wanted = (weight @ strongest.T) @ strongest
            found = block.attention.state_dict()[name].numpy()
            assert found == pytest.approx(wanted, abs=1e-10)
            assert np.abs(found - weight).max() > 0.01


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
def test_the_top_keys_are_torchs_topk_and_softmax(attention):
    model, keys = of_sample(attention), 3
    tokens = torch.tensor([[4, 1, 9, 0, 12, 7, 3], [2, 3, 5, 15, 8, 6, 0]])  # no scores are equal
    forms = mechanisms.of(attention).forms
    for form in forms:
        trace = TopKeys(model, keys)(tokens, form.name).blocks[0].attention
        layer = model.blocks[0].attention
        whole = form.forward(layer, trace.h)
        assert torch.equal(trace.mask, whole.mask)
        assert torch.equal(trace.scores, whole.scores)
        wanted = torch.zeros_like(whole.attention)
        for b, h, t in np.ndindex(*wanted.shape[:3]):
            seen = whole.scores[b, h, t, whole.mask[t]]
            best = torch.topk(seen, min(keys, len(seen)))
            places = whole.mask[t].nonzero().flatten()[best.indices]
            wanted[b, h, t, places] = torch.softmax(best.values, 0)
        torch.testing.assert_close(trace.attention, wanted, rtol=0, atol=1e-12)
        torch.testing.assert_close(trace.u, by_parts(layer, whole, wanted), rtol=0, atol=1e-12)


def by_parts(layer, trace, attention):
    """u from values that are made once more, a head at a time."""
    u = 0
    for head in range(attention.shape[1]):
        if "W_UV" in layer.state_dict():
            values = trace.c_KV @ layer.W_UV[head].T
        else:
            values = trace.h @ layer.W_V[head // layer.config.group_size].T
        u = u + attention[:, head] @ values @ layer.W_O[:, head].T
    return u


@pytest.mark.parametrize("attention", ATTENTIONS.values(), ids=ATTENTIONS)
@pytest.mark.parametrize("keys", [7, 1000])
def test_as_many_keys_as_there_are_words_change_nothing(attention, keys):
    model, tokens = of_sample(attention), text()
    assert torch.equal(TopKeys(model, keys)(tokens).logits, model(tokens).logits)


def test_of_equal_scores_the_first_are_kept():
    model = of_sample(replace(MLA, d_rope=0))
    trace = TopKeys(without_content(model), 2)(text()).blocks[0].attention
    wanted = torch.zeros(7, 7).double()
    wanted[0, 0], wanted[1:, :2] = 1, 0.5
    assert torch.equal(trace.attention, wanted.expand(2, 3, -1, -1))


def test_the_effect_is_the_mean_over_the_loads_before_and_after():
    model, other = of_words(MLA), of_words(MLA, seed=5)
    found = effect(model, other, count=2, seed=9)
    for one, place in ((model, 0), (other, 1)):
        for task, loads in accuracies(one, 2, 9).items():
            assert found[task][place] == pytest.approx(np.mean(list(loads.values())))
    assert any(change.before != change.after for change in found.values())


LATENT_CUTS = (
    without_content,
    without_rotary_key,
    lambda model: without_minor_directions(model, 2),
)


@pytest.mark.parametrize("cut", LATENT_CUTS)
def test_grouped_heads_have_nothing_of_the_latents_to_cut(cut):
    with refused("this model has grouped heads: cut a head"):
        cut(of_sample(GQA))


def test_where_nothing_rotates_there_is_no_rotary_key_to_cut():
    with refused("d_rope is 0"):
        without_rotary_key(of_sample(replace(MLA, d_rope=0)))


def test_top_keys_are_not_cut_out_of_attention_to_entries():
    with refused("reads keys alone", "attention to pooled entries", "cut a head"):
        TopKeys(of_sample(CSA), 2)


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (lambda model: without_heads(model, 2, [0]), r"layer \(2\)"),
        (lambda model: without_heads(model, 0, [3]), r"head \(3\)"),
        (lambda model: without_heads(model, 0, [-1]), r"head \(-1\)"),
        (lambda model: without_minor_directions(model, 0), r"rank \(0\)"),
        (lambda model: without_minor_directions(model, 11), r"rank \(11\)"),
        (lambda model: TopKeys(model, 0), r"keys \(0\)"),
        (lambda model: effect(model, model, count=0), r"count \(0\)"),
    ],
)
def test_parts_that_there_are_not_are_refused(cut, said):
    with pytest.raises(ValueError, match=said):
        cut(of_sample(MLA))
