"""Decode with the app's own real model: a real sentence comes in token by token."""

import re

import pytest
from transformers import PreTrainedTokenizerFast

from tests.ui.controls import control, controls
from tests.ui.screen import component, plain, statement
from ui.pages.decode.sentences import EXAMPLES, SHOWN

PAGE = "pages/decode.py"
OPENED = EXAMPLES["prose"].text
BYTES = 4 * 2 * 2 * 16  # of a token: float32, keys and values, of two heads that are 16 wide


@pytest.fixture
def cut(own_model):
    found = PreTrainedTokenizerFast(tokenizer_file=f"{own_model}/tokenizer.json")
    return lambda text: [found.decode([one]) for one in found(text)["input_ids"]]


def shown(at) -> list[str]:
    """The text as the picture has it, with spaces for their signs."""
    words = component(at, "growing")["text"]
    return [one.replace("␣", " ") for one in words["prompt"] + words["written"]]


def test_it_opens_with_a_sentence_whose_tokens_come_in(opened, cut):
    at = opened(PAGE)
    assert not at.query_params
    assert shown(at) == cut(OPENED)[: SHOWN["dec_prompt"] + 32]
    sent = component(at, "growing")
    assert sent["prompt"] == SHOWN["dec_prompt"]
    assert sent["says"][1].startswith("Step 2: “")
    assert shown(at)[5] in sent["says"][1].replace("␣", " ")
    own = next(row for row in sent["rows"] if row["name"].startswith("GQA"))
    assert own["bytes"] == BYTES
    assert "smollm2-135m-instruct" in plain(statement(at))
    said = next(c.value for c in at.caption if "characters are" in c.value)
    assert f"{len(OPENED)} characters are {len(cut(OPENED))} tokens" in plain(
        re.sub(r"<[^>]*>", "", said)
    )


@pytest.mark.parametrize("name", ["digits", "chinese"])
def test_an_example_brings_its_sentence(opened, cut, name):
    at = opened(PAGE, dec_step="9")
    at.button(key=f"example_{name}").click().run()
    assert control(at, "text").value == EXAMPLES[name].text
    assert not at.error
    assert len(shown(at)) == min(len(cut(EXAMPLES[name].text)), SHOWN["dec_prompt"] + 32)


def test_a_text_that_is_too_long_is_refused_and_stays(opened, own_model):
    at, long = opened(PAGE), "a b " * 500
    control(at, "text").set_value(long).run()
    assert "give 1 to 512" in at.error[0].value
    assert control(at, "text").value == long
    control(at, "text").set_value("🌙 <b>x</b>").run()
    assert not at.error
    assert "<b>" in "".join(shown(at))


def test_the_made_up_language_is_a_press_away(opened, own_model):
    at = opened(PAGE)
    control(at, "reader").set_value("made_up").run()
    assert "sentence" in controls(at)
    assert "text" not in controls(at)
    assert not at.error
