"""The factors by which a model's cache is smaller than with MHA: width, length, depth, bits."""

import math
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import pairwise

import pandas as pd
import streamlit as st

from kvcount import MODELS, Layer
from kvcount.levers import BITS, LEVERS, rows
from mla_engine import figures
from ui.pages.after_mla.view import END, PAIR, PASTED, SAME, STORY, Shown, View, divided, factor
from ui.parts import charts, given
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import Setting, one_of, type_of, words
from ui.settings.server import server
from ui.settings.sizes import KV_TYPES
from ui.words.numbers import amount, count, size, tied_size
from ui.words.sources import cited
from ui.words.text import listed, named, parted, t, translated

SETTINGS = {
    "am_model": Setting(
        STORY["pooled"],
        one_of(*MODELS),
        "selectbox",
        write=lambda key: MODELS[key].name,
        recorded=tuple(STORY.values()),
    ),
    "am_own": Setting("", words(200)),  # a model of the reader's own, by name
    "am_kv": Setting("bf16", type_of(*KV_TYPES), "segmented_control"),
}
ROWS = ("mha", *LEVERS, "read")
STEPS = 540  # pixels high
TOLD = {model: code for code, model in STORY.items()}


def lead(view: View) -> tuple[str, str]:
    """Return what the chosen model keeps of a token, and how much less that is than in MHA."""
    found = view.shown.levers
    begin, end = found.steps["mha"], found.bytes_per_token
    facts = {"model": view.shown.said, "mha": tied_size(float(begin), binary=False)}
    ratio = float(begin / end)
    key = "line" if ratio > SAME else "line_mha"
    return size(float(end), binary=False), t(f"after_mla.{key}", **facts, times=factor(ratio))


def story() -> None:
    """Draw the steps of the story; a step chooses the model that it is told of."""
    s = state.settings()
    key = "am_story"
    st.session_state[key] = None if s["am_own"] else TOLD.get(s["am_model"])

    def tell() -> None:
        if (code := st.session_state[key]) is not None:
            state.change(am_model=STORY[code], am_own="")

    st.segmented_control(
        t("after_mla.story"),
        list(STORY),
        format_func=lambda code: t(f"after_mla.step_{code}"),
        key=key,
        on_change=tell,
        label_visibility="collapsed",
    )


def chapter(view: View) -> str:
    """Return what the shown model's mechanism does, "" of one that the story does not tell."""
    code = None if view.own else TOLD.get(view.chosen.model)
    return t(f"after_mla.story_{code}") if code else ""


def choices() -> None:
    """Draw the choice of the model and of what its numbers are stored in."""
    control("am_model")
    if not server().recorded:
        with st.expander(t("after_mla.own"), expanded=bool(state.settings()["am_own"])):
            given.ask("am_own", PASTED)
    control("am_kv")


def draw(view: View) -> None:
    """Draw a token's bytes as MHA, after each lever, and read; equal factors are equally long."""
    kept = [float(step) for step in view.shown.levers.steps.values()]
    amounts = [*kept, view.shown.read_per_token]
    parts = {
        t("after_mla.stored"): [*kept, math.nan],
        t("after_mla.read"): [*([math.nan] * len(kept)), amounts[-1]],
    }
    names = [t(f"after_mla.row_{name}") for name in ROWS]
    ends = _ends(amounts)
    fig = partial(
        figures.bars,
        names,
        parts,
        axis=t("after_mla.axis_bytes"),
        stacked=False,
        alone=True,
        log=True,
        roles=PAIR,
        totals=ends,
        limits=(min(amounts) / 3, max(amounts) * END),
        ticks="~s",
        legend=False,
        height=STEPS,
    )
    each = parted(map(named, names, ends))
    alt, file = t("after_mla.alt_steps", each=each), "mla_after_levers.csv"
    charts.show(fig, "after_mla:steps", alt=alt, data=partial(_table, view, amounts), file=file)


def _ends(amounts: list[float]) -> list[str]:
    """Return each row's end: its bytes, and by what they are divided there."""
    said = [size(amounts[0], binary=False)]
    for before, after in pairwise(amounts):
        said.append(divided(size(after, binary=False), before / after))
    return said


def _table(view: View, amounts: list[float]) -> pd.DataFrame:
    """Return a row for each bar: its factor, and a token's bytes after it."""
    found = view.shown.levers
    factors = [float(getattr(found, name)) for name in LEVERS]
    values = [found.as_mha, *factors, view.chosen.context]
    return pd.DataFrame({"lever": ROWS, "value": values, "bytes_per_token": amounts})


def product(view: View) -> str:
    """Return the four factors as one line of arithmetic."""
    found = view.shown.levers
    numbers = {name: amount(float(getattr(found, name))) for name in LEVERS}
    total = tied_size(float(found.bytes_per_token), binary=False)
    return t("after_mla.product", **numbers, total=total)


def how(view: View) -> list[str]:
    """Return a sentence for each lever, moved by the model or left, and one for what is read."""
    found = view.shown.levers
    kept, read = float(found.bytes_per_token), view.shown.read_per_token
    facts = {
        "width": {"rows": _by_layers(view.shown, "numbers"), "all": count(found.as_mha)},
        "length": {"rows": _by_layers(view.shown, "tokens")},
        "depth": {"n": count(found.depth), "all": count(found.layers), "rest": _rest(view.shown)},
        "bits": {"n": amount(float(found.bits)), "all": count(BITS)},
        "read": {
            "context": count(view.chosen.context),
            "read": tied_size(read, binary=False),
            "times": factor(kept / read),
        },
    }
    moved = {
        "width": found.width < found.as_mha,
        "length": found.length < 1,
        "depth": found.depth < found.layers,
        "bits": found.bits != BITS,
        "read": kept > read * SAME,
    }
    return [
        t(f"after_mla.{name}_{'moved' if moved[name] else 'same'}", **facts[name])
        for name in (*LEVERS, "read")
    ]


def _by_layers(shown: Shown, unit: str) -> str:
    """Return the numbers or the tokens of a row, by the layers that have it."""
    layers: Counter[str] = Counter()
    for row in rows(shown.model):
        layers[t(f"after_mla.{unit}", n=count(getattr(row, unit)))] += row.layers
    if len(layers) == 1:
        return next(iter(layers))
    return listed(t("after_mla.in_layers", what=what, n=count(n)) for what, n in layers.items())


def _rest(shown: Shown) -> str:
    """Return what the layers without rows of their own keep or read instead."""
    found = Counter(filter(None, map(_instead, shown.model.layers)))
    return listed(t(f"after_mla.rest_{name}", n=count(n)) for name, n in found.items())


def _instead(layer: Layer) -> str:
    """Return what a layer has in place of rows that grow, "" for one with such or with nothing."""
    if any(part.stored and part.growth == "grows" for part in layer.parts):
        return ""
    if any(not part.stored for part in layer.parts):
        return "shared"
    growths = {part.growth for part in layer.parts}
    return "window" if "window" in growths else "state" if growths else ""


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
    """Count the numbers that a layer keeps of each further token."""
    return sum((part.numbers * part.rows_per_token for part in layer.parts), Fraction(0))


def source(view: View) -> str:
    """Return where the model's numbers were read, and what is uncertain in them."""
    one = view.shown.published
    if one is None:
        return t("after_mla.source_own", model=view.shown.said)
    said = t("after_mla.source", model=one.name, source=cited(one.source))
    return f"{said} {translated(one.notes)}" if one.notes else said
