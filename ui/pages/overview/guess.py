"""What the overview asks before its reader looks closer: what more heads do to the cache."""

from mla_engine import costs
from ui.engine.model import built
from ui.pages.overview.view import View
from ui.parts.guess.question import Guess, among, choice
from ui.words.numbers import count
from ui.words.text import t


def question(view: View) -> Guess:
    """How much a token leaves in the cache if the layer has twice as many heads."""
    model, now = view.model, costs.cache_elements(view.config)
    sizes = model.sizes | {"n_heads": 2 * model.sizes["n_heads"]}
    then = costs.cache_elements(built(model.base, sizes, model.variant))
    numbers, right = among([now / 2, now, 2 * now], then)
    return choice(
        "overview",
        t("overview.guess", heads=count(sizes["n_heads"]), before=count(model.sizes["n_heads"])),
        [count(n) for n in numbers],
        right,
        why=t(f"overview.guess_{'grows' if then > now else 'stays'}"),
    )
