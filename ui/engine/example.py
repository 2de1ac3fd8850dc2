"""The worked example, worked out once for all who look at the same numbers."""

from mla_engine import worked_example
from mla_engine.worked_example import Step
from ui.engine import shared_cache


@shared_cache.cached
def steps(variant: str, **inputs: str) -> tuple[Step, ...]:
    """Return the steps of a variant; `inputs` are a reader's own matrices, as texts.

    Raises:
        ValueError: the variant or an input is unknown, or a text is no such matrix.
    """
    rows = {name: worked_example.read(name, text) for name, text in inputs.items()}
    return worked_example.steps(variant, rows)
