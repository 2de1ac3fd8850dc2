"""A layer that keeps a state: what is read of it, how long each head remembers, how it writes."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import costs, figures
from mla_engine.figures import Spread
from mla_engine.lazy import LazyModule
from ui.engine import real_layer
from ui.pages.real_models import charts as common
from ui.pages.real_models.view import View
from ui.parts import charts, prose
from ui.parts.maps import over_time
from ui.words.numbers import count, digits, size
from ui.words.text import t

pd = LazyModule("pandas")

LEAST, MOST = 1e-3, 1e6  # tokens of a half-life that is told
ENDS = 0.1, 0.9  # of what lies between: a bar
BITS_16 = 2  # bytes of a number beside the state


def lead(view: View) -> tuple[str, str]:
    """After how many tokens half of a head's rows have lost half, of the middle head."""
    middle = view.measured.middle.numpy()
    facts = {"layer": count(view.loaded.layer), "heads": count(view.config.n_heads)}
    facts |= {"name": real_layer.title(view.loaded), "n": _tokens(np.median(middle))}
    ends = {"least": _tokens(middle.min()), "most": _tokens(middle.max())}
    return facts["n"], t("real_models.line_state", **facts, **ends)


def _tokens(half_life: float) -> str:
    """A half-life with its unit."""
    if half_life >= MOST:
        return t("real_models.tokens_or_more", n=count(MOST))
    return t("real_models.tokens", n=digits(float(half_life)))


def look(_view: View) -> str:
    """Return the sentence on what to look at."""
    return t("real_models.look_state")


def chosen(view: View) -> str:
    """Return how long the chosen head remembers, and how it writes."""
    found, head = view.measured, view.maps.head
    values = {"head": count(head), "n": _tokens(found.middle[head])}
    values["b"] = digits(float(np.median(found.strength[head])))
    values |= {name: digits(float(vars(found)[name][head])) for name in ("put", "erased")}
    return t("real_models.kind_state", **values)


def cell(view: View) -> None:
    """After which word the state is read, and of which word the value is looked for."""
    over_time.controls(view.maps)


def listen(view: View) -> None:
    """Clicks on the map of weights."""
    over_time.listen(view.maps)


def first(view: View) -> None:
    """The state of the chosen head and what is read of it; how long every head remembers."""
    weights, state = st.columns(2, gap="medium")
    with weights:
        over_time.weights(view.maps)
    with state:
        over_time.after(view.maps)
    st.subheader(t("real_models.memory_title"), anchor=False)
    prose.say(t("real_models.memory_look", tokens=count(len(view.maps.run.words))))
    _half_lives(view)


def _half_lives(view: View) -> None:
    found, tokens = view.measured, len(view.maps.run.words)
    every = found.half_life.numpy()
    spread, middle = spread_of(np.clip(every, LEAST, MOST)), found.middle.numpy()
    powers = np.log10([min(spread.least.min(), tokens), max(spread.most.max(), tokens)])
    limits = 10.0 ** np.floor(powers[0]), 10.0 ** np.ceil(powers[1] + 0.1)
    title = t("real_models.half_life")
    spread = spread._replace(middle=np.clip(middle, LEAST, MOST))
    options = {"role": "key", "limits": limits, "log": True, "at": tokens}
    most, least = int(middle.argmax()), int(middle.argmin())
    said = {"most": count(most), "longest": _tokens(middle[most])}
    said |= {"least": count(least), "shortest": _tokens(middle[least])}
    alt = t("real_models.alt_memory", heads=count(len(middle)), **said)
    columns = {title: middle} | {f"k{place}": of for place, of in enumerate(every.T)}
    _show(view, spread, "memory", (title, alt, columns), **options)


def spread_of(values: np.ndarray) -> Spread:
    """Return each head's lowest tenth, middle and highest tenth [h]."""
    least, middle, most = np.quantile(values, (ENDS[0], 0.5, ENDS[1]), axis=-1)
    return Spread(least, middle, most)


def _show(
    view: View,
    spread: Spread,
    chart: str,
    told: tuple[str, str, Mapping[str, np.ndarray]],
    **options: object,
) -> None:
    """A chart of all heads; `told` is its title, the picture in words and the table's columns."""
    (title, alt, columns), heads = told, range(view.config.n_heads)
    axes, chosen = (t("real_models.head"), title), view.maps.head
    fig = partial(figures.head_spread, heads, spread, axes=axes, chosen=chosen, **options)
    named = {t("real_models.layer"): view.loaded.layer, t("real_models.head"): heads}
    table = pd.DataFrame(named | dict(columns))
    charts.show(fig, f"real:{chart}", alt=alt, data=lambda: table, file=f"{chart}.csv")


def below(view: View) -> None:
    """Draw how every head writes, what each word changes, what is kept, the matrices."""
    st.subheader(t("real_models.strength_title"), anchor=False)
    prose.say(t("real_models.strength_look"))
    _strengths(view)
    st.subheader(t("maps.state_title_changes"), anchor=False)
    over_time.changes(view.maps)
    prose.say(_kept(view))
    common.matrices(view)


def _strengths(view: View) -> None:
    found = view.measured
    spread, title = spread_of(found.strength.numpy()), t("real_models.strength")
    most = int(spread.middle.argmax())
    said = {"heads": count(view.config.n_heads), "most": count(most)}
    alt = t("real_models.alt_strength", b=digits(float(spread.middle[most])), **said)
    columns = {title: spread.middle, t("maps.state_bar_put"): found.put.numpy()}
    columns[t("maps.state_bar_erased")] = found.erased.numpy()
    _show(view, spread, "strength", (title, alt, columns), role="value", limits=(0, 1))


def _kept(view: View) -> str:
    """Return what a cache holds after the text, and after any other."""
    tokens = len(view.maps.run.words)
    parts = costs.kept_parts(view.config, tokens, BITS_16)
    return t("real_models.kept_state", **{part.code: size(part.n_bytes) for part in parts})
