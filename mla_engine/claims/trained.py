"""Statements that only training decides, as far as the small models of this project do."""

from pathlib import Path

from kvcount.refusals import RefusedError
from mla_engine.claims.claim import Check, Figure, Verdict, judge, listed
from mla_engine.language_model.study import LEAST_SEEDS, Study, read

FOLDER = Path(__file__).parents[2] / "assets" / "trained"  # of `make train`
FULL, HALF = "mha", "mha_partial"
NOT_RUN = "–"


def partial_against_full(folder: Path = FOLDER) -> Verdict:
    """T8: MHA with half of the dimensions rotated against all, over tasks and loads, by seed.

    Worse is what has every seed below every seed of the other.
    """
    full, half = (_by_seed(folder, code) for code in (FULL, HALF))
    complete = None not in (*full, *half) and min(len(full), len(half)) >= LEAST_SEEDS
    no_worse = complete and max(half) >= min(full)
    figures = (
        Figure("full", _percents(full), "%"),
        Figure("half", _percents(half), "%"),
        Figure("seeds", max(len(full), len(half))),
    )
    return Verdict(judge(no_worse, decidable=complete), figures)


def _by_seed(folder: Path, variant: str) -> list[float | None]:
    """Return the share of right answers of each planned seed; None of one that was not run."""
    try:
        study: Study = read(folder)
        planned = study.plan.variants[variant].seeds
    except (RefusedError, KeyError):  # nothing was trained here, or no such thing
        return [None] * LEAST_SEEDS
    found = {row.seed: row.share() for row in study.of(variant)}
    return [found.get(seed) for seed in range(planned)]


def _percents(shares: list[float | None]) -> str:
    return listed(NOT_RUN if share is None else f"{100 * share:.1f}" for share in shares)


CHECKS: dict[str, Check] = {"T8": partial_against_full}
