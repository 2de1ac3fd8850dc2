"""The snippet of the page quality."""

from ui.pages.quality.settings import EVERY_LOAD
from ui.pages.quality.view import PAIR, View
from ui.settings.page import Recipe


def recipe(view: View) -> Recipe:
    """The template that sums up the seeds behind the headline, or counts what is planned."""
    if not view.compared:
        seeds = {code: planned.seeds for code, planned in view.study.plan.variants.items()}
        missing = view.study.not_run()
        done = {code: n - len(missing.get(code, ())) for code, n in seeds.items()}
        return "planned", {"seeds": seeds, "done": done}
    codes = (PAIR[1], PAIR[0], "mha")
    shares = {code: view.shares(code) for code in codes}
    loads = [] if view.load == EVERY_LOAD else [view.load]
    cached = {code: view.cached(code) for code in codes}
    return "answers", {"shares": shares, "cached": cached, "loads": loads}
