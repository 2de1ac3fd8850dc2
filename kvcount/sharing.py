"""The share of a model that each of several GPUs keeps, and what fits beside its weights.

GPUs form groups: those of a group split the heads of every sequence (tensor parallelism), and each
group has sequences of its own (data parallelism). Attention's weights are split over the GPUs of a
group, all others over all GPUs.
"""

from collections.abc import Callable
from fractions import Fraction

MOST = 2**50  # tokens or sequences: what fits may be far more than any model is run with
Number = float | Fraction


def first_whole(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the least whole number from 1 to `most` for which `holds`, None if there is none.

    `holds` must go on holding once it does.
    """
    low, high = 0, 1
    while not holds(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def sequences_each(batch: int, groups: int) -> int:
    """Return how many of `batch` sequences the fullest GPU keeps, wholly or in part."""
    return -(-batch // groups)


def parameters_each(parameters: Number, attention: Number, gpus: int, groups: int) -> Number:
    """Return how many of so many parameters, attention's among them, each GPU keeps."""
    attention = min(attention, parameters)
    return attention * groups / gpus + (parameters - attention) / gpus


def longest_context(most_bytes: Callable[[int], Number], room: Number) -> int | None:
    """Return the tokens to which each sequence can grow, None if without bound.

    Args:
        most_bytes: tokens -> bytes that the sequences of a GPU never exceed up to there.
        room: bytes of a GPU for its cache.
    """
    too_many = first_whole(lambda tokens: most_bytes(tokens) > room, MOST)
    return None if too_many is None else too_many - 1


def largest_batch(room: Number, sequence_bytes: Number, groups: int) -> int:
    """Return how many sequences fit, groups x floor(room / sequence_bytes); 0 if not one a group.

    Args:
        room: bytes of a GPU for its cache.
        sequence_bytes: of one sequence on each GPU of its group.
        groups: of GPUs, with sequences of their own.
    """
    if room < sequence_bytes:
        return 0
    each = int(room // sequence_bytes) if sequence_bytes else MOST
    return min(MOST // groups, each) * groups
