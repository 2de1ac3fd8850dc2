"""What the page planner asks: how many sequences fit beside the weights."""

from ui.pages.planner import words
from ui.pages.planner.view import View
from ui.parts.guess.question import Guess, decades
from ui.words.numbers import count, tied_size
from ui.words.text import t


def question(view: View) -> Guess | None:
    """How many of the chosen length; None where not one does."""
    plan = view.plan
    if not plan.largest_batch:
        return None
    said = {"model": words.name(view.served), "gpus": words.gpus(view)}
    why = {"each": tied_size(float(plan.sequence_bytes)), "room": tied_size(float(plan.room_bytes))}
    return decades(
        "planner",
        t("planner.guess", **said, context=count(plan.context)),
        plan.largest_batch,
        (1, 10**4),
        say=lambda n: words.sequences(round(n)),
        why=t("planner.guess_why", **why),
        hides=("lead", "planner_sums", "planner_steps", "planner_dealt"),
    )
