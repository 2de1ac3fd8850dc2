"""The quiz by link and by hand: predict, reveal, score, go on; every kind in both languages."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, claims
from mla_engine import quiz as engine
from ui.frame.rooms import PAGES
from ui.pages.quiz import words as quiz_words
from ui.settings.rooms import SETTINGS

PAGE = "pages/quiz.py"
KINDS = len(engine.KINDS)


def html(at: AppTest, part: str) -> str:
    return next(h.body for h in at.get("html") if f'class="{part}"' in h.body)


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text)).strip()


def button(at: AppTest, label: str):
    return next(b for b in at.button if b.label.startswith(label))


def place_of(kind: str, seed: int = 1) -> str:
    return str(engine.order(seed).index(kind) + 1)


def test_predict_then_reveal(opened):
    at = opened(PAGE, quiz_seed="1", quiz_count="31", quiz_number=place_of("ratio"))
    config = PRESETS[engine.question(1, "ratio").preset].config
    mha = config.n_heads * (config.d_head + config.d_value)
    ratio = mha / (config.d_latent_kv + config.d_rope)
    assert at.title[0].value == f"Question {place_of('ratio')} of 31: what do you predict?"
    assert button(at, "Reveal").disabled
    assert not any('class="quiz-choices"' in h.body for h in at.get("html"))

    options = at.radio[0].options
    wrong = next(n for n, text in enumerate(options) if f"{ratio:.1f}×" not in text)
    at.radio[0].set_value(wrong).run()
    assert at.query_params["quiz_choice"] == str(wrong)
    button(at, "Reveal").click().run()
    told = words(html(at, "quiz-choices"))
    assert "Not so: it is" in told
    assert f"= {ratio:.1f}×" in told
    assert "0 of 1 predicted right" in at.title[0].value
    assert at.query_params["quiz_answers"] == "-" * (int(place_of("ratio")) - 1) + str(wrong)
    assert "quiz_choice" not in at.query_params
    assert not at.radio


@pytest.mark.parametrize("kind", ["ratio", "equivalent"])
def test_the_printed_formula_gives_the_printed_answer(kind):
    asked = [engine.question(seed, kind) for seed in range(20)]
    configs = [PRESETS[question.preset].config for question in asked]
    assert any(config.d_value != config.d_head for config in configs)
    for question in asked:
        told = words(quiz_words.revealed(question, 0))
        formula, printed = re.search(r"([\d(][\d×+/() ]+) = ([\d.]+)", told).groups()
        factors = re.sub(r"[^\d+*/() ]", "", formula.replace("×", "*"))
        assert eval(factors) == pytest.approx(float(printed), rel=6e-3)


def test_the_score_counts_what_is_right(opened):
    right = [str(engine.question(7, kind).answer) for kind in engine.order(7)[:3]]
    wrong = "1" if right[1] == "0" else "0"
    answers = right[0] + wrong + right[2]
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers=answers, quiz_number="3")
    assert at.title[0].value == "Question 3 of 3: 2 of 3 predicted right so far"
    assert re.sub(r"\s", "", words(html(at, "quiz-board"))) == "✓1✗2✓3"
    assert button(at, "Next").disabled
    button(at, "Start again").click().run()
    assert at.title[0].value == "Question 1 of 3: what do you predict?"
    assert "quiz_answers" not in at.query_params
    assert at.query_params["quiz_seed"] == "7"


def test_a_link_for_the_class_has_the_set_but_no_answers(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers="01", quiz_choice="1")
    link = at.session_state.settings
    assert link["quiz_answers"] == "01"
    assert {"quiz_answers", "quiz_choice"} == {
        n for n, setting in PAGES["quiz"].settings.items() if setting.personal
    }
    copied = next(c for c in at.get("bidi_component") if "quiz_seed" in str(c.proto))
    assert "quiz_seed=7" in str(copied.proto)
    assert "quiz_answers" not in str(copied.proto)


def test_another_set_begins_anew(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers="01", quiz_number="2")
    at.number_input[0].set_value(8).run()
    assert at.query_params == {"quiz_seed": "8", "quiz_count": "3"}
    assert words(html(at, "quiz-asks"))


def answered_statement(opened):
    """The page on an answered question about a statement, and the statement's id."""
    number = int(place_of("statement", 2))
    answers = "-" * (number - 1) + "0"
    link = {"quiz_seed": "2", "quiz_count": "31", "quiz_number": str(number)}
    at = opened(PAGE, **link, quiz_answers=answers)
    return at, engine.question(2, "statement").fact("claim")


def test_the_way_to_the_page_that_shows_it(opened):
    at, claim = answered_statement(opened)
    button(at, "See it: Claims").click().run()
    assert not at.exception
    assert at.query_params == {"claims_text": claim}
    assert claim in html(at, "claim")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_kind_is_asked_and_explained(opened, lang):
    answers = "".join(str(engine.question(3, kind).answer) for kind in engine.order(3))
    at = opened(PAGE, lang=lang, quiz_seed="3", quiz_count=str(KINDS), quiz_answers=answers)
    title = at.title[0].value
    assert f"{KINDS} of {KINDS} predicted right" in title or f"预测对 {KINDS} 题" in title
    for number, kind in enumerate(engine.order(3), start=1):
        asked, told = words(html(at, "quiz-asks")), words(html(at, "quiz-choices"))
        assert "{" not in asked + told
        assert ("Right:" if lang == "en" else "正确：") in told
        question = engine.question(3, kind)
        for figure in question.facts:
            if figure.name in ("model", "context", "gpus"):
                assert quiz_words.amount(figure.value, figure.unit) in asked
        assert len(at.get("plotly_chart")) == len(question.maps) + bool(quiz_words.bars(question))
        if number < KINDS:
            next(b for b in at.button if b.label in ("Next", "下一题")).click().run()
            assert not at.exception


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", engine.KINDS)
def test_every_place_is_a_page_with_settings_it_has(kind, seed):
    name, values = quiz_words.place(engine.question(seed, kind))
    assert name in PAGES
    for setting, value in values.items():
        text = str(int(value)) if isinstance(value, bool) else str(value)
        assert SETTINGS[setting].parse(text) == value


def test_a_statement_is_explained_by_its_own_figures(opened):
    at, claim = answered_statement(opened)
    statement = words(claims.CLAIMS[claim].statement)[:12]
    assert statement in words(html(at, "quiz-asks"))


def test_links_beyond_the_set_come_to_the_nearest(opened):
    at = opened(PAGE, quiz_count="99", quiz_number="40", quiz_answers="x", quiz_seed="-4")
    assert at.title[0].value.startswith("Question 31 of 31")
    noted = at.warning[0].value.replace("&#95;", "_")
    assert all(name in noted for name in ("quiz_count", "quiz_number", "quiz_answers", "quiz_seed"))
    small = opened(PAGE, quiz_count="2", quiz_number="9", quiz_answers="4444", quiz_choice="4")
    assert small.title[0].value.startswith("Question 2 of 2")
    assert dict(small.query_params) == {"quiz_count": "2", "quiz_number": "2"}
