"""The snippet of the page worked_example."""

from mla_engine import worked_example
from ui.pages.worked_example import view as stepper
from ui.parts.snippet import Code, literal
from ui.settings import state
from ui.settings.page import Recipe


def recipe(_view: object) -> Recipe:
    """The snippet that makes the page's headline numbers: a template and its values."""
    here, s = stepper.scene(), state.settings()
    names = worked_example.INPUTS[here.variant]
    changed = {name: str(s[f"we_{name}"]) for name in names if s[f"we_{name}"]}
    reads = [f"    {literal(n)}: read({literal(n)}, {literal(x)}),\n" for n, x in changed.items()]
    completed = here.variant.endswith("_completed")
    return "completed" if completed else "printed", {
        "variant": here.variant,
        "inputs": Code("{\n" + "".join(reads) + "}" if changed else "{}"),
        "place": here.place,
        "row": here.chosen[0],
        "column": here.chosen[1],
    }
