"""The step as a table: as texts on the screen, as numbers in the download."""

from collections.abc import Mapping

from mla_engine.lazy import LazyModule
from ui.pages.decode.run import Step
from ui.pages.decode.view import View
from ui.parts.ways import label
from ui.words.numbers import clock, digits, prefixed, tied_size
from ui.words.text import t

pd = LazyModule("pandas")

WAITING = "\N{HORIZONTAL ELLIPSIS}"
NEVER = "\N{EM DASH}"
COLUMNS = ("held", "read", "multiply_adds", "measured", "difference")


def shown(view: View, taken: Mapping[str, Step]) -> "pd.DataFrame":
    """One row a way; what has not run yet waits, or is not run."""
    rows, ran = {}, view.ran
    for code in view.ways:
        step, waits = taken.get(code), WAITING if code in ran else NEVER
        rows[label(view.ways, code)] = (
            tied_size(view.held_bytes(code)),
            tied_size(view.read_bytes(code)),
            prefixed(view.multiply_adds(code)),
            clock(step.seconds) if step else waits,
            digits(step.difference, 1) if step else waits,
        )
    columns = [t(f"decode.column_{name}") for name in COLUMNS]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def growth(view: View) -> "pd.DataFrame":
    """One row a step, what each way holds after it."""
    held = {code: [view.held_bytes(code, n) for n in range(1, view.room + 1)] for code in view.ways}
    return pd.DataFrame({"step": range(1, view.room + 1), **held})


def numbers(view: View, taken: Mapping[str, Step]) -> "pd.DataFrame":
    """One row a way, what was counted and what was measured."""
    rows = [
        {
            "way": code,
            "prompt_tokens": view.prompt,
            "step": view.step,
            "heads": view.n_heads,
            "held_bytes": view.held_bytes(code),
            "read_bytes": view.read_bytes(code),
            "multiply_adds": view.multiply_adds(code),
            "heads_run": view.heads,
            "measured_seconds": step.seconds,
            "difference_from_whole_sequence": step.difference,
        }
        for code, step in taken.items()
    ]
    return pd.DataFrame(rows)
