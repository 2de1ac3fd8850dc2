"""What the overview asks before its reader looks closer: what more heads do to the cache."""

from ui.engine.model import built
from ui.pages.overview.view import View
from ui.parts.guess.question import Guess, among, choice
from ui.words.numbers import amount, count
from ui.words.text import t


def question(view: View) -> Guess:
    """How much a token leaves in the cache if the layer has twice as many heads.

    Where nothing is left of a token: how much its state holds.
    """
    model = view.model
    sizes = model.sizes | {"n_heads": 2 * model.sizes["n_heads"]}
    more = View(model, built(model.base, sizes, model.variant))
    state = not view.cached
    now, then = (one.fixed if state else one.cached for one in (view, more))
    numbers, right = among([now / 2, now, 2 * now], then)
    asks = "overview.guess_state" if state else "overview.guess"
    return choice(
        "overview",
        t(asks, heads=count(sizes["n_heads"]), before=count(model.sizes["n_heads"])),
        [amount(n) for n in numbers],
        right,
        why=_why(state=state, grows=then > now),
    )


def _why(*, state: bool, grows: bool) -> str:
    if state:
        return t("overview.guess_states")
    return t("overview.guess_grows") if grows else t("overview.guess_stays")
