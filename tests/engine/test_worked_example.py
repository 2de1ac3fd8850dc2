"""The worked example against plain loops, hand-made figures and the torch engine."""

from fractions import Fraction
from math import cos, exp, sin, sqrt

import numpy as np
import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    worked_example,
)
from mla_engine.worked_example import Gap, Matrix, Rows, Step, build

# What exact arithmetic gives for the published inputs, worked out apart from this code.
EXACT = {
    "mla": {
        "c_KV": "0.21 -0.03",
        "c_Q": "0.21 -0.06",
        "k_R_pre": "0.14",
        "k_C": "0.045 -0.069 0.027 -0.051",
        "v_C": "0.027 -0.045 0.045 -0.027",
        "q_C": "0.048 -0.033 0.033 -0.048",
        "attention": "1 1",
        "o": "0.027 -0.045 0.045 -0.027",
        "cache_mha": "16",
        "cache_mla": "6",
        "cache_ratio": "8/3",
    },
    "mha": {
        "q": "0.21 -0.18 0.16 -0.17",
        "k": "0.21 -0.28 0.16 -0.23",
        "v": "0.16 -0.17 0.17 -0.16",
        "o": "0.16 -0.17 0.17 -0.16",
        "cache_mha": "16",
    },
}


def by_key(variant: str, inputs: dict[str, Rows] | None = None) -> dict[str, Step]:
    return {step.key: step for step in worked_example.steps(variant, inputs)}


def flat(matrix: Matrix) -> list[Fraction]:
    return [value for row in matrix.rows for value in row]


def array(rows: Rows) -> np.ndarray:
    return np.array([[float(value) for value in row] for row in rows])


@pytest.mark.parametrize("variant", ["mla", "mha"])
def test_published_inputs_give_the_exact_figures(variant: str) -> None:
    steps = by_key(variant)
    for key, text in EXACT[variant].items():
        assert flat(steps[key].result) == [Fraction(word) for word in text.split()], key
        assert steps[key].result.exact


def test_two_of_26_and_one_of_16_printed_figures_follow() -> None:
    assert worked_example.printed_count(worked_example.steps("mla")) == (2, 26)
    assert worked_example.printed_count(worked_example.steps("mha")) == (1, 16)
    mla = by_key("mla")
    assert mla["attention"].follows(0, 0)
    assert mla["cache_mha"].follows(0, 0)
    assert mla["cache_mla"].follows(0, 0) is False
    assert mla["cache_mla"].difference(0, 0) == 2
    assert mla["c_KV"].difference(1, 0) == Fraction("-0.18")


def test_a_printed_figure_follows_within_half_its_last_digit() -> None:
    inputs = {"W_DKV": worked_example.parse_matrix("0.0302 0 0 0;0.31 0 0 0", (2, 4))} | {
        "h": worked_example.parse_matrix("0.5;0;0;0", (4, 1))
    }
    c_KV = by_key("mla", inputs)["c_KV"]
    assert [row[0] for row in c_KV.result.rows] == [Fraction("0.0151"), Fraction("0.155")]
    assert c_KV.follows(0, 0) is False
    assert c_KV.follows(1, 0) is True


def test_what_is_not_given_stays_unknown() -> None:
    mla, mha = by_key("mla"), by_key("mha")
    for step in (mla["q_R"], mla["k_R"], mla["u"], mha["u"], mla["scores"]):
        assert set(flat(step.result)) == {Gap.MISSING}
        assert step.missing
        assert step.terms(0, 0) == ""
    assert mla["q_R"].missing == ("W_QR", "position")
    assert mla["k_R"].notes == ("odd_rope",)
    assert mla["q"].result.rows[1] == (Fraction("0.033"), Fraction("-0.048"), Gap.MISSING)
    assert mla["q_R"].follows(0, 0) is False
    assert mla["q_R"].difference(0, 0) is None


def test_printed_vectors_do_not_give_the_printed_scores() -> None:
    for variant, dot, width in (("mla", 0.001232, 3), ("mha", 0.000332, 2)):
        step = by_key(variant)["scores_printed"]
        assert all(operand.printed for operand in step.operands)
        assert float(step.result.rows[0][0]) == pytest.approx(dot / sqrt(width), rel=1e-14)
        assert step.follows(0, 0) is False
    mla, mha = (by_key(variant)["scores_printed"] for variant in ("mla", "mha"))
    assert worked_example.show(mla.result.rows[0][0]) == "≈0.00071130"
    assert worked_example.show(mha.result.rows[0][0]) == "≈0.00023476"
    assert float(by_key("mha")["scores"].result.rows[0][0]) == pytest.approx(0.0945 / sqrt(2))


def test_terms_write_out_row_by_column() -> None:
    mla = by_key("mla")
    assert mla["c_KV"].terms(0, 0) == (
        "0.1 × 0.5 + (−0.2) × (−0.3) + 0.3 × 0.2 + (−0.4) × (−0.1) = 0.21"
    )
    assert mla["c_KV"].used(1, 0) == {(0, 1, k) for k in range(4)} | {(1, k, 0) for k in range(4)}
    assert mla["scores_printed"].terms(0, 0) == (
        "(0.014 × 0.013 + (−0.006) × (−0.025) + 0.03 × 0.03) / √3 ≈ 0.00071130"
    )
    assert mla["cache_mla"].terms(0, 0) == "(2 + 1) × 2 = 6"


def test_softmax_writes_the_score_where_it_is_known() -> None:
    mla, mha = by_key("mla")["attention"], by_key("mha")["attention"]
    assert mla.terms(0, 0) == "e^x / e^x = 1"
    assert mha.terms(0, 0) == "e^0.066822 / e^0.066822 = 1"
    thirds = Matrix("scores", ((Fraction(-1, 3), Fraction(2, 3)),), ("h", "s"))
    written = build.softmax("attention", thirds).terms(0, 1)
    assert written == "e^(2/3) / (e^(−1/3) + e^(2/3)) ≈ 0.73106"


@pytest.mark.parametrize("variant", worked_example.VARIANTS)
def test_exact_terms_evaluate_to_their_result(variant: str) -> None:
    evaluated = 0
    for step in worked_example.steps(variant):
        for row, cells in enumerate(step.result.rows):
            for column, value in enumerate(cells):
                left, sign, _ = step.terms(row, column).rpartition(" = ")
                if not sign or set("e[s√") & set(left):
                    continue
                plain = left.replace("×", "*").replace("−", "-").replace("8/3", "8 / 3")
                assert eval(plain) == pytest.approx(float(value), abs=1e-12), left
                evaluated += 1
    assert evaluated >= 8


@pytest.mark.parametrize("variant", worked_example.VARIANTS)
def test_shapes_of_figures_and_places(variant: str) -> None:
    for step in worked_example.steps(variant):
        if step.published:
            assert np.shape(step.published) == step.result.shape, step.key
        for row in range(step.result.shape[0]):
            for column in range(step.result.shape[1]):
                for index, i, j in step.used(row, column):
                    assert step.operands[index].rows[i][j] is not None


def test_ours_is_marked_in_the_completed_inputs() -> None:
    c_KV, k_R_pre = (by_key("mla_completed")[key] for key in ("c_KV", "k_R_pre"))
    assert c_KV.operands[1].ours == {(row, 1) for row in range(4)}
    assert c_KV.operands[0].ours == frozenset()
    assert k_R_pre.operands[0].ours == {(1, column) for column in range(4)}
    u = by_key("mha_completed")["u"]
    assert len(u.operands[0].ours) == 16


def test_rotation_mask_and_softmax_against_floats() -> None:
    steps = by_key("mla_completed")
    x, y = (float(row[1]) for row in steps["k_R_pre"].result.rows)
    expected = [x * cos(1) - y * sin(1), x * sin(1) + y * cos(1)]
    assert [float(row[1]) for row in steps["k_R"].result.rows] == pytest.approx(expected, rel=1e-14)
    assert [row[0] for row in steps["k_R"].result.rows] == [Fraction("0.14"), Fraction("0.03")]
    scores, attention = (steps[key].result.rows for key in ("scores", "attention"))
    assert scores[0][1] is scores[2][1] is Gap.MASKED
    assert attention[0] == attention[2] == (1, 0)
    for row in (1, 3):
        weights = [exp(float(score)) for score in scores[row]]
        expected = [weight / sum(weights) for weight in weights]
        assert [float(value) for value in attention[row]] == pytest.approx(expected, rel=1e-14)
    assert not steps["attention"].exact


def test_completed_mla_equals_the_torch_engine() -> None:
    config = LatentConfig(
        d_model=4, n_heads=2, d_head=2, d_latent_kv=2, d_latent_q=2, d_rope=2, rope=RopeConfig()
    )
    mla, steps = MultiHeadLatentAttention(config, dtype=torch.float64), by_key("mla_completed")
    weights = {operand.name: operand for step in steps.values() for operand in step.operands}
    assign(mla, {name: array(m.rows) for name, m in weights.items() if name.startswith("W_")})
    trace = mla(torch.from_numpy(array(weights["h"].rows).T[None].copy()))
    for name in ("c_KV", "c_Q", "k_R_pre", "k_R"):
        agree(getattr(trace, name)[0].T, steps[name])
    for name in ("k_C", "v_C", "q_C", "q_R_pre", "q_R", "o"):
        agree(getattr(trace, name)[0].flatten(1).T, steps[name])
    for name in ("scores_C", "scores_R", "scores", "attention"):
        agree(getattr(trace, name)[0].flatten(0, 1), steps[name])
    agree(trace.u[0].T, steps["u"])


def test_completed_mha_equals_the_torch_engine() -> None:
    config = GroupedConfig(d_model=4, n_heads=2, n_kv_heads=2, d_head=2)
    mha, steps = GroupedQueryAttention(config, dtype=torch.float64), by_key("mha_completed")
    weights = {operand.name: operand for step in steps.values() for operand in step.operands}
    assign(mha, {name: array(m.rows) for name, m in weights.items() if name.startswith("W_")})
    trace = mha(torch.from_numpy(array(weights["h"].rows).T[None].copy()))
    for name in ("q", "k", "v", "o"):
        agree(getattr(trace, name)[0].flatten(1).T, steps[name])
    for name in ("scores", "attention"):
        agree(getattr(trace, name)[0].flatten(0, 1), steps[name])
    agree(trace.u[0].T, steps["u"])


def assign(layer: torch.nn.Module, weights: dict[str, np.ndarray]) -> None:
    """Heads are stacked in the example's rows (or W_O's columns), which is the engine's order."""
    for name, weight in weights.items():
        parameter = getattr(layer, name)
        parameter.copy_(torch.from_numpy(weight).reshape(parameter.shape))


def agree(tensor: torch.Tensor, step: Step) -> None:
    expected = [
        [-float("inf") if value is Gap.MASKED else float(value) for value in row]
        for row in step.result.rows
    ]
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=0, atol=1e-12, err_msg=step.key)


def test_changed_inputs_go_through_every_step() -> None:
    h = worked_example.parse_matrix("1; 0; 0; 1/3", (4, 1))
    steps = by_key("mla", {"h": h})
    assert flat(steps["c_KV"].result) == [Fraction(-1, 30), Fraction(1, 3)]
    assert steps["k_C"].result.rows[0][0] == Fraction(-1, 25)
    assert worked_example.show(steps["c_KV"].result.rows[1][0]) == "1/3"


def test_huge_inputs_still_give_a_softmax() -> None:
    huge = worked_example.parse_matrix(";".join(["999999999999 -99999999999"] * 4), (4, 2))
    attention = by_key("mla_completed", {"W_QR": huge, "W_UK": huge, "W_UQ": huge})["attention"]
    assert [sum(row) for row in attention.result.rows] == [1, 1, 1, 1]
