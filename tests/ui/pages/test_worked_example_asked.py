"""The example that fades: what is asked, what counts as right, and the rules behind the steps."""

from fractions import Fraction
from itertools import product

import pytest

from mla_engine import worked_example
from mla_engine.worked_example import Gap, exercises, show
from tests.ui.screen import statement

PAGE = "pages/worked_example.py"
STEPS = {step.key: step for step in worked_example.steps("mla_completed")}
NUMBER = {key: n for n, key in enumerate(STEPS, start=1)}
ROWS = {step.key: step.result.rows for step in STEPS.values()}
INPUTS = {
    operand.name: operand.rows
    for step in STEPS.values()
    for operand in step.operands
    if operand.name.startswith("W_") or operand.name == "h"
}
HEADS = 2


def product_of(a, b):
    return [
        [sum(x * row[k] for k, x in enumerate(line)) for row in zip(*b, strict=True)] for line in a
    ]


def columns(matrix) -> list[list[Fraction]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def dot(a, b) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def per_head(column: list[Fraction], head: int) -> list[Fraction]:
    width = len(column) // HEADS
    return column[head * width : (head + 1) * width]


def field(at):
    return next(box for box in at.text_input if (box.key or "").startswith("we_answer:"))


def answers(at) -> list[str]:
    return [box.label for box in at.text_input if (box.key or "").startswith("we_answer:")]


def results(at) -> list[str]:
    board = next(e.body for e in at.get("html") if 'class="board"' in e.body)
    return [part.partition("<")[0] for part in board.split('data-cell="')[1:]]


@pytest.mark.parametrize(
    ("stage", "keys"),
    {"given": "", "last": "u", "more": "scores attention o u"}.items(),
)
def test_the_last_steps_are_asked_first_one_then_more(opened, stage, keys):
    assert exercises.asked(tuple(STEPS.values()), stage) == tuple(keys.split())
    at = opened(PAGE, we_fade=stage, we_step=str(NUMBER["o"]))
    assert bool(answers(at)) == ("o" in keys.split())
    shown = [text.partition(">")[2] for text in results(at)]
    assert all(text == "?" for text in shown) == ("o" in keys.split())


def test_a_choice_of_the_stage_leads_to_the_first_step_that_is_asked(opened):
    at = opened(PAGE)
    stage = next(group for group in at.button_group if group.key.startswith("we_fade"))
    stage.set_value("more").run()
    assert at.subheader[0].value.startswith(f"{NUMBER['scores']} of {len(STEPS)}")
    assert answers(at) == ["Your result for scores[4, 2]"]
    assert "Your turn" in statement(at)


def test_a_number_is_right_to_the_digits_that_are_printed(opened):
    value = STEPS["u"].result.rows[3][1]
    text = show(value).removeprefix("≈").replace("−", "-")
    assert show(value).startswith("≈")
    at = opened(PAGE, we_fade="last", we_step=str(NUMBER["u"]), we_row="4", we_column="2")
    digit = Fraction(1, 10 ** len(text.partition(".")[2]))
    for wrong, said in ((str(float(Fraction(text) + digit)), "Not yet"), ("x", "not a number")):
        field(at).set_value(wrong).run()
        assert said in at.warning[0].value
        assert answers(at)
    field(at).set_value(text).run()
    assert not answers(at)
    assert [e.value for e in at.success] == ["Right. Its products stand below."]
    written = next(e.body for e in at.get("html") if 'class="written"' in e.body)
    assert text.lstrip("-") in written


def test_exact_numbers_are_asked_exactly():
    assert exercises.is_right("0.25", Fraction(1, 4))
    assert exercises.is_right("1/4", Fraction(1, 4))
    assert not exercises.is_right("0.2501", Fraction(1, 4))
    third_and_more = Fraction(1234567, 9999999)  # shown as 0.12346
    assert exercises.is_right("0.12346", third_and_more)
    assert not exercises.is_right("0.12347", third_and_more)
    assert exercises.is_right("-0.12346", -third_and_more)


def test_who_does_not_want_to_reckon_is_shown_the_number(opened):
    at = opened(PAGE, we_fade="more", we_step=str(NUMBER["attention"]))
    assert answers(at) == ["Your result for attention[1, 1]"]
    next(b for b in at.button if b.key == "we_answer_show").click().run()
    assert not answers(at)
    assert not at.success
    first = show(STEPS["attention"].result.rows[0][0])
    assert results(at)[0].endswith(f">{first}")


def test_a_masked_cell_is_never_asked(opened):
    at = opened(PAGE, we_fade="more", we_step=str(NUMBER["scores"]), we_row="1", we_column="2")
    assert STEPS["scores"].result.rows[0][1] is Gap.MASKED
    assert answers(at) == ["Your result for scores[4, 2]"]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("key", exercises.RULES)
def test_a_rule_is_told_right_or_wrong_with_a_sentence(opened, key, lang):
    at = opened(PAGE, we_fade="last", we_step=str(NUMBER[key]), lang=lang)
    right, *others = exercises.RULES[key]
    assert len(set(at.radio[0].options)) == 3
    assert not at.success
    at.radio[0].set_value(right).run()
    assert len(at.success) == 1
    assert not at.warning
    for wrong in others:
        at.radio[0].set_value(wrong).run()
        assert len(at.warning) == 1
        assert not at.success


def test_no_rule_is_asked_of_a_plain_product_or_where_all_is_given(opened):
    assert not opened(PAGE, we_fade="last", we_step=str(NUMBER["c_KV"])).radio
    assert not opened(PAGE, we_step=str(NUMBER["scores_C"])).radio


@pytest.mark.parametrize("head", range(HEADS))
def test_brackets_move_at_the_content_scores(head):
    W_UK = INPUTS["W_UK"][head * 2 : head * 2 + 2]
    for t, s in product(range(2), repeat=2):
        q = per_head(columns(ROWS["q_C"])[t], head)
        c = columns(ROWS["c_KV"])[s]
        absorbed = [dot(q, column) for column in columns(W_UK)]
        assert dot(absorbed, c) == dot(q, per_head(columns(ROWS["k_C"])[s], head))
    assert exercises.acting_rule("scores_C") == "associativity"


@pytest.mark.parametrize("head", range(HEADS))
def test_turning_both_changes_no_product_and_one_no_length(head):
    for t in range(2):
        before = per_head(columns(ROWS["q_R_pre"])[t], head), columns(ROWS["k_R_pre"])[t]
        after = per_head(columns(ROWS["q_R"])[t], head), columns(ROWS["k_R"])[t]
        for one, other in ((0, 1), (0, 0), (1, 1)):
            assert float(dot(after[one], after[other])) == pytest.approx(
                float(dot(before[one], before[other])), abs=1e-30
            )
    assert exercises.acting_rule("scores_R") == "relative"
    assert exercises.acting_rule("q_R") == "same_length"


def test_rows_of_shares_add_up_to_1_and_sums_go_through_a_matrix():
    for row in ROWS["attention"]:
        assert float(sum(row)) == pytest.approx(1, abs=1e-30)
    for head in range(HEADS):
        W_UV = INPUTS["W_UV"][head * 2 : head * 2 + 2]
        shares = ROWS["attention"][2 * head + 1]
        latents = columns(ROWS["c_KV"])
        mixed = [sum(a * c[k] for a, c in zip(shares, latents, strict=True)) for k in range(2)]
        assert [dot(row, mixed) for row in W_UV] == per_head(columns(ROWS["o"])[1], head)
    assert (exercises.acting_rule("attention"), exercises.acting_rule("o")) == (
        "row_sum",
        "linearity",
    )


def test_joined_vectors_multiply_part_by_part():
    o, W_O = columns(ROWS["o"])[1], INPUTS["W_O"]
    parts = [
        sum(dot(row[2 * head : 2 * head + 2], per_head(o, head)) for head in range(HEADS))
        for row in W_O
    ]
    assert parts == columns(ROWS["u"])[1]
    for row, column in ((1, 0), (3, 1)):
        content, position = ROWS["scores_C"][row][column], ROWS["scores_R"][row][column]
        assert ROWS["scores"][row][column] == content + position
    assert (exercises.acting_rule("scores"), exercises.acting_rule("u")) == ("blocks", "blocks")
