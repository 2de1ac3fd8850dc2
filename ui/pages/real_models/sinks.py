"""A layer of keys and values whose heads have a sink, as gpt-oss has them."""

import streamlit as st

from mla_engine import mechanisms
from ui.pages.real_models.kinds import Grouped
from ui.parts import prose
from ui.parts.maps.words import sink_under
from ui.words.numbers import count, share
from ui.words.text import t

ROLES = {"words": "key", "sink": "score"}


class Sinks(Grouped):
    """A layer of words, near ones alone or all, and a sink."""

    def lead(self) -> tuple[str, str]:
        """Return what the sinks take of all heads' attention."""
        config, found = self.view.config, self.view.measured
        values = self.facts | {"heads": self.heads, "kind": mechanisms.of(config).kind(config)}
        if window := config.sliding_window:
            said = t("real_models.line_window", window=count(window), **values)
        else:
            said = t("real_models.line_sink", **values)
        return share(float(found.sink.mean())), said

    def look(self) -> str:
        """Return what the last column stands for."""
        return t("real_models.look_sink")

    def of_head(self) -> str:
        """Return what the chosen head gives to words and to its sink."""
        found, head = self.view.measured, self.maps.head
        values = {name: share(float(vars(found)[name][head])) for name in ROLES}
        return t("real_models.given_sink", head=count(head), queries=count(found.queries), **values)

    def first(self) -> None:
        """Draw the maps, and what every head gives to words and to its sink."""
        self.draw_maps(*sink_under(self.maps))
        st.subheader(t("real_models.sink_title"), anchor=False)
        prose.say(t("real_models.sink_look", queries=count(self.view.measured.queries)))
        self.draw_given(ROLES, "sink")
        st.info(t(f"real_models.{self.gap()}"))
