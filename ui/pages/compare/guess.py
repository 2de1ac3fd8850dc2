"""What the comparison asks: how many times as much one layer keeps of a token as the other."""

from mla_engine import costs
from ui.pages.compare.view import View
from ui.parts.guess.question import Guess, decades
from ui.words.numbers import times
from ui.words.text import t


def question(view: View) -> Guess | None:
    """The ratio of the two caches; None beside another picture than the data flow.

    None too where a cache does not grow: nothing can be divided by it.
    """
    kept = sorted(costs.cache_elements(side.config) for side in view.sides)
    if view.topic != "flow" or not kept[0]:
        return None
    return decades(
        "compare",
        t("compare.guess"),
        kept[1] / kept[0],
        (1, 1000),
        say=times,
        why=t("compare.guess_why"),
        hides=() if view.trained else ("lead",),  # beside their maps it was seen before
    )
