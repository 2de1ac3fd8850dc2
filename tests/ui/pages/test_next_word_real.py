"""Next word with the app's own real model: its numbers are those of transformers' own run."""

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from tests.ui.controls import control, pressed
from tests.ui.screen import charts, csv, lead, refusal
from ui.pages.language_model.real.sentences import EXAMPLES
from ui.pages.language_model.real.view import LEFT
from ui.sources.whole import MOST_TOKENS

PAGE = "pages/language_model.py"
LAYERS, HEADS, GROUPS, WIDTH = 30, 8, 2, 16
OPENED = EXAMPLES["fact"]


@pytest.fixture
def theirs(own_model):
    """`theirs(text)`: what transformers makes of a text."""
    cut = PreTrainedTokenizerFast(tokenizer_file=f"{own_model}/tokenizer.json")
    model = LlamaForCausalLM.from_pretrained(
        own_model, dtype=torch.float32, attn_implementation="eager"
    )

    @torch.no_grad()
    def run(text):
        ids = torch.tensor([cut(text)["input_ids"]])
        found = model(ids, output_hidden_states=True, output_attentions=True)
        streams = [model.lm_head(model.model.norm(x))[0] for x in found.hidden_states[:-1]]
        after = torch.stack([*streams, found.logits[0]]).softmax(-1).numpy()
        maps = torch.stack(found.attentions)[:, 0].numpy()
        return SimpleNamespace(ids=ids, after=after, maps=maps)

    def written(ids, count):
        options = {"max_new_tokens": count, "do_sample": False, "eos_token_id": None}
        made = model.generate(ids, attention_mask=torch.ones_like(ids), **options)
        return cut.decode(made[0])[len(cut.decode(ids[0])) :]

    run.written = written
    return run


def table(at) -> list[list[str]]:
    """The picture's cells, row by row, without the shares beside them."""
    (body,) = (h.proto.body for h in at.get("html") if "lens_box" in h.proto.body)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body.partition("<tbody>")[2])
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [
        [html.unescape(re.sub(r"<small>.*?</small>|<[^>]*>", "", c)) for c in row] for row in cells
    ]


def box(at):
    return control(at, "text")


def test_it_opens_with_the_first_sentence_and_its_next_word(opened, theirs):
    at = opened(PAGE)
    assert box(at).value == OPENED.text
    wanted = theirs(OPENED.text).after[-1, -1]
    number, said = lead(at)
    assert float(number.removesuffix(" %")) == pytest.approx(100 * wanted.max(), rel=5e-3)
    assert f"“{OPENED.text}”" in html.unescape(said)
    bars = charts(at)[2]
    np.testing.assert_allclose(bars.values(0, "x") / 100, np.sort(wanted)[:-9:-1], rtol=1e-3)
    assert not at.query_params


def test_each_lane_is_the_stream_through_the_norm_and_the_head(opened, theirs, downloads):
    opened(PAGE)
    wanted = theirs(OPENED.text)
    found = csv(downloads["logit_lens.csv"])
    lanes = [LAYERS - left for left in LEFT]
    tokens = wanted.ids.shape[1]
    assert list(found["after_layers"]) == [n for n in lanes for _ in range(tokens)]
    best = wanted.after[lanes].max(-1).ravel()
    np.testing.assert_allclose(found["probability"], best, rtol=1e-3)


def test_the_picture_has_a_row_a_piece_and_the_guesses_of_the_table(opened, own_model, downloads):
    rows, found = table(opened(PAGE)), csv(downloads["logit_lens.csv"])
    wanted = np.array(found["guess"]).reshape(len(LEFT), -1).T
    every = [[piece, *row] for piece, row in zip(found["piece"], wanted.tolist(), strict=False)]
    assert rows == [[g if len(g) <= 14 else f"{g[:13]}…" for g in row] for row in every]


def test_the_guess_is_followed_through_every_layer(opened, theirs, downloads):
    opened(PAGE, lm_back="1")
    wanted = theirs(OPENED.text).after[:, -2]
    found = csv(downloads["guess_by_layer.csv"])
    assert list(found["after_layers"]) == list(range(LAYERS + 1))
    share = 100 * wanted[:, wanted[-1].argmax()]
    np.testing.assert_allclose(found.iloc[:, 1], share, rtol=2e-3, atol=1e-4)


def test_the_heads_of_a_layer_look_as_transformers_says(opened, theirs):
    at = opened(PAGE, layer="7")
    wanted = theirs(OPENED.text).maps[7, :, -1]
    np.testing.assert_allclose(charts(at)[1].values(0, "z"), wanted, atol=1e-5)
    head, key = divmod(int(wanted[:, 1:].argmax()), wanted.shape[1] - 1)
    said = next(m.value for m in at.markdown if "layer 7 gives" in m.value)
    assert f"head {head} of" in re.sub(r"<[^>]*>", "", said).replace("\xa0", " ")
    pressed(at, "lm_maps")
    assert at.session_state["settings"]["map_key"] == key + 1
    assert at.session_state["settings"]["layer"] == 7


def test_words_are_written_as_transformers_writes_them(opened, theirs):
    at, run = opened(PAGE), theirs(OPENED.text)
    pressed(at, "lm_write")
    assert box(at).value == OPENED.text + theirs.written(run.ids, 1)
    assert at.query_params["text"] == box(at).value
    at = opened(PAGE, lm_more="5")
    (said,) = (h.proto.body for h in at.get("html") if "pre-wrap" in h.proto.body)
    more = html.unescape(re.search(r"<strong>(.*?)</strong>", said, re.DOTALL)[1])
    assert more == theirs.written(run.ids, 5)


def test_writing_on_can_be_stopped(opened, own_model, monkeypatch):
    def interrupted(_ids, _count, _temperature, progress):
        progress(1)
        st.stop()  # as where a reader's click ends a run

    monkeypatch.setattr("ui.sources.whole.written", interrupted)
    at = opened(PAGE, lm_more="20")
    assert [bar.text for bar in at.progress] == ["Written through the cache: 1 of 20 pieces"]
    pressed(at, "lm_stop")
    assert "lm_more" not in at.query_params
    assert not at.progress
    assert box(at).value == OPENED.text


def test_caches_are_counted_by_the_formulas(opened, theirs):
    at = opened(PAGE)
    kept = (2 * HEADS * WIDTH, 2 * GROUPS * WIDTH, 4 * WIDTH + WIDTH // 2, 2 * WIDTH)
    tokens = theirs(OPENED.text).ids.shape[1]
    assert list(charts(at)[3].values(0, "x")) == [n * LAYERS * tokens for n in kept]


@pytest.mark.parametrize("name", list(EXAMPLES)[1:3])
def test_an_example_brings_its_sentence_and_layer(opened, own_model, name):
    at = opened(PAGE, lm_back="2")
    at.button(key=f"example_{name}").click().run()
    assert box(at).value == EXAMPLES[name].text
    assert at.session_state["settings"]["layer"] == EXAMPLES[name].shows["layer"]
    assert not at.error


@pytest.mark.parametrize("text", ["moon", "🌙🌙 <b>x</b>", "中国的首都是", " ", "\n\n", "x" * 200])
def test_any_text_is_read(opened, theirs, text):
    at = opened(PAGE)
    box(at).set_value(text).run()
    assert not at.error
    assert box(at).value == text
    wanted = theirs(text).after[-1, -1].max()
    assert float(lead(at)[0].removesuffix(" %")) == pytest.approx(100 * wanted, rel=6e-3)
    assert "<b>" not in "".join(h.proto.body for h in at.get("html") if "lens" in h.proto.body)


def test_an_empty_box_has_the_example_read(opened, own_model):
    at = opened(PAGE)
    box(at).set_value("").run()
    assert not at.error
    assert len(table(at)) > 3


def test_a_text_that_is_too_long_is_refused_and_nothing_is_lost(opened, own_model):
    at = opened(PAGE, lm_temperature="2")
    long = "a b " * 500
    box(at).set_value(long).run()
    assert f"give 1 to {MOST_TOKENS}" in refusal(at)
    assert box(at).value == long
    box(at).set_value("the moon").run()
    assert not at.error
    assert at.query_params["lm_temperature"] == "2.0"


def test_the_made_up_language_is_a_press_away_and_its_links_stay(opened, own_model):
    at = opened(PAGE)
    control(at, "reader").set_value("made_up").run()
    assert "made-up" not in at.title[0].value
    assert control(at, "lm_model").value == "mla"
    at = opened(PAGE, lm_model="gqa")
    assert control(at, "lm_model").value == "gqa"
    at = opened(PAGE, sentence="anna lamp anna")
    assert control(at, "sentence").value == "anna lamp anna"


def test_without_room_for_the_whole_model_the_page_opens_as_before(opened, own_model, monkeypatch):
    monkeypatch.setattr("mla_engine.budget.limit_bytes", lambda: 1000)
    at = opened(PAGE)
    assert control(at, "lm_model").value == "mla"
