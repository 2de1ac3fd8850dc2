"""Decode context parallelism: tokens of a sequence are dealt in turn to GPUs that split its heads.

Without it GPUs beyond the KV heads keep copies; a latent and an index key have one head. Token n
then lies on GPU n mod p of p that have the same heads, each reads its own, and outputs are put
together by their log-sum-exps. As vLLM 0.30 has it: `config/model.py` refuses more than tensor
parallelism / KV heads, `v1/kv_cache_interface.py` a window, and repeats states. SGLang does so for
MLA, and keeps index keys on every GPU.
"""

from fractions import Fraction

from kvcount.parts import Layer, Model
from kvcount.reading.keys import UncountedError

WIDTHS = {"key": 1, "value": 1, "latent": 2, "rope": 1}  # in a query, in an output, or in both
OUTPUT, SUM = 2, 4  # bytes of a number of a query or an output, bf16, and of a log-sum-exp, float32


def refuse(model: Model, ranks: int, context_ranks: int) -> None:
    """Refuse what no engine deals out: windows, more GPUs than have copies, queries uneven.

    Raises:
        RefusedError: a number that does not fit, or a model with such a part, named.
    """
    if context_ranks == 1:
        return
    if ranks % context_ranks:
        tries = ", ".join(str(n) for n in range(1, ranks + 1) if ranks % n == 0)
        given = {"context_ranks": context_ranks, "tensor": ranks, "tries": tries}
        raise UncountedError("dealt_ranks", **given)
    parts = [part for layer in model.groups for part in layer.parts]
    if any(part.growth in ("window", "buffer") for part in parts):
        raise UncountedError("dealt_window", context_ranks=context_ranks)
    heads = kv_heads(model)
    if heads * context_ranks > ranks:
        most = max(1, ranks // heads)
        given = {"context_ranks": context_ranks, "tensor": ranks, "heads": heads, "most": most}
        raise UncountedError("dealt_copies", **given)
    if heads > 1 and model.n_heads // heads % context_ranks:
        given = {"context_ranks": context_ranks, "queries": model.n_heads // heads}
        raise UncountedError("dealt_queries", **given)


def kv_heads(model: Model) -> int:
    """Return the most heads of a row that every token adds: 1 of latents and index keys."""
    parts = (part for layer in model.groups for part in layer.parts if part.growth == "grows")
    return max((part.heads for part in parts), default=1)


def exchanged_bytes(model: Model, ranks: int, context_ranks: int) -> Fraction:
    """Return what a GPU receives for each token that is made, over all layers, at least.

    Each of p GPUs has h / t query heads: it receives the other p - 1 GPUs' queries, their partial
    outputs for its own heads, and a log-sum-exp of each of its p h / t heads from each.

    Args:
        model: whose layers.
        ranks: t, GPUs that split the heads.
        context_ranks: p, those of them that have the same KV heads.
    """
    others, heads = context_ranks - 1, Fraction(model.n_heads, ranks)
    each = sum(n * _received(layer, context_ranks) for layer, n in model.groups.items())
    return others * heads * each


def _received(layer: Layer, context_ranks: int) -> int:
    """Bytes of a head's query and output, and of the log-sum-exps that make one output."""
    grown = [part for part in layer.parts if part.growth == "grows"]
    numbers = sum(WIDTHS.get(part.name, 0) * (part.numbers // part.heads) for part in grown)
    attentions = sum(part.name in ("value", "latent") for part in grown)
    return numbers * OUTPUT + attentions * context_ranks * SUM
