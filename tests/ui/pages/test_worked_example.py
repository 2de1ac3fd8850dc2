"""The worked example's page, opened by a link first: its numbers are the engine's."""

import re
from collections.abc import Callable
from html import unescape
from io import BytesIO

import openpyxl
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import worked_example

Opened = Callable[..., AppTest]
PAGE = "pages/worked_example.py"


def link(at: AppTest, name: str) -> str | None:
    value = at.query_params.get(name)
    return value[0] if isinstance(value, list) else value


def html(at: AppTest) -> str:
    return "".join(element.proto.body for element in at.get("html"))


def cells(at: AppTest) -> list[str]:
    """The numbers of the result as drawn."""
    return [unescape(text) for text in re.findall(r'data-cell="[\d,]+">([^<]+)</button>', html(at))]


def terms(at: AppTest) -> str:
    written = re.search(r':</span> (.*?)</p><p class="compare', html(at)).group(1)
    return plain(re.sub("<[^>]+>", "", written))


def plain(text: str) -> str:
    """Without the marks that stand for raised parts of names and for exponents."""
    return re.sub(r"[\^_]", "", text)


@pytest.mark.parametrize("variant", worked_example.VARIANTS)
def test_every_step_draws_the_engines_numbers(opened: Opened, variant: str) -> None:
    name, _, completed = variant.partition("_")
    at = opened(PAGE, we_variant=name, we_completed=str(int(bool(completed))))
    steps = worked_example.steps(variant)
    for place, step in enumerate(steps, start=1):
        assert at.subheader[0].value.startswith(f"{place} of {len(steps)}: ")
        assert cells(at) == [worked_example.show(v) for row in step.result.rows for v in row]
        assert at.latex[0].value.strip("$\n") == step.formula
        if step.terms(0, 0):
            assert terms(at) == plain(step.terms(0, 0))
        else:
            assert "does not give" in terms(at)
        if place < len(steps):
            at.button(key="we_next").click().run()
            assert not at.exception
    assert at.button(key="we_next").disabled


def test_link_opens_its_step_and_cell_and_an_edit_follows(opened: Opened) -> None:
    at = opened(PAGE, we_step="5", we_row="3", lang="en")
    step = worked_example.steps("mla")[4]
    assert at.title[0].value == "2 of the 26 printed MLA figures follow from the printed matrices"
    assert terms(at) == step.terms(2, 0)
    assert "≠ printed 0.008: the computed figure minus the printed one is 0.019." in html(at)

    at.text_input(key="we_h:en").set_value("1; 0.50; 1/3; 0").run()
    changed = worked_example.steps("mla", {"h": worked_example.read("h", "1;0.5;1/3;0")})
    assert cells(at) == [worked_example.show(row[0]) for row in changed[4].result.rows]
    assert link(at, "we_h") == "1;0.5;1/3;0"
    follow, printed = worked_example.printed_count(changed)
    assert at.title[0].value.startswith(f"With your matrices, {follow} of the {printed} ")

    at.text_input(key="we_W_UK:en").set_value("1 0;0 1;1 1;1 x").run()
    assert "row 4, column 2: “x” is not a number" in at.error[0].value
    assert cells(at) == [worked_example.show(row[0]) for row in changed[4].result.rows]
    assert link(at, "we_W_UK") is None

    at.button(key="we_next").click().run()
    at.button(key="we_previous").click().run()
    assert at.text_input(key="we_W_UK:en").value == "1 0;0 1;1 1;1 x", "the entry is kept"
    assert len(at.error) == 1

    at.button(key="we_originals").click().run()
    assert not at.error
    assert link(at, "we_h") is None
    assert cells(at) == [worked_example.show(row[0]) for row in step.result.rows]


def test_bad_entries_stay_until_mended_or_reset_and_count_rightly(opened: Opened) -> None:
    at = opened(PAGE, lang="en")
    at.text_input(key="we_h:en").set_value("1 2").run()
    at.text_input(key="we_W_DKV:en").set_value("1;2").run()
    said = [error.value for error in at.error]
    assert "h has 1 row, row 1 with 2 numbers; write 4 rows of 1 number. " in said[0]
    assert "has 2 rows, row 1 with 1 number; write 2 rows of 4 numbers. " in said[1]
    at.segmented_control(key="lang:en").set_value("zh").run()
    assert "h 有 1 行，第 1 行有 2 个数；请写 4 行，每行 1 个数。" in at.error[0].value

    at.text_input(key="we_h:zh").set_value("1;2;3;4").run()
    assert len(at.error) == 1
    assert link(at, "we_h") == "1;2;3;4"
    reset = next(button for button in at.button if button.label == "重置本页")
    reset.click().run()
    assert not at.error
    original = worked_example.format_matrix(worked_example.default("W_DKV"))
    assert at.text_input(key="we_W_DKV:zh").value == original


def test_bad_matrix_in_a_link_leads_to_the_published_one(opened: Opened) -> None:
    at = opened(PAGE, we_h="1 x;2", we_step="99", lang="en")
    assert len(at.warning) == 1
    assert "“99” in the link is not possible; 22 is used" in at.warning[0].value
    assert "in the link is not possible; the page's own is used" in at.warning[0].value
    assert at.title[0].value.startswith("2 of the 26 printed")
    assert link(at, "we_step") == str(len(worked_example.steps("mla")))


def test_step_and_cell_beyond_the_end_become_the_last_with_one_line(opened: Opened) -> None:
    at = opened(PAGE, we_variant="mha", we_step="4", we_row="9", we_column="123", lang="en")
    assert len(at.warning) == 1
    said = at.warning[0].value
    assert "“9” in the link is not possible; 2 is used" in said
    assert "“123” in the link is not possible; 2 is used" in said
    assert (link(at, "we_row"), link(at, "we_column")) == ("2", "2")
    at.button(key="we_next").click().run()
    assert not at.warning


def test_an_original_written_otherwise_changes_nothing(opened: Opened) -> None:
    at = opened(PAGE, we_h="1;0;0;0")
    at.text_input(key="we_h:en").set_value("0.50; -3/10; .2; -0.1").run()
    assert link(at, "we_h") is None


def test_chinese_keeps_step_cell_and_numbers(opened: Opened) -> None:
    at = opened(PAGE, we_step="11", we_row="2", we_completed="1", lang="zh")
    step = worked_example.steps("mla_completed")[10]
    assert at.subheader[0].value.startswith("第 11 步")
    assert terms(at) == step.terms(1, 0)
    assert not re.search("[A-Za-z]{4,}", at.subheader[0].value)


def test_files_hold_every_cell_with_both_figures_as_numbers() -> None:
    from ui.pages.worked_example import data as example_data
    from ui.pages.worked_example.view import Scene

    steps = worked_example.steps("mla")
    here = Scene("mla", frozenset(), steps, 0, (0, 0))
    book = openpyxl.load_workbook(BytesIO(example_data.file(here, "xlsx")()))
    header, *rows = book.active.iter_rows(values_only=True)
    records = [dict(zip(header, row, strict=True)) for row in rows]
    assert len(records) == sum(len(row) for step in steps for row in step.result.rows)
    assert records[0]["computed"] == 0.21
    assert records[0]["printed"] == 0.01
    assert records[0]["computed_less_printed"] == 0.2
    assert {type(record["computed"]) for record in records} <= {float, int, type(None)}
    lines = example_data.file(here, "csv")().decode("utf-8-sig").splitlines()
    assert len(lines) == len(records) + 1
    assert lines[1].startswith("1,c_KV,1,1,0.21,21/100,")
    printed = [record for record in records if record["printed"] is not None]
    counted = [record["follows"] for record in printed if not record["repeats"]]
    assert len(printed) == 51
    assert (counted.count(True), len(counted)) == (2, 26), "the file bears the title out"
