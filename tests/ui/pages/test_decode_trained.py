"""The decode page as it opens: trained models, and words that one of them writes."""

import html

import numpy as np
import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from tests.ui.screen import component, csv, lead, own, prose, says, statement
from tests.ui.trained_models import CACHED, TRAINED_ON, model, write
from ui.engine import shared_cache
from ui.pages.decode import run
from ui.sources.trained import OWN
from ui.words.numbers import tied_size, times

PAGE = "pages/decode.py"
TEXT = "ben cup anna lamp ben"
STEPS = 16
FULL = 4 * (6 + 4 + 6)  # numbers of a token where MLA keeps keys and values of its 4 heads
WAYS = {
    "MHA": ("mha", CACHED["mha"]),
    "GQA, g = 2": ("gqa", CACHED["gqa"]),
    "MQA": ("mqa", CACHED["mqa"]),
    "MLA, absorbed": ("mla", CACHED["mla"]),
    "MLA, expanded each step": ("mla", CACHED["mla"]),
    "MLA, full K and V": ("mla", FULL),
    "DSA, absorbed": ("dsa", CACHED["dsa"]),
}


def written(code: str, text: str, count: int = STEPS) -> list[str]:
    """The likeliest word after the whole text, and so on: nothing is kept from word to word."""
    decoder = model(code)
    tokens = decoder.config.tokens(text)
    read = len(tokens)
    for _ in range(count):
        tokens.append(int(decoder.logits(torch.tensor([tokens]))[0, -1].argmax()))
    return [decoder.config.words[token] for token in tokens[read:]]


def captions(at: AppTest) -> str:
    return " ".join(html.unescape(caption.value) for caption in own(at, "caption"))


def box(at: AppTest):
    return next(area for area in at.text_area if area.key == "sentence")


@pytest.mark.parametrize("code", ["mha", "gqa", "mqa", "mla", "dsa"])
def test_the_words_are_those_that_the_chosen_model_writes(opened, code):
    at = opened(PAGE, variant=code, sentence=TEXT)
    picture, wanted = component(at, "growing"), written(code, TEXT)
    assert picture["text"] == {"prompt": TEXT.split(), "written": wanted}
    assert picture["dials"][0]["count"] == len(wanted) == STEPS
    for step in (1, 2, STEPS):
        assert says(
            picture["says"][step - 1],
            "decode.says_word",
            step=step,
            word=wanted[step - 1],
            tokens=5 + step,
        )
        text = " ".join([TEXT, *wanted[:step]])
        assert says(picture["told"][step - 1], "decode.alt_words", text=text, tokens=5 + step)
    step4 = f"**Step 4**, “{wanted[3]}”, as it was computed"
    assert any(step4 in html.unescape(said) for said in prose(at))
    assert says(captions(at), "decode.written_by", writer=code.upper())


def test_the_models_write_different_words():
    assert len({tuple(written(code, TEXT)) for code in ("mha", "gqa", "mqa", "mla")}) == 4


def test_another_writer_can_be_chosen(opened):
    at = opened(PAGE, sentence=TEXT, variant="mla_absorbed")
    writer = next(b for b in at.button_group if b.key == "variant")
    assert (writer.label, writer.options) == (
        "Words written by",
        ["MHA", "GQA", "MQA", "MLA", "DSA"],
    )
    assert component(at, "growing")["text"]["written"] == written("mla", TEXT)
    writer.set_value("mqa").run()
    assert component(at, "growing")["text"]["written"] == written("mqa", TEXT)
    assert at.query_params["variant"] == "mqa"


@pytest.mark.parametrize("step", [1, 4])
def test_every_cache_holds_what_its_model_keeps_of_so_many_words(opened, downloads, step):
    at = opened(PAGE, sentence=TEXT, dec_step=str(step), dec_ways="all")
    picture, tokens = component(at, "growing"), 5 + step
    assert [row["name"] for row in picture["rows"]] == list(WAYS)
    assert [row["bytes"] for row in picture["rows"]] == [4 * each for _, each in WAYS.values()]
    assert (picture["prompt"], picture["steps"]) == (5, STEPS)
    assert picture["widest"] == (5 + STEPS) * 4 * max(each for _, each in WAYS.values())
    table = at.main.table[0].value
    assert list(table["Held"]) == [tied_size(4 * each * tokens) for _, each in WAYS.values()]
    mha, mla = (4 * CACHED[code] * tokens for code in ("mha", "mla"))
    assert says(
        statement(at),
        "decode.line_words",
        tokens=tokens,
        mla=tied_size(mla),
        mha=tied_size(mha),
        ratio=times(mha / mla),
    )
    growth = csv(downloads["decode_growth.csv"])
    assert list(growth["mha"]) == [4 * CACHED["mha"] * (5 + n) for n in range(1, STEPS + 1)]
    file = csv(downloads["decode_step.csv"])
    assert set(file["heads"]) == set(file["heads_run"]) == {4}
    assert set(file["prompt_tokens"]) == {5}


@pytest.mark.parametrize("code", ["mha", "gqa", "mqa"])
def test_the_headline_is_of_the_model_that_writes(opened, code):
    at = opened(PAGE, sentence=TEXT, variant=code)
    held, mla = (tied_size(4 * CACHED[one] * 9) for one in (code, "mla"))
    heads = {"mha": 4, "gqa": 2, "mqa": 1}
    values = {"name": code.upper(), "tokens": 9, "heads": heads[code], "all": 4, "mla": mla}
    assert says(statement(at), "decode.line_words_in_full", **values)
    assert lead(at)[0] == held
    rows = {row["name"][:3]: row["heads"] for row in component(at, "growing")["rows"]}
    told = {name.upper(): f", {n} head{'s' * (n > 1)}" for name, n in (heads | {"mla": 4}).items()}
    assert rows == told, "each cache beside the heads that have keys of their own in it"


@pytest.mark.parametrize("layer", [0, 1])
def test_each_way_runs_its_own_trained_model_on_the_same_text(opened, monkeypatch, layer):
    st.cache_resource.clear()
    compared, error = [], run.relative_error

    def noting(step: torch.Tensor, whole: torch.Tensor) -> float:
        compared.append((step.numpy().copy(), whole.numpy().copy()))
        return error(step, whole)

    monkeypatch.setattr(run, "relative_error", noting)
    opened(PAGE, sentence=TEXT, variant="gqa", trained_layer=str(layer))
    text = " ".join([TEXT, *written("gqa", TEXT, 4)])
    assert len(compared) == len(WAYS)
    for (code, _), both in zip(WAYS.values(), compared, strict=True):
        decoder = model(code)
        trace = decoder(torch.tensor([decoder.config.tokens(text)]))
        wanted = trace.blocks[layer].attention.u[:, -1:].detach().numpy()
        for found in both:
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    st.cache_resource.clear()


def test_the_page_opens_on_the_apps_own_sentence(opened):
    at = opened(PAGE)
    assert component(at, "growing")["text"]["prompt"] == OWN.split()
    assert at.query_params == {}
    assert [box(at).value, box(at).placeholder] == ["", OWN]
    assert not [s for s in at.select_slider if s.key.startswith("dec_prompt")], "a sentence instead"
    assert all(float(cell) < 1e-5 for cell in at.main.table[0].value["Distance"])


def test_what_the_choice_means_at_a_published_size(opened):
    (said,) = [m for m in prose(opened(PAGE)) if "DeepSeek-V3" in m]
    mla, mha = 61 * 2 * (512 + 64), 61 * 2 * 2 * 128 * 128  # layers, bytes, numbers of a token
    assert says(said, "decode.at_large", mla=tied_size(mla))
    assert says(said, "decode.at_large", mha=tied_size(mha), ratio=times(mha / mla))
    seeded = opened(PAGE, preset="small")
    assert not [m for m in prose(seeded) if "DeepSeek-V3" in m]
    assert component(seeded, "growing")["text"] == {"prompt": [], "written": []}


def test_unknown_words_are_refused_by_name_and_the_page_stays(opened):
    at = opened(PAGE, sentence=TEXT)
    before = component(at, "growing")["text"]
    box(at).set_value("anna lampe").run()
    assert says(
        html.unescape(at.error[0].value), "text.unknown_words", listed="“lampe”", tries="try lamp"
    )
    assert component(at, "growing")["text"] == before
    box(at).set_value("Anna lamp").run()
    assert not at.error
    assert component(at, "growing")["text"]["prompt"] == ["anna", "lamp"]


def test_a_text_beyond_the_training_has_a_note(opened):
    assert TRAINED_ON < 5 + STEPS
    said = captions(opened(PAGE, sentence=TEXT))
    assert says(said, "decode.beyond", words="21", most=TRAINED_ON)
    long = opened(PAGE, sentence="anna lamp " * 20)
    drawn = component(long, "growing")["text"]["prompt"]
    assert drawn == ["…", *["anna", "lamp"] * 12]
    nearly = opened(PAGE, sentence="anna " * 250, dec_step="9")
    assert component(nearly, "growing")["dials"][0]["count"] == 6, "256 words in all"
    assert nearly.query_params["dec_step"] == "6"
    assert len(nearly.warning) == 1


def test_a_full_sentence_is_refused_and_can_be_mended(opened):
    at = opened(PAGE, sentence="anna " * 256)
    assert statement(at) == ""
    assert says(html.unescape(at.error[0].value), "decode.too_long")
    box(at).set_value(TEXT).run()
    assert not at.error
    assert component(at, "growing")["text"]["prompt"] == TEXT.split()


def test_where_a_model_is_missing_its_weights_are_drawn_and_called_so(
    opened, tmp_path, monkeypatch
):
    write(tmp_path, "mla", "mqa", "gqa", "dsa")
    monkeypatch.setattr("ui.sources.trained.FOLDER", tmp_path)
    shared_cache.clear()
    at = opened(PAGE, sentence=TEXT, variant="mha")
    assert says(captions(at), "decode.untrained", ways="MHA")
    assert says(captions(at), "decode.indexed")
    assert says(captions(at), "decode.written_by", writer="MLA")
    assert component(at, "growing")["text"]["written"] == written("mla", TEXT)
    shared_cache.clear()
