"""Links that contradict themselves: the nearest valid state, and one line that says so."""

import html

import pytest
from streamlit.testing.v1 import AppTest

from tests.sampling import ALL
from tests.ui.screen import says
from ui.frame.pages import PAGES
from ui.settings.shared import SHARED

SMALL = {"preset": "small"}  # 4 heads of 16, values of 16, rotary width 8
GEMMA = {"kv_left": "gemma-2b", "kv_right": "gemma-2b"}

# Page, link, setting, what the line says was given, what the page goes on with.
CONTRADICTIONS = [
    ("overview", {"n_heads": "12", "n_kv_heads": "5"}, "n_kv_heads", "5", 4),
    ("overview", {"d_rope": "63"}, "d_rope", "63", 62),
    ("overview", {"d_head": "7"}, "d_head", "7", 6),
    ("overview", {"preset": "minicpm3-4b", "d_rope": "2"}, "d_rope", "2", 0),
    ("overview", {"n_heads": ["4", "8"]}, "n_heads", "4, 8", 8),
    ("overview", {"stop": "99"}, "stop", "99", 0),
    ("claims", {"stop": "1"}, "stop", "1", 0),  # that of the overview
    ("worked_example", {"we_step": "99"}, "we_step", "99", 18),
    ("worked_example", {"we_step": "1", "we_row": "9"}, "we_row", "9", 2),
    ("attention_maps", SMALL | {"map_head": "9"}, "map_head", "9", 3),
    ("attention_maps", SMALL | {"map_run": "64"}, "map_run", "64", 4),
    ("rope", SMALL | {"rope_head": "4"}, "rope_head", "4", 3),
    ("absorption", SMALL | {"ab_head": "127"}, "ab_head", "127", 3),
    ("absorption", SMALL | {"ab_context": "5000"}, "ab_context", "5000", 4096),
    ("compression", SMALL | {"cmp_heads": "2", "cmp_rank": "128"}, "cmp_rank", "128", 64),
    ("compression", SMALL | {"cmp_heads": "8"}, "cmp_heads", "8", 4),
    ("after_mla", {"am_context": "3000"}, "am_context", "3000", 2048),
    ("planner", {"plan_tensor": "6"}, "plan_tensor", "6", 4),
    ("sparse", {"sp_keys": "5"}, "sp_keys", "5", 4),
    ("sparse", {"sp_back": "99"}, "sp_back", "99", 16),
    ("decode", SMALL | {"dec_heads": "64"}, "dec_heads", "64", 4),
    ("compute", SMALL | {"cost_batch": "33"}, "cost_batch", "33", 32),
    ("kv_cache", {"kv_groups": "7"}, "kv_groups", "7", 4),
    ("kv_cache", {"kv_right": "deepseek-v3", "kv_layers": "62"}, "kv_layers", "62", 61),
    ("kv_cache", GEMMA | {"kv_ranks": "16"}, "kv_ranks", "16", 8),
    ("compare", SMALL | {"vs_head": "5"}, "vs_head", "5", 3),
    ("real_models", {"real_matrix": "W_QQ"}, "real_matrix", "W_QQ", "W_QK"),
    ("quiz", {"quiz_count": "2", "quiz_number": "9"}, "quiz_number", "9", 2),
    ("quiz", {"quiz_count": "2", "quiz_answers": "0044"}, "quiz_answers", "0044", "00"),
    ("claims", {"claims_verdict": "maybe"}, "claims_verdict", "maybe", "all"),
    ("language_model", {"lm_back": "200"}, "lm_back", "200", 8),  # the page's own text: 9 words
    ("compression", {"quality_task": "back", "quality_load": "16"}, "quality_load", "16", 4),
    ("notation", {"notation_of": "none"}, "notation_of", "none", "auto"),
    ("trained_heads", {"th_text": "none"}, "th_text", "none", "recall"),
]

GARBAGE = {
    "huge": "9" * 5000,
    "word": "x" * 5000,
    "nan": "NaN",
    "infinite": "-inf",
    "minus zero": "-0",
    "exponent": "1e9",
    "full-width": "\uff11\uff12",
    "half": "\u00bd",
    "markup": "<script>alert(1)</script>",
    "percent": "%zz%00%",
    "replaced": "\ufffd\ufffd",
    "control": "\x00\x1b[2J",
    "braces": "{0}{name}",
    "empty": "",
}


def line(at: AppTest) -> str:
    """Return the one line about a link."""
    assert len(at.warning) == 1
    return html.unescape(at.warning[0].value)


@pytest.mark.parametrize(
    ("page", "link", "name", "given", "used"),
    CONTRADICTIONS,
    ids=[f"{page}-{name}-{given}" for page, _, name, given, _ in CONTRADICTIONS],
)
def test_a_contradiction_opens_with_the_nearest_state_and_says_so(
    opened, page, link, name, given, used
):
    at = opened(PAGES[page].file, **link)
    assert says(line(at), "common.changed_setting", name=name, given=given, used=used)
    assert at.session_state["settings"][name] == used
    assert not at.error
    at.run()
    assert not at.warning, "it is said once"


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        (page, kind)
        for place, page in enumerate(PAGES)
        for number, kind in enumerate(GARBAGE)
        if ALL or (place + number) % 2 == 0
    ],
)
def test_garbage_in_every_setting_is_one_line(opened, page, kind):
    """Parsers are shared: a page meets every other kind of garbage, the next one the others."""
    text = GARBAGE[kind]
    names = {*PAGES[page].settings, *SHARED} - {"lang", "lecture"}
    at = opened(PAGES[page].file, **dict.fromkeys(names, text), bogus=text, lang="en")
    assert says(line(at), "common.unknown_setting", name="bogus")
    assert "<script>" not in at.warning[0].value
    assert at.title


@pytest.mark.parametrize(
    ("page", "name", "text", "used"),
    [
        ("planner", "plan_kv", "Q8_0", "q8_0"),
        ("planner", "plan_weights", "FP8", "fp8"),
        ("planner", "plan_context", "128K", 131_072),
        ("kv_cache", "kv_type", "fp8_e4m3", "fp8"),
        ("kv_cache", "kv_type", "q4_0", "q4_0"),
        ("kv_cache", "kv_context", "65,536", 65_536),
        ("after_mla", "am_kv", "bfloat16", "bf16"),
        ("after_mla", "am_context", "1m", 1_048_576),
        ("kv_cache", "kv_log", "True", True),
        ("quiz", "quiz_choice", "None", None),
    ],
)
def test_a_link_has_values_as_people_and_programs_write_them(opened, page, name, text, used):
    at = opened(PAGES[page].file, **{name: text})
    assert at.session_state["settings"][name] == used
    assert not at.warning
    assert not at.error


def test_a_setting_that_ends_without_a_value_is_still_one(opened):
    at = opened("pages/quiz.py", quiz_choice="4")  # the first question has four choices
    assert says(
        line(at), "common.changed_setting", name="quiz_choice", given="4", used="the page's own"
    )


def test_what_no_link_asked_for_is_mended_in_silence(opened):
    at = opened("pages/compression.py", preset="small", cmp_heads="1")  # the default rank is 128
    assert at.session_state["settings"]["cmp_rank"] == 32
    assert not at.warning
