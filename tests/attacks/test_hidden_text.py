"""Characters that hide, or turn what stands around them, in whatever a link's maker chose."""

import ast
import html
import re
from unicodedata import category

import pytest

from kvcount.drawn import drawn, isolated
from kvcount.refusals import sentence
from mla_engine.checkpoints import CheckpointError
from mla_engine.figures.axes import safe as on_axis
from tests.ui.conftest import open_page
from tests.ui.screen import everything
from ui.frame.pages import PAGES
from ui.parts.snippet import literal, notebook
from ui.words.text import refusal, safe

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
HIDDEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u115f\u3164\U000e0041\x00\x1b\x85\u2028"
HEBREW = "\u05d0\u05d1"
ISOLATED = re.compile("\u2068[^\u2066-\u2069]*\u2069")  # a pair of marks, and nothing else, stays
CODE = f'x{TURNING}"; import os #{HEBREW}{HIDDEN}\n'


def hiding(text):
    """The characters of a text that hide or turn, outside of what is isolated by a whole pair."""
    within = ISOLATED.sub(lambda pair: pair[0][1:-1], text)
    return {c for c in within if c != "\n" and (c in TURNING + HIDDEN or category(c) == "Cf")}


def turned(text):
    """Return whether letters from right to left stand where they move what follows."""
    return any("\u0590" <= c <= "\u08ff" for c in ISOLATED.sub("", text))


@pytest.mark.parametrize("character", TURNING + HIDDEN)
def test_what_hides_is_drawn_by_its_number(character):
    number = f"<U+{ord(character):04X}>"
    assert drawn(f"a{character}b") == f"a{number}b"
    assert html.unescape(safe(f"a{character}b")) == f"a{number}b"
    said = str(CheckpointError("no_folder", source=f"a{character}b"))
    assert number in said
    assert not hiding(said)
    assert not hiding(on_axis(f"a{character}b", 40))


def test_only_a_whole_pair_of_marks_stays():
    assert drawn("\u2068a\u2069") == "\u2068a\u2069"
    for broken in ("\u2068a", "a\u2069", "\u2069a\u2068", "\u2068\u202ea\u2069", "\u2067a\u2069"):
        assert not hiding(drawn(broken)), ascii(broken)
        assert "<U+" in drawn(broken)


@pytest.mark.parametrize("show", [isolated, safe, lambda text: on_axis(text, 40)])
def test_letters_from_right_to_left_are_isolated_once(show):
    assert not turned(show(f"{HEBREW} 12"))
    assert show(f"{HEBREW} 12").count("\u2068") == 1
    assert show(show(HEBREW)).count("\u2068") == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_refusal_isolates_what_it_quotes_also_where_it_cuts(language):
    for code, values in [
        ("no_folder", {"source": HEBREW * 100}),
        ("missing", {"file": HEBREW * 100, "where": HEBREW}),
        ("bad_tokenizer", {"reason": ValueError(f"{HEBREW}\n{CODE}" * 9)}),
        ("at", {"where": HEBREW, "reason": CheckpointError("no_folder", source=CODE)}),
    ]:
        said = sentence(CheckpointError(code, **values), language)
        assert not hiding(said)
        assert not turned(said)
        assert "\n" not in said, "a line of a log is one line"


def test_another_error_is_one_line_without_what_hides():
    said = refusal(ValueError(f"no\nERROR forged{CODE}"))
    assert "\n" not in said
    assert not hiding(said)
    assert not turned(said)


def test_a_snippet_runs_as_it_is_read():
    for value in (CODE, (CODE, HEBREW), {CODE: 1}):
        written = literal(value)
        assert ast.literal_eval(written) == value
        assert not hiding(written)
        assert not turned(written)
        assert "\n" not in written
    assert literal("猫é") == '"猫é"'
    assert notebook(literal(CODE)).isascii()


REAL = {
    "source": f"models/\u202eevil{HEBREW}\u200b\n# hidden",
    "revision": "\u2066main\u202e",
    "text": f"a\u202eb {HEBREW}",
    "activations": "\u200fh.safetensors",
}
DRAWN_ALONE = {"map_text": f"a\u202eb\u200b {HEBREW} 12 \u2068open", "no\u202esuch": "\u200fvalue"}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("page", ["real_models", "attention_maps", "compare"])
def test_no_page_draws_what_hides(page, lang):
    for link in (REAL, DRAWN_ALONE):
        at = open_page(PAGES[page].file, lang=lang, code="snippet", **link)
        sent = everything(at)
        assert any("U+202E" in html.unescape(text) for text in sent)
        assert {ascii(text): hiding(text) for text in sent if hiding(text)} == {}
        assert [ascii(text) for text in sent if turned(text)] == []
