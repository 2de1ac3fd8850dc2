"""The bound of a pipeline's step, against schedules drawn at random: none is faster.

Each lets parts of a batch pass both stages of DeepSeek-V3 one after another, round after round, and
takes of every part and stage the GPU that reads or computes longest. Nothing asks the planner.
"""

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from kvcount import MODELS, Plan, storage
from tests.kvcount.test_placements import (
    ATTENTION,
    BANDWIDTH,
    CACHE,
    CONTEXT,
    EXPERTS,
    OF_EXPERT,
    PEAK,
    SCORES,
    TABLE,
    USED,
    Gpu,
    chosen,
    cuts,
)
from tests.sampling import many

GPUS, DENSE, ROUTER = 8, 3 * 7168 * 18_432, EXPERTS * 7168
STAGES = [(31, 28, 3 * DENSE), (30, 30, TABLE)]  # layers, those with experts, and what else is read
ROUNDS, NEAR = 6, Fraction(9999, 10_000)  # norms are no matrices
CASES = [(1, 1), (1, 2), (1, 9), (1, 64), (2, 3), (2, 8), (4, 4), (4, 40)]


def planned(data: int) -> Plan:
    one = MODELS["deepseek-v3"]
    found = {"parameters": one.parameters, "active": one.active, "routed_parameters": one.routed}
    return Plan(
        model=one.model(), storage=storage("fp8"), **found, gpus=2 * GPUS, data=data, pipeline=2,
        context=CONTEXT, weight_bytes=1,
    )  # fmt: skip


def seconds(stage: int, groups: list[int], data: int, chance: random.Random, *, own: bool) -> float:
    """Return how long a part takes in a stage; `groups` has the group of each of its sequences."""
    layers, mixing, more = STAGES[stage]
    gpus, ranks = [Gpu() for _ in range(GPUS)], GPUS // data
    attention, cache = Fraction(layers * ATTENTION, 61), Fraction(layers * CACHE, 61)
    for group in set(groups):
        n = groups.count(group)
        for gpu in gpus[group * ranks : (group + 1) * ranks]:
            gpu.read += attention / ranks + n * cache
            gpu.flops += n * (2 * attention + Fraction(layers * SCORES, 61)) / ranks
    everybody = more + mixing * (OF_EXPERT + ROUTER)
    for share in cuts(chance, even=True):
        gpu = min(gpus, key=lambda one: one.read)
        gpu.read += share * everybody
        gpu.flops += share * 2 * everybody * len(groups)
    for _ in range(mixing):
        for tokens in chosen(len(groups), chance, own=own).values():
            gpu = min(gpus, key=lambda one: one.read)
            gpu.read += OF_EXPERT
            gpu.flops += tokens * 2 * OF_EXPERT
    return max(float(max(gpu.read / BANDWIDTH, gpu.flops / PEAK)) for gpu in gpus)


def round_of(times: list[list[float]]) -> float:
    """Return the seconds of a round, each part waiting for itself and for the one before it."""
    free, ready = [0.0] * len(STAGES), [0.0] * len(times)
    ends = []
    for _ in range(ROUNDS):
        for part, each in enumerate(times):
            for stage, taken in enumerate(each):
                free[stage] = ready[part] = max(free[stage], ready[part]) + taken
        ends.append(max(ready))
    return (ends[-1] - ends[ROUNDS // 2]) / (ROUNDS - 1 - ROUNDS // 2)


@pytest.mark.parametrize(("data", "batch"), CASES)
@pytest.mark.parametrize("own", [False, True])
def test_no_schedule_is_faster(data: int, batch: int, own: bool):
    step, nearest = planned(data).step(batch, spread=own), 10.0
    for seed in range(many(6, 40)):
        chance = random.Random(seed)
        n = chance.randint(1, min(batch, 5))
        parts: list[list[int]] = [[] for _ in range(n)]
        for sequence in range(batch):
            parts[sequence // data % n].append(sequence % data)
        times = [
            [seconds(stage, part, data, chance, own=own) for stage in range(len(STAGES))]
            for part in filter(None, parts)
        ]
        taken = round_of(times)
        assert taken >= step.seconds * NEAR
        nearest = min(nearest, float(taken / step.seconds))
    if own and batch * USED <= EXPERTS:  # else parts share experts that the bound counts once
        assert nearest < 1.3  # a bound that is worth its name


def test_a_pipeline_is_no_faster_than_its_parts():
    plan = planned(1)
    one, most = plan.step(1), plan.step(64)
    assert (one.parts, most.parts) == (1, 2)
    assert one.seconds == one.passing_seconds > one.reading_seconds
    assert most.tokens_per_second > one.tokens_per_second


@pytest.mark.parametrize("data", [1, 2])
def test_computing_takes_as_long_as_reading_from_the_batch_that_is_said(data: int):
    plan = replace(planned(data), context_ranks=GPUS // data)

    def computes(n: int) -> bool:
        step = plan.step(n)
        return step.computing_seconds >= step.reading_seconds

    found = plan.computing_from
    assert computes(found)
    assert not any(computes(n) for n in (found - data, *range(data, found, 8 * data)))
