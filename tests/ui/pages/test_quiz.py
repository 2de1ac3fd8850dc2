"""The quiz: what is asked, answered, drawn and handed out, against the engine's questions."""

import html
import re

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, claims
from mla_engine import quiz as engine
from mla_engine.figures.looks import look
from tests.ui.screen import charts, csv, says, statement
from tests.ui.wishes import wish
from ui.frame.pages import PAGES
from ui.words.numbers import count, digits, size
from ui.words.text import catalogue

PAGE = "pages/quiz.py"
KINDS = len(engine.KINDS)
WORDS_OF_SIZES = {  # unit -> the axis of the bars, in English and Chinese
    "elements": ("numbers per token and layer", "每词元每层的数值个数"),
    "bytes": ("bytes", "字节"),
    "times": ("times", "倍"),
    "heads": ("KV heads", "KV 头"),
    "tokens": ("tokens", "词元"),
    "FLOP/byte": ("FLOP/byte", "FLOP/字节"),
    "": ("value", "数值"),
    "GFLOP": ("GFLOP per layer", "每层 GFLOP"),
    "TFLOP": ("TFLOP per layer", "每层 TFLOP"),
    "M": ("million weights", "百万权重"),
    "difference": ("relative difference", "相对差"),
}


def part(at: AppTest, name: str) -> str:
    return next(e.body for e in at.get("html") if f'class="{name}"' in e.body)


def bare(text: str) -> str:
    """Return the text without tags and without the signs for raised and lowered parts."""
    text = html.unescape(re.sub(r"<[^>]+>", "", text))
    text = re.sub(r"\b0e\+00\b", "0", text.replace("^T", "T")).replace("−", "-")
    text = re.sub(r"(\d)e\+?(-?)0*(\d+)", r"\1×10\2\3", text)
    return re.sub(r"[\s_()^]", "", text.replace(" x d", "×d"))


def button(at: AppTest, label: str):
    return next(b for b in at.button if b.label.startswith(label))


def seeds_of(kind: str) -> list[int]:
    """The sets that ask this kind as their second question."""
    return [seed for seed in range(300) if engine.order(seed)[1] == kind]


def link_to(kind: str, seed: int, predicted: int | None = None) -> dict[str, str]:
    """The link of a set with its second question shown; with a prediction it is revealed."""
    assert engine.order(seed)[1] == kind
    given = "" if predicted is None else f"-{predicted}"
    return {"quiz_seed": f"{seed}", "quiz_count": "2", "quiz_number": "2", "quiz_answers": given}


def text(key: str, lang: str, **values: object) -> str:
    return catalogue()[f"quiz.{key}"][lang].format(**values)


def said(value: float | int | str, unit: str, lang: str) -> str:
    """An amount or word as a reader of this language is to see it."""
    if unit == "word":
        return text(f"word_{value}", lang)
    if unit == "verdict":
        return catalogue()[f"statements.{value}"][lang]
    if isinstance(value, str):
        return value if lang == "en" else value.replace(", ", "、")
    if unit == "bytes":
        return size(value)
    if unit == "times":
        return catalogue()["common.times"][lang].format(value=digits(value))
    short = count(value) if value == int(value) and abs(value) < 1e10 else digits(value)
    return f"{short} M" if unit == "M" else short


def choices(question: engine.Question, lang: str) -> list[str]:
    if question.unit == "map":
        return list("ABCDE"[: len(question.choices)])
    colon = ": " if lang == "en" else "："
    return [
        f"{letter}{colon}{said(choice.value, question.unit, lang)}"
        for letter, choice in zip("ABCDE", question.choices, strict=False)
    ]


def facts(question: engine.Question, lang: str) -> dict[str, str]:
    values = {figure.name: said(figure.value, figure.unit, lang) for figure in question.facts}
    values["right"] = said(question.choices[question.answer].value, question.unit, lang)
    values["text"] = " ".join(question.tokens)
    values |= {f"map_{c.because}": c.value for c in question.choices if question.unit == "map"}
    if question.kind == "statement":
        verdict = claims.check(values["claim"])
        figures = {figure.name: figure.value for figure in verdict.evidence}
        values["statement"] = catalogue()[f"statements.{values['claim']}_statement"][lang]
        sentence = catalogue()[f"statements.{values['claim']}_sentence"][lang]
        values["evidence"] = sentence.format(**figures)
    return values


def asks(question: engine.Question, lang: str) -> str:
    return text(f"{question.kind}_asks", lang, **facts(question, lang))


def tells(question: engine.Question, lang: str) -> str:
    case = f"_{question.case}" if question.case else ""
    return text(f"{question.kind}_tells{case}", lang, **facts(question, lang))


def behind(question: engine.Question) -> tuple[list[float], str] | None:
    """The amounts behind the choices, by the names that words have among the facts."""
    known = {figure.name: figure for figure in question.facts}
    figures = [known.get(choice.value) for choice in question.choices]
    if question.unit == "word" and all(figures):
        return [figure.value for figure in figures], figures[0].unit
    if isinstance(question.choices[0].value, str):
        return None
    return [choice.value for choice in question.choices], question.unit


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_kind_is_asked_explained_and_drawn(opened, downloads, lang):
    """Every prediction of this set is wrong, by one place."""
    questions = [engine.question(3, kind) for kind in engine.order(3)]
    wrong = [(question.answer + 1) % len(question.choices) for question in questions]
    at = opened(
        PAGE, lang=lang, quiz_seed="3", quiz_count=str(KINDS), quiz_answers="".join(map(str, wrong))
    )
    following = {"en": "Next", "zh": "下一题"}[lang]
    for number, (question, predicted) in enumerate(zip(questions, wrong, strict=True), start=1):
        score = {
            "en": f"Question {number} of {KINDS}: 0 of {KINDS} predicted right so far",
            "zh": f"第 {number} 题，共 {KINDS} 题：已作答 {KINDS} 题，预测对 0 题",
        }
        assert statement(at) == score[lang]
        assert bare(part(at, "quiz-asks")) == bare(asks(question, lang))
        assert_revealed(at, question, predicted, lang)
        if question.maps:
            assert_maps(at, question, lang)
        assert_bars(at, question, lang)
        if number < KINDS:
            button(at, following).click().run()
            assert not at.exception
    assert_table(csv(downloads["quiz.csv"]), questions, wrong, lang)


def assert_revealed(at: AppTest, question: engine.Question, predicted: int, lang: str) -> None:
    shown, texts = part(at, "quiz-choices"), choices(question, lang)
    rows = re.findall(r'<li class="(.*?)"><b>(.?)</b> (.*?) <small>(.*?)</small></li>', shown)
    for place, (kind, mark, choice, notes) in enumerate(rows):
        right, mine = place == question.answer, place == predicted
        assert (kind, mark) == (("right", "✓") if right else ("wrong", "✗") if mine else ("", ""))
        assert bare(choice) == bare(texts[place])
        because = question.choices[place].because
        expected = [text(f"because_{because}", lang)] if because else []
        expected += [text("yours", lang)] * mine + [text("computed", lang)] * right
        assert bare(notes) == bare(" · ".join(expected))
    assert len(rows) == len(texts)
    right = texts[question.answer]
    verdict = {"en": f"Not so: it is {right}.", "zh": f"不对：应为 {right}。"}[lang]
    assert bare(re.search(r'"quiz-verdict">(.*?)</p>', shown)[1]) == bare(verdict)
    separators = str.maketrans({"、": ",", "：": ":"} if question.kind == "statement" else {})
    told = bare(re.search(r'"quiz-tells">(.*?)</p>', shown)[1]).translate(separators)
    assert told.replace(",", "") == bare(tells(question, lang)).translate(separators).replace(
        ",", ""
    )


def assert_maps(at: AppTest, question: engine.Question, lang: str) -> None:
    letters = "ABC"
    assert [title.value for title in at.subheader] == list(letters)
    drawn = charts(at)[: len(question.maps)]
    assert len(drawn) == len(question.maps) == 3
    query, key, head = {"en": ("query", "key", "head"), "zh": ("查询", "键", "头")}[lang]
    n = len(question.tokens)
    for chart, letter, shares in zip(drawn, letters, question.maps, strict=True):
        seen = np.where(shares > 0, shares, np.nan)
        np.testing.assert_allclose(chart.values(0, "z"), seen, rtol=1e-6)
        np.testing.assert_array_equal(np.isnan(chart.values(1, "z")), ~np.isnan(seen))
        hover = f"{query} %{{y}}<br>{key} %{{x}}<br>{head} {letter}<br>"
        assert chart.traces[0]["hovertemplate"] == f"{hover}attention %{{z:.6g}}<extra></extra>"
        axes = [chart.layout[name] for name in ("xaxis2", "yaxis2", "xaxis", "yaxis")]
        words = [axis["ticktext"] for axis in axes if axis.get("ticktext")]
        assert words
        for names in words:  # on the hidden axis with their places
            assert [name.split(" (")[0] for name in names] == list(question.tokens)
        titles = {axis.get("title", {}).get("text") for axis in axes} - {None, ""}
        assert titles == {query, key}
        assert (chart.traces[0]["zmin"], chart.traces[0]["zmax"]) == (0, 1)
        assert (
            chart.alt
            == {
                "en": f"Map {letter}: attention of {n} queries (rows) over {n} keys (columns)",
                "zh": f"图 {letter}：{n} 个查询（行）对 {n} 个键（列）的注意力",
            }[lang]
        )


def assert_bars(at: AppTest, question: engine.Question, lang: str) -> None:
    drawn = charts(at)[len(question.maps) :]
    found = behind(question)
    assert len(drawn) == bool(found), question.kind
    if not found:
        return
    (chart,), (amounts, unit) = drawn, found
    letters = list("ABCDE"[: len(amounts)])
    axis = WORDS_OF_SIZES[unit][lang == "zh"]
    bar, ends = chart.traces
    assert chart.axis("x") == bar["name"] == axis
    assert chart.axis("y") == ""
    np.testing.assert_allclose(chart.values(0, "x") + bar.get("base", 0), amounts)
    assert list(chart.values(0, "customdata")) == letters
    assert chart.layout["yaxis"]["ticktext"] == letters
    assert bar["hovertemplate"] == f"%{{customdata}}<br>{axis}<br>%{{x:,.4g}} {axis}<extra></extra>"
    stressed = [colour == look(0).colour for colour in bar["marker"]["color"]]
    assert stressed == [place == question.answer for place in range(len(amounts))]
    totals = [said(amount, unit, lang) for amount in amounts]
    assert [word.strip() for word in ends["text"]] == totals
    np.testing.assert_allclose(ends["x"], amounts)
    is_log = min(amounts) > 0 and max(amounts) / min(amounts) > 50
    assert chart.layout["xaxis"]["type"] == ("log" if is_log else "linear")
    if is_log:
        low, high = chart.layout["xaxis"]["range"]
        assert low < np.log10(min(amounts)) < np.log10(max(amounts)) < high
    each = {"en": ", ", "zh": "、"}[lang].join(map(" ".join, zip(letters, totals, strict=True)))
    assert (
        chart.alt == {"en": f"The answers as bars: {each}", "zh": f"各答案的条形图：{each}"}[lang]
    )


def assert_table(table, questions, predictions, lang) -> None:
    assert list(table) == ["number", "kind", "question", "choices", "prediction", "answer"]
    assert list(table["number"]) == list(range(1, KINDS + 1))
    assert list(table["kind"]) == [question.kind for question in questions]
    assert list(table["question"]) == [asks(question, lang) for question in questions]
    texts = [choices(question, lang) for question in questions]
    assert list(table["choices"]) == [" | ".join(every) for every in texts]
    for column, places in (("prediction", predictions), ("answer", [q.answer for q in questions])):
        assert list(table[column]) == [t[p] for t, p in zip(texts, places, strict=True)]


def test_the_bars_of_this_set_are_on_both_kinds_of_axis():
    found = [behind(engine.question(3, kind)) for kind in engine.order(3)]
    spreads = [max(a) / min(a) for a, _ in filter(None, found) if min(a) > 0]
    assert min(spreads) < 50 < max(spreads)


def test_what_is_not_revealed_is_in_no_file(opened, downloads):
    kinds = engine.order(7)[:3]
    opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers="-0")
    table = csv(downloads["quiz.csv"])
    questions = [engine.question(7, kind) for kind in kinds]
    right = choices(questions[1], "en")
    assert list(table["prediction"]) == ["", right[0], ""]
    assert list(table["answer"]) == ["", right[questions[1].answer], ""]


def test_the_files_of_a_question_hold_its_numbers(opened, downloads):
    seed = seeds_of("window")[0]
    opened(PAGE, **link_to("window", seed))
    maps = csv(downloads["quiz_maps.csv"])
    question = engine.question(seed, "window")
    cells = [
        (letter, query, key, shares[query, key])
        for letter, shares in zip("ABC", question.maps, strict=True)
        for query, key in np.ndindex(shares.shape)
    ]
    assert list(maps) == ["map", "query", "key", "attention"]
    assert list(zip(maps["map"], maps["query"], maps["key"], strict=True)) == [c[:3] for c in cells]
    np.testing.assert_allclose(maps["attention"], [cell[3] for cell in cells], rtol=1e-6)

    seed = seeds_of("flops_of_a_step")[0]
    opened(PAGE, **link_to("flops_of_a_step", seed, 0))
    amounts = csv(downloads["quiz_amounts.csv"])
    values, unit = behind(engine.question(seed, "flops_of_a_step"))
    assert list(amounts) == ["answer", "amount", "unit"]
    assert list(amounts["answer"]) == list("ABC")
    np.testing.assert_allclose(amounts["amount"], values)
    assert set(amounts["unit"]) == {unit} == {"GFLOP"}


def test_predict_then_reveal(opened):
    seed = seeds_of("ratio")[0]
    at = opened(PAGE, **link_to("ratio", seed))
    question = engine.question(seed, "ratio")
    config = PRESETS[question.preset].config
    mha = config.n_heads * (config.d_head + config.d_value)
    ratio = mha / (config.d_latent_kv + config.d_rope)
    assert says(statement(at), "quiz.line_open", number="2", count="2")
    assert at.radio[0].label == "Your prediction"
    assert at.radio[0].options == choices(question, "en")
    assert not any('class="quiz-choices"' in e.body for e in at.get("html"))
    assert not charts(at)
    assert not any(b.label.startswith("See it") for b in at.button)

    wrong = next(n for n, shown in enumerate(at.radio[0].options) if f"{ratio:.1f}×" not in shown)
    at.radio[0].set_value(wrong).run()
    assert at.query_params["quiz_choice"] == str(wrong)
    button(at, "Reveal").click().run()
    told = bare(part(at, "quiz-choices"))
    assert "Notso:itis" in told
    assert f"={ratio:.1f}×" in told
    assert says(statement(at), "quiz.line", answered="1", right="0")
    assert at.query_params["quiz_answers"] == f"-{wrong}"
    assert "quiz_choice" not in at.query_params
    assert not at.radio


def test_a_reveal_keeps_what_was_predicted_before_and_after(opened):
    shared = {"quiz_seed": "7", "quiz_count": "3", "quiz_number": "2"}
    at = opened(PAGE, quiz_answers="0-1", quiz_choice="1", **shared)
    button(at, "Reveal").click().run()
    assert at.query_params["quiz_answers"] == "011"


def test_a_right_prediction_is_said_to_be_right(opened):
    seed = seeds_of("ratio")[0]
    right = engine.question(seed, "ratio").answer
    at = opened(PAGE, **link_to("ratio", seed, right))
    answer = choices(engine.question(seed, "ratio"), "en")[right]
    assert f'<p class="quiz-verdict">Right: {answer}.</p>' in part(at, "quiz-choices")
    row = re.findall(r"<li class=.*?</li>", part(at, "quiz-choices"))[right]
    assert row.startswith('<li class="right"><b>✓</b>')
    assert "your prediction · computed" in row


def test_names_of_tensors_among_the_choices_are_formulas(opened):
    seed = seeds_of("kept")[0]
    at = opened(PAGE, **link_to("kept", seed))
    listed = [choice.value for choice in engine.question(seed, "kept").choices]
    written = {"c_KV": r"$\mathbf{c}^{KV}$", "k_R": r"$\mathbf{k}^{R}$"}
    place = listed.index("c_KV, k_R")
    said = ", ".join(written.values())
    assert at.radio[0].options[place] == f"{'ABCD'[place]}: {said}"
    zh = opened(PAGE, lang="zh", **link_to("kept", seed))
    assert zh.radio[0].options[place] == f"{'ABCD'[place]}：{said}".replace(", ", "、")


@pytest.mark.parametrize("kind", ["ratio", "equivalent"])
def test_the_printed_formula_gives_the_printed_answer(opened, kind):
    seeds = {engine.question(seed, kind).preset: seed for seed in seeds_of(kind)}
    configs = {preset: PRESETS[preset].config for preset in seeds}
    uneven = [preset for preset, c in configs.items() if c.d_value != c.d_head]
    for preset in (uneven[0], next(iter(set(seeds) - set(uneven)))):
        shown = part(opened(PAGE, **link_to(kind, seeds[preset], 0)), "quiz-choices")
        told = re.sub(r"<[^>]+>", "", shown)
        formula, printed = re.search(r"([\d(][\d×+/() ]+) = ([\d.]+)", told).groups()
        factors = re.sub(r"[^\d+*/() ]", "", formula.replace("×", "*"))
        assert eval(factors) == pytest.approx(float(printed), rel=6e-3)


def test_the_score_and_the_board_count_what_is_right(opened):
    right = [str(engine.question(7, kind).answer) for kind in engine.order(7)[:4]]
    wrong = "1" if right[1] == "0" else "0"
    answers = right[0] + wrong + right[2]
    at = opened(PAGE, quiz_seed="7", quiz_count="4", quiz_answers=answers, quiz_number="2")
    assert says(statement(at), "quiz.line", number="2", count="4", right="2", answered="3")
    chip = r'<li class="([\w ]+)"><b role="img" aria-label="(\w+)">(.)</b> (\d)</li>'
    assert re.findall(chip, part(at, "quiz-board")) == [
        ("right", "right", "✓", "1"),
        ("wrong here", "wrong", "✗", "2"),
        ("right", "right", "✓", "3"),
        ("unanswered", "open", "○", "4"),
    ]
    assert 'aria-label="Questions of this set"' in part(at, "quiz-board")
    button(at, "Start again").click().run()
    assert says(statement(at), "quiz.line_open", number="1", count="4")
    assert at.query_params == {"quiz_seed": "7", "quiz_count": "4"}


def test_the_ways_end_with_the_set(opened):
    first = opened(PAGE, quiz_seed="7", quiz_count="3")
    assert (button(first, "Previous").disabled, button(first, "Next").disabled) == (True, False)
    button(first, "Next").click().run()
    assert first.query_params["quiz_number"] == "2"
    button(first, "Next").click().run()
    assert not any(b.label == "Next" for b in first.button)
    assert not button(first, "Summary").disabled
    button(first, "Previous").click().run()
    assert first.query_params["quiz_number"] == "2"


def test_who_predicts_nothing_may_look_and_is_not_counted(opened, downloads):
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers="0", quiz_number="2")
    score = statement(at)
    button(at, "Reveal").click().run()
    assert at.query_params["quiz_answers"] == "0_"
    question = engine.question(7, engine.order(7)[1])
    right = choices(question, "en")[question.answer]
    told = bare(part(at, "quiz-choices") + part(at, "quiz-verdict"))
    assert bare(f"It is {right}.") in told
    assert "yourprediction" not in told
    assert score.partition(":")[2].strip().startswith(("0 of 1", "1 of 1"))
    assert statement(at) == score
    assert "shown" in part(at, "quiz-board")
    table = csv(downloads["quiz.csv"])
    assert list(table["prediction"] == "") == [False, True, True]
    assert list(table["answer"] == "") == [False, False, True]
    again = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers="0_", quiz_number="2")
    assert bare(part(again, "quiz-choices")) == bare(part(at, "quiz-choices"))


def test_without_a_prediction_one_press_reveals_and_the_next_goes_on(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="3")
    for stop, answers, number in (("1!", "_", 1), ("2", "_", 2), ("2!", "__", 2), ("3", "__", 3)):
        wish(at, stop)
        settings = at.session_state["settings"]
        assert (settings["quiz_answers"], settings["quiz_number"]) == (answers, number)


def test_the_clicker_reveals_a_prediction_and_then_goes_on(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_number="2", quiz_choice="1")
    wish(at, "2!")
    assert at.session_state["settings"]["quiz_answers"] == "-1"
    for stop, number in (("3", 3), ("2!", 2), ("1", 1)):
        wish(at, stop)
        assert at.session_state["settings"]["quiz_number"] == number
    assert at.session_state["settings"]["quiz_answers"] == "-1"


def test_a_burst_reveals_what_it_passes(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_choice="2")
    wish(at, "1!", "2!", "3")
    settings = at.session_state["settings"]
    assert (settings["quiz_answers"], settings["quiz_number"]) == ("2_", 3)
    wish(at, "1!", "2!", "3", number=1)
    assert at.session_state["settings"]["quiz_answers"] == "2_"


def answered(marks: str) -> tuple[str, list[str]]:
    """Answers of set 7 as a link has them, by these marks: right, wrong, shown or open."""
    questions = [engine.question(7, kind) for kind in engine.order(7)[: len(marks)]]
    given = {
        "r": lambda q: str(q.answer),
        "w": lambda q: "1" if q.answer == 0 else "0",
        "s": lambda _: "_",
        "o": lambda _: "-",
    }
    return "".join(given[mark](q) for mark, q in zip(marks, questions, strict=True)), questions


def test_the_set_ends_with_what_was_missed_and_the_pages_to_read_again(opened, monkeypatch):
    went = []
    monkeypatch.setattr(st, "switch_page", lambda file, query_params: went.append(file))
    answers, questions = answered("rwso")
    link = {"quiz_seed": "7", "quiz_count": "4", "quiz_number": "4", "quiz_answers": answers}
    at = opened(PAGE, **link)
    button(at, "Summary").click().run()
    assert at.query_params["quiz_done"] == "1"
    assert says(statement(at), "quiz.line_done", count="4", right="1", answered="2")
    rows = re.findall(r'<li class="(\w+)">(.*?)</li>', part(at, "quiz-missed"))
    assert [mark for mark, _ in rows] == ["wrong", "shown", "unanswered"]
    for (_, row), question, number in zip(rows, questions[1:], (2, 3, 4), strict=True):
        assert bare(asks(question, "en")) in bare(row)
        assert f"</b> {number}. " in row
        right = bare(f"It is {choices(question, 'en')[question.answer]}.")
        assert (right in bare(row)) == (number < 4)
    shown = [b for b in at.button if b.key and b.key.startswith("quiz_read_")]
    assert sorted(n for b in shown for n in re.findall(r"\d", b.label)) == ["2", "3", "4"]
    shown[0].click().run()
    assert went == [PAGES[shown[0].key.removeprefix("quiz_read_")].file]


def test_a_set_without_a_mistake_says_so_and_leads_back(opened):
    answers, _ = answered("rrr")
    link = {"quiz_seed": "7", "quiz_count": "3", "quiz_number": "3", "quiz_answers": answers}
    at = opened(PAGE, quiz_done="True", **link)
    assert [e.value for e in at.success] == ["Every question was predicted right."]
    button(at, "Back to the questions").click().run()
    assert says(statement(at), "quiz.line", number="3", count="3", right="3", answered="3")
    assert at.query_params["quiz_number"] == "3"


def test_the_second_press_at_the_last_question_opens_the_summary(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="2", quiz_number="2")
    found = []
    for stop in ("2!", "end", "end", "2!"):
        wish(at, stop)
        settings = at.session_state["settings"]
        found.append((settings["quiz_answers"], settings["quiz_number"], settings["quiz_done"]))
    assert found == [("-_", 2, False), ("-_", 2, True), ("-_", 2, True), ("-_", 2, False)]


def test_another_set_or_another_length_begins_again(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers="01", quiz_number="2")
    seed, length = at.number_input[0], at.slider[0]
    assert says(seed.label, "quiz.seed")
    assert (length.label, length.min, length.max) == ("Questions", 1, KINDS)
    hint = "The link under More gives a class this set without your answers."
    assert hint in [caption.value for caption in at.caption]
    seed.set_value(8).run()
    assert at.query_params == {"quiz_seed": "8", "quiz_count": "3"}
    first = engine.question(8, engine.order(8)[0])
    assert bare(part(at, "quiz-asks")) == bare(asks(first, "en"))
    at.slider[0].set_value(5).run()
    assert at.query_params == {"quiz_seed": "8", "quiz_count": "5"}
    assert says(statement(at), "quiz.line_open", number="1", count="5")


def test_a_link_for_the_class_has_the_set_but_no_answers(opened):
    at = opened(PAGE, quiz_seed="7", quiz_count="3", quiz_answers="01", quiz_choice="1")
    assert at.session_state.settings["quiz_answers"] == "01"
    assert {"quiz_answers", "quiz_choice", "quiz_done"} == {
        n for n, setting in PAGES["quiz"].settings.items() if setting.personal
    }
    copied = next(c for c in at.get("bidi_component") if "quiz_seed" in str(c.proto))
    assert "quiz_seed=7" in str(copied.proto)
    assert "quiz_answers" not in str(copied.proto)


SEEN = [  # kind of question, page of its button, what the link has
    ("ratio", "KV cache", lambda q: {"kv_left": q.preset}),
    ("crossover", "Compute", lambda q: {"preset": q.preset}),
    ("merged", "Absorption", lambda q: {"preset": q.preset}),
    ("scale", "RoPE", lambda q: {"preset": q.preset}),
    ("shifted", "RoPE", lambda q: {}),
    ("head_of_group", "Attention maps", lambda q: {"preset": "small", "variant": "gqa"}),
    ("not_causal", "Attention maps", lambda q: {}),
    ("weights", "Overview", lambda q: {"preset": q.preset}),
    ("absorbed_width", "Overview", lambda q: {"variant": "mla_absorbed"}),
    ("example_ratio", "Worked example", lambda q: {"we_step": "22"}),
    ("statement", "Claims", lambda q: {"claims_text": q.fact("claim")}),
]


@pytest.mark.parametrize(("kind", "page", "link"), SEEN, ids=[row[0] for row in SEEN])
def test_the_way_to_the_page_that_shows_it(opened, monkeypatch, kind, page, link):
    went = []
    monkeypatch.setattr(st, "switch_page", lambda file, query_params: went.append(query_params))
    seed = seeds_of(kind)[0]
    at = opened(PAGE, **link_to(kind, seed, 0))
    button(at, f"See it: {page}").click().run()
    assert not at.exception
    assert went[0].items() >= link(engine.question(seed, kind)).items()
    assert not set(went[0]) & set(PAGES["quiz"].settings)


def test_the_way_leads_there(opened):
    seed = seeds_of("statement")[0]
    at = opened(PAGE, **link_to("statement", seed, 0))
    button(at, "See it: Claims").click().run()
    assert not at.exception
    claim = engine.question(seed, "statement").fact("claim")
    assert at.query_params == {"claims_text": claim}
    assert f"<small>{claim}</small>" in part(at, "claim")


def test_links_beyond_the_set_come_to_the_nearest(opened):
    at = opened(PAGE, quiz_count="99", quiz_number="40", quiz_answers="x", quiz_seed="-4")
    assert statement(at).startswith("Question 38 of 38")
    noted = at.warning[0].value.replace("&#95;", "_")
    assert all(name in noted for name in ("quiz_count", "quiz_number", "quiz_answers", "quiz_seed"))
    small = opened(PAGE, quiz_count="2", quiz_number="9", quiz_answers="4444", quiz_choice="4")
    assert statement(small).startswith("Question 2 of 2")
    assert dict(small.query_params) == {"quiz_count": "2", "quiz_number": "2"}


def test_code_and_snippet_are_of_the_question_that_is_shown(opened):
    seed = seeds_of("window")[0]
    at = opened(PAGE, code="source", **link_to("window", seed, 1))
    shown = [m.value.split("`")[1] for m in at.markdown if " · mla_engine/" in m.value]
    assert shown == ["order", "question", "window"]
    snippet = opened(PAGE, code="snippet", **link_to("window", seed, 1)).code[0].value
    assert f'seed, number, predicted = {seed}, 2, "-1"' in snippet
    assert "order(seed)[:2]" in snippet
