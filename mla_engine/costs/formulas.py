"""Cache formulas that calculators have used, beside the right one.

Each was found in a public thread, mostly in the words of whoever replaced it. `numbers` says what
it gives per token and layer. They stand with the mechanism whose cache they count.
"""

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.mechanism import Formula


def formulas(config: AttentionConfig) -> tuple[Formula, ...]:
    """The formulas in use for this kind of layer, the right one first."""
    return mechanisms.of(config).costs.formulas
