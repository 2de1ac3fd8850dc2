"""Questions: the same for the same seed, their answers against arithmetic of their own."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
import torch

from mla_engine import PRESETS, quiz
from mla_engine.quiz.question import amounts, words
from mla_engine.symbols import SYMBOLS

SEEDS = range(8)


def sizes(question):
    c = PRESETS[question.preset].config
    return c.n_heads, c.d_head, c.d_latent_kv, c.d_rope, PRESETS[question.preset]


def right(question):
    return question.choices[question.answer].value


def by_hand(question):
    """The answer out of the model's widths and the question's facts alone."""
    fact = question.fact
    if question.kind == "grouped":
        return 2 * fact("groups") * fact("d_head")
    if question.kind == "example_ratio":
        return (2 * 2 * 2) / (2 + 1)
    if question.kind == "pooled":
        return (512 + 128) / 4
    if question.kind == "heavily_pooled":
        return 512 / 128
    if question.kind == "state":
        return {"Kimi-K3": 96}.get(fact("model"), 32) * 128 * 128
    h, k, c, r, preset = sizes(question)
    q = preset.config.d_latent_q or 0
    v = preset.config.d_value
    return {
        "elements": lambda: c + r,
        "own_heads": lambda: h * (k + r + v),
        "whole_model": lambda: (c + r) * 2 * fact("layers") * fact("context"),
        "ratio": lambda: h * (k + v) / (c + r),
        "equivalent": lambda: (c + r) / (k + v),
        "rope_per_head": lambda: c + h * r,
        "per_gpu": lambda: c + r,
        "longest": lambda: fact("memory") // ((c + r) * 2 * fact("layers")),
        "crossover": lambda: round(c * (k + v) / (2 * c - k - v)),
        "intensity": lambda: h * (2 * c + r) / (c + r),
        "merged": lambda: h * q * c / (h * k * q + h * k * c),
        "absorbed_width": lambda: c + r,
        "scale": lambda: math.sqrt(k + r),
        "index_keys": lambda: c + r + 128,
        "block_index": lambda: c + r + 128 / 4,
        "chosen_keys": lambda: min(fact("context"), 2048),
        "hybrid": lambda: {"kimi-k3": 24, "kimi-linear-48b-a3b": 7}[question.preset] * 2 * (c + r),
    }[question.kind]()


NUMBERS = (
    "elements",
    "own_heads",
    "whole_model",
    "ratio",
    "grouped",
    "equivalent",
    "rope_per_head",
    "per_gpu",
    "longest",
    "crossover",
    "intensity",
    "merged",
    "absorbed_width",
    "scale",
    "example_ratio",
    "index_keys",
    "chosen_keys",
    "hybrid",
    "pooled",
    "heavily_pooled",
    "state",
    "block_index",
)
FIXED = {
    "query_latent": "the_same",
    "bytes_read": "absorbed",  # 576 numbers a token, against all heads or an up-projection
    "flops_of_a_step": "latent_expanded",
    "prefill_form": "expanded_form",
    "weights": "W_O",
    "shifted": "rotary_parts",
    "stacked_heads": "sum",
    "kept": "c_KV, k_R",
    "forms_agree": "by_rounding",
}


def test_there_are_enough_kinds_and_each_has_a_test():
    assert len(quiz.KINDS) == 38
    others = {"norm_between", "head_of_group", "statement"}
    maps = {"unrotated", "window", "wrong_scale", "not_causal"}
    assert {*NUMBERS, *FIXED, *others, *maps} == set(quiz.KINDS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_amounts_against_arithmetic(kind, seed):
    question = quiz.question(seed, kind)
    assert right(question) == pytest.approx(by_hand(question))
    values = [choice.value for choice in question.choices]
    assert values == sorted(values)
    assert all(b > 1.03 * a for a, b in pairwise(values))
    assert 2 <= len(values) <= 4


@pytest.mark.parametrize("seed", SEEDS[:4])
@pytest.mark.parametrize(("kind", "answer"), FIXED.items())
def test_words_whose_answer_theory_gives(kind, answer, seed):
    question = quiz.question(seed, kind)
    assert right(question) == answer
    assert len({choice.value for choice in question.choices}) == len(question.choices)


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbouring_heads_share_a_key_head(seed):
    question = quiz.question(seed, "head_of_group")
    size = question.fact("n_heads") // question.fact("groups")
    first = question.fact("head") // size * size
    assert right(question) == ", ".join(map(str, range(first, first + size)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_norm_forbids_merging(seed):
    question = quiz.question(seed, "norm_between")
    assert (right(question) == "other_keys") == (question.fact("norm") == "with_norm")


def test_a_statement_has_the_verdict_of_its_check():
    from tests.engine.test_claims import EXPECTED

    for seed in range(20):
        question = quiz.question(seed, "statement")
        assert right(question) == EXPECTED[question.fact("claim")].replace(" ", "_")


@pytest.mark.parametrize("seed", SEEDS)
def test_maps_show_what_is_asked(seed):
    asked = {k: quiz.question(seed, k) for k in ("unrotated", "window", "wrong_scale")}
    chosen = {kind: question.maps[question.answer] for kind, question in asked.items()}
    # equal words in equal columns: 0 the, 1 cat, 2 saw, and so on
    assert np.allclose(chosen["unrotated"][-1, :2], chosen["unrotated"][-1, 3:5], atol=1e-6)
    others = [m for m in asked["unrotated"].maps if m is not chosen["unrotated"]]
    assert not any(np.allclose(m[-1, :2], m[-1, 3:5], atol=1e-4) for m in others)
    width = asked["window"].fact("width")
    rows, columns = np.indices((8, 8))
    assert np.array_equal(chosen["window"] > 0, (columns <= rows) & (columns > rows - width))
    entropy = [-(m[-1] * np.log(m[-1])).sum() for m in asked["wrong_scale"].maps]
    assert int(np.argmax(entropy)) == asked["wrong_scale"].answer
    for question in asked.values():
        assert all(np.allclose(m.sum(1), 1, atol=1e-5) for m in question.maps)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_map_that_is_not_causal_looks_ahead(seed):
    question = quiz.question(seed, "not_causal")
    ahead = [np.triu(m, 1).any() for m in question.maps]
    assert ahead.index(True) == question.answer
    assert sum(ahead) == 1


def test_a_class_gets_the_same_set_from_a_seed_and_nobody_elses_dice_move():
    random.seed(5)
    torch.manual_seed(5)
    first = [quiz.question(3, kind) for kind in quiz.order(3)]
    assert random.random() == random.Random(5).random()
    assert torch.rand(1) == torch.rand(1, generator=torch.Generator().manual_seed(5))
    again = [quiz.question(3, kind) for kind in reversed(quiz.order(3))][::-1]
    for one, two in zip(first, again, strict=True):
        assert (one.kind, one.choices, one.answer, one.facts) == (
            two.kind, two.choices, two.answer, two.facts,
        )  # fmt: skip
        assert all(np.array_equal(a, b) for a, b in zip(one.maps, two.maps, strict=True))
    assert sorted(quiz.order(3)) == sorted(quiz.KINDS)
    assert quiz.order(3) != quiz.order(4)


def test_seeds_vary_models_answers_and_places():
    asked = [quiz.question(seed, "elements") for seed in range(40)]
    assert len({question.preset for question in asked}) > 4
    assert len({question.answer for question in asked}) > 1
    assert len({right(question) for question in asked}) > 1


def test_wrong_amounts_that_look_right_are_left_out():
    mixed = amounts(random.Random(0), 100.0, "yes", {"near": 101.0, "far": 50.0, "same": 100.0})
    assert [choice.value for choice in mixed["choices"]] == [50.0, 100.0]
    assert mixed["answer"] == 1
    with pytest.raises(ValueError, match="every wrong answer is right"):
        amounts(random.Random(0), 100.0, "yes", {"near": 101.0})


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="seed"):
        quiz.question(-1, "elements")
    with pytest.raises(ValueError, match="kind"):
        quiz.question(1, "capital_cities")
    with pytest.raises(ValueError, match="seed"):
        quiz.order(1.5)
    with pytest.raises(ValueError, match="not in tuple"):
        words(("a", "b"), "c")


def test_tensors_in_answers_are_symbols():
    for choice in quiz.question(1, "kept").choices:
        assert set(choice.value.split(", ")) <= set(SYMBOLS)
