"""The worked example: every cell, mark and sentence of every step against the engine's."""

import re
from collections.abc import Callable
from html import unescape
from io import BytesIO

import openpyxl
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import worked_example
from mla_engine.figures import symbol_html
from mla_engine.symbols import SYMBOLS
from mla_engine.worked_example import Gap, Matrix, Step, show
from tests.ui.conftest import open_page
from tests.ui.screen import csv, says, statement
from tests.ui.wishes import wish
from ui.words.text import catalogue

Opened = Callable[..., AppTest]
PAGE = "pages/worked_example.py"
SPOKEN = {  # names that are no symbols, in English and Chinese
    "rotation": ("rotation", "旋转"),
    "cache_mha": ("MHA cache", "MHA 缓存"),
    "cache_mla": ("MLA cache", "MLA 缓存"),
    "cache_ratio": ("ratio", "比值"),
}
COLOUR = {"rotation": "rope", "cache_mla": "latent", "cache_mha": "key"}
CELL = re.compile(r'<td class="(.*?)">(.*?)</td>')


@pytest.fixture
def opened(opened: Opened) -> Opened:
    """The source's own example beside what it prints, where a test says nothing else."""

    def run(page: str = PAGE, **link: str) -> AppTest:
        return opened(page, **{"we_completed": "0", "we_printed": "1"} | link)

    return run


def link(at: AppTest, name: str) -> str | None:
    value = at.query_params.get(name)
    return value[0] if isinstance(value, list) else value


def html(at: AppTest) -> str:
    return "".join(element.proto.body for element in at.get("html"))


def cells(at: AppTest) -> list[str]:
    """The numbers of the result as drawn."""
    return [unescape(text) for text in re.findall(r'data-cell="[\d,]+">([^<]+)</button>', html(at))]


def written(at: AppTest) -> tuple[str, str, str, str]:
    """Place and terms of the chosen cell, kind and words of the comparison, remarks."""
    found = re.search(
        r'<p class="terms"><span class="place">(.*?)</span> (.*?)</p>'
        r'<p class="compare (\w+)">(.*?)</p><p>(.*?)</p></div>',
        html(at),
    )
    place, terms, kind, comparison, remarks = found.groups()
    return plain(place + " " + terms), kind, unescape(comparison), unescape(remarks)


def terms(at: AppTest) -> str:
    return re.sub(r"^.*?[:：] ", "", written(at)[0])


def plain(text: str) -> str:
    """Without tags and without the marks that stand for raised parts of names and exponents."""
    return re.sub(r"[\^_]", "", unescape(re.sub("<[^>]+>", "", text)))


def said(key: str, lang: str, **values: object) -> str:
    return catalogue()[f"worked_example.{key}"][lang].format(**values)


def spoken(name: str, lang: str) -> str:
    return SPOKEN[name][lang == "zh"] if name in SPOKEN else plain(symbol_html(name))


def colour(name: str) -> str:
    return SYMBOLS[name].role if name in SYMBOLS else COLOUR.get(name, "weight")


def figures(at: AppTest) -> list[tuple[str, str, str]]:
    """Classes, caption and table of every matrix on the board."""
    found = re.findall(
        r'<figure class="matrix ([^"]*)"[^>]*><figcaption>(.*?)</figcaption>(.*?)</figure>',
        html(at),
    )
    assert found
    return found


def grid(table: str) -> list[list[tuple[str, str]]]:
    """Class and content of every cell, row by row; labels and corners left out."""
    rows = [CELL.findall(row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    return [row for row in rows if row]


def labels(axis: str, size: int, lang: str) -> list[str]:
    """Return what stands beside rows or above columns, where counting them is not enough."""
    head = {"en": "head {}", "zh": "头 {}"}[lang]
    one, _, inner = axis.partition(" ")
    part = size // 2 if inner else 1
    if axis in ("t", "s"):
        return [f"{axis} = {n}" for n in range(size)] if size > 1 else []
    if axis == "cos sin":
        return ["cos t", "sin t"]
    if one != "h":
        return []
    heads = [head.format(1 + n // part) for n in range(size)]
    if inner == "t":
        return [f"{heads[n]}, t = {n % part}" for n in range(size)]
    return [heads[n] if n % part == 0 else "" for n in range(size)]


def assert_labels(table: str, axes: tuple[str, str], shape: tuple[int, int], lang: str) -> None:
    for scope, axis, size in zip(("row", "col"), axes, shape, strict=True):
        assert re.findall(rf'<th scope="{scope}">(.*?)</th>', table) == labels(axis, size, lang)


def assert_board(at: AppTest, step: Step, chosen: tuple[int, int], lang: str) -> None:
    *operands, result, printed = figures(at)
    assert len(operands) == len(step.operands)
    for number, (shown, matrix) in enumerate(zip(operands, step.operands, strict=True)):
        used = {(row, column) for at, row, column in step.used(*chosen) if at == number}
        assert_operand(shown, matrix, used, lang)
    classes, caption, table = result
    assert classes == f"result {colour(step.name)}"
    rows, columns = step.result.shape
    name = f"{spoken(step.name, lang)} {rows} × {columns} {said('computed', lang)}"
    assert plain(caption) == name
    assert_labels(table, step.axes, (rows, columns), lang)
    for row, values in enumerate(grid(table)):
        for column, (kind, button) in enumerate(values):
            here = (row, column) == chosen
            place = said("place", lang, row=row + 1, column=column + 1)
            assert kind == ("chosen" if here else "")
            assert f'aria-pressed="{str(here).lower()}" title="{place}"' in button
            assert f'data-cell="{row + 1},{column + 1}">' in button
            assert plain(button) == show(step.result.rows[row][column])
    assert_printed(printed, step, chosen, lang)


def assert_operand(shown: tuple[str, ...], matrix: Matrix, used: set, lang: str) -> None:
    classes, caption, table = shown
    assert classes == f"operand {colour(matrix.name)}"
    rows, columns = matrix.shape
    remarks = [said("ours", lang)] * bool(matrix.ours)
    remarks += [said("as_printed", lang)] * matrix.printed
    named = " ".join([f"{spoken(matrix.name, lang)} {rows} × {columns}", *remarks])
    assert plain(caption) == named
    assert_labels(table, matrix.axes, matrix.shape, lang)
    assert grid(table) == [
        [
            (
                " ".join(
                    ["used"] * ((r, c) in used) + ["ours"] * ((r, c) in matrix.ours)
                ),
                show(value),
            )
            for c, value in enumerate(values)
        ]
        for r, values in enumerate(matrix.rows)
    ]  # fmt: skip


def assert_printed(shown: tuple[str, ...], step: Step, chosen: tuple[int, int], lang: str) -> None:
    classes, caption, table = shown
    assert classes.strip() == "printed"
    if not step.published:
        assert (plain(caption), table) == (said("nothing_printed", lang), "")
        return
    assert plain(caption) == said("in_the_source", lang)
    assert_labels(table, step.axes, step.result.shape, lang)
    for row, values in enumerate(grid(table)):
        for column, (kind, content) in enumerate(values):
            figure = step.published[row][column]
            if figure is None:
                assert (kind, content) == ("unprinted", "–")
                continue
            code, mark = ("follows", "✓") if step.follows(row, column) else ("differs", "≠")
            assert kind == code + " chosen" * ((row, column) == chosen)
            assert plain(content) == figure.replace("-", "−") + mark
            assert f'aria-label="{said(code, lang)}" title="{said(code, lang)}"' in content


def assert_written(at: AppTest, step: Step, chosen: tuple[int, int], lang: str) -> None:
    shown, kind, comparison, remarks = written(at)
    colon = {"en": ":", "zh": "："}[lang]
    row, column = chosen
    place = f"{spoken(step.name, lang)}[{row + 1}, {column + 1}]{colon} "
    figure, difference = step.printed(*chosen), step.difference(*chosen)
    if step.terms(*chosen):
        assert shown == place + plain(step.terms(*chosen))
    else:
        lacks = {"position": said("the_position", lang)}
        names = [lacks.get(name) or plain(name) for name in step.missing]
        missing = {"en": ", ", "zh": "、"}[lang].join(names)
        assert shown == place + said("not_computable", lang, missing=missing)
    expected = (
        "nothing" if figure is None
        else "follows" if step.follows(*chosen)
        else "unknown" if difference is None
        else "differs"
    )  # fmt: skip
    by = "" if difference is None else show(difference).removeprefix("≈")
    printed = (figure or "").replace("-", "−")
    said_of_it = said(f"compare_{expected}", lang, printed=printed, difference=by)
    assert (kind, comparison) == (expected, said_of_it)
    codes = [*step.notes, *["rounded"] * (not step.exact)]
    gap = {"en": " ", "zh": ""}[lang]
    assert remarks == gap.join(said(f"note_{code}", lang) for code in codes)


def meaning(variant: str, key: str) -> str:
    if key.endswith("_heads"):
        return "heads"
    return f"{key}_projected" if variant.startswith("mha") and key in ("q", "k") else key


def sign(step: Step) -> str:
    """Return what stands between the operands, by what the formula does with them."""
    if step.key == "scores" and step.operands[0].name == "scores_C":
        return "+"
    signs = {"÷": "cache_ratio", "↻": "k_R q_R", ",": "cache_mha cache_mla"}
    signs["·"] = "scores scores_C scores_R scores_unmasked scores_printed"
    signs[";"] = "q k" if step.operands[0].name.endswith("_C") else ""
    return next((mark for mark, keys in signs.items() if step.key in keys.split()), "×")


@pytest.mark.parametrize(
    ("variant", "lang"),
    [*((variant, "en") for variant in worked_example.VARIANTS), ("mla_completed", "zh")],
)
def test_every_step_draws_the_engines_numbers(opened: Opened, variant: str, lang: str) -> None:
    """The last cell of each step, which no exchange of rows and columns leaves in its place."""
    name, _, completed = variant.partition("_")
    steps = worked_example.steps(variant)
    for number, step in enumerate(steps, start=1):
        rows, columns = step.result.shape
        at = opened(
            PAGE, lang=lang, we_variant=name, we_completed=str(int(bool(completed))),
            we_step=f"{number}", we_row=f"{rows}", we_column=f"{columns}",
        )  # fmt: skip
        does = said(f"do_{meaning(variant, step.key)}", lang)
        head = {"en": f"{number} of {len(steps)}: ", "zh": f"第 {number} 步，共 {len(steps)} 步："}
        assert at.subheader[0].value == head[lang] + does
        assert at.latex[0].value.strip("$\n") == step.formula
        assert_board(at, step, (rows - 1, columns - 1), lang)
        assert_written(at, step, (rows - 1, columns - 1), lang)
        signs = re.findall(r'<span class="sign">(.*?)</span>', html(at))
        operands = len(step.operands)
        assert signs == ([sign(step)] * (operands - 1) + ["="] if operands > 1 else ["→"])


@pytest.mark.parametrize(
    ("variant", "lang", "title"),
    [
        ("mla", "en", "{} of the {} printed MLA figures follow from the printed matrices"),
        ("mha", "en", "{} of the {} printed MHA figures follow from the printed matrices"),
        ("mha", "zh", "MHA 算例印出的 {1} 个数中，有 {0} 个能由所给矩阵算出"),
    ],
)
def test_the_title_counts_what_follows(opened: Opened, variant, lang, title) -> None:
    counts = worked_example.printed_count(worked_example.steps(variant))
    at = opened(PAGE, we_variant=variant, lang=lang)
    assert statement(at) == title.format(*counts)


@pytest.mark.parametrize("variant", ["mla", "mha"])
def test_the_completed_title_says_what_token_1_gives_token_0(opened: Opened, variant) -> None:
    steps = worked_example.steps(f"{variant}_completed")
    attention = next(step for step in steps if step.key == "attention").result.rows
    first, second = (f"{100 * float(attention[row][0]):.3g}" for row in (1, 3))
    assert first != second
    at = opened(PAGE, we_variant=variant, we_completed="1")
    assert says(statement(at), "worked_example.line_completed", first=first, second=second)


def test_ways_and_choices_go_where_they_say(opened: Opened) -> None:
    at = opened(PAGE, we_step="5", we_row="3")
    steps = worked_example.steps("mla")
    for key, label, to in (
        ("we_next", "Next", 6), ("we_previous", "Back", 5),
        ("we_last", "Last", len(steps)), ("we_first", "First", 1),
    ):  # fmt: skip
        assert at.button(key=key).label == label
        at.button(key=key).click().run()
        assert at.session_state["settings"]["we_step"] == to
        assert at.session_state["settings"]["we_row"] == 1
    assert at.button(key="we_first").disabled
    assert at.button(key="we_previous").disabled
    at.slider(key="we_step").set_value(5).run()
    assert at.slider(key="we_step").label == f"Step (of {len(steps)})"
    rows, columns = steps[4].result.shape
    row, column = at.segmented_control(key="we_row"), at.segmented_control(key="we_column")
    assert (row.label, row.options) == ("Row of the result", [f"{n + 1}" for n in range(rows)])
    assert (column.label, len(column.options)) == ("Column of the result", columns)
    row.set_value(2).run()
    assert terms(at) == plain(steps[4].terms(1, 0))
    at.segmented_control(key="we_variant").set_value("mha").run()
    assert (link(at, "we_variant"), link(at, "we_step")) == ("mha", None)
    at.toggle(key="we_completed").set_value(True).run()
    assert at.toggle(key="we_completed").label == "Two tokens"
    assert at.subheader[0].value.startswith(f"1 of {len(worked_example.steps('mha_completed'))}: ")
    look, legend, *_ = (caption.value for caption in at.main.caption)
    assert look.startswith("Choose a cell")
    assert says(legend, "worked_example.legend_printed")


def test_the_clicker_goes_by_steps_and_stays_within(opened: Opened) -> None:
    at = opened(PAGE, we_step="20", we_row="2")
    for given, to in (("21", 21), ("19", 19), ("28", 22), ("-21", 1)):
        wish(at, given)
        assert at.session_state["settings"]["we_step"] == to
        assert at.session_state["settings"]["we_row"] == 1


def test_an_edit_is_followed_and_said(opened: Opened) -> None:
    at = opened(PAGE, we_step="5", we_row="3", lang="en")
    step = worked_example.steps("mla")[4]
    assert says(html(at), "worked_example.compare_differs", printed="0.008", difference="0.019")

    at.text_input(key="we_h").set_value("1; 0.50; 1/3; 0").run()
    changed = worked_example.steps("mla", {"h": worked_example.read("h", "1;0.5;1/3;0")})
    assert cells(at) == [show(row[0]) for row in changed[4].result.rows]
    assert link(at, "we_h") == "1;0.5;1/3;0"
    follow, printed = worked_example.printed_count(changed)
    assert says(
        statement(at), "worked_example.line_changed", follow=follow, printed=printed, variant="MLA"
    )
    at.button(key="we_first").click().run()
    operands = [plain(caption) for _, caption, _ in figures(at)[:2]]
    assert operands == ["WDKV 2 × 4", "h 4 × 1 changed by you"]

    at.text_input(key="we_W_UK").set_value("1 0;0 1;1 1;1 x").run()
    assert says(at.error[0].value, "worked_example.bad_number", row="4", column="2", text="x")
    assert link(at, "we_W_UK") is None
    at.button(key="we_next").click().run()
    at.button(key="we_previous").click().run()
    assert at.text_input(key="we_W_UK").value == "1 0;0 1;1 1;1 x", "the entry is kept"
    assert len(at.error) == 1

    assert says(at.button(key="we_originals").label, "worked_example.originals")
    at.button(key="we_originals").click().run()
    assert not at.error
    assert link(at, "we_h") is None
    at.slider(key="we_step").set_value(5).run()
    assert cells(at) == [show(row[0]) for row in step.result.rows]


def test_every_box_names_its_matrix_and_its_shape(opened: Opened) -> None:
    at = opened(PAGE, we_completed="1")
    labels = {box.key: box.label for box in at.text_input if box.key.startswith("we_")}
    spoken = {"h_added": "h of token 1", "W_KR_added": "W_KR, row 2"}
    expected = {}
    for name in worked_example.INPUTS["mla_completed"]:
        rows = worked_example.default(name)
        ours = " · ours" if name in ("h_added", "W_KR_added", "W_QR", "W_O") else ""
        label = f"{spoken.get(name, name)} ({len(rows)} × {len(rows[0])}){ours}"
        expected[f"we_{name}"] = label
    assert labels == expected
    zh = opened(PAGE, lang="zh")
    assert zh.text_input(key="we_W_UK").label == "W_UK（4 × 2）"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("<b>*;_y_;`$1`;|", "h, row 1, column 1: “<b>*” is not a number; write a decimal like"),
        ("1;2;_y_;3", "h, row 3, column 1: “_y_” is not a number"),
        ("1;[2](x);3;4", "h, row 2, column 1: “[2](x)” is not a number"),
        ("1;2;3;1/0", "h, row 4, column 1: “1/0” divides by zero"),
        ("1;2;3e5;4", "h, row 3, column 1: “3e5” has an exponent"),
        ("1;1.23456789012;3;4", "“1.23456789012” has 13 characters; use at most 12."),
        ("1 2", "h has 1 row, row 1 with 2 numbers; write 4 rows of 1 number. "),
    ],
)
def test_what_is_wrong_with_an_entry_is_said_as_typed(opened: Opened, typed, said) -> None:
    at = opened(PAGE, lang="en")
    at.text_input(key="we_h").set_value(typed).run()
    shown = at.error[0].value
    assert said in unescape(shown)
    assert not set("<>*_`$|[]()") & set(re.sub(r"&\w+;|&#\d+;", "", shown))
    assert shown.endswith(" The last good matrix stays.")
    assert terms(at) == plain(worked_example.steps("mla")[0].terms(0, 0))


def test_another_step_of_the_same_matrices_is_not_worked_out_again(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = opened(PAGE, lang="en")
    made = []
    work_out = worked_example.BUILDERS["mla"]
    monkeypatch.setitem(worked_example.BUILDERS, "mla", lambda *a: made.append(a) or work_out(*a))
    at.button(key="we_next").click().run()
    assert not made
    at.text_input(key="we_h").set_value("9;8;7;6").run()
    assert len(made) == 1


def test_bad_entries_stay_until_mended_or_reset_and_count_rightly(opened: Opened) -> None:
    at = opened(PAGE, lang="en")
    at.text_input(key="we_h").set_value("1 2").run()
    at.text_input(key="we_W_DKV").set_value("1;2").run()
    assert "has 2 rows, row 1 with 1 number; write 2 rows of 4 numbers. " in at.error[1].value
    at.segmented_control(key="lang").set_value("zh").run()
    assert "h 有 1 行，第 1 行有 2 个数；请写 4 行，每行 1 个数。" in at.error[0].value

    at.text_input(key="we_h").set_value("1;2;3;4").run()
    assert len(at.error) == 1
    assert link(at, "we_h") == "1;2;3;4"
    reset = next(button for button in at.button if button.label == "重置本页")
    reset.click().run()
    assert not at.error
    original = worked_example.format_matrix(worked_example.default("W_DKV"))
    assert at.text_input(key="we_W_DKV").value == original


def test_bad_matrix_in_a_link_leads_to_the_published_one(opened: Opened) -> None:
    at = opened(PAGE, we_h="1 x;2", we_step="99", lang="en")
    assert len(at.warning) == 1
    assert says(at.warning[0].value, "common.changed_setting", given="99", used="22")
    assert says(at.warning[0].value, "common.changed_setting", used="the page's own")
    assert statement(at).startswith("2 of the 26 printed")
    assert link(at, "we_step") == str(len(worked_example.steps("mla")))


def test_step_and_cell_beyond_the_end_become_the_last_with_one_line(opened: Opened) -> None:
    at = opened(PAGE, we_variant="mha", we_step="4", we_row="9", we_column="123", lang="en")
    assert len(at.warning) == 1
    said = at.warning[0].value
    assert says(said, "common.changed_setting", given="9", used="2")
    assert says(said, "common.changed_setting", given="123", used="2")
    assert (link(at, "we_row"), link(at, "we_column")) == ("2", "2")
    at.button(key="we_next").click().run()
    assert not at.warning


def test_an_original_written_otherwise_changes_nothing(opened: Opened) -> None:
    at = opened(PAGE, we_h="1;0;0;0")
    at.text_input(key="we_h").set_value("0.50; -3/10; .2; -0.1").run()
    assert link(at, "we_h") is None


def number(value: object) -> float | None:
    if value is None or value is Gap.MISSING:
        return None
    return float("-inf") if value is Gap.MASKED else float(value)


def records(steps: tuple[Step, ...]) -> list[dict[str, object]]:
    """Return what the files are to hold, cell by cell."""
    return [
        {
            "step": place,
            "symbol": step.key,
            "row": row,
            "column": column,
            "computed": number(value),
            "exact": "" if isinstance(value, Gap) or not step.exact else str(value),
            "terms": step.terms(row - 1, column - 1),
            "printed": number(step.printed(row - 1, column - 1)),
            "computed_less_printed": number(step.difference(row - 1, column - 1)),
            "follows": step.follows(row - 1, column - 1),
            "repeats": step.repeats and step.printed(row - 1, column - 1) is not None,
        }
        for place, step in enumerate(steps, start=1)
        for row, values in enumerate(step.result.rows, start=1)
        for column, value in enumerate(values, start=1)
    ]


@pytest.mark.parametrize("variant", ["mla", "mha_completed"])
def test_files_hold_every_cell_with_both_figures_as_numbers(opened, downloads, variant) -> None:
    name, _, completed = variant.partition("_")
    at = opened(PAGE, we_variant=name, we_completed="1" if completed else "0")
    labels = [button.label for button in at.get("download_button")]
    assert {"All steps as CSV", "All steps as Excel file"} <= set(labels)
    expected = records(worked_example.steps(variant))
    content = downloads[f"worked_example_{variant}.xlsx"]()
    book = openpyxl.load_workbook(BytesIO(content))
    assert book.sheetnames == [variant]
    header, *rows = book.active.iter_rows(values_only=True)
    assert list(header) == list(expected[0])
    for row, record in zip(rows, expected, strict=True):
        for cell, value in zip(row, record.values(), strict=True):
            if value in (None, ""):
                assert cell is None
            elif value == float("-inf"):
                assert cell == "-inf"
            elif isinstance(value, float):
                assert cell == pytest.approx(value, rel=1e-14)  # written with 15 digits
            else:
                assert (cell, type(cell)) == (value, type(value))
    table = csv(downloads[f"worked_example_{variant}.csv"])
    assert list(table) == list(expected[0])
    for column in table:
        values = ["" if record[column] is None else str(record[column]) for record in expected]
        assert list(map(str, table[column])) == values, column


def test_the_file_bears_the_title_out(opened: Opened, downloads) -> None:
    opened(PAGE)
    table = csv(downloads["worked_example_mla.csv"])
    counted = table[(table["printed"] != "") & (table["repeats"].astype(str) == "False")]
    follow = (counted["follows"].astype(str) == "True").sum()
    assert (follow, len(counted)) == worked_example.printed_count(worked_example.steps("mla"))
    assert (follow, len(counted)) == (2, 26)


def test_code_and_snippet_are_of_the_step_that_is_shown(opened: Opened) -> None:
    def shown(**state: str) -> list[str]:
        at = opened(PAGE, code="source", **state)
        return [m.value.split("`")[1] for m in at.markdown if " · mla_engine/" in m.value]

    published, completed = shown(), shown(we_completed="1")
    assert published[0] == completed[0] == "steps"
    assert published[-1] == "printed_count" not in completed
    assert published[1] != completed[1]
    snippet = opened(
        PAGE, code="snippet", we_variant="mha", we_step="4", we_row="2", we_h="1;2;3;4"
    ).code[0].value  # fmt: skip
    assert '"h": read("h", "1;2;3;4"),' in snippet
    assert 'steps("mha", inputs)' in snippet
    assert "example[3].key, example[3].terms(1, 0)" in snippet


def test_the_first_view_has_two_tokens_and_not_a_word_of_what_is_printed() -> None:
    at = open_page(PAGE)
    assert at.query_params == {}
    steps = worked_example.steps("mla_completed")
    attention = next(step for step in steps if step.key == "attention").result.rows
    first, second = (f"{100 * float(attention[row][0]):.3g} %" for row in (1, 3))
    assert statement(at) == (
        f"Token 1 gives token 0 {first} of its attention in head 1 and {second} in head 2"
    )
    body = re.sub("<style>.*?</style>", "", html(at), flags=re.DOTALL)
    words = body + "".join(element.value for element in [*at.markdown, *at.caption])
    assert not re.search('printed|class="compare|≠|✓', words)
    at.toggle(key="we_printed").set_value(True).run()
    assert at.query_params == {"we_printed": "1"}
    assert says(html(at), "worked_example.in_the_source")
    assert 'class="compare' in html(at)
    assert "≠" in "".join(element.value for element in at.caption)


def test_the_source_s_own_example_says_what_it_caches() -> None:
    at = open_page(PAGE, we_completed="0")
    assert says(statement(at), "worked_example.line_cached", variant="MLA", numbers="6", tokens="2")
    at = open_page(PAGE, we_completed="0", we_variant="mha")
    assert says(
        statement(at), "worked_example.line_cached", variant="MHA", numbers="16", tokens="2"
    )


@pytest.mark.parametrize("step", [16, 17, 21])
def test_what_the_source_makes_of_a_step_is_said_beside_its_figures(
    opened: Opened, step: int
) -> None:
    (code,) = worked_example.steps("mla")[step - 1].notes
    note = catalogue()[f"worked_example.note_{code}"]["en"]
    assert note in unescape(html(opened(we_step=str(step))))
    assert note not in unescape(html(open_page(PAGE, we_completed="0", we_step=str(step))))
