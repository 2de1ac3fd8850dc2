"""The numbers behind the pictures of the page quality, a row a variant and place."""

from collections.abc import Iterable, Mapping

from mla_engine.language_model.study import Spread
from mla_engine.late import Late
from ui.pages.quality import names
from ui.pages.quality.settings import EVERY_LOAD
from ui.pages.quality.view import View, loads
from ui.words.numbers import count
from ui.words.text import listed, t

pd = Late("pandas")


def by_cache(view: View) -> "pd.DataFrame":
    """Right answers at the chosen task and load."""
    return _frame(
        {**_at(view, view.load), **_of(view, code), **_spread(view.accuracy(code))}
        for code in view.caches
    )


def by_load(view: View) -> "pd.DataFrame":
    """Right answers at every load of the chosen task."""
    return _frame(
        {**_at(view, load), **_of(view, code)} | _spread(view.accuracy_at(code, load))
        for code in view.caches
        for load in loads(view.task)
    )


def by_distance(view: View) -> "pd.DataFrame":
    """Recall by how far back the pair stood."""
    return _frame(
        {**_of(view, code), "distance_from": first, **_spread(spread)}
        for code in view.caches
        for first, spread in view.study.by_distance(code).items()
    )


def losses(view: View) -> "pd.DataFrame":
    """The loss of every seed at every step that was measured."""
    return _frame(
        {**_of(view, code), "seed": seed, "step": step, "loss": loss}
        for code in view.caches
        for seed, curve in view.study.losses(code).items()
        for step, loss in curve.items()
    )


def staircase(view: View) -> "pd.DataFrame":
    """Right answers of every step from MHA to MLA; of what was not run there are none."""
    return _frame(
        {**_at(view, view.load), **_of(view, code), **_spread(view.accuracy(code))}
        for code in view.study.plan.staircase
    )


def not_run(view: View) -> "pd.DataFrame":
    """Variants with the seeds that are missing, as texts."""
    missing = view.study.not_run()
    rows = {
        names.variant(view, code): (
            count(view.study.plan.variants[code].seeds),
            count(len(view.study.of(code))),
            listed(map(count, seeds)),
        )
        for code, seeds in missing.items()
    }
    columns = [t(f"quality.column_{name}") for name in ("planned", "run", "missing")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _at(view: View, load: int) -> dict[str, object]:
    return {"task": view.task, "load": "all" if load == EVERY_LOAD else load}


def _of(view: View, code: str) -> dict[str, object]:
    return {"variant": code, "cached_per_token": view.cached(code)}


def _spread(spread: Spread | None) -> dict[str, object]:
    if spread is None:
        return {"mean": None, "least": None, "most": None, "seeds": 0}
    return vars(spread)


def _frame(rows: Iterable[Mapping[str, object]]) -> "pd.DataFrame":
    return pd.DataFrame(list(rows))
