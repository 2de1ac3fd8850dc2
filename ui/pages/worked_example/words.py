"""What the page says of the step and the cell that are shown."""

import re

from mla_engine import worked_example
from mla_engine.worked_example import show
from ui.pages.worked_example.board import name_html
from ui.pages.worked_example.view import View
from ui.words.numbers import digits, printed
from ui.words.text import listed, named, sentences, t

OF_THE_SOURCE = {"from_printed", "one_key", "k_R_is_cached"}  # notes


def lead(here: View) -> tuple[str, str]:
    """What the softmax gives, what is cached, or how many figures of the source follow."""
    if here.open:
        place = t("common.out_of", n=here.place + 1, all=len(here.steps))
        return place, t("worked_example.line_asked")
    if here.is_completed:
        attention = next(step for step in here.steps if step.key == "attention").result
        first, second = (digits(100 * float(attention.rows[row][0])) for row in (1, 3))
        line = t("worked_example.line_completed", first=first, second=second)
        return t("common.percent", value=first), line
    if not here.compares:
        return _cached(here)
    follow, all_printed = worked_example.printed_count(here.steps)
    key = "line_changed" if here.changed else "line"
    values = {"variant": here.variant.upper(), "follow": follow, "printed": all_printed}
    return t("common.out_of", n=follow, all=all_printed), t(f"worked_example.{key}", **values)


def _cached(here: View) -> tuple[str, str]:
    """What is kept of the tokens in the source's own example."""
    step = next(step for step in here.steps if step.key == f"cache_{here.variant}")
    numbers, tokens = show(step.result.rows[0][0]), show(step.operands[-1].rows[0][0])
    values = {"variant": here.variant.upper(), "numbers": numbers, "tokens": tokens}
    return t("worked_example.numbers", n=numbers), t("worked_example.line_cached", **values)


def heading(here: View) -> str:
    """Which step this is, and what it does."""
    says = t(f"worked_example.do_{_meaning(here)}")
    return t("worked_example.heading", n=here.place + 1, of=len(here.steps), says=says)


def _meaning(here: View) -> str:
    key = here.step.key
    if key.endswith("_heads"):
        return "heads"
    return f"{key}_projected" if here.variant.startswith("mha") and key in ("q", "k") else key


def cell_name(here: View) -> str:
    """The chosen cell as plain Markdown: u[4, 2]."""
    row, column = here.chosen
    return f"{here.step.name}[{row + 1}, {column + 1}]".replace("_", "\\_")


def written_out(here: View) -> str:
    """Terms, comparison and remarks as HTML; the stylesheet keeps their place of one height."""
    row, column = here.chosen
    cell = named(f"{name_html(here.step.name)}[{row + 1}, {column + 1}]", "")
    compared = f'<p class="compare {here.verdict}">{comparison(here)}</p>' if here.compares else ""
    return (
        f'<div class="written"><p class="terms"><span class="place">{cell.strip()}</span> '
        f"{terms(here)}</p>{compared}<p>{remarks(here)}</p></div>"
    )


def terms(here: View) -> str:
    """The chosen cell written out as HTML, or what is missing to compute it."""
    written = here.step.terms(*here.chosen)
    if written:
        raised = re.sub(r"e\^(\([^)]*\)|[\d.x]+)", r"e<sup>\1</sup>", written)
        return re.sub(r"^[a-z]\w*(?=\[)", lambda match: name_html(match[0]), raised)
    position = {"position": t("worked_example.the_position")}
    missing = listed(position.get(name) or name_html(name) for name in here.step.missing)
    return t("worked_example.not_computable", missing=missing)


def comparison(here: View) -> str:
    """The chosen cell beside its printed figure."""
    difference = here.step.difference(*here.chosen)
    return t(
        f"worked_example.compare_{here.verdict}",
        printed=printed(here.step.printed(*here.chosen) or ""),
        difference="" if difference is None else show(difference).removeprefix("≈"),
    )


def remarks(here: View) -> str:
    """What is to be known of the step; what the source makes of it where that is compared."""
    notes = [code for code in here.step.notes if here.compares or code not in OF_THE_SOURCE]
    codes = [*notes, *([] if here.step.exact else ["rounded"])]
    return sentences(t(f"worked_example.note_{code}") for code in codes)


def legend(here: View) -> str:
    """What the marks mean."""
    return t("worked_example.legend_printed" if here.compares else "worked_example.legend")
