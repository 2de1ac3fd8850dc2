"""Links from page to page: a page by its name, and the state that it opens with."""

from ui.engine import example as worked_example
from ui.settings import state
from ui.settings.page import Link
from ui.settings.sizes import sizes_of
from ui.words.text import t


def of_preset(page: str, preset: str, variant: str = "mla", **values: object) -> Link:
    """Return a page at the sizes of a preset."""
    return Link(page, {"preset": preset, "variant": variant} | sizes_of(preset) | values)


def example(variant: str, key: str, *, completed: bool = False) -> Link:
    """Return a step of the worked example, by its name, beside what the source prints."""
    steps = worked_example.steps(f"{variant}_completed" if completed else variant)
    number = 1 + [step.key for step in steps].index(key)
    values = {"we_variant": variant, "we_completed": completed, "we_step": number}
    return Link("worked_example", values | {"we_printed": True})


def name(link: Link) -> str:
    """Return the name of the page, as the navigation has it."""
    return t(f"{link.page}.link")


def follow(link: Link) -> None:
    """Open it, for callbacks of buttons; the language stays."""
    state.go(link.page, lang=state.settings()["lang"], **link.values)
