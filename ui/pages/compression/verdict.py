"""The verdict on two variants: if they differ by more than their seeds, and over how many runs."""

from mla_engine.language_model.study import LEAST_SEEDS
from ui.pages.compression import names
from ui.pages.compression.quality import PAIR, Quality
from ui.words.numbers import count
from ui.words.text import t


def runs(view: Quality) -> tuple[str, str]:
    """Return how many runs of the plan are done, and how many there are."""
    planned = sum(one.seeds for one in view.study.plan.variants.values())
    return count(planned - sum(map(len, view.study.not_run().values()))), count(planned)


def verdict(view: Quality, pair: tuple[str, str] = PAIR) -> str:
    """Return whether two variants differ beyond their seeds, with the numbers."""
    one, other = (view.accuracy(code) for code in pair)
    facts = dict(zip(("one", "other"), (names.variant(view, code) for code in pair), strict=True))
    if not one or not other:
        return t("quality.verdict_none", **facts)
    facts |= {"one_range": names.spread(one), "other_range": names.spread(other)}
    if min(one.seeds, other.seeds) < LEAST_SEEDS:
        return t("quality.verdict_few", **facts, least=count(LEAST_SEEDS))
    loser = view.loser(pair)
    if loser is None:
        return t("quality.verdict_null", **facts)
    better, worse = (other, one) if loser == pair[0] else (one, other)
    winner = pair[1] if loser == pair[0] else pair[0]
    return t(
        "quality.verdict_clear",
        better=names.variant(view, winner),
        worse=names.variant(view, loser),
        better_range=names.spread(better),
        worse_range=names.spread(worse),
    )
