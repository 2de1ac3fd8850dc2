"""One executable check per statement of the documents that this project starts from.

`check` runs the engine on small float64 layers, takes the sizes of published models, or reads what
small models that were trained answer, and derives the verdict from what came out; `CLAIMS` says
what is stated and how it is checked. The checks are imported when the first is asked for.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from kvcount.refusals import RefusedError
from mla_engine.claims.claim import VERDICTS, Check, Claim, Figure, Verdict, judge, load

__all__ = ["CHECKS", "CLAIMS", "VERDICTS", "Claim", "Figure", "Verdict", "check", "judge"]

CLAIMS = load()
_MODULES = "forms", "merging", "positions", "caches", "work", "trained"


@lru_cache(maxsize=1)
def _checks() -> Mapping[str, Check]:
    """Return the check of each statement."""
    modules = [import_module(f"{__name__}.{name}") for name in _MODULES]
    return {claim: run for module in modules for claim, run in module.CHECKS.items()}


def __getattr__(name: str) -> Any:
    """Return CHECKS when it is first asked for."""
    if name != "CHECKS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _checks()


def check(claim: str, **changed: object) -> Verdict:
    """Run the check of one statement.

    Args:
        claim: an id of CLAIMS, for example "C13".
        changed: sizes or configurations to check it with instead of the usual ones.

    Returns:
        The verdict, one of VERDICTS, with the figures that it follows from.

    Raises:
        ValueError: there is no such statement.
    """
    if claim not in CLAIMS:
        raise RefusedError("no_claim", claim=claim, known=", ".join(CLAIMS))
    return _checks()[claim](**changed)
