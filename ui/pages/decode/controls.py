"""The controls of the decode page: back, play or pause, on, and what is decoded."""

from ui.engine.model import Model, present
from ui.pages.decode.text import prompts, writer, writers
from ui.pages.decode.view import room
from ui.parts import bridge, trained_layer
from ui.parts.control import control
from ui.parts.motion import Dial
from ui.words.numbers import count
from ui.words.text import t

HEADS = (0, *(2**n for n in range(8)))  # to be run; 0 is as many as take a moment


def dial() -> Dial:
    """It moves the step, as far as there are tokens."""
    last = room(present())
    return Dial("dec_step", t("decode.step", of=last), range(1, last + 1))


def speed() -> None:
    """Draw the choice of how fast the picture plays; a clicker's keys step."""
    control("dec_speed")
    bridge.listen("dec_keys", on_step=dial().move, moves=True)


def text() -> None:
    """Draw the choice of what is read first: a sentence and its writer, or a prompt's length."""
    model = present()
    if model.trained is not None:
        trained_layer.sentence()
        _writer(model)
    elif len(lengths := prompts(model)) > 1:
        control("dec_prompt", options=lengths)


def _writer(model: Model) -> None:
    by = writers(model)
    control(
        "variant",
        widget="segmented_control",
        label=t("decode.writer"),
        shown=by[writer(model)],
        options=list(by.values()),
        write={variant: code.upper() for code, variant in by.items()}.get,
    )


def run_settings(most_heads: int) -> None:
    """The heads that are run."""
    ladder = [n for n in HEADS if n <= most_heads]
    control("dec_heads", options=ladder, write=lambda n: count(n) if n else t("decode.automatic"))
