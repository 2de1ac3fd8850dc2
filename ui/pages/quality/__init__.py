"""Quality: what a smaller cache costs in answers, measured on small models trained here."""

from mla_engine.language_model.study import Study, read
from mla_engine.language_model.study_rows import read_plan
from ui.pages.quality.view import EVERY_LOAD, PAIR, SETTINGS, View, mend
from ui.parts import one_cache
from ui.settings.page import Functions, Page, Recipe


def ran(_view: View) -> Functions:
    """Return what reads the rows and sums them up."""
    own = read, read_plan, Study.of, Study.measured, Study.accuracy, Study.not_run
    return own + one_cache.CODE


def recipe(view: View) -> Recipe:
    """Return the snippet that sums up the seeds behind the headline, or counts what is planned."""
    if not view.compared:
        seeds = {code: planned.seeds for code, planned in view.study.plan.variants.items()}
        missing = view.study.not_run()
        done = {code: n - len(missing.get(code, ())) for code, n in seeds.items()}
        return "planned", {"seeds": seeds, "done": done}
    codes = (PAIR[1], PAIR[0], "mha")
    shares = {code: view.shares(code) for code in codes}
    loads = [] if view.chosen.load == EVERY_LOAD else [view.chosen.load]
    cached = {code: view.cached(code) for code in codes}
    return "answers", {"shares": shares, "cached": cached, "loads": loads}


PAGE = Page(
    name="quality",
    group="size",
    order=5,
    settings=SETTINGS,
    sizes=False,
    lecture=("quality_task", "quality_load"),
    mend=mend,
    code=ran,
    snippet=recipe,
)
