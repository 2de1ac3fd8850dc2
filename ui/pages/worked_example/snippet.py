"""The snippet of the page worked_example."""

from ui.pages.worked_example.view import View
from ui.parts.snippet import Code, literal
from ui.settings.page import Recipe


def recipe(here: View) -> Recipe:
    """The template of the published or the completed example, with the reader's matrices."""
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
