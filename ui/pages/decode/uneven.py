"""Caches to which not every token adds the same: windows with entries, index keys, and states."""

from collections.abc import Iterable, Sequence
from typing import Any

from mla_engine.closed_forms import KeptPart
from mla_engine.figures import look
from ui.pages.decode.view import View
from ui.parts.questions import Question, decades, tokens
from ui.parts.ways import label
from ui.words.numbers import count, tied_size, times
from ui.words.text import named, parted, t, variant_name

LONGEST = 10**6  # tokens at the end of a question's scale


def lead(view: View, model: str) -> tuple[str, str]:
    """Return what the chosen way holds after the step, by parts, and what MLA holds."""
    code = view.uneven
    parts = {part.code: part for part in view.parts(code, view.chosen.step)}
    held = tied_size(view.held_bytes(code))
    values = {
        "model": model,
        "tokens": count(view.tokens),
        "held": held,
        "name": variant_name(code),
        "mla": tied_size(view.held_bytes("mla_absorbed")),
    }
    if "state" in parts:
        return held, t("decode.line_delta", **values, turn=count(_outgrown(view)))
    (first, last), *_ = parts["window"].spans
    values |= {"window": count(last - first), "entries": count(len(parts["entries"].spans))}
    return held, t("decode.line_pooled", **values, block=count(view.ways[code].config.pooling))


def grows(view: View) -> str:
    """Return what a further token adds; empty for ways to which each adds the same."""
    code = view.uneven
    if not code:
        return ""
    each, mla = (tied_size(view.bytes_per_token(one)) for one in (code, "mla_absorbed"))
    values = {"name": label(view.ways, code), "mla": mla}
    if not view.bytes_per_token(code):
        return t("decode.grows_not", held=tied_size(view.held_bytes(code)), **values)
    values |= {"each": each, "ratio": times(_added_by_mla(view))}
    window = view.ways[code].config.window
    if window is None:
        return t("decode.grows_blocks", **values)
    return t("decode.grows", window=count(window), **values)


def _outgrown(view: View) -> int:
    """Return from how many tokens on MLA's cache is larger than one that does not grow."""
    return int(view.held_bytes(view.uneven) // view.bytes_per_token("mla_absorbed")) + 1


def _added_by_mla(view: View) -> float:
    """Return a token's average addition to MLA's cache over that to one that grows."""
    return view.bytes_per_token("mla_absorbed") / view.bytes_per_token(view.uneven)


def question(view: View) -> Question:
    """Ask how many times as much a token adds to MLA, or from when on MLA holds more."""
    code, name = view.uneven, variant_name(view.uneven)
    if not view.bytes_per_token(code):
        asks = t("decode.guess_delta", name=name)
        return asked_of_tokens(view, asks, _outgrown(view), t("decode.guess_delta_why"))
    return decades(
        f"decode_{code}",
        t("decode.guess_pooled", name=name),
        _added_by_mla(view),
        (1, 1000),
        say=times,
        why=t("decode.guess_pooled_why", block=count(view.ways[code].config.pooling)),
        hides=("dec_grows",),
    )


def asked_of_tokens(view: View, asks: str, turn: int, why: str) -> Question:
    """Ask for a number of tokens that stands in the statement below the title."""
    return decades(
        f"decode_{view.model.variant}",
        asks,
        turn,
        (1, LONGEST),
        say=lambda n: tokens(count(n)),
        why=why,
        hides=("lead",),
    )


def strip(view: View) -> dict[str, Any]:
    """Return which tokens the chosen way keeps after every step, and as what, for the picture."""
    code, most = view.uneven, len(view.words)
    every = [view.parts(code, step) for step in range(1, view.room + 1)]
    after = range(view.prompt + 1, most + 1)
    return {
        "title": t("decode.strip", name=variant_name(code)),
        "colour": look(code).colour,
        "most": most,
        "unit": t("decode.strip_tokens", tokens=count(most)),
        "lines": [_line(parts, after) for parts in zip(*every, strict=True)],
    }


def _line(parts: Sequence[KeptPart], tokens: Iterable[int]) -> dict[str, Any]:
    """Return a part after every step: its first and last token, `block` tokens a piece of it."""
    last = parts[-1]
    return {
        "kind": last.code,
        "name": t(f"decode.part_{last.code}"),
        "spans": [_ends(part, now) for part, now in zip(parts, tokens, strict=True)],
        "block": last.spans[0][1] if len(last.spans) > 1 else 0,
        "held": [tied_size(part.n_bytes) for part in parts],
    }


def _ends(part: KeptPart, now: int) -> tuple[int, int]:
    """Return its first token and the one beyond its last; of an empty one nothing, at the end."""
    return (part.spans[0][0], part.spans[-1][1]) if part.spans else (now, now)


def alt(view: View, step: int) -> str:
    """Return the parts after a step in words."""
    parts = parted(
        named(t(f"decode.part_{part.code}"), tied_size(part.n_bytes))
        for part in view.parts(view.uneven, step)
    )
    return t("decode.alt_parts", name=variant_name(view.uneven), parts=parts)
