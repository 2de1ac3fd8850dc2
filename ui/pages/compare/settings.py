"""The settings of the page compare."""

from functools import partial

from ui.settings.parsers import Setting, one_of, power_of_two, preset, whole
from ui.settings.shared import VARIANTS
from ui.settings.sizes import longest

AUTO = "auto"  # the maps of two trained models, the data flow of others
CONTEXT = 2**15
SHARED_SIZES = "shared"  # those chosen above the page


def comparable(text: str) -> str:
    """A published model, our own small sizes, or those chosen above the page."""
    return text if text == SHARED_SIZES else preset(text)


SETTINGS = {
    "vs_left": Setting(SHARED_SIZES, comparable),
    "vs_left_as": Setting("own", one_of("own", *VARIANTS)),
    "vs_right": Setting(SHARED_SIZES, comparable),
    "vs_right_as": Setting("mha", one_of("own", *VARIANTS)),
    "vs_view": Setting(AUTO, one_of(AUTO, "flow", "costs", "maps")),
    "vs_context": Setting(
        CONTEXT, power_of_two(2**10, 2**20), follows=partial(longest, most=CONTEXT)
    ),
    "vs_map": Setting("attention", one_of("attention", "scores")),
    "vs_head": Setting(0, whole(0, 127)),
}
