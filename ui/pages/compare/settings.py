"""The settings of the page compare."""

from functools import partial

from ui.settings.parsers import Setting, one_of, power_of_two, preset, whole
from ui.settings.shared import VARIANTS
from ui.settings.sizes import longest

TOPICS = "flow", "costs", "maps"
AUTO = "auto"  # the maps of two trained models, the data flow of others
CONTEXT = 2**15
SHARED_SIZES = "shared"  # those chosen above the page


def comparable(text: str) -> str:
    """A published model, our own small sizes, or those chosen above the page."""
    return text if text == SHARED_SIZES else preset(text)


SETTINGS = {
    "vs_left": Setting(SHARED_SIZES, comparable, "selectbox"),
    "vs_left_as": Setting("own", one_of("own", *VARIANTS), "selectbox"),
    "vs_right": Setting(SHARED_SIZES, comparable, "selectbox"),
    "vs_right_as": Setting("mha", one_of("own", *VARIANTS), "selectbox"),
    "vs_view": Setting(AUTO, one_of(AUTO, *TOPICS), "segmented_control", options=TOPICS),
    "vs_context": Setting(
        CONTEXT,
        power_of_two(2**10, 2**20),
        "select_slider",
        follows=partial(longest, most=CONTEXT),
    ),
    "vs_map": Setting("attention", one_of("attention", "scores"), "segmented_control"),
    "vs_head": Setting(0, whole(0, 127), "slider"),
}
