"""The claims page: verdicts and figures against plain arithmetic, filters, links, languages."""

import re
from string import Formatter

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import claims as engine
from ui.frame.rooms import PAGES
from ui.parts import claim_words as claims_words
from ui.parts import places as claims_links
from ui.settings.rooms import SETTINGS
from ui.words.text import catalogue, tensor

PAGE = "pages/claims.py"


def cards(at: AppTest) -> list[str]:
    return [html.body for html in at.get("html") if 'class="claim"' in html.body]


def words(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


def control(at: AppTest, name: str, language: str = "en"):
    widgets = [*at.button_group, *at.selectbox, *at.text_input]
    return next(w for w in widgets if w.key == f"{name}:{language}")


def test_a_link_shows_the_statements_that_fit_it(opened):
    at = opened(PAGE, claims_verdict="fails", claims_source="C")
    assert [re.search(r"<small>(.*?)</small>", card)[1] for card in cards(at)] == [
        "C9", "C10", "C11", "C12", "C13",
    ]  # fmt: skip
    assert all("✗ fails" in words(card) for card in cards(at))
    board = next(h.body for h in at.get("html") if 'class="claims-board"' in h.body)
    assert re.findall('<li class=.(.*?)[" ]', board) == ["fails"] * 5
    assert "Of 46 statements about MLA, 22 hold, 10 fail and 14" in at.title[0].value
    counted = words(cards(at)[0])
    mha, plain = 4 * 7168 * 128 * 128 / 1e6, 7168 * 512 + 2 * 128 * 128 * 512 + 128 * 128 * 7168
    assert f"MHA {mha:.1f} M (stated {mha:.1f} M)" in counted
    assert f"(stated {plain / 1e6:.1f} M)" in counted
    assert at.caption[0].value == "5 of 46 statements shown."


def test_choosing_a_verdict_filters_and_goes_into_the_link(opened):
    at = opened(PAGE)
    assert len(cards(at)) == 46
    control(at, "claims_verdict").set_value("depends").run()
    assert [card for card in cards(at) if "◐" not in card] == []
    assert len(cards(at)) == 3
    assert at.query_params["claims_verdict"] == "depends"


@pytest.mark.parametrize(
    ("sought", "found"),
    [("c13", ["C13"]), ("W_UQ^T", ["P4"]), ("241.8", ["T5"]), ("no such word", [])],
)
def test_search_goes_over_statements_and_figures(opened, sought, found):
    at = opened(PAGE, claims_text=sought)
    assert [re.search(r"<small>(.*?)</small>", card)[1] for card in cards(at)] == found
    assert bool(at.info) is not bool(found)


def test_chinese_has_the_same_figures(opened):
    at = opened(PAGE, lang="zh", claims_text="C1")
    card = words(cards(at)[0])
    assert "≈ 不精确" in card
    assert f"{2 * 128 * 128 / 512:.1f} 倍" in card
    assert f"{2 * 128 * 128 / 576:.1f} 倍" in card
    assert at.button[0].label == "查看：KV 缓存"


def test_a_button_opens_the_page_that_shows_it(opened):
    at = opened(PAGE, claims_text="C10")
    assert at.button[0].label == "See it: Worked example"
    at.button[0].click().run()
    assert not at.exception
    assert at.query_params == {"we_step": "4"}  # c_KV, c_Q, k_R before and after its rotation
    assert at.subheader[0].value.startswith("4 of 22")


def test_a_check_that_cannot_run_says_so_and_leaves_the_rest(opened, monkeypatch):
    check = engine.check

    def refuse_one(claim: str) -> engine.Verdict:
        if claim == "N2":
            raise ValueError("needs 3 GiB, the budget is 1 GiB")
        return check(claim)

    monkeypatch.setattr(engine, "check", refuse_one)
    from ui.parts import findings as claims

    claims.checked.clear()
    at = opened(PAGE)
    assert len(cards(at)) == 46
    assert "! not checked N2" in words(cards(at)[1])
    assert "This check could not run: needs 3 GiB" in words(cards(at)[1])
    claims.checked.clear()


@pytest.mark.parametrize("claim", engine.CLAIMS)
def test_every_translation_has_the_same_fields_in_the_same_form(claim):
    entry = catalogue()[f"claims.{claim}_sentence"]
    fields = [
        {(name, spec) for _, name, spec, _ in Formatter().parse(text) if name}
        for text in entry.values()
    ]
    assert fields[0] == fields[1]
    assert re.search("[\u3400-\u9fff]", catalogue()[f"claims.{claim}_statement"]["zh"])


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("N4", ["69.8 GFLOP", "值则仍"]),
        ("T5", ["核心", "FlashMLA", "拐点 258", "整步"]),
        ("P7", ["W_QK 共有 100.7 M", "3.0 倍"]),
        ("C8", ["k_R", "加 64 个", "加 8,192 个"]),
    ],
)
def test_chinese_says_what_the_figures_are_of(claim, said):
    figures = {figure.name: figure.value for figure in engine.check(claim).evidence}
    sentence = catalogue()[f"claims.{claim}_sentence"]["zh"].format(**figures)
    assert all(part in sentence for part in said), sentence


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_of_projection_costs_those_lack_the_width_that_grow_with_it(lang):
    sentence = catalogue()["claims.C3_sentence"][lang]
    terms = {"growth": "O(d_h n_h)", "latent_growth": "O(d_c)", "rebuilt_growth": "O(d_h n_h d_c)"}
    found = engine.check("C3")
    growing = {term for name, term in terms.items() if found.value(name) == 2}
    assert {term for term in terms.values() if term in sentence} == growing


@pytest.mark.parametrize("claim", engine.CLAIMS)
def test_every_place_is_one_that_its_page_can_show(claim):
    for name, values in claims_links.PLACES[claim]:
        if name in PAGES:
            for setting, value in values.items():
                text = str(int(value)) if isinstance(value, bool) else str(value)
                assert SETTINGS[setting].parse(text) == value


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("R_(t-i) and d_h^R", "R<sub>t-i</sub> and d<sub>h</sub><sup>R</sup>"),
        ("d_c' x d_c, B^-1", "d<sub>c</sub>' × d<sub>c</sub>, B<sup>-1</sup>"),
        ("off by 4e-16 or 0e+00", "off by 4×10<sup>−16</sup> or 0"),
        ("W_UQ^T a < b", f"({tensor('W_UQ')})<sup>T</sup> a &lt; b"),
        ("c_KV。", f"{tensor('c_KV')}。"),
    ],
)
def test_notation_is_set(text, html):
    assert claims_words.typeset(text) == html
