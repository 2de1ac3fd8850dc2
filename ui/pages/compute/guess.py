"""What the compute page asks: how much faster a form of MLA can be, or from when on less work."""

from mla_engine import mechanisms
from ui.pages.compute.view import View
from ui.parts.guess.question import Guess, decades, tokens
from ui.parts.ways import INDEXED, label
from ui.words.names import kind
from ui.words.numbers import count, times
from ui.words.text import t

LONGEST = 10**6  # tokens at the end of the scale
OF_THE_WHY = "index_topk", "pooling"  # sizes that explain an answer


def question(view: View) -> Guess | None:
    """The question of the chosen variant, and of the phase."""
    return _later(view) if view.shown in view.later else _of_mla(view)


def _of_mla(view: View) -> Guess:
    """The ratio of two least times: MHA over absorbed MLA, in prefill absorbed over expanded."""
    slow, fast = ("mha", "mla_absorbed") if view.decoding else ("mla_absorbed", "mla_each")
    return decades(
        f"compute_{view.phase}",
        t(f"compute.guess_{view.phase}"),
        view.seconds(slow) / view.seconds(fast),
        (1, 1000),
        say=times,
        why=t(f"compute.guess_{view.phase}_why"),
        hides=() if view.decoding else ("lead",),
    )


def _later(view: View) -> Guess | None:
    """From how many tokens on it takes fewer FLOP than MLA; None if always or never."""
    code, config = view.shown, view.ways[view.shown].config
    turn = view.choosing_wins() if code == INDEXED else view.lighter_from(code)
    if turn in (None, 1):
        return None
    sizes = {name: count(n) for name in OF_THE_WHY if (n := vars(config).get(name))}
    dense = label(view.ways, view.dense)
    return decades(
        f"compute_{view.phase}_{code}",
        t(f"compute.guess_later_{view.phase}", name=kind(code), dense=dense),
        turn,
        (1, LONGEST),
        say=lambda n: tokens(count(n)),
        why=t(f"compute.guess_{mechanisms.of_variant(code).key}_why", **sizes),
        hides=("lead", "place_over", *["place_choosing"] * (code == INDEXED)),
    )
