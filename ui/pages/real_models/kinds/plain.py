"""A layer without a room of its own here, such as MLA that reads chosen keys: its maps."""

import streamlit as st

from mla_engine import mechanisms
from ui.engine import real_layer
from ui.pages.real_models import maps as drawn
from ui.pages.real_models.kinds import grouped
from ui.pages.real_models.view import View
from ui.words.numbers import count, heads
from ui.words.text import t

look, chosen, cell = grouped.look, grouped.chosen, drawn.cell
below, listen = grouped.below, drawn.listen


def lead(view: View) -> tuple[str, str]:
    """Its kind, how many heads it has, and whether they read chosen keys."""
    facts = {"layer": count(view.loaded.layer), "heads": heads(view.config.n_heads)}
    facts["kind"] = mechanisms.of(view.config).kind(view.config)
    facts["name"] = real_layer.title(view.loaded)
    if view.topk:
        facts |= {"heads": count(view.config.n_heads), "topk": count(view.topk)}
        return heads(view.config.n_heads), t("real_models.line_choosing", **facts)
    return facts["heads"], t("real_models.line_plain", **facts)


def first(view: View) -> None:
    """The maps, and what else is not shown of this kind."""
    drawn.maps_of(view)
    st.info(t("real_models.choosing" if view.topk else "real_models.plain"))
