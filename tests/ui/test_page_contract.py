"""Check every page in each of its views, which is opened once in each language.

Titles are short, symbols and terms are explained, both languages say the same numbers, charts are
valid and built once, files can be read, and lecture mode has its controls in the bar.
"""

import ast
import html
import io
import json
import math
import re
from dataclasses import dataclass
from typing import Any
from zipfile import ZipFile

import pandas as pd
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import SYMBOLS
from tests.ui.conftest import noted_downloads, open_page
from tests.ui.looks import variants_that_look_so
from tests.ui.screen import charts, csv, lead, numbers, texts
from ui.frame.pages import PAGES
from ui.parts import prose
from ui.settings.page import SETTINGS
from ui.settings.shared import LANGUAGES
from ui.words import glossary
from ui.words.text import catalogue

MARK = prose.weights_mark  # before conftest takes it away
SEED = {"seed": "7"}  # weights drawn at random
SMALL = {"preset": "small"}
VIEWS = [
    *((page, {}) for page in PAGES),
    ("absorption", SEED | SMALL),
    ("absorption", {"ab_side": "output"} | SMALL),
    ("attention_maps", SEED),
    ("attention_maps", SMALL | {"variant": "csa"}),
    ("attention_maps", SMALL | {"variant": "kda"}),
    ("attention_maps", SMALL | {"variant": "gqa", "map_query": "7", "map_key": "2"}),
    ("compression", SEED),
    ("compression", {"cmp_weights": "spectrum"} | SMALL),
    ("compare", {"vs_view": "costs"}),
    ("compare", {"vs_view": "maps"} | SEED),
    ("compare", {"vs_view": "flow"} | SMALL),
    ("compare", {"vs_left": "deepseek-v3", "vs_left_as": "csa"}),
    ("compute", {"cost_phase": "prefill"}),
    ("compute", {"preset": "deepseek-v3.2-exp"}),
    ("compute", {"cost_scope": "layer"}),
    ("decode", SMALL),
    ("decode", SMALL | {"variant": "block_dsa"}),
    *(("kv_cache", {"kv_view": view}) for view in ("memory", "layouts", "parallel", "formula")),
    ("kv_cache", {"kv_left": "deepseek-v4-flash", "kv_right": "kimi-k3"}),
    ("kv_cache", {"kv_left": "llama-3-8b", "kv_groups": "2"}),
    *(("overview", {"variant": variant}) for variant in ("mla_absorbed", "csa", "kda")),
    ("rope", SEED),
    *(("rope", {"rope_topic": topic} | SEED) for topic in ("merged", "pairing")),
    *(("rope", {"rope_topic": topic}) for topic in ("scale", "yarn")),
    ("quiz", {"quiz_seed": "1", "quiz_count": "31", "quiz_answers": "0" * 31, "quiz_number": "7"}),
    ("worked_example", {"we_variant": "mha"}),
]
PICTURES = {  # page and what is seen there -> pictures of weights drawn at random
    "attention_maps": 4,  # all heads, one head, the parts, any tensor
    "absorption": 4,  # merged, both outputs, one matrix for all heads, keys past the norm
    "compression": 1,
    "compare-maps": 2,
    "rope": 2,
    "rope-merged": 2,
    "rope-pairing": 2,
}
# Views whose statement repeats the figures of the number beside it.
REPEATS = {
    *("kv_cache", "kv_cache-memory", "kv_cache-parallel", "rope", "rope-merged", "rope-pairing"),
    *("rope-scale", "compute", "compute-prefill", "worked_example", "worked_example-mha"),
    *("claims", "notation"),
}
SHOW_VARIANTS = {"kv_cache": 4, "kv_cache-parallel": 4, "compute": 5, "absorption-small": 2}
OWN_NAMES = {
    "compression",
    "compression-spectrum",
    "planner",
    "kv_cache-deepseek-v4-flash-kimi-k3",
}  # for variants, in charts
EXPLAINED = {  # symbols with their meaning as tooltip
    "overview": ("c_KV", "k_R", "k_C", "v_C", "q_C"),
    "absorption": ("c_KV", "k_C", "q_C", "W_UK", "W_DKV", "h"),
    "compression": ("k_R", "h", "c_Q"),
    "kv_cache": ("c_KV", "k_R"),
    "decode": ("c_KV", "k_R"),
    "compute": ("c_KV",),
    "claims": ("c_KV", "k_R", "W_UK", "q_C"),
}
NO_TERM_FIRST = {"rope", "real_models", "claims", "quiz"}  # begin with words that all know
NEW_TO_ALL = {"mla", "token", "head", "latent", "cache"}
MOST_WORDS, MOST_CHARACTERS = 10, 20  # of a title in English; in Chinese
LONGER = {"attention_maps-csa": 12}
TWINS = "|".join(sorted((code for code in SYMBOLS if "_" in code), key=len, reverse=True))
BARE = re.compile(rf"(?<![\w^])({TWINS})(?!\w)", re.ASCII)
APART = re.compile(r"\$[^$]*\$|`[^`]*`|<[^>]*>")  # formulas, code, the tags themselves
TERM = re.compile(r'<span class="term" tabindex="(?:-?\d)" aria-description="([^"]+)">')
# Numbers that one language writes as words where the other has digits; "one of 32 heads" is the
# English name of a mistake.
SPELT = {"0", "1", "2", "32"}
LARGE = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "万": 1e4, "亿": 1e8, "万亿": 1e12}
COUNT = re.compile(r"(\d(?:[\d,.]*\d)?)\s*(万亿|[kMGT万亿])(?![A-Za-z])")  # a large one
HAN = "[\u3400-\u9fff，。；：？！、（）“”]"
WESTERN = re.compile(rf"{HAN}[,;:]|[,;:] ?{HAN}|\({HAN}|{HAN}\)|\d\s?[kMG]\s?[个次]")
PROSE = re.compile(r"\b(?:the|of|and|is|are|as|its|by|per|that|which) [a-z]+")
WRITTEN_IN_ENGLISH = {"attention_maps", "compression"}  # a text, by a reader or a model
LEAST_TEXTS = 5  # of a page: the two languages differ in at least as many


@dataclass
class Shown:
    """A view, opened in each language, and the files that it hands out there."""

    page: str
    link: dict[str, str]
    at: dict[str, AppTest]
    files: dict[str, dict[str, Any]]

    @property
    def name(self) -> str:
        """Return its page, and the settings that choose the view."""
        seen = [text for name, text in self.link.items() if name not in ("seed", "preset")]
        return "-".join([self.page, *seen])


def sent(at: AppTest) -> list[dict[str, Any]]:
    """Return every chart as the browser gets it."""
    return [chart.spec for chart in charts(at)]


def written(at: AppTest) -> list[str]:
    """Return all sentences with their marks."""
    return [w.value for w in (*at.markdown, *at.caption)] + [w.proto.body for w in at.get("html")]


@pytest.fixture(
    scope="module", params=VIEWS, ids=["-".join([page, *link.values()]) for page, link in VIEWS]
)
def shown(request: pytest.FixtureRequest) -> Shown:
    """Open a view with symbols and terms marked, and the same made-up text in each language."""
    made = Shown(*request.param, {}, {})
    example = dict.fromkeys(LANGUAGES, catalogue()["maps.example"]["en"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.parts.prose.explained", glossary.explained)
        patch.setattr("ui.parts.prose.weights_mark", MARK)
        patch.setitem(catalogue(), "maps.example", example)
        for lang in LANGUAGES:
            with pytest.MonkeyPatch.context() as noting:
                made.files[lang] = noted_downloads(noting)
                made.at[lang] = open_page(PAGES[made.page].file, lang=lang, **made.link)
    return made


def test_no_symbol_stands_bare_in_prose(shown):
    for at in shown.at.values():
        for text in written(at) if shown.page != "notation" else ():  # the glossary itself
            assert not BARE.findall(html.unescape(APART.sub("", text))), text
        for one in (*at.markdown, *at.caption):
            assert "<span" not in one.value or one.allow_html, one.value
        for plain in (*at.title, *at.metric):
            assert "<span" not in str(plain.proto)


def test_a_symbols_tooltip_is_its_meaning(shown):
    for lang, at in shown.at.items():
        for code in EXPLAINED.get(shown.name, ()):
            name, _, suffix = code.partition("_")
            letters = f"{name}<sup>{suffix}</sup>" if suffix else name
            meaning = html.escape(catalogue()[f"symbols.{code}"][lang])
            marks = f'title="{meaning}" data-tensor="{code}"'
            span = f'<span class="tensor {SYMBOLS[code].role}" {marks}>{letters}</span>'
            assert any(span in text for text in written(at)), code


def test_the_first_words_explain_their_terms(shown):
    at = shown.at["en"]
    rows = [b for b in at.main if str(getattr(b.proto, "id", "")).endswith(("-lead", "-look"))]
    first = [one.value for row in rows for one in row.children.values()]
    assert any(map(TERM.search, first)) or shown.page in NO_TERM_FIRST


def test_the_overview_explains_what_nobody_knows(shown):
    for lang, at in shown.at.items():
        means = {html.unescape(found) for text in written(at) for found in TERM.findall(text)}
        asked = NEW_TO_ALL if shown.name == "overview" else ()
        assert {glossary.terms()[name]["means"][lang] for name in asked} <= means


def test_random_weights_are_called_so_beside_their_pictures(shown):
    says = {"en": ("random weights", "seed 7"), "zh": ("随机权重", "种子 7")}
    pictures = PICTURES[shown.name] if "seed" in shown.link else 0
    for lang, at in shown.at.items():
        words, seed = says[lang]
        found = [re.findall(rf'drawn"[^>]*{seed}[^>]*>{words}', text) for text in written(at)]
        assert sum(map(len, found)) == pictures


def test_a_title_is_short_and_holds_no_number(shown):
    (english,), (chinese,) = (shown.at[lang].title for lang in ("en", "zh"))
    assert not re.search(r"\d|[{}]", english.value + chinese.value)
    assert len(english.value.split()) <= LONGER.get(shown.name, MOST_WORDS)
    assert len(re.sub(r"[A-Za-z]+", "x", chinese.value)) <= MOST_CHARACTERS


def test_the_statement_tells_what_the_number_is(shown):
    for at in shown.at.values():
        number, statement = map(numbers, lead(at))
        if shown.name in REPEATS:
            assert number
            assert set(number) <= set(statement)


def all_texts(at: AppTest) -> list[str]:
    """Return all texts of the page, also of HTML pictures, scrolled tables and components."""
    tables = [table.value for table in at.dataframe]
    said = [text for table in tables for text in (*table.columns, *map(str, table.to_numpy().flat))]
    drawn = [
        html.unescape(json.dumps(json.loads(one.proto.json), ensure_ascii=False))
        for one in at.get("bidi_component")
        if one.proto.json and one.proto.component_name != "wish"
    ]
    pictures = [one.proto.body.replace("<", " <") for one in at.get("html")]
    return [*texts(at), *pictures, *said, *drawn]


def alone(text: str, other: str) -> dict[float, bool]:
    """Return what a text alone has of numbers: value -> whether a word for a large one follows.

    The languages group digits in their own ways: "395 k" is "39.5 万", and "1.54 k" is "1,536".
    """
    words = dict(COUNT.findall(re.sub(r"<[^>]*>", "", text)))
    left = (number for number in numbers(text) - numbers(other) if number not in SPELT)
    return {float(n.replace(",", "")) * LARGE.get(words.get(n), 1): n in words for n in left}


def are_paired(some: dict[float, bool], others: dict[float, bool]) -> bool:
    """Tell whether each of some large counts is among the others, to the digits that are shown."""
    return all(
        any(
            (large or its) and math.isclose(one, value, rel_tol=5e-3)
            for value, its in others.items()
        )
        for one, large in some.items()
    )


def test_both_languages_say_the_same_numbers(shown):
    pairs = list(zip(*(all_texts(shown.at[lang]) for lang in ("en", "zh")), strict=True))
    for english, chinese in pairs:
        ours, theirs = alone(english, chinese), alone(chinese, english)
        assert are_paired(ours, theirs), (english, chinese)
        assert are_paired(theirs, ours), (english, chinese)
    assert sum(english != chinese for english, chinese in pairs) >= LEAST_TEXTS


def test_chinese_has_its_own_marks_and_large_numbers_and_no_english_prose(shown):
    at = shown.at["zh"]
    for text in all_texts(at):
        text = html.unescape(APART.sub("", text))
        assert not WESTERN.findall(text), text
    cells = [str(cell) for table in at.dataframe for cell in table.value.to_numpy().flat]
    for text in () if shown.page in WRITTEN_IN_ENGLISH else (*texts(at), *cells):
        assert not PROSE.findall(APART.sub("", text)), text


def read(name: str, content: bytes) -> int:
    """Read a file by its name's ending, and return how much it holds."""
    match name.rpartition(".")[2]:
        case "csv":
            return csv(content).size
        case "xlsx":
            return pd.read_excel(io.BytesIO(content)).size
        case "py":
            return len(ast.parse(content).body)
        case "ipynb":
            return len(json.loads(content)["cells"])
        case "zip":
            archive = ZipFile(io.BytesIO(content))
            return min(read(one, archive.read(one)) for one in archive.namelist())
    return len(content)


def test_every_file_can_be_read_and_is_not_empty(shown):
    for name, data in shown.files["en"].items():
        content = data() if callable(data) else data
        assert read(name, content.encode() if isinstance(content, str) else content), name


def test_plotly_finds_every_chart_valid_and_would_send_the_same(shown):
    for at in shown.at.values():
        for spec in sent(at):
            assert json.loads(go.Figure(spec).to_json()) == spec


def test_variants_alone_have_their_looks(shown):
    if shown.name not in OWN_NAMES:
        found = variants_that_look_so(shown.at["en"], ("MLA, absorbed", "MHA"))
        assert found >= SHOW_VARIANTS.get(shown.name, 0)


def test_a_rerun_in_which_nothing_changed_builds_no_figure(shown, built):
    at = shown.at["en"]
    before = sent(at)
    at.run()
    assert sent(at) == before
    assert not built


@pytest.fixture(scope="module", params=PAGES)
def lecture(request: pytest.FixtureRequest) -> tuple[str, AppTest]:
    """Open a page in lecture mode."""
    return request.param, open_page(PAGES[request.param].file, lecture="1")


def controls(at: AppTest) -> list[str]:
    """Return the settings that have a control, in the order of the page."""
    keyed = [node for node in at.main if getattr(node, "key", None) in SETTINGS]
    return [node.key for node in keyed if node.type != "button"]


def test_the_bar_takes_a_pages_controls_and_loses_none(lecture):
    page, at = lecture
    assert not at.error
    assert not at.warning
    assert len(PAGES[page].lecture) >= 2
    assert set(PAGES[page].lecture) <= set(SETTINGS)
    in_bar = [name for name in PAGES[page].lecture if name in controls(at)]
    assert 1 <= len(in_bar) <= 2
    assert controls(at)[: len(in_bar)] == in_bar  # before all others
    plain = set(controls(open_page(PAGES[page].file))) - {"lang", "preset"}
    assert plain <= set(controls(at))


def test_plotly_finds_every_chart_of_a_lecture_valid(lecture):
    for spec in sent(lecture[1]):
        assert json.loads(go.Figure(spec).to_json()) == spec
