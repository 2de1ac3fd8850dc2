"""A question in words: what is asked, what can be answered, what was computed."""

import pandas as pd

from mla_engine import quiz
from mla_engine.claims import Figure
from ui.pages.quiz.view import Round
from ui.parts import places as claims_links
from ui.parts.claim_words import plain, typeset
from ui.parts.findings import Finding, checked
from ui.parts.places import Place
from ui.settings.rooms import PAGES
from ui.words.numbers import count, digits, size, times
from ui.words.text import t

MARKS = {"right": "✓", "wrong": "✗", "unanswered": "○"}
LETTERS = "ABCDE"
# of each kind the pages that show it, the best first; a page may not be there
SEEN_ON = {
    "whole_model": ("kv_cache",),
    "ratio": ("kv_cache",),
    "grouped": ("kv_cache",),
    "longest": ("kv_cache",),
    "per_gpu": ("kv_cache",),
    "query_latent": ("kv_cache",),
    "bytes_read": ("compute", "kv_cache"),
    "flops_of_a_step": ("compute", "overview"),
    "prefill_form": ("compute", "overview"),
    "crossover": ("compute", "overview"),
    "intensity": ("compute", "overview"),
    "merged": ("absorption", "overview"),
    "scale": ("rope", "overview"),
    "shifted": ("rope", "attention_maps"),
    "stacked_heads": ("absorption", "claims"),
    "norm_between": ("absorption", "claims"),
    "head_of_group": ("attention_maps",),
    "forms_agree": ("absorption", "claims"),
    "example_ratio": ("worked_example",),
    "statement": ("claims",),
    "unrotated": ("rope", "attention_maps"),
    "window": ("attention_maps",),
    "wrong_scale": ("rope", "attention_maps"),
    "not_causal": ("attention_maps",),
}
CLAIM_OF = {"stacked_heads": "P4", "norm_between": "C2", "forms_agree": "T9"}


def amount(value: float | int | str, unit: str) -> str:
    """One amount, tensor list or word of the vocabulary."""
    if unit == "word":
        return t(f"quiz.word_{value}")
    if unit == "verdict":
        return t(f"claims.{value}")
    if isinstance(value, str):
        return value
    if unit == "bytes":
        return size(value)
    if unit == "times":
        return times(value)
    text = count(value) if value == int(value) and abs(value) < 10**10 else digits(value)
    return f"{text} M" if unit == "M" else text


def answers(question: quiz.Question) -> list[str]:
    """Every choice as text, with its letter."""
    if question.unit == "map":
        return list(LETTERS[: len(question.choices)])
    shown = (amount(choice.value, question.unit) for choice in question.choices)
    return [f"{letter}: {text}" for letter, text in zip(LETTERS, shown, strict=False)]


def options(question: quiz.Question) -> dict[int, str]:
    """The choices of the radio, as Markdown in which names of tensors stay as they are."""
    return {place: text.replace("_", "\\_") for place, text in enumerate(answers(question))}


def _facts(question: quiz.Question) -> dict[str, str]:
    facts = {figure.name: amount(figure.value, figure.unit) for figure in question.facts}
    right = question.choices[question.answer]
    facts["right"] = amount(right.value, question.unit)
    facts["text"] = " ".join(question.tokens)
    if question.unit == "map":
        facts |= {f"map_{choice.because}": choice.value for choice in question.choices}
    if question.kind == "statement":
        claim = facts["claim"]
        facts["statement"] = t(f"claims.{claim}_statement")
        facts["evidence"] = plain(Finding(claim, checked(claim)))
    return facts


def asks(question: quiz.Question) -> str:
    """The question, as HTML."""
    text = t(f"quiz.{question.kind}_asks", **_facts(question))
    return f'<p class="quiz-asks">{typeset(text)}</p>'


def tells(question: quiz.Question) -> str:
    """The explanation that is true of this question, as HTML."""
    case = f"_{question.case}" if question.case else ""
    return typeset(t(f"quiz.{question.kind}_tells{case}", **_facts(question)))


def revealed(question: quiz.Question, predicted: int) -> str:
    """The choices with what each stands for, the prediction marked, and the explanation."""
    rows = []
    for place, (choice, text) in enumerate(zip(question.choices, answers(question), strict=True)):
        state = "right" if place == question.answer else "wrong" if place == predicted else ""
        notes = [t(f"quiz.because_{choice.because}")] if choice.because else []
        notes += [t("quiz.yours")] * (place == predicted)
        notes += [t("quiz.computed")] * (place == question.answer)
        rows.append(
            f'<li class="{state}"><b>{MARKS.get(state, "")}</b> {typeset(text)} '
            f"<small>{typeset(' · '.join(notes))}</small></li>"
        )
    key = "predicted_right" if predicted == question.answer else "predicted_wrong"
    verdict = t(f"quiz.{key}", answer=answers(question)[question.answer])
    return (
        f'<ul class="quiz-choices">{"".join(rows)}</ul>'
        f'<p class="quiz-verdict">{typeset(verdict)}</p><p class="quiz-tells">{tells(question)}</p>'
    )


def place(question: quiz.Question) -> Place:
    """Where in the app the answer can be seen."""
    names = SEEN_ON.get(question.kind, ("overview",))
    name = next(name for name in (*names, "overview") if name in PAGES)
    if name == "claims":
        return name, {"claims_text": CLAIM_OF.get(question.kind) or question.fact("claim")}
    if name == "kv_cache":
        return name, {"kv_left": question.preset} if question.preset else {}
    if name == "worked_example":
        return claims_links.example("mla", "cache_ratio")
    if name == "attention_maps" and question.kind == "head_of_group":
        return name, claims_links.sizes("small", "gqa")
    variant = "mla_absorbed" if question.kind == "absorbed_width" else "mla"
    return name, claims_links.sizes(question.preset, variant) if question.preset else {}


def bars(question: quiz.Question) -> tuple[list[float], str] | None:
    """The amounts behind the choices and their unit, or None where there are none."""
    facts = {figure.name: figure for figure in question.facts}
    behind = [
        facts.get(choice.value, Figure("", choice.value, question.unit))
        for choice in question.choices
    ]
    if question.unit == "map" or any(isinstance(figure.value, str) for figure in behind):
        return None
    return [float(figure.value) for figure in behind], behind[0].unit


def board(shown: Round) -> str:
    """Every question of the set with its mark."""
    chips = []
    for place, mark in enumerate(shown.marks):
        here = " here" if place == shown.place else ""
        said = f'role="img" aria-label="{t(f"quiz.mark_{mark}")}"'
        chips.append(f'<li class="{mark}{here}"><b {said}>{MARKS[mark]}</b> {place + 1}</li>')
    return f'<ul class="quiz-board" aria-label="{t("quiz.progress")}">{"".join(chips)}</ul>'


def table(shown: Round) -> pd.DataFrame:
    """The set as a table; answers stand in it for what is revealed."""
    rows = []
    for number, (question, predicted) in enumerate(
        zip(shown.questions, shown.answers, strict=True), start=1
    ):
        texts = answers(question)
        open_ = predicted is None
        rows.append(
            {
                "number": number,
                "kind": question.kind,
                "question": t(f"quiz.{question.kind}_asks", **_facts(question)),
                "choices": " | ".join(texts),
                "prediction": "" if open_ else texts[predicted],
                "answer": "" if open_ else texts[question.answer],
            }
        )
    return pd.DataFrame(rows)


def title(shown: Round) -> str:
    """Which question this is, and the score once there is one."""
    place = {"number": shown.place + 1, "count": len(shown.questions)}
    if not shown.answered:
        return t("quiz.title_open", **place)
    return t("quiz.title", **place, right=shown.right, answered=shown.answered)
