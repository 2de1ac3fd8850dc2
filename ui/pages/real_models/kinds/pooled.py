"""A layer of DeepSeek-V4: a window, entries that pool what came before, and a sink."""

from functools import partial

import streamlit as st

from mla_engine import costs, figures, mechanisms
from mla_engine.lazy import LazyModule
from ui.engine import real_layer
from ui.pages.real_models import charts as common
from ui.pages.real_models import maps as drawn
from ui.pages.real_models.view import View
from ui.parts import charts, maps, prose
from ui.parts.maps import entries
from ui.parts.maps.words import pooled_look, pooled_under
from ui.words.numbers import count, share, size
from ui.words.text import t

pd = LazyModule("pandas")

BITS_16 = 2  # bytes a number, as V4's cache is told in 16 bits
ROLES = {"window": "key", "entries": "latent", "sink": "score"}

cell, listen = drawn.cell, drawn.listen


def lead(view: View) -> tuple[str, str]:
    """Return how many heads read entries more than words; without entries, the sink's share."""
    facts = {"layer": count(view.loaded.layer), "heads": count(view.config.n_heads)}
    facts |= {"name": real_layer.title(view.loaded), "window": count(view.config.window)}
    facts["kind"] = mechanisms.of(view.config).kind(view.config)
    found = view.measured
    if not view.maps.run.entries:
        taken = share(float(found.sink.mean()))
        key = "line_no_entry" if view.config.pooling else "line_window"
        return taken, t(f"real_models.{key}", **facts)
    far = int((found.entries > found.window).sum())
    number = t("common.out_of", n=count(far), all=facts["heads"])
    return number, t("real_models.line_entries", far=count(far), **facts)


def look(view: View) -> str:
    """Return what the columns stand for."""
    return pooled_look(view.maps)


def chosen(view: View) -> str:
    """Return what the chosen head gives to words, entries and sink."""
    found, head = view.measured, view.maps.head
    values = {name: share(float(vars(found)[name][head])) for name in ROLES}
    values |= {"head": count(head), "queries": count(found.queries)}
    key = "given_entries" if view.maps.run.entries else "given_window"
    return t(f"real_models.{key}", **values)


def first(view: View) -> None:
    """The maps, and what every head gives to its window, to entries and to the sink."""
    drawn.maps_of(view, *pooled_under(view.maps))
    st.subheader(t("real_models.given_title"), anchor=False)
    key = "given_look" if view.maps.run.entries else "given_look_window"
    prose.say(t(f"real_models.{key}", queries=count(view.measured.queries)))
    _given(view)
    prose.note(t("real_models.no_split", rope=count(view.config.d_rope)))


def _given(view: View) -> None:
    found, heads = view.measured, range(view.config.n_heads)
    shown = [name for name in ROLES if name != "entries" or view.maps.run.entries]
    amounts = {t(f"real_models.{name}"): vars(found)[name].numpy() for name in shown}
    fig = partial(
        figures.head_shares,
        heads,
        amounts,
        roles=[ROLES[name] for name in shown],
        axes=(t("real_models.head"), t("maps.share")),
    )
    most = int(vars(found)[shown[-2]].argmax())
    said = {"most": count(most), "share": share(float(vars(found)[shown[-2]][most]))}
    alt = t(f"real_models.alt_given_{shown[-2]}", heads=count(len(heads)), **said)
    layer, head = t("real_models.layer"), t("real_models.head")
    rows = pd.DataFrame({layer: view.loaded.layer, head: heads} | amounts)
    charts.show(fig, "real:given", alt=alt, data=lambda: rows, file="heads.csv")


def below(view: View) -> None:
    """Draw what entries stand for, what is kept, logits and attention, the matrices."""
    if view.maps.run.entries:
        st.subheader(t("maps.entries_title"), anchor=False)
        entries.draw(view.maps)
    st.subheader(t("real_models.latents_title"), anchor=False)
    prose.say(_kept(view))
    common.cached(view, "kv_T", "kv_E", "k_E")
    st.subheader(t("maps.parts_title"), anchor=False)
    maps.charts.parts(view.maps)
    common.matrices(view)


def _kept(view: View) -> str:
    """Return what a cache holds after the text."""
    tokens = len(view.maps.run.words)
    parts = costs.kept_parts(view.config, tokens, BITS_16)
    sizes = {part.code: size(part.n_bytes) for part in parts}
    key = "kept_entries" if "entries" in sizes else "kept_window"
    return t(f"real_models.{key}", tokens=count(tokens), **sizes)
