"""A question in words: what is asked, what can be answered, what was computed."""

from mla_engine import quiz
from ui.pages.quiz.view import UNVOTED, View
from ui.parts.questions import Question, choice
from ui.parts.statements import words
from ui.parts.statements.findings import finding
from ui.words.numbers import amount, size, times
from ui.words.text import named, t

MARKS = {"right": "✓", "wrong": "✗", "shown": "·", "unanswered": "○"}
LETTERS = "ABCDE"


def said(value: float | int | str, unit: str) -> str:
    """One amount with its unit, list of tensors or word of the vocabulary."""
    if unit == "word":
        return t(f"quiz.word_{value}")
    if unit == "verdict":
        return words.verdict(value)
    if isinstance(value, str):
        return words.relisted(value)
    if unit == "bytes":
        return size(value)
    if unit == "times":
        return times(value)
    return f"{amount(value)} M" if unit == "M" else amount(value)


def answers(question: quiz.Question) -> list[str]:
    """Every choice as text, with its letter."""
    if question.unit == "map":
        return list(LETTERS[: len(question.choices)])
    shown = (said(choice.value, question.unit) for choice in question.choices)
    return [named(letter, text) for letter, text in zip(LETTERS, shown, strict=False)]


def options(question: quiz.Question) -> dict[int, str]:
    """The choices of the radio, as Markdown in which names of tensors stay as they are."""
    return {place: text.replace("_", "\\_") for place, text in enumerate(answers(question))}


def asks(question: quiz.Question) -> str:
    """The question, as plain text."""
    return t(f"quiz.{question.kind}_asks", **_facts(question))


def tells(question: quiz.Question) -> str:
    """The explanation that is true of this question, as HTML."""
    case = f"_{question.case}" if question.case else ""
    return words.typeset(t(f"quiz.{question.kind}_tells{case}", **_facts(question)))


def _facts(question: quiz.Question) -> dict[str, str]:
    facts = {figure.name: said(figure.value, figure.unit) for figure in question.facts}
    right = question.choices[question.answer]
    facts["right"] = said(right.value, question.unit)
    facts["text"] = " ".join(question.tokens)
    if question.unit == "map":
        facts |= {f"map_{choice.because}": choice.value for choice in question.choices}
    if question.kind == "statement":
        facts["statement"] = words.statement(facts["claim"])
        facts["evidence"] = words.evidence(finding(facts["claim"]))
    return facts


def worded(question: quiz.Question) -> Question:
    """Return the question in the reader's language, as every page asks one."""
    asked, why = words.typeset(asks(question)), tells(question)
    said = answers(question)
    return choice("", asked, said, question.answer, why=why, texts="quiz.predicted_")


def asked(question: quiz.Question) -> str:
    """The question, as HTML."""
    return f'<p class="quiz-asks">{words.typeset(asks(question))}</p>'


def revealed(question: quiz.Question, predicted: int) -> str:
    """The choices with what each stands for, the prediction marked, and the explanation."""
    one = worded(question)
    rows = "".join(_row(question, place, predicted) for place in range(len(question.choices)))
    verdict = one.none if predicted == UNVOTED else one.told[predicted]
    return (
        f'<ul class="quiz-choices">{rows}</ul><p class="quiz-verdict">{words.typeset(verdict)}</p>'
        f'<p class="quiz-tells">{one.why}</p>'
    )


def _row(question: quiz.Question, place: int, predicted: int) -> str:
    because = question.choices[place].because
    notes = [t(f"quiz.because_{because}")] if because else []
    notes += [t("quiz.yours")] * (place == predicted)
    notes += [t("quiz.computed")] * (place == question.answer)
    kind = "right" if place == question.answer else "wrong" if place == predicted else ""
    return (
        f'<li class="{kind}"><b>{MARKS.get(kind, "")}</b> '
        f"{words.typeset(answers(question)[place])} "
        f"<small>{words.typeset(' · '.join(notes))}</small></li>"
    )


def board(here: View) -> str:
    """Every question of the set with its mark, as HTML."""
    chips = []
    for place, mark in enumerate(here.marks):
        present = " here" if place == here.place and not here.done else ""
        spoken = f'role="img" aria-label="{t(f"quiz.mark_{mark}")}"'
        chips.append(f'<li class="{mark}{present}"><b {spoken}>{MARKS[mark]}</b> {place + 1}</li>')
    return f'<ul class="quiz-board" aria-label="{t("quiz.progress")}">{"".join(chips)}</ul>'


def missed(here: View) -> str:
    """The questions that were not predicted right, as HTML; answers of what is revealed."""
    rows = []
    for place in here.missed:
        question, mark = here.questions[place], here.marks[place]
        right = t("quiz.predicted_none", true=answers(question)[question.answer])
        told = t("quiz.not_answered") if mark == "unanswered" else right
        spoken = f'role="img" aria-label="{t(f"quiz.mark_{mark}")}"'
        rows.append(
            f'<li class="{mark}"><b {spoken}>{MARKS[mark]}</b> {place + 1}. '
            f"{words.typeset(asks(question))} <strong>{words.typeset(told)}</strong></li>"
        )
    return f'<ul class="quiz-missed">{"".join(rows)}</ul>'


def lead(here: View) -> tuple[str, str]:
    """Which question this is, and the score once there is one."""
    if here.done:
        said = {"right": here.right, "answered": here.answered, "count": len(here.questions)}
        return t("common.out_of", n=here.right, all=len(here.questions)), t(
            "quiz.line_done", **said
        )
    place = {"number": here.place + 1, "count": len(here.questions)}
    number = t("common.out_of", n=place["number"], all=place["count"])
    if not here.answered:
        return number, t("quiz.line_open", **place)
    return number, t("quiz.line", **place, right=here.right, answered=here.answered)
