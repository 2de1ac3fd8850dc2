"""Every text of every kind of question against `truth`, over 60 seeds and in both languages."""

import re
from functools import cache

import pytest

from mla_engine import budget, claims, quiz
from tests.quiz import truth, truth_of_runs, truth_of_successors, truth_of_work
from tests.sampling import many
from tests.ui.screen import counted
from ui.pages.quiz import question as quiz_question
from ui.settings import state
from ui.settings.shared import LANGUAGES
from ui.words.text import catalogue

SEEDS, OF_STATEMENTS = range(many(60, 200)), range(200)
MODULES = truth, truth_of_work, truth_of_runs, truth_of_successors
TRUTHS = {f.__name__: f for module in MODULES for f in module.KINDS}
UNITS = {"": 1, "M": 1, "B": 1} | {f"{p}iB": 1024**n for n, p in enumerate("KMGT", start=1)}
NUMBER = re.compile(
    r"(?<![\w−])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?:×10(−?)(\d+))?(?: (B|[KMGT]iB)\b)?"
    r"|(?<=[Mm]ap )[A-D]\b|(?<=图 )[A-D](?= |：|。)"
)
# Words that order or compare: wherever one stands, a truth must vouch for the wording.
ORDERING = re.compile(
    r"\b(first|second|third|last|other|another|larger|largest|smaller|smallest|more|less|few|fewer"
    r"|fewest|many|most|least|wider|nearest|outweigh|dwarfs|saves|costs?|equals|same|differ|sixth"
    r"|twice|alone)\b|第[一二三]|另一|最[大小多少近后]|更|超过|节省|相[同等]|[同一]样|不同|[较偏][大小少多]|[六十]分之一"
    r"|[六十]倍|增加|只取决"
)
# What is said of no number of the question.
GENERAL = (
    r"once many queries|with the other pairing|用另一种配对|one side|另一边是|so no constant"
    r"|与展开形式相同|the last digits|最后几位|the same as in the expanded|a GPU"
)


def plain(html: str) -> str:
    """HTML as one line of text."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html)).strip()


def explained(question: quiz.Question) -> str:
    shown = quiz_question.revealed(question, quiz_question.worded(question), question.answer)
    return plain(re.search(r'class="quiz-tells">(.*)</p>', shown)[1])


def bounds(found: re.Match) -> tuple[float, float]:
    """Between which amounts a printed number lies, by its last digit."""
    whole, decimals, sign, power, unit = found.groups("")
    tens = int(power or 0) * (-1 if sign else 1)
    value = float(whole.replace(",", "") + decimals) * 10.0**tens * UNITS[unit]
    half = 0.5 * 10.0 ** (tens - max(0, len(decimals) - 1)) * UNITS[unit]
    return value - half * 1.001, value + half * 1.001


def same_numbers(text: str, wanted: tuple) -> None:
    found = [*NUMBER.finditer(text)]
    assert len(found) == len(wanted), text
    for number, value in zip(found, wanted, strict=True):
        if isinstance(value, str):
            assert number[0] == value, text
            continue
        low, high = bounds(number)
        least, most = value if isinstance(value, tuple) else (value, value)
        assert low <= most, f"{number[0]} is too much: {text}"
        assert high >= least, f"{number[0]} is too little: {text}"


def vouched(text: str, said: dict[str, bool]) -> None:
    spans = [m.span() for m in re.finditer(GENERAL, text)]
    for wording, holds in said.items():
        for found in re.finditer(wording, text):
            assert holds, f"“{found[0]}” is untrue: {text}"
            spans.append(found.span())
    for word in ORDERING.finditer(text):
        inside = any(start <= word.start() < end for start, end in spans)
        assert inside, f"nothing vouches for “{word[0]}”: {text}"


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    """These layers fit every budget, and to measure each would take most of the time."""
    monkeypatch.setattr(budget, "peak_bytes", lambda run: 0)


@pytest.fixture(params=LANGUAGES)
def lang(request, monkeypatch):
    monkeypatch.setitem(state.settings(), "lang", request.param)
    return request.param


def test_every_kind_has_a_truth():
    assert {*TRUTHS, "statement"} == set(quiz.KINDS)


@pytest.mark.parametrize("kind", TRUTHS)
def test_texts_follow_from_the_questions_own_numbers(kind, monkeypatch):
    for seed in SEEDS:
        question = quiz.question(seed, kind)
        known = TRUTHS[kind](question)
        for lang in LANGUAGES:
            monkeypatch.setitem(state.settings(), "lang", lang)
            told, asks = explained(question), plain(quiz_question.worded(question).asks)
            same_numbers(told, known.numbers)
            vouched(told, known.said)
            for wording, holds in known.said.items():
                assert holds or not re.search(wording, asks), f"untrue: {asks}"
            offered(question, known.options)


def without_letter(answer: str) -> str:
    return re.split(": |：", answer, maxsplit=1)[1]


def offered(question: quiz.Question, options: dict) -> None:
    """Each option is what its words say, and the right one alone is true."""
    texts, first = quiz_question.answers(question), next(iter(options.values()))
    for place, (choice, text) in enumerate(zip(question.choices, texts, strict=True)):
        if choice.because:
            value = options[catalogue()[f"quiz.because_{choice.because}"]["en"]]
        elif question.unit == "word":
            value = options[catalogue()[f"quiz.word_{choice.value}"]["en"]]
        else:
            value = options[choice.value]
        is_right = place == question.answer
        if isinstance(value, bool):
            assert value == is_right, text
        elif isinstance(value, str):
            assert text in value, f"{choice.because} is no name of map {text}"
            assert (text == first) == is_right, text
        else:
            same_numbers(without_letter(text), (value,))
            assert (value == first) == is_right, text


@pytest.mark.parametrize("kind", quiz.KINDS)
def test_a_question_for_yes_or_no_is_answered_so(kind, lang):
    for seed in range(10):
        question = quiz.question(seed, kind)
        asks = plain(quiz_question.worded(question).asks)
        if kind != "statement" and re.search(r"\b(Do|Does|Is|Are) [^.?]*\?$|是否[^。]*？$", asks):
            answers = [without_letter(text) for text in quiz_question.answers(question)]
            assert all(re.match("yes|no|是|否", answer) for answer in answers), asks


@cache
def statements() -> dict[str, quiz.Question]:
    """A question about each claim that the seeds draw."""
    asked = (quiz.question(seed, "statement") for seed in OF_STATEMENTS)
    return {question.fact("claim"): question for question in asked}


def test_the_explanation_of_a_statement_holds_the_figures_of_its_check(lang):
    for claim, question in statements().items():
        wording = catalogue()[f"statements.{claim}_sentence"][lang]
        found = claims.check(claim)
        wanted = wording.format(**counted(found))
        same_figures = [
            re.findall(r"\d+", re.sub(r"(?<=\d)(,(?=\d{3})|e[+-]?0*)", "", text))
            for text in (wanted, explained(question).replace("×10−", "").replace("×10", ""))
        ]
        assert same_figures[0] == same_figures[1]
