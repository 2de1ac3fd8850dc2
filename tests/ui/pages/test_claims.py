"""The claims page: every card, chip, choice and file against the engine's own checks."""

import html
import re
from collections import Counter
from string import Formatter

import pytest
from streamlit.testing.v1 import AppTest

from kvcount.refusals import RefusedError
from mla_engine import budget
from mla_engine import claims as engine
from mla_engine.budget import MemoryBudgetError
from tests.ui.controls import control, pressed
from tests.ui.screen import counted, csv, says, statement
from ui.parts import statements
from ui.parts.statements import typeset
from ui.words.text import catalogue, tensor

PAGE = "pages/claims.py"
FOUND = {claim: engine.check(claim) for claim in engine.CLAIMS}
MARKS = {
    "holds": "✓", "fails": "✗", "imprecise": "≈", "depends": "◐", "not decidable": "?",
}  # fmt: skip
CHINESE = {
    "holds": "成立", "fails": "不成立", "imprecise": "不精确",
    "depends": "视条件而定", "not decidable": "无法判定",
}  # fmt: skip
LABELS = {
    "en": ("Computed", "How it is checked", "Source"),
    "zh": ("计算结果", "核对方法", "来源"),
}
FORMS = {"million": ".1f"}  # English has these with an M behind
SEPARATORS = str.maketrans({"、": ", ", "：": ": "})


def bodies(at: AppTest, part: str) -> list[str]:
    return [element.body for element in at.get("html") if f'class="{part}"' in element.body]


def ids(at: AppTest) -> list[str]:
    return [re.search(r"<small>(.*?)</small>", card)[1] for card in bodies(at, "claim")]


def bare(text: str) -> str:
    """Return the text without tags and without the signs for raised and lowered parts."""
    text = html.unescape(re.sub(r"<[^>]+>", "", text))
    text = re.sub(r"\b0e\+00\b", "0", text).replace("−", "-")
    text = re.sub(r"(\d)e\+?(-?)0*(\d+)", r"\1×10\2\3", text)
    return re.sub(r"[\s_^()]|(?<=\d),(?=\d{3})", "", text.replace(" x d", "×d"))


def said(claim: str, part: str, lang: str) -> str:
    """Return the catalogue's text; a statement's English is the engine's own."""
    if (part, lang) == ("statement", "en"):
        return engine.CLAIMS[claim].statement
    return catalogue()[f"statements.{claim}_{part}"][lang]


def evidence(claim: str, lang: str) -> str:
    """Return what was found, in English by the engine's own sentence."""
    if lang == "en":
        return engine.CLAIMS[claim].explain(FOUND[claim])
    return said(claim, "sentence", lang).format(**counted(FOUND[claim]))


def word(verdict: str, lang: str) -> str:
    return verdict if lang == "en" else CHINESE[verdict]


def paragraph(card: str, kind: str) -> str:
    return re.search(rf'<p class="{kind}">(.*?)</p>', card)[1]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_card_says_what_the_engine_found(seen, lang):
    at = seen(PAGE, lang=lang).at
    cards = bodies(at, "claim")
    assert ids(at) == list(engine.CLAIMS)
    for claim, card in zip(engine.CLAIMS, cards, strict=True):
        verdict = FOUND[claim].verdict
        kind = verdict.replace(" ", "_")
        mark = f'<p class="verdict {kind}"><b>{MARKS[verdict]}</b> {word(verdict, lang)} '
        assert f"{mark}<small>{claim}</small></p>" in card
        assert bare(paragraph(card, "statement")) == bare(said(claim, "statement", lang))
        computed, method, source = LABELS[lang]
        found = bare(paragraph(card, "evidence").translate(SEPARATORS))
        assert found == bare(f"{computed}{evidence(claim, lang)}".translate(SEPARATORS))
        assert bare(paragraph(card, "method")) == bare(f"{method}{said(claim, 'method', lang)}")
        stated_by = catalogue()[f"statements.source_{claim[0]}"][lang]
        assert paragraph(card, "source") == f"<i>{source}</i> {stated_by}"


def test_computed_values_are_bold_and_nothing_else(seen):
    for claim, card in zip(engine.CLAIMS, bodies(seen(PAGE).at, "claim"), strict=True):
        fields = [
            (name, spec) for _, name, spec, _ in Formatter().parse(engine.CLAIMS[claim].sentence)
            if name
        ]  # fmt: skip
        shown = re.findall(r"<b>(.*?)</b>", paragraph(card, "evidence"))
        values = [format(FOUND[claim].value(name), spec) for name, spec in fields]
        assert [bare(text) for text in shown] == [bare(value) for value in values], claim


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_board_has_a_chip_for_every_statement_by_source(seen, lang):
    board = bodies(seen(PAGE, lang=lang).at, "claims-board")[0]
    rows = re.findall(r"<p>(.*?)</p><ul>(.*?)</ul>", board)
    letters = list(dict.fromkeys(claim[0] for claim in engine.CLAIMS))
    assert [name for name, _ in rows] == [
        catalogue()[f"statements.source_{letter}"][lang] for letter in letters
    ]
    for letter, (_, chips) in zip(letters, rows, strict=True):
        of_source = [claim for claim in engine.CLAIMS if claim[0] == letter]
        expected = [
            (
                FOUND[claim].verdict.replace(" ", "_"),
                said(claim, "statement", lang),
                word(FOUND[claim].verdict, lang),
                MARKS[FOUND[claim].verdict],
                claim,
            )
            for claim in of_source
        ]
        chip = (
            r'<li class="(.*?)" title="(.*?)"><a href="#claim_\w+">'
            r'<b aria-label="(.*?)" role="img">(.)</b> (\w+)</a></li>'
        )
        found = re.findall(chip, chips)
        assert [tuple(map(html.unescape, parts)) for parts in found] == expected


def test_what_a_statement_says_is_no_html_in_its_chip(opened, monkeypatch):
    stated = 'W_Q < 1 & "b">'
    monkeypatch.setitem(catalogue()["statements.N2_statement"], "en", stated)
    board = bodies(opened(PAGE, claims_source="N"), "claims-board")[0]
    of_source = [claim for claim in engine.CLAIMS if claim.startswith("N")]
    titles = re.findall(r'<li class="\w+" title="([^"<>]*)"><a', board)
    assert html.unescape(dict(zip(of_source, titles, strict=True))["N2"]) == stated


def test_title_and_choices_count_the_verdicts(seen):
    n = Counter(verdict.verdict for verdict in FOUND.values())
    others = len(FOUND) - n["holds"] - n["fails"]
    assert min(n["holds"], n["fails"], others) != max(n["holds"], n["fails"], others)
    at = seen(PAGE).at
    assert says(
        statement(at),
        "claims.line",
        all=len(FOUND),
        holds=n["holds"],
        fails=n["fails"],
        others=others,
    )
    assert control(at, "claims_verdict").options == [
        f"All {len(FOUND)}", *(f"{MARKS[v]} {v} {n[v]}" for v in MARKS),
    ]  # fmt: skip
    sources = {claim.id[0]: claim.source for claim in engine.CLAIMS.values()}
    assert control(at, "claims_source").options == [
        "All sources", *(f"{letter}: {name}" for letter, name in sources.items()),
    ]  # fmt: skip


def test_a_link_shows_the_statements_that_fit_it(opened):
    at = opened(PAGE, claims_verdict="fails", claims_source="C")
    fitting = [c for c in engine.CLAIMS if c[0] == "C" and FOUND[c].verdict == "fails"]
    assert ids(at) == fitting == ["C9", "C10", "C11", "C12", "C13"]
    board = bodies(at, "claims-board")[0]
    assert re.findall('<li class="(.*?)"', board) == ["fails"] * 5
    counted = bare(bodies(at, "claim")[0])
    mha, plain = 4 * 7168 * 128 * 128 / 1e6, 7168 * 512 + 2 * 128 * 128 * 512 + 128 * 128 * 7168
    assert f"MHA{mha:.1f}Mstated{mha:.1f}M" in counted
    assert f"stated{plain / 1e6:.1f}M" in counted
    assert at.caption[0].value == f"5 of {len(FOUND)} statements shown."


TUTORIAL = [claim for claim in engine.CLAIMS if claim[0] == "C"]


@pytest.mark.parametrize(
    ("lang", "sought", "found"),
    [
        ("en", " c13 ", ["C13"]),
        ("en", "W_UQ^T", ["P4"]),
        ("en", "241.8", ["T5"]),
        ("zh", "联合压缩教程", TUTORIAL),  # a source
        ("zh", "tutorial ON joint", TUTORIAL),  # in the engine's own English
        ("zh", "16 个头的是", ["T4"]),
        ("zh", "逐项求和", ["S1"]),
        ("zh", "DeepSeek-V2 (236B)：128", ["T4"]),
    ],
)
def test_search_goes_over_all_that_is_said_and_the_engines_own_words(opened, lang, sought, found):
    assert ids(opened(PAGE, lang=lang, claims_text=sought)) == found


def test_a_search_without_a_result_says_so(opened):
    sought = "no such <b>*word*"
    at = opened(PAGE, claims_text=sought)
    assert ids(at) == []
    [info] = at.info
    assert says(info.value, "claims.nothing")
    assert not any(sought in text.value for text in at.markdown)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_file_has_a_row_for_every_figure(opened, downloads, lang):
    opened(PAGE, lang=lang, claims_source="C", claims_verdict="imprecise")
    table = csv(downloads["claims.csv"])
    shown = [c for c in engine.CLAIMS if c[0] == "C" and FOUND[c].verdict == "imprecise"]
    rows = [(claim, figure) for claim in shown for figure in FOUND[claim].evidence]
    assert list(table) == [
        "id", "source", "statement", "verdict", "evidence", "figure", "value", "unit",
    ]  # fmt: skip
    assert list(table["id"]) == [claim for claim, _ in rows]
    assert set(table["source"]) == {catalogue()["statements.source_C"][lang]}
    assert list(table["statement"]) == [said(claim, "statement", lang) for claim, _ in rows]
    assert set(table["verdict"]) == {word("imprecise", lang)}
    explained = [bare(evidence(claim, lang).translate(SEPARATORS)) for claim, _ in rows]
    assert [bare(text.translate(SEPARATORS)) for text in table["evidence"]] == explained
    assert list(table["figure"]) == [figure.name for _, figure in rows]
    assert list(map(float, table["value"])) == [figure.value for _, figure in rows]
    assert list(table["unit"]) == [figure.unit for _, figure in rows]
    assert table["value"].dtype == float


def test_chinese_lists_have_chinese_separators(opened):
    for claim, texts in {
        "T4": ["671B)：128。", "16、DeepSeek-V2 (236B)：128"],
        "S2": ["g = 1：0.167、g = 2：0.333"],
        "N2": ["8、18、18。"],
        "C10": ["(1) must be even, RoPE turns pairs: try 2"],  # the engine's own sentence
    }.items():
        shown = re.sub("<.*?>", "", bodies(opened(PAGE, lang="zh", claims_text=claim), "claim")[0])
        plain = shown.replace("drope", "d_rope")
        assert all(text in plain for text in texts), plain


SEEN = {  # page -> the statements that a button on it shows
    "Overview": "N2 T1 T2 T3 S7 S9 P6 C4 C9",
    "Worked example": "N1 S4 C10 C11 C12 C13 C14 C15",
    "Attention maps": "S1 S3",
    "RoPE": "N3 T7 S6 P3",
    "Absorption": "N5 N6 T9 S5 P4 P5 P7 C2 C6",
    "KV cache": "T4 S2 S8 P1 P2 C1 C7",
    "Decode": "N4",
    "Compute": "T5 C3",
    "What a smaller cache costs": "C5 C8 T8",
}


def test_a_button_beside_each_statement_names_the_page_that_shows_it(seen):
    at = seen(PAGE).at
    labels = {b.key[4:]: b.label for b in at.button if (b.key or "").startswith("see:")}
    expected = {
        claim: f"See it: {page}" for page, claims in SEEN.items() for claim in claims.split()
    }
    assert labels == expected
    assert set(engine.CLAIMS) - set(labels) == {"T6"}


@pytest.mark.parametrize(
    ("claim", "link", "heading"),
    [
        (
            "C10",
            {"we_completed": "0", "we_printed": "1", "we_step": "4"},
            "4 of 22",
        ),  # c_KV, c_Q, k_R before and after its rotation
        ("C14", {"we_printed": "1", "we_step": "13"}, "13 of 18"),  # the softmax
        ("T3", {"preset": "deepseek-v3", "variant": "mla_absorbed"}, ""),
        ("C3", {"preset": "deepseek-v3", "cost_phase": "prefill"}, ""),
        ("S8", {"kv_right": "deepseek-v2"}, ""),
    ],
)
def test_a_button_opens_the_page_that_shows_it(opened, claim, link, heading):
    at = pressed(opened(PAGE, claims_text=claim), f"see:{claim}")
    assert at.query_params.items() >= link.items()
    assert "claims_text" not in at.query_params
    if heading:
        assert at.subheader[0].value.startswith(heading)


def over_budget() -> MemoryBudgetError:
    """Return the refusal of 3 GiB where one is allowed."""
    with pytest.raises(MemoryBudgetError) as refused:
        budget.require(3 * 2**30, "a call", "the tokens")
    return refused.value


REFUSALS = [
    (ValueError("needs <b>3</b> GiB & more"), "en", "needs &lt;b&gt;3&lt;/b&gt; GiB &amp; more"),
    (RefusedError("waiting", most=5), "zh", "已有 5 项计算在排队：请稍后再试"),
    (over_budget(), "en", "This would hold 3.00 GiB in memory"),
]


@pytest.mark.parametrize(("error", "lang", "reason"), REFUSALS)
def test_a_check_that_cannot_run_says_why_and_leaves_the_rest(
    opened, downloads, monkeypatch, error, lang, reason
):
    def refuse_one(claim: str) -> engine.Verdict:
        if claim == "N2":
            raise error
        return FOUND[claim]

    monkeypatch.setattr(engine, "check", refuse_one)
    statements.checked.clear()
    try:
        at = opened(PAGE, lang=lang, claims_source="N")
    finally:
        statements.checked.clear()
    assert ids(at) == [claim for claim in engine.CLAIMS if claim[0] == "N"]
    card = bodies(at, "claim")[1]
    not_checked = {"en": "not checked", "zh": "未核对"}[lang]
    assert f'<p class="verdict failed"><b>!</b> {not_checked} <small>N2</small></p>' in card
    could_not = {"en": "This check could not run: ", "zh": "无法完成核对："}[lang]
    assert f"</i> {could_not}{reason}" in paragraph(card, "evidence")
    assert "N2" not in set(csv(downloads["claims.csv"])["id"])


def test_few_statements_show_their_checks_in_the_code_panel(opened):
    def named(at: AppTest) -> list[str]:
        return [m.value.split("`")[1] for m in at.markdown if " · mla_engine/" in m.value]

    one = named(opened(PAGE, claims_text="P4", code="source"))
    assert one == ["check", "judge", engine.CHECKS["P4"].__qualname__]
    assert named(opened(PAGE, claims_source="N", code="source")) == ["check", "judge"]


def test_the_snippet_prints_what_is_shown(opened):
    few = opened(PAGE, claims_verdict="depends", code="snippet").code[0].value
    shown = tuple(claim for claim in engine.CLAIMS if FOUND[claim].verdict == "depends")
    assert f"for claim in {shown}:".replace("'", '"') in few
    assert "for claim in CLAIMS:" in opened(PAGE, code="snippet").code[0].value


@pytest.mark.parametrize("claim", engine.CLAIMS)
def test_every_translation_has_the_same_fields_in_the_same_form(claim):
    entry = catalogue()[f"statements.{claim}_sentence"]
    fields = [
        {(name, FORMS.get(spec, spec)) for _, name, spec, _ in Formatter().parse(text) if name}
        for text in entry.values()
    ]
    assert fields[0] == fields[1]
    assert re.search("[\u3400-\u9fff]", catalogue()[f"statements.{claim}_statement"]["zh"])


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_of_projection_costs_those_lack_the_width_that_grow_with_it(lang):
    sentence = catalogue()["statements.C3_sentence"][lang]
    terms = {"growth": "O(d_h n_h)", "latent_growth": "O(d_c)", "rebuilt_growth": "O(d_h n_h d_c)"}
    growing = {term for name, term in terms.items() if FOUND["C3"].value(name) == 2}
    assert {term for term in terms.values() if term in sentence} == growing


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("R_(t-i) and d_h^R", "R<sub>t-i</sub> and d<sub>h</sub><sup>R</sup>"),
        ("d_c' x d_c, B^-1", "d<sub>c</sub>' × d<sub>c</sub>, B<sup>-1</sup>"),
        ("off by 4e-16 or 0e+00", "off by 4×10<sup>−16</sup> or 0"),
        ("2e+07", "2×10<sup>7</sup>"),
        ("W_UQ^T a < b", f"({tensor('W_UQ')})<sup>T</sup> a &lt; b"),
        ("c_KV。", f"{tensor('c_KV')}。"),
    ],
)
def test_notation_is_set(text, html):
    assert typeset(text) == html
