"""What the page after_mla says, with its numbers."""

from fractions import Fraction
from itertools import pairwise

from mla_engine.model_caches import Layer
from mla_engine.model_caches.levers import BITS, LEVERS
from ui.pages.after_mla.tables import by_ratio
from ui.pages.after_mla.view import Shown, View
from ui.words.numbers import TIED, amount, count, digits, size, tied_size, times
from ui.words.text import listed, safe, t, translated

SAME = 1.005  # a factor below it changes nothing that is seen


def lead(view: View) -> tuple[str, str]:
    """What the chosen model keeps of a token, and how much less that is than MHA would."""
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
    """How many times less, "57"."""
    return digits(ratio, 3) if ratio < 10 else count(ratio)


def product(view: View) -> str:
    """The four factors as one line of arithmetic."""
    found = view.shown.levers
    numbers = {name: amount(float(getattr(found, name))) for name in LEVERS}
    total = tied_size(float(found.bytes_per_token), binary=False)
    return t("after_mla.product", **numbers, total=total)


def steps(view: View) -> list[str]:
    """The rows of the picture: MHA, and each lever after those above it."""
    return [t("after_mla.row_mha"), *(t(f"after_mla.row_{name}") for name in LEVERS)]


def ends(view: View) -> list[str]:
    """What stands at the end of each row: its bytes, and by what the lever divides them."""
    found = list(view.shown.levers.steps.values())
    said = [size(float(found[0]), binary=False)]
    for before, after in pairwise(found):
        ratio = float(before / after)
        times = f" (÷{TIED}{factor(ratio)})" if ratio > SAME else ""
        said.append(size(float(after), binary=False) + times)
    return said


def how(view: View) -> list[str]:
    """A sentence a lever: what the model does, or that it leaves it as it is."""
    found = view.shown.levers
    facts = {
        "width": {"n": amount(float(found.width)), "all": count(found.as_mha)},
        "length": {"tokens": amount(float(1 / found.length))},
        "depth": {"n": count(found.depth), "all": count(found.layers)},
        "bits": {"n": amount(float(found.bits)), "all": count(BITS)},
    }
    moved = {
        "width": found.width < found.as_mha,
        "length": found.length < 1,
        "depth": found.depth < found.layers,
        "bits": found.bits != BITS,
    }
    return [
        t(f"after_mla.{name}_{'moved' if moved[name] else 'same'}", **facts[name])
        for name in LEVERS
    ]


def sharing(view: View) -> str:
    """Which layers own an indexer where others reuse their choice, and what both keep of a token.

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
    return t(f"after_mla.reading_{key}", **facts, times=factor(shown.stored / max(shown.read, 1)))


def formulas() -> str:
    """How many wrong formulas there are, and how far off they are."""
    found = by_ratio()
    ends = {"low": times(found[0].ratio), "high": times(found[-1].ratio)}
    return t("after_mla.printed_words", n=count(len(found)), **ends)


def alt_printed() -> str:
    """The picture of formulas in words."""
    each = "; ".join(f"{translated(one.short)}: {times(one.ratio)}" for one in by_ratio())
    return t("after_mla.alt_printed", each=each)


def source(view: View) -> str:
    """Where the model's numbers were read, and what is uncertain in them."""
    one = view.shown.published
    if one is None:
        return t("after_mla.source_own", model=_name(view.shown))
    said = t("after_mla.source", model=one.name, source=one.source)
    return f"{said} {translated(one.notes)}" if one.notes else said


def alt_steps(view: View) -> str:
    """The first picture in words."""
    pairs = zip(steps(view), ends(view), strict=True)
    return t("after_mla.alt_steps", each="; ".join(f"{row}: {end}" for row, end in pairs))


def alt_read(view: View) -> str:
    """The second picture in words."""
    each = "; ".join(_stored_and_read(one) for one in view.milestones)
    return t("after_mla.alt_read", context=count(view.context), each=each)


def _stored_and_read(one: Shown) -> str:
    return f"{one.name}: {size(one.stored)}, {size(one.read)}"
