"""A layer of DeepSeek-V4: a window, entries that pool what came before, and a sink."""

import streamlit as st

from mla_engine import mechanisms
from ui.pages.real_models.kinds import Kind
from ui.pages.real_models.matrices import cached, matrices
from ui.parts import prose
from ui.parts.maps import entries
from ui.parts.maps.words import pooled_look, pooled_under
from ui.words.numbers import count, share
from ui.words.text import t

ROLES = {"window": "key", "entries": "latent", "sink": "score"}


class Pooled(Kind):
    """A layer of a window, entries and a sink."""

    def lead(self) -> tuple[str, str]:
        """Return how many heads read entries more than words; without entries, the sink's share."""
        config, found = self.view.config, self.view.measured
        values = self.facts | {"heads": self.heads, "window": count(config.window)}
        values["kind"] = mechanisms.of(config).kind(config)
        if not self.maps.run.entries:
            key = "line_no_entry" if config.pooling else "line_window"
            return share(float(found.sink.mean())), t(f"real_models.{key}", **values)
        far = count(int((found.entries > found.window).sum()))
        number = t("common.out_of", n=far, all=self.heads)
        return number, t("real_models.line_entries", far=far, **values)

    def look(self) -> str:
        """Return what the columns stand for."""
        return pooled_look(self.maps)

    def of_head(self) -> str:
        """Return what the chosen head gives to words, entries and sink."""
        found, head = self.view.measured, self.maps.head
        values = {name: share(float(vars(found)[name][head])) for name in ROLES}
        values |= {"head": count(head), "queries": count(found.queries)}
        key = "given_entries" if self.maps.run.entries else "given_window"
        return t(f"real_models.{key}", **values)

    def first(self) -> None:
        """Draw the maps, and what every head gives to its window, to entries and to the sink."""
        self.draw_maps(*pooled_under(self.maps))
        st.subheader(t("real_models.given_title"), anchor=False)
        key = "given_look" if self.maps.run.entries else "given_look_window"
        prose.say(t(f"real_models.{key}", queries=count(self.view.measured.queries)))
        roles = ROLES if self.maps.run.entries else {n: ROLES[n] for n in ("window", "sink")}
        self.draw_given(roles, list(roles)[-2])
        prose.note(t("real_models.no_split", rope=count(self.view.config.d_rope)))

    def below(self) -> None:
        """Draw what entries stand for, what is cached, logits and attention, the matrices."""
        if self.maps.run.entries:
            st.subheader(t("maps.entries_title"), anchor=False)
            entries.draw(self.maps)
        st.subheader(t("real_models.latents_title"), anchor=False)
        sizes = self.cache_sizes()
        key = "kept_entries" if "entries" in sizes else "kept_window"
        prose.say(t(f"real_models.{key}", tokens=count(len(self.maps.run.words)), **sizes))
        cached(self.view, "kv_T", "kv_E", "k_E")
        self.draw_parts()
        matrices(self.view)
