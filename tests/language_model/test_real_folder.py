"""A published model, where it lies here, whole against transformers: 30 layers, heads and words."""

from math import exp
from pathlib import Path
from statistics import fmean

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from mla_engine.language_model import generate
from mla_engine.language_model.moments import moments
from mla_engine.language_model.reading import layer_of, read
from mla_engine.language_model.real import load_real
from mla_engine.language_model.retrofit import Retrofit
from mla_engine.language_model.text_heads import repeat_scores
from training.real.measure import losses
from training.real.plan import pieces
from training.real.texts import DOCUMENTATION, TextsError

FOLDER = Path(__file__).parents[2] / "models" / "smollm2-135m-instruct"
TEXT = (
    "Alice went to the market and bought a red apple. "
    "Then Alice went to the market and bought a green pear."
)
WRITTEN = 12


@pytest.fixture(scope="module")
def ours():
    if not FOLDER.is_dir():
        pytest.skip(f"no model in {FOLDER.name}: a whole published model was not compared")
    return load_real(FOLDER)


@pytest.fixture(scope="module")
def theirs(ours):
    return AutoModelForCausalLM.from_pretrained(
        FOLDER, dtype=torch.float32, attn_implementation="eager"
    ).eval()


@pytest.fixture(scope="module")
def tokens(ours):
    ids = AutoTokenizer.from_pretrained(FOLDER)(TEXT).input_ids
    assert ours.config.tokens(TEXT) == ids
    return torch.tensor([ids])


@torch.no_grad()
def test_every_layer_and_the_next_words_are_those_of_transformers(ours, theirs, tokens):
    outputs = []
    keep = lambda _module, _args, result: outputs.append(result[0])  # noqa: E731
    hooks = [layer.self_attn.register_forward_hook(keep) for layer in theirs.model.layers]
    wanted = theirs(tokens, output_attentions=True, use_cache=False)
    for hook in hooks:
        hook.remove()
    found = read(ours, tokens)
    largest = max(float(u.abs().max()) for u in outputs)
    for layer, u in enumerate(outputs):
        assert (layer_of(ours, found, layer).attention.u - u).abs().max() < 1e-4 * largest
        torch.testing.assert_close(
            found.attention[layer], wanted.attentions[layer], atol=5e-5, rtol=0
        )
    probabilities = wanted.logits.softmax(-1)
    torch.testing.assert_close(found.probabilities(), probabilities, atol=1e-4, rtol=0)


@torch.no_grad()
def test_the_words_that_it_writes_are_those_of_transformers(ours, theirs, tokens):
    cut = tokens[:, :9]
    wanted = theirs.generate(
        cut, attention_mask=torch.ones_like(cut), max_new_tokens=WRITTEN, do_sample=False
    )
    written = [int(step.token) for step in generate(ours, cut, WRITTEN)]
    assert written == wanted[0, 9:].tolist()


def test_its_heads_do_what_they_are_known_for(ours, tokens):
    words = [ours.config.words[token] for token in tokens[0].tolist()]
    again, red = len(words) - 1 - words[::-1].index("␣a"), words.index("␣red")
    assert float(read(ours, tokens).attention[17, 0, 5, again, red]) == pytest.approx(
        0.77, abs=0.01
    )
    scores = repeat_scores(ours)
    best = dict(zip(scores.kinds, scores.table.flatten(0, 1).argmax(0).tolist(), strict=True))
    assert divmod(best["induction"], 9) == (18, 6)
    assert divmod(best["previous"], 9) == (16, 0)


@torch.no_grad()
def test_with_a_latent_of_full_size_it_is_the_same_model(ours, tokens):
    """Fitted to this very text, 384 numbers lose nothing, though the text has far fewer words."""
    found = Retrofit.by_moments(ours, moments(ours, [tokens], ["even"])["even"])
    assert found.most == 384
    wanted = ours.logits(tokens)
    torch.testing.assert_close(found.cut(384).logits(tokens), wanted, atol=1e-4, rtol=0)


@torch.no_grad()
def test_its_perplexity_is_that_of_transformers_own_loop(ours, theirs):
    """Texts of the documentation that `make measure-real` measures."""
    try:
        every = pieces(ours, "test", DOCUMENTATION, 2)[:, :256]
    except TextsError as error:
        pytest.skip(str(error))
    wanted = [theirs(one[None], labels=one[None]).loss for one in every]
    found = exp(fmean(losses(ours, every)))
    assert found == pytest.approx(float(torch.stack(wanted).mean().exp()), rel=0.005)
