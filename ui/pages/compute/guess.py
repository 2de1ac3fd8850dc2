"""What the compute page asks: how much faster a form of MLA can be."""

from ui.pages.compute.view import View
from ui.parts.guess.question import Guess, decades
from ui.words.numbers import times
from ui.words.text import t


def question(view: View) -> Guess:
    """The ratio of two least times: MHA over absorbed MLA, in prefill absorbed over expanded."""
    slow, fast = ("mha", "mla_absorbed") if view.decoding else ("mla_absorbed", "mla_each")
    phase = "decode" if view.decoding else "prefill"
    return decades(
        f"compute_{phase}",
        t(f"compute.guess_{phase}"),
        view.seconds(slow) / view.seconds(fast),
        (1, 1000),
        say=times,
        why=t(f"compute.guess_{phase}_why"),
        hides=() if view.decoding else ("lead",),
    )
