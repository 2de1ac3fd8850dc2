"""Names elsewhere: equations follow the glossary's own data flow, names the order of the rows."""

import pytest

from mla_engine import SYMBOLS
from mla_engine.names import citation

GATE = {"gate", "o_gated"}  # of Kimi-K3 and Ling-3.0: DeepSeek has none
COMPUTED = [
    (code, weight)
    for code, symbol in SYMBOLS.items()
    if "expanded" in symbol.steps and code not in GATE
    for weight in symbol.step("expanded").inputs
    if SYMBOLS[weight].role == "weight"
]


@pytest.mark.parametrize(("code", "weight"), COMPUTED)
def test_a_weight_stands_in_the_equation_of_what_it_makes(code, weight):
    assert citation(code, "expanded") == citation(weight, "expanded") is not None


@pytest.mark.parametrize(
    ("code", "form", "place"),
    [
        ("k_C", "expanded", ("2.1.2", 10)),
        ("k_R", "absorbed", ("2.1.3", 15)),
        ("u", "expanded", ("2.1.3", 19)),
        ("u", "grouped", ("2.1.1", 8)),
        ("W_O", "grouped", ("2.1.1", 8)),
        ("attention", "grouped", ("2.1.1", 7)),
        ("c_KV", "expanded", ("3.1.2", None)),
        ("b_DQ", "expanded", None),
        ("q_norm", "grouped", None),
    ],
)
def test_places_in_the_paper(code, form, place):
    assert citation(code, form) == place


def test_mla_has_a_name_in_deepseeks_code_for_every_symbol():
    ours = {"W_QK", "W_VO", "scores_C", "scores_R", *GATE}  # no name there
    of_mla = {
        code for code, symbol in SYMBOLS.items() if {"expanded", "absorbed"} & {*symbol.steps}
    }
    assert of_mla - ours <= {code for code, symbol in SYMBOLS.items() if symbol.deepseek}


@pytest.mark.parametrize(("fused", "parts"), [
    ("wq_b", {"W_UQ": "q_b_proj", "W_QR": "q_b_proj"}),
    ("wkv_a", {"W_DKV": "kv_a_proj_with_mqa", "W_KR": "kv_a_proj_with_mqa"}),
    ("wkv_b", {"W_UK": "kv_b_proj", "W_UV": "kv_b_proj"}),
])  # fmt: skip
def test_fused_weights_are_fused_alike_in_both_codes(fused, parts):
    for code, alias in parts.items():
        first = "first" in SYMBOLS[code].alias
        assert SYMBOLS[code].alias.startswith(alias)
        assert SYMBOLS[code].deepseek.startswith(f"{fused}[")
        letter = SYMBOLS[code].axes.removeprefix("h ").split()[0]
        assert SYMBOLS[code].deepseek.endswith(f":{letter}]" if first else f"-{letter}:]")
