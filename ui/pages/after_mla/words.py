"""The sentences of the page, with their numbers."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from mla_engine.model_caches import Layer
from mla_engine.model_caches.levers import BITS, LEVERS, Rows, rows
from ui.pages.after_mla.tables import by_ratio
from ui.pages.after_mla.view import Shown, View
from ui.words.numbers import TIED, amount, count, digits, size, tied_size, times
from ui.words.text import listed, safe, sentences, t, translated

SAME = 1.005  # a factor below it changes nothing that is seen
SILENT = ("rows", "nothing")  # of layers that mix no tokens nothing is said


def lead(view: View) -> tuple[str, str]:
    """Return what the chosen model keeps of a token, and how much less that is than in MHA."""
    found = view.shown.levers
    begin, end = found.steps["mha"], found.bytes_per_token
    facts = {"model": _name(view.shown), "mha": tied_size(float(begin), binary=False)}
    ratio = float(begin / end)
    key = "line" if ratio > SAME else "line_mha"
    return size(float(end), binary=False), t(f"after_mla.{key}", **facts, times=factor(ratio))


def _name(shown: Shown) -> str:
    """Its name as Markdown: the reader's own may hold anything."""
    return shown.name if shown.published else safe(shown.name)


def factor(ratio: float) -> str:
    """Return how many times less, "57"."""
    return digits(ratio, 3) if ratio < 10 else count(ratio)


def product(view: View) -> str:
    """The four factors as one line of arithmetic."""
    found = view.shown.levers
    numbers = {name: amount(float(getattr(found, name))) for name in LEVERS}
    total = tied_size(float(found.bytes_per_token), binary=False)
    return t("after_mla.product", **numbers, total=total)


def chapter(view: View) -> str:
    """Return what the shown model's mechanism does, "" of one that the story does not tell."""
    return t(f"after_mla.story_{view.chapter}") if view.chapter else ""


def rows_of_picture() -> list[str]:
    """MHA, each lever after those above it, and what is read."""
    return [t(f"after_mla.row_{name}") for name in ("mha", *LEVERS, "read")]


def ends(view: View) -> list[str]:
    """Return each row's end: its bytes, and by what they are divided there."""
    found = [*map(float, view.shown.levers.steps.values()), view.shown.read_per_token]
    said = [size(found[0], binary=False)]
    for before, after in pairwise(found):
        said.append(_divided(size(after, binary=False), before / after))
    return said


def how(view: View) -> list[str]:
    """A sentence a lever: what the model does, or that it leaves it as it is; what is read."""
    found = view.shown.levers
    facts = {
        "width": {"rows": _widths(view.shown), "all": count(found.as_mha)},
        "length": {"rows": _lengths(view.shown)},
        "depth": {"n": count(found.depth), "all": count(found.layers), "rest": _rest(view.shown)},
        "bits": {"n": amount(float(found.bits)), "all": count(BITS)},
        "read": _of_read(view),
    }
    moved = {
        "width": found.width < found.as_mha,
        "length": found.length < 1,
        "depth": found.depth < found.layers,
        "bits": found.bits != BITS,
        "read": float(found.bytes_per_token) > view.shown.read_per_token * SAME,
    }
    return [
        t(f"after_mla.{name}_{'moved' if moved[name] else 'same'}", **facts[name])
        for name in (*LEVERS, "read")
    ]


def _widths(shown: Shown) -> str:
    """The numbers of a row, by the layers that have it."""
    return _by_layers(shown, lambda row: t("after_mla.numbers", n=count(row.numbers)))


def _lengths(shown: Shown) -> str:
    """The tokens of a row, by the layers that have it."""
    return _by_layers(shown, lambda row: t("after_mla.tokens", n=count(row.tokens)))


def _by_layers(shown: Shown, say: Callable[[Rows], str]) -> str:
    layers: Counter[str] = Counter()
    for row in rows(shown.model):
        layers[say(row)] += row.layers
    if len(layers) == 1:
        return next(iter(layers))
    return listed(t("after_mla.in_layers", what=what, n=count(n)) for what, n in layers.items())


def _rest(shown: Shown) -> str:
    """Return what the layers without rows of their own keep or read instead."""
    found = Counter(_instead(layer) for layer in shown.model.layers)
    return listed(
        t(f"after_mla.rest_{name}", n=count(n)) for name, n in found.items() if name not in SILENT
    )


def _instead(layer: Layer) -> str:
    """Return what a layer has in place of rows that grow, "rows" where it has these."""
    if any(part.stored and part.growth == "grows" for part in layer.parts):
        return "rows"
    if any(not part.stored for part in layer.parts):
        return "shared"
    growths = {part.growth for part in layer.parts}
    return "window" if "window" in growths else "state" if growths else "nothing"


def _of_read(view: View) -> dict[str, str]:
    kept, read = float(view.shown.levers.bytes_per_token), view.shown.read_per_token
    found = {"context": count(view.context), "read": tied_size(read, binary=False)}
    return found | {"times": factor(kept / read)}


def sharing(view: View) -> str:
    """Return which layers own an indexer that others reuse, and what both keep of a token.

    Empty where no layer reuses another's choice.
    """
    layers = view.shown.model.layers
    owners = [place for place, layer in enumerate(layers) if layer.kind == "indexed"]
    others = [layer for layer in layers if layer.kind == "shared_choice"]
    if not (owners and others):
        return ""
    own, shared = _per_token(layers[owners[0]]), _per_token(others[0])
    counted = len(owners) + len(others)
    mean = (len(owners) * own + len(others) * shared) / counted
    numbers = {"own": own, "shared": shared, "mean": mean}
    return t(
        "after_mla.sharing",
        n=count(len(owners)),
        all=count(counted),
        others=count(len(others)),
        layers=listed(map(count, owners)),
        **{name: amount(float(number)) for name, number in numbers.items()},
    )


def _per_token(layer: Layer) -> Fraction:
    """Numbers that a layer keeps of each further token."""
    return sum((part.numbers * part.rows_per_token for part in layer.parts), Fraction(0))


def reading(view: View) -> str:
    """Stored and read of the chosen model at the context."""
    shown = view.shown
    facts = {
        "model": _name(shown),
        "context": count(view.context),
        "stored": tied_size(shown.stored),
        "read": tied_size(shown.read),
    }
    key = "less" if shown.read < shown.stored / SAME else "all"
    told = t(f"after_mla.reading_{key}", **facts, times=factor(shown.stored / max(shown.read, 1)))
    if shown.fixed < shown.stored * (SAME - 1):
        return told
    return sentences([told, t("after_mla.fixed", fixed=tied_size(shown.fixed))])


def formulas() -> str:
    """Return how many wrong formulas there are, and how far off they are."""
    found = by_ratio()
    ends = {"low": times(found[0].ratio), "high": times(found[-1].ratio)}
    return t("after_mla.printed_words", n=count(len(found)), **ends)


def alt_printed() -> str:
    """The picture of formulas in words."""
    each = "; ".join(f"{translated(one.short)}: {times(one.ratio)}" for one in by_ratio())
    return t("after_mla.alt_printed", each=each)


def source(view: View) -> str:
    """Return where the model's numbers were read, and what is uncertain in them."""
    one = view.shown.published
    if one is None:
        return t("after_mla.source_own", model=_name(view.shown))
    said = t("after_mla.source", model=one.name, source=one.source)
    return f"{said} {translated(one.notes)}" if one.notes else said


def alt_steps(view: View) -> str:
    """The first picture in words."""
    pairs = zip(rows_of_picture(), ends(view), strict=True)
    return t("after_mla.alt_steps", each="; ".join(f"{row}: {end}" for row, end in pairs))


def alt_read(view: View) -> str:
    """The second picture in words."""
    each = "; ".join(_stored_and_read(one) for one in view.milestones)
    return t("after_mla.alt_read", context=count(view.context), each=each)


def ends_of_milestones(view: View) -> list[str]:
    """Beside each pair of bars: what is stored; below it, by what that is divided when read."""
    return [
        _divided(tied_size(one.stored), one.stored / max(one.read, 1), "{}<br>{}")
        for one in view.milestones
    ]


def _divided(amount: str, ratio: float, shape: str = "{} ({})") -> str:
    return shape.format(amount, f"÷{TIED}{factor(ratio)}") if ratio > SAME else amount


def _stored_and_read(one: Shown) -> str:
    return f"{one.name}: {size(one.stored)}, {size(one.read)}"
