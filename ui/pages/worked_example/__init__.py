"""Worked example: every published step of MLA and MHA, exact, beside the printed figures."""

from mla_engine import worked_example
from mla_engine.worked_example.variants import BUILDERS
from ui.pages.worked_example import own
from ui.pages.worked_example.view import SETTINGS, View, mend, stops
from ui.parts.snippet import Code, literal
from ui.settings.page import Functions, Page, Recipe, joined


def code(here: View) -> Functions:
    """Return what made the steps, and counted the figures that follow where the title says so."""
    counted = () if here.is_completed else (worked_example.printed_count,)
    return (worked_example.steps, BUILDERS[here.variant], *counted)


def snippet(here: View) -> Recipe:
    """Return the template of the published or completed example, with the reader's matrices."""
    reads = [
        f"    {literal(name)}: read({literal(name)}, {literal(text)}),\n"
        for name, text in here.inputs.items()
    ]
    return "completed" if here.is_completed else "printed", {
        "variant": here.variant,
        "inputs": Code("{\n" + "".join(reads) + "}" if reads else "{}"),
        "place": here.place,
        "row": here.chosen[0],
        "column": here.chosen[1],
    }


PAGE = Page(
    name="worked_example",
    group="understand",
    order=2,
    settings=joined(SETTINGS, own.SETTINGS),
    sizes=False,
    lecture=("we_variant", "we_step"),
    crossed=(("we_step", "we_previous", "we_next"),),
    stops=stops,
    mend=mend,
    code=code,
    snippet=snippet,
)
