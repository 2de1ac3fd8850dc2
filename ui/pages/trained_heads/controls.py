"""The widgets of the page trained_heads."""

from ui.pages.trained_heads import words
from ui.pages.trained_heads.settings import ALONE, FINISHED
from ui.pages.trained_heads.view import View
from ui.parts.control import control
from ui.words.numbers import count
from ui.words.text import t

MOST_KEYS = 8


def model(view: View) -> None:
    """Draw the choice of the model."""
    control("th_variant", shown=view.variant, options=view.variants)


def others(view: View) -> None:
    """Draw the choice of the model beside it, and of the step of the training."""
    control(
        "th_beside",
        shown=view.beside.variant if view.beside else ALONE,
        options=[ALONE, *(code for code in view.variants if code != view.variant)],
        write=lambda code: t(f"trained_heads.variant_{code}"),
    )
    if len(view.steps) > 1:
        control(
            "th_step",
            shown=view.step,
            options=view.steps,
            write=lambda n: t("trained_heads.finished") if n == FINISHED else count(n),
        )


def head(view: View) -> None:
    """Draw the choice of the head."""
    every = words.every(view)
    shown = f"{view.layer}.{view.head}"
    control("th_head", shown=shown, options=list(every), write=every.get)


def text() -> None:
    """The task of the example."""
    control("th_text", write=words.task)


def cut(view: View) -> None:
    """Draw the choice of what is taken away."""
    control("th_cut", shown=view.cut.kind, options=view.cuts)
    if view.cut.kind == "rank":
        label = t("trained_heads.rank", most=count(view.most_rank))
        control("th_rank", label=label, shown=view.cut.rank, most=view.most_rank)
    if view.cut.kind == "keys":
        control("th_keys", shown=min(view.cut.keys, MOST_KEYS), most=MOST_KEYS)
