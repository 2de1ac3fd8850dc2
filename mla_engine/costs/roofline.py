"""Rooflines: how long a call takes at least on a device, and where its bound changes.

A call that does W FLOPs and moves Q bytes takes at least max(W / peak FLOP/s, Q / peak byte/s)
(Williams, Waterman, Patterson, "Roofline", 2009). Rates are data-sheet peaks, dense, which no
kernel reaches: the times are lower bounds. Crossing points are found by trying whole numbers.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import lcm

from kvcount import checks
from kvcount.devices import Device
from kvcount.refusals import RefusedError
from kvcount.sharing import first_whole
from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs.calls import Cost, decode

MOST_QUERIES = 2**20
MOST_BATCH = 2**20


def always_from(
    holds: Callable[[int], bool], most: int, steady: tuple[int, int] = (1, 1)
) -> int | None:
    """The least whole number from 1 to `most` from which on `holds` for all, None if there is none.

    Args:
        holds: beyond some number it must go on holding once it does, from one to that a period on.
        most: where the search ends.
        steady: that number, and the period.
    """
    first, period = steady

    def throughout(count: int) -> bool:
        start = first + (count - 1) * period
        return all(map(holds, range(start, start + period)))

    found = first_whole(throughout, max(1, (most - first) // period))
    if found is None:
        return None
    least = first + (found - 1) * period
    while least > 1 and holds(least - 1):
        least -= 1
    return least


def lighter_from(
    one: Callable[[int], Cost],
    other: Callable[[int], Cost],
    configs: Iterable[AttentionConfig],
    work: Callable[[Cost], float],
    most: int,
) -> int | None:
    """Tokens from which on `one` does less work than `other`, however many there are, up to `most`.

    Args:
        one: tokens -> cost of a call.
        other: as `one`.
        configs: of both, which say from when on their work changes evenly.
        work: cost -> what is compared, such as FLOPs.
        most: the most tokens that are tried.
    """
    every = [mechanisms.of(config).costs.steady(config) for config in configs]
    steady = max(first for first, _ in every), lcm(*(period for _, period in every))
    return always_from(lambda tokens: work(one(tokens)) < work(other(tokens)), most, steady)


def expanding_wins(
    config: AttentionConfig, context: int, device: Device | None = None, *, batch: int = 1
) -> int | None:
    """Return the query tokens from which on expanding a latent cache beats absorbing.

    Args:
        config: the layer.
        context: tokens that the cache holds before the queries come.
        device: compares the least times on it; without one, FLOPs are compared.
        batch: sequences at once.

    Returns:
        The number of query tokens, None if absorbing stays ahead up to MOST_QUERIES.
    """
    _check_absorbs(config)
    width = device.dtype_bytes if device else 2

    def work(form: str, queries: int) -> float:
        cost = decode(config, context, form, new_tokens=queries, batch=batch, dtype_bytes=width)
        return device.seconds(cost) if device else cost.total_flops

    return first_whole(lambda n: work("expanded", n) < work("absorbed", n), MOST_QUERIES)


def _check_absorbs(config: AttentionConfig) -> None:
    """Raise ValueError unless the layer can be computed in the absorbed form, too."""
    able = [one for one in mechanisms.all() if "absorbed" in one.decoded_by.values()]
    if mechanisms.of(config) not in able:
        wanted = mechanisms.types_in_words(able.__contains__)
        raise RefusedError("kind", name="config", value=config, wanted=wanted)


def attention_intensity(config: AttentionConfig, context: int, rows: int, device: Device) -> float:
    """Return the FLOP per byte of absorbed attention alone, without projections and weights.

    Args:
        config: the layer; its own number of heads does not count.
        context: tokens in the cache, at least 1.
        rows: heads x query tokens, all of which read the same latents.
        device: gives the width of the numbers.
    """
    checks.whole("context", context)
    lone = replace(config, n_heads=rows)
    cost = decode(lone, context, "absorbed", dtype_bytes=device.dtype_bytes)
    return cost.attention_flops / (cost.cache_read_bytes + cost.cache_written_bytes)


def attention_turns(config: AttentionConfig, context: int, device: Device) -> int | None:
    """Return the heads x query tokens from which on absorbed attention alone is compute-bound."""
    return first_whole(
        lambda rows: attention_intensity(config, context, rows, device) >= device.ridge,
        MOST_QUERIES,
    )


def step_turns(cost_of: Callable[[int], Cost], device: Device) -> int | None:
    """Return the sequences at once from which on a whole step, weights included, is compute-bound.

    Args:
        cost_of: batch -> cost of the step.
        device: its ridge.

    Returns:
        The batch, None if more sequences never bring it there.
    """
    return first_whole(lambda batch: device.compute_bound(cost_of(batch)), MOST_BATCH)
