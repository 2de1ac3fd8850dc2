"""Symbols in prose: everywhere in their colour, with their meaning as tooltip."""

import html
import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import SYMBOLS
from ui.frame.rooms import PAGES
from ui.words.text import catalogue

Opened = Callable[..., AppTest]
TWINS = "|".join(sorted((code for code in SYMBOLS if "_" in code), key=len, reverse=True))
BARE = re.compile(rf"(?<![\w^])({TWINS})(?!\w)", re.ASCII)
APART = re.compile(r"\$[^$]*\$|`[^`]*`|<[^>]*>")  # formulas, code, the tags themselves

VIEWS = [
    *((page, {}) for page in PAGES if page != "notation"),  # the glossary itself
    ("absorption", {"ab_side": "output", "preset": "deepseek-v3"}),
    ("compression", {"cmp_weights": "spectrum", "preset": "deepseek-v3"}),
    *(("kv_cache", {"kv_view": view}) for view in ("memory", "layouts", "parallel", "formula")),
    *(("compare", {"vs_view": view}) for view in ("costs", "maps")),
    *(("rope", {"rope_topic": topic}) for topic in ("merged", "pairing", "scale", "yarn")),
    ("quiz", {"quiz_seed": "1", "quiz_count": "31", "quiz_answers": "0" * 31, "quiz_number": "7"}),
]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("page", "link"), VIEWS, ids=["-".join([page, *link.values()]) for page, link in VIEWS]
)
def test_no_symbol_stands_bare_in_prose(opened: Opened, page: str, link: dict, lang: str) -> None:
    at = opened(PAGES[page].file, lang=lang, **link)
    for written in (*at.markdown, *at.caption, *at.get("html")):
        text = getattr(written, "value", None) or written.proto.body
        assert not BARE.findall(APART.sub("", html.unescape(text))), text
        if "<span" in text and written.type != "html":
            assert written.allow_html, text
    for plain in (*at.title, *at.metric):
        assert "<span" not in str(plain.proto)


@pytest.mark.parametrize(
    ("page", "codes"),
    [
        ("overview", ("c_KV", "k_R", "k_C", "v_C", "q_C")),
        ("absorption", ("c_KV", "k_C", "q_C", "W_UK", "W_DKV", "h")),
        ("compression", ("k_R", "h", "c_Q")),
        ("kv_cache", ("c_KV", "k_R")),
        ("decode", ("c_KV", "k_R")),
        ("compute", ("c_KV",)),
        ("claims", ("c_KV", "k_R", "W_UK", "q_C")),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_symbols_tooltip_is_its_meaning(
    opened: Opened, page: str, codes: tuple[str, ...], lang: str
) -> None:
    at = opened(PAGES[page].file, lang=lang)
    texts = [getattr(w, "value", None) or w.proto.body for w in (*at.markdown, *at.get("html"))]
    for code in codes:
        name, _, suffix = code.partition("_")
        letters = f"{name}<sup>{suffix}</sup>" if suffix else name
        meaning = html.escape(catalogue()[f"symbols.{code}"][lang])
        marks = f'title="{meaning}" data-tensor="{code}"'
        span = f'<span class="tensor {SYMBOLS[code].role}" {marks}>{letters}</span>'
        assert any(span in text for text in texts), code
