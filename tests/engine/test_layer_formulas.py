"""Wrong formulas that count whole models, at one layer: over all layers what sources print."""

from dataclasses import replace
from math import inf

import pytest

from kvcount.mistakes import mistakes
from mla_engine import PRESETS, DeltaConfig, costs, mechanisms
from tests.engine.test_pooled_costs import V4, V4_HCA

KIMI_K3 = DeltaConfig(d_model=7168, n_heads=96, d_head=128)
GLM = PRESETS["glm-5"].config


def formula(config, code):
    (found,) = [one for one in costs.formulas(config) if one.code == code]
    return found


@pytest.mark.parametrize(
    ("layers", "code"),
    [
        ([replace(V4_HCA, pooling=0)] * 2 + [V4] * 21 + [V4_HCA] * 20, "pooled_as_gqa"),
        ([KIMI_K3] * 93, "latent_all_layers"),
        ([replace(GLM, index_shared=True)] * 78, "index_every_layer"),
    ],
)
def test_over_all_layers_it_is_what_is_printed_of_the_model(layers, code):
    assert sum(2 * formula(one, code).numbers(one) for one in layers) == mistakes()[code].printed


def test_its_words_and_its_source_are_those_of_the_reference():
    found, published = formula(V4, "pooled_as_gqa"), mistakes()["pooled_as_gqa"]
    assert (found.written, found.source) == (published.formula, published.source)
    assert (found.named, found.forgets) == (published.short, published.forgets)
    assert found.model == "DeepSeek-V4-Flash"


def test_a_formula_that_is_right_of_a_layer_is_not_among_its_mistakes():
    assert "index_every_layer" not in [one.code for one in costs.formulas(GLM)]
    assert [one.key for one in costs.mistakes(GLM)] == ["index_every_layer"]


def test_a_formula_of_what_does_not_grow_is_beyond_any_factor():
    wrong, right = formula(KIMI_K3, "delta_counted"), costs.formulas(KIMI_K3)[0]
    assert wrong.numbers(KIMI_K3) == 2 * 96 * 128
    assert (wrong.off(KIMI_K3), right.off(KIMI_K3)) == (inf, 1)


def test_what_a_step_is_said_to_read_is_no_formula_of_what_is_kept():
    read = [one.key for one in costs.mistakes(V4) if one.measure == "read"]
    assert read == ["pooled_each_head"]
    assert "pooled_each_head" not in [one.code for one in costs.formulas(V4)]


@pytest.mark.parametrize("mechanism", mechanisms.all(), ids=lambda one: one.key)
def test_every_mechanism_says_the_right_formula_first(mechanism):
    first, *_ = mechanism.costs.formulas
    assert first.code == "right"
    assert set(mechanism.costs.mistakes) <= set(mistakes())
