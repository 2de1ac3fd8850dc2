"""What the page of maps asks: of a trained model what comes next; else what a map can hold."""

import html

from mla_engine.language_model.answers import Answer, answer
from mla_engine.language_model.texts import FOODS, OPENING, THINGS
from ui.pages.attention_maps.view import View
from ui.parts.questions import Question, among, choice
from ui.words.numbers import count
from ui.words.text import t

QUOTED, OFFERED = 12, 4  # words of a sentence that the question has, and words to choose from
KINDS = {  # task -> the words that can be its answer, and whether the sentence must have them
    "recall": (THINGS, True),
    "copy": (FOODS, True),
    "back": (FOODS, True),
    "agreement": (("is", "are"), False),
    "brackets": (tuple(OPENING.values()), False),
}


def question(view: View) -> Question | None:
    """The next word where the sentence decides it; how many cells are not masked elsewhere."""
    return _next(view.maps.run.words) if view.trained else _cells(view)


def _next(words: tuple[str, ...]) -> Question | None:
    """The word that must come; None where the words leave it open, or ask for the only one."""
    found = answer(words)
    offered = _offered(words, found) if found else []
    if len(offered) < 2:
        return None
    text = ("… " if len(words) > QUOTED else "") + " ".join(words[-QUOTED:])
    return choice(
        "attention_maps_next",
        t("attention_maps.guess_next", text=html.escape(text)),
        offered,
        offered.index(found.word),
        why=t(f"attention_maps.guess_{found.task}", word=found.word, last=words[-1]),
        hides=("lead", "framed"),
    )


def _offered(words: tuple[str, ...], found: Answer) -> list[str]:
    """The right word among others that could be meant, the last ones of the sentence."""
    kind, there = KINDS[found.task]
    if not there:
        return list(kind)
    others = [word for word in dict.fromkeys(words[::-1]) if word in kind and word != found.word]
    tempting = {found.word, *others[: OFFERED - 1]}
    return [word for word in dict.fromkeys(words) if word in tempting]


def _cells(view: View) -> Question | None:
    """How many cells are not masked; None with entries, or too little to choose among."""
    if view.maps.run.sinks:
        return None
    mask, n = view.maps.mask, len(view.maps.run.words)
    cells = (n, n * (n - 1) // 2, n * (n + 1) // 2, n * n)
    numbers, right = among([cell for cell in cells if cell], int(mask.sum()))
    if len(numbers) < len(cells):
        return None
    run = view.maps.run
    choosing = "blocks" if run.blocks else "choice"
    fewer = choosing if hasattr(run.config, "index_topk") else "window"
    why = "all" if mask.all() else "causal" if numbers[right] == cells[2] else fewer
    return choice(
        "attention_maps",
        t("attention_maps.guess", n=count(n), all=count(n * n)),
        [count(number) for number in numbers],
        right,
        why=t(f"attention_maps.guess_{why}"),
    )
