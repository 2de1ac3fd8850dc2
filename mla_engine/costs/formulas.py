"""Cache formulas that calculators have used, beside the right one.

Each was found in a public thread, mostly in the words of whoever replaced it. `numbers` says what
it gives per token and layer. They stand with the mechanism whose cache they count, or, where they
count whole models, with `kvcount.mistakes`, which the mechanism names.
"""

from functools import partial

from kvcount import mistakes as published
from mla_engine import mechanisms
from mla_engine.closed_forms import Formula
from mla_engine.config import AttentionConfig
from mla_engine.costs.sizes import cache_elements


def formulas(config: AttentionConfig) -> tuple[Formula, ...]:
    """Return the formulas in use for this kind of layer, the right one first."""
    found = (_of_layer(one) for one in mistakes(config) if one.measure == "stored")
    wrong = (formula for formula in found if formula.off(config) != 1)
    return (*mechanisms.of(config).costs.formulas, *wrong)


def mistakes(config: AttentionConfig) -> tuple[published.Mistake, ...]:
    """Return the wrong formulas that were published for whole models with layers of this kind."""
    every = published.mistakes()
    return tuple(every[key] for key in mechanisms.of(config).costs.mistakes)


def _of_layer(mistake: published.Mistake) -> Formula:
    return Formula(
        mistake.key,
        mistake.formula,
        mistake.short["en"],
        mistake.source,
        partial(_numbers, mistake),
        cache_elements,
        mistake.short,
        mistake.forgets,
        mistake.published.name,
    )


def _numbers(mistake: published.Mistake, config: AttentionConfig) -> float:
    """Return what a published formula makes of one layer.

    A state has no latent: the formula counts the one of MLA's layers beside it.
    """
    kept = {"n_kv_heads": config.n_kv_heads or 1, "d_index": config.d_index}
    sizes = published.sizes_of_layer(mechanisms.sizes_of(config) | kept)
    return float(mistake.numbers(sizes))
