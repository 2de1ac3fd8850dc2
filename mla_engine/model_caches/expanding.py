"""When expanding a latent cache computes less than absorbing, in closed form.

For t queries after N tokens, so s = N + t keys, the absorbed form computes 2 h t s (2 c - k - v)
FLOPs more in attention, and expanding 2 h N c (k + v) more for the keys and values that it makes
again: the queries' own cost the same in both.
"""

from fractions import Fraction
from math import isqrt

from mla_engine.model_caches.parts import Model


def latent_widths(model: Model) -> tuple[int, int] | None:
    """c, and k + v of a head, of a model with plain MLA; None of any other.

    An indexer's rows are chosen by each query, so what expanding costs depends on its choices.
    """
    latents = (
        part.numbers
        for layer in model.groups
        if layer.kind == "latent"
        for part in layer.parts
        if part.name == "latent"
    )
    if (width := next(latents, None)) is None or not model.n_heads:
        return None
    return width, model.as_mha // model.n_heads


def form_flops(
    n_heads: int, latent: int, widths: int, context: int, queries: int
) -> tuple[int, int]:
    """FLOPs of a layer, absorbed and expanded, but for what is the same in both.

    2 h t s 2 c, against 2 h t s (k + v) + 2 h N c (k + v): the rotary scores and what the queries'
    own tokens cost are in neither.

    Args:
        n_heads: h.
        latent: c.
        widths: k + v of one head.
        context: N, tokens before the queries.
        queries: t; s = N + t.
    """
    pairs = queries * (context + queries)
    again = context * latent * widths
    return 2 * n_heads * pairs * 2 * latent, 2 * n_heads * (pairs * widths + again)


def endless_crossing(latent: int, widths: int) -> Fraction | None:
    """Queries at which both cost the same over an endless context, c (k + v) / (2 c - k - v).

    Args:
        latent: c.
        widths: k + v of one head.

    Returns:
        None where expanding costs more at any number of queries.
    """
    extra = 2 * latent - widths
    return Fraction(latent * widths, extra) if extra > 0 else None


def expanding_from(latent: int, widths: int, context: int) -> int | None:
    """The least t with t (N + t) > N c (k + v) / (2 c - k - v), N = `context`; None if none."""
    if (endless := endless_crossing(latent, widths)) is None:
        return None
    largest = int(context * endless)
    return (isqrt(context**2 + 4 * largest) - context) // 2 + 1
