"""The settings of the page worked_example."""

from mla_engine import worked_example
from mla_engine.worked_example import exercises
from ui.settings.parsers import Parser, Setting, flag, one_of, whole


def matrix(name: str) -> Parser:
    """The text of one of the worked example's matrices; empty stands for the original one."""

    def parse(text: str) -> str:
        if text:
            worked_example.read(name, text)
        return text

    return parse


SETTINGS = {
    "we_variant": Setting("mla", one_of("mla", "mha")),
    "we_completed": Setting(True, flag),
    "we_fade": Setting("given", one_of(*exercises.STAGES)),
    "we_printed": Setting(False, flag),  # the source's figures beside the computed ones
    # Their last value depends on the variant and the step: `mend` brings them to it.
    **{name: Setting(1, whole(1, 10**9)) for name in ("we_step", "we_row", "we_column")},
    **{f"we_{name}": Setting("", matrix(name)) for name in worked_example.MATRICES},
}
