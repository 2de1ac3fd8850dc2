"""FLOPs of attention itself: what queries compute with the rows that a cache has for them.

Counted are the scores and the sums of values, 2 for each multiply-add, of the rows that a token
reads, its own among them. Products with weights are not, nor softmax, states and convolutions.

When expanding a latent cache computes less than absorbing: for t queries after N tokens, so
s = N + t keys, the absorbed form computes 2 h t s (2 c - k - v) FLOPs more in attention, and
expanding 2 h N c (k + v) more for the keys and values that it makes again: the queries' own cost
the same in both.
"""

from fractions import Fraction
from math import isqrt

from kvcount.parts import Layer, Model, Part

TWICE = 2  # a row that is read as key and as value


def step_flops(model: Model, context: int) -> int:
    """Return FLOPs of the token after `context` others, 2 x products x rows; MLA is absorbed."""
    return 2 * sum(
        n * _products(model, layer, part) * part.rows_read(context + 1, new=0)
        for layer, n in model.groups.items()
        for part in layer.parts
    )


def prompt_flops(model: Model, tokens: int) -> int:
    """Return the FLOPs of all tokens of a prompt; MLA is in the form that computes less.

    Expanded, a head's key and value have k + v numbers instead of twice the latent's c.
    """
    return 2 * sum(
        n * _products(model, layer, part, expands=True) * rows_of_prompt(part, tokens)
        for layer, n in model.groups.items()
        for part in layer.parts
    )


def _products(model: Model, layer: Layer, part: Part, *, expands: bool = False) -> int:
    """Return the multiply-adds of one token's queries with one row of a part."""
    if part.name in ("key", "value"):
        return model.n_heads * (part.numbers // part.heads)
    if part.name == "index":
        return model.n_index_heads * part.numbers
    if part.name == "latent":
        absorbed = model.n_heads * TWICE * part.numbers
        return min(absorbed, model.as_mha) if expands else absorbed
    if part.name == "entry":
        return model.n_heads * TWICE * part.numbers
    if part.name == "rope":
        pooled = any(other.name == "entry" for other in layer.parts)
        return model.n_heads * (TWICE if pooled else 1) * part.numbers
    return 0


def rows_of_prompt(part: Part, tokens: int) -> int:
    """Rows that the tokens of a prompt read of a part, over them all: rows_read(1) + ... ."""
    most = part.read_rows
    if part.growth == "grows":
        own = _sum_of_rests(tokens, part.own_block) - _sum_of_rests(most or 0, part.own_block)
        return _sum_of_groups(tokens, part.length, most) + (own if tokens > (most or 0) else 0)
    if part.growth == "window":
        return _sum_of_groups(tokens, 1, part.length if most is None else min(part.length, most))
    return 0  # buffers wait, states are no rows of attention


def _sum_of_groups(tokens: int, length: int, most: int | None) -> int:
    """Return the sum of min(n // length, most) over n from 1 to `tokens`."""
    growing = tokens if most is None else min(tokens, most * length)
    groups, rest = divmod(growing, length)
    complete = length * (groups * (groups - 1) // 2) + groups * (rest + 1)
    return complete + (tokens - growing) * (most or 0)


def _sum_of_rests(tokens: int, block: int) -> int:
    """Return the sum of n % block over n from 1 to `tokens`."""
    blocks, rest = divmod(tokens, block)
    return blocks * (block * (block - 1) // 2) + rest * (rest + 1) // 2


def latent_widths(model: Model) -> tuple[int, int] | None:
    """Return c, and k + v of a head, of a model with plain MLA; None of any other.

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
    """Return the FLOPs of a layer, absorbed and expanded, but for what is the same in both.

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
