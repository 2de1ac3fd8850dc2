"""Bounds of a plan, against placements drawn at random: none reads less, computes less, fits more.

A placement here deals experts to GPUs and sequences to groups as it likes, and adds up for each GPU
what it then reads and computes. Nothing of it asks the planner.
"""

import random
from dataclasses import dataclass
from fractions import Fraction

import pytest

from kvcount import MODELS, Plan, storage
from tests.sampling import many

LAYERS, EXPERTS, USED = 58, 256, 8  # of DeepSeek-V3
OF_EXPERT = 3 * 7168 * 2048
WHOLE, TABLE = 671_026_404_352, 129_280 * 7168
ATTENTION = 61 * (
    1536 * (7168 + 128 * 192) + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
)  # matrices
OTHERS = WHOLE - TABLE - LAYERS * EXPERTS * OF_EXPERT - ATTENTION  # dense, shared, the head
CONTEXT, GPUS = 4096, 8
CACHE = 61 * 576 * CONTEXT
SCORES = 61 * 2 * 128 * (2 * 512 + 64) * (CONTEXT + 1)
BANDWIDTH, PEAK, MEMORY = 4800 * 10**9, 1979 * 10**12, 143_771 * 2**20
CASES = [(1, 1), (1, 7), (2, 3), (2, 8), (4, 30), (8, 3), (8, 8), (8, 21), (8, 64)]


def planned(data: int) -> Plan:
    one = MODELS["deepseek-v3"]
    found = {"parameters": one.parameters, "active": one.active, "routed_parameters": one.routed}
    return Plan(
        model=one.model(), storage=storage("fp8"), **found, gpus=GPUS, data=data,
        context=CONTEXT, weight_bytes=1,
    )  # fmt: skip


@dataclass
class Gpu:
    """The numbers of a byte that one of them keeps, and does in a step."""

    read: Fraction = Fraction(0)
    flops: Fraction = Fraction(0)


def placed(data: int, batch: int, chance: random.Random, *, own: bool) -> list[Gpu]:
    """A step of a random placement; where `own`, no two sequences share an expert if they can."""
    gpus, ranks = [Gpu() for _ in range(GPUS)], GPUS // data
    even = chance.random() < 0.5  # sequences in turn, experts where least is read; or anyhow
    groups = [n % data if even else chance.randrange(data) for n in range(batch)]
    for group in set(groups):
        sequences = groups.count(group)
        for gpu in gpus[group * ranks : (group + 1) * ranks]:
            gpu.read += Fraction(ATTENTION, ranks) + sequences * CACHE
            gpu.flops += Fraction(sequences * (2 * ATTENTION + SCORES), ranks)

    def place() -> Gpu:
        return min(gpus, key=lambda one: one.read) if even else chance.choice(gpus)

    for share in cuts(chance, even=even):
        gpu = place()
        gpu.read += share * OTHERS
        gpu.flops += share * 2 * OTHERS * batch
    for _ in range(LAYERS):
        for tokens in chosen(batch, chance, own=own).values():
            gpu = place()
            gpu.read += OF_EXPERT
            gpu.flops += tokens * 2 * OF_EXPERT
    return gpus


def cuts(chance: random.Random, *, even: bool) -> list[Fraction]:
    """Shares of a whole that lie somewhere."""
    parts = [1] * 64 if even else [chance.randint(1, 9) for _ in range(64)]
    return [Fraction(part, sum(parts)) for part in parts]


def chosen(batch: int, chance: random.Random, *, own: bool) -> dict[int, int]:
    """Expert -> tokens of a layer: all of few experts, of their own, or by chance."""
    if own:
        turns = [(n * USED + k) % EXPERTS for n in range(batch) for k in range(USED)]
    else:
        pool = chance.randint(USED, EXPERTS)
        turns = [e for _ in range(batch) for e in chance.sample(range(pool), USED)]
    return {expert: turns.count(expert) for expert in set(turns)}


@pytest.mark.parametrize(("data", "batch"), CASES)
@pytest.mark.parametrize("own", [False, True])
def test_no_placement_reads_or_computes_less(data: int, batch: int, own: bool):
    step = planned(data).step(batch, spread=own)
    nearest = 10.0
    for seed in range(many(6, 60)):
        gpus = placed(data, batch, random.Random(seed), own=own)
        reading = max(gpu.read for gpu in gpus)
        computing = max(gpu.flops for gpu in gpus) / PEAK
        assert reading >= step.read_bytes * (1 - Fraction(1, 10**4))  # norms are no matrices
        assert max(reading / BANDWIDTH, computing) >= step.seconds * (1 - Fraction(1, 10**4))
        nearest = min(nearest, float(reading / step.read_bytes))
    if own and batch % data == 0:
        assert nearest < 1.1  # no placement is far from a bound that is worth its name


@pytest.mark.parametrize("data", [1, 2, 8])
def test_no_dealing_of_sequences_fits_more(data: int):
    plan, chance = planned(data), random.Random(0)
    weights = Fraction(ATTENTION * data + WHOLE - ATTENTION, GPUS)
    room, most = MEMORY - weights - 2 * 2**30, 0
    for _ in range(many(20, 200)):
        held = [0] * data
        while True:
            group = chance.randrange(data)
            if (held[group] + 1) * CACHE > room:
                break
            held[group] += 1
        most = max(most, sum(held))
    full = data * int(room // CACHE)
    assert most <= plan.largest_batch
    assert plan.largest_batch == pytest.approx(full, rel=1e-3)
