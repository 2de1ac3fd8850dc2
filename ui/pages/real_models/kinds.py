"""A layer by its kind: what it does, what its chosen head does, and the pictures of both."""

import math
from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import costs, figures, mechanisms
from ui.pages.real_models import atlas, layers
from ui.pages.real_models.matrices import cached, matrices
from ui.pages.real_models.view import View
from ui.parts import atlas as parts_atlas
from ui.parts import charts, examples, maps, prose
from ui.sources import checkpoint
from ui.words import numbers
from ui.words.numbers import count, digits, share, size
from ui.words.text import t

BITS_16 = 2  # bytes a number, as caches are told in 16 bits
ROLES = {"content": "latent", "position": "rope", "shared": "score"}


class Kind:
    """A layer of which only the maps are shown, such as MLA that reads chosen keys."""

    def __init__(self, view: View) -> None:
        self.view, self.maps = view, view.maps
        self.heads = count(view.config.n_heads)
        self.facts = {"layer": count(view.loaded.layer), "name": checkpoint.title(view.loaded)}

    def lead(self) -> tuple[str, str]:
        """Return the title's number and sentence: kind, heads, and how many keys are chosen."""
        said = numbers.heads(self.view.config.n_heads)
        kind = mechanisms.of(self.view.config).kind(self.view.config)
        values = self.facts | {"kind": kind}
        if topk := self.view.topk:
            chosen = {"heads": self.heads, "topk": count(topk)}
            return said, t("real_models.line_choosing", **values, **chosen)
        return said, t("real_models.line_plain", heads=said, **values)

    def look(self) -> str:
        """Return the sentence on what to compare."""
        return t("real_models.look_grouped")

    def of_head(self) -> str:
        """Return what the chosen head does; empty where nothing is measured."""
        return ""

    def cell(self) -> None:
        """Draw the choice of a cell by its words."""
        maps.controls.cell_controls(self.maps.run.words, self.maps.columns)

    def listen(self) -> None:
        """Take clicks on the pictures."""
        maps.controls.listen(self.maps)

    def first(self) -> None:
        """Draw the maps, and say what else is not shown."""
        self.draw_maps()
        st.info(t(f"real_models.{self.gap()}"))

    def gap(self) -> str:
        """Return the key of the text on what is not shown."""
        return "choosing" if self.view.topk else "plain"

    def draw_maps(self, *under: str) -> None:
        """Draw all heads at a glance, and the chosen one with the sentences below it."""
        heads, one_head = st.columns([7, 9], gap="medium")
        with heads:
            prose.say(maps.words.caption(self.maps))
            maps.charts.thumbnails(self.maps)
        with one_head:
            prose.say(maps.words.large(self.maps))
            maps.charts.large(self.maps)
            for sentence in under:
                prose.say(sentence)

    def draw_given(self, roles: Mapping[str, str], told: str) -> None:
        """Draw how each head shares out its attention; `told` is what the alternative text tells.

        Args:
            roles: a field of what is measured -> the role of its colour.
            told: one of these.
        """
        found = vars(self.view.measured)
        amounts = {t(f"real_models.{name}"): found[name].numpy() for name in roles}
        fig = partial(
            figures.head_shares,
            range(self.view.config.n_heads),
            amounts,
            roles=tuple(roles.values()),
            axes=(t("real_models.head"), t("maps.share")),
        )
        most = int(found[told].argmax())
        said = {"most": count(most), "share": share(float(found[told][most]))}
        alt = t(f"real_models.alt_given_{told}", heads=self.heads, **said)
        table = self.by_head(amounts)
        charts.show(fig, "real:given", alt=alt, data=lambda: table, file="heads.csv")

    def below(self) -> None:
        """Draw what stands below the first pictures."""
        self.draw_parts()

    def draw_parts(self) -> None:
        """Draw the way from logits to attention."""
        st.subheader(t("maps.parts_title"), anchor=False)
        maps.charts.parts(self.maps)

    def by_head(self, columns: dict[str, object]) -> pd.DataFrame:
        """Return a table with a row for each head, the layer and head first."""
        layer, head = t("real_models.layer"), t("real_models.head")
        of_heads = {layer: self.view.loaded.layer, head: range(self.view.config.n_heads)}
        return pd.DataFrame(of_heads | columns)

    def cache_sizes(self) -> dict[str, str]:
        """Return what a cache holds after the text, by part."""
        parts = costs.kept_parts(self.view.config, len(self.maps.run.words), BITS_16)
        return {part.code: size(part.n_bytes) for part in parts}


class Compared(Kind):
    """A layer whose heads are drawn beside those of all layers."""

    def listen(self) -> None:
        """Take clicks on the maps, and on a head among those of all layers."""
        maps.controls.listen(self.maps, parts_atlas.clicks(self.view.loaded, self.view.chosen))


class Grouped(Compared):
    """A layer that keeps keys and values: its maps."""

    def lead(self) -> tuple[str, str]:
        """Return how much of its attention the chosen head gives to the framed token."""
        values = {"heads": self.heads, "groups": count(self.view.config.n_kv_heads)}
        values |= maps.words.shown(self.maps) | self.facts
        return share(self.maps.share), t("real_models.line_grouped", **values)

    def look(self) -> str:
        """Return the sentence on what to compare, where no text is known below the map."""
        return super().look() if self.view.loaded.activations else ""

    def first(self) -> None:
        """Draw the maps, below the large one what its head does on this text by its best score."""
        loaded, one = self.view.loaded, self.maps.attention[self.maps.place]
        ids = () if loaded.activations else checkpoint.inputs(loaded).ids
        self.draw_maps(*filter(None, [ids and examples.told(ids, one, self.maps.head)]))
        st.info(t(f"real_models.{self.gap()}"))

    def below(self) -> None:
        """Draw all heads of the model, and the way from logits to attention."""
        if not self.view.config.sinks:  # whose rows go on behind the words
            atlas.section(self.view)
        super().below()

    def gap(self) -> str:
        """Return the key of the text on what is not shown: it has no latent."""
        return "no_latent"


class Latent(Compared):
    """A layer of MLA: heads of content and of position, what is cached, matrices, other layers."""

    def lead(self) -> tuple[str, str]:
        """Return how many heads look at places more than at words."""
        view = self.view
        if view.measured is None:
            said = t("real_models.line_one", heads=self.heads, **self.facts)
            return numbers.heads(view.config.n_heads), said
        positional = count(int((view.balance > 0.5).sum()))
        number = t("common.out_of", n=positional, all=self.heads)
        return number, self._say("line", positional=positional, heads=self.heads, **self.facts)

    def _say(self, key: str, **values: str) -> str:
        """Return a text on content and position; without a rotation, on own and shared keys."""
        return t(f"real_models.{key}{'' if self.view.of_places else '_shared'}", **values)

    def look(self) -> str:
        """Return the sentence on what to compare."""
        return self._say("look") if self.view.measured else super().look()

    def of_head(self) -> str:
        """Tell whether the chosen head looks at words or places; "" where one token has neither."""
        if self.view.measured is None:
            return ""
        position, head = float(self.view.balance[self.maps.head]), count(self.maps.head)
        if math.isnan(position):
            return t("real_models.kind_flat", head=head)
        if position > 0.5:
            return self._say("kind_position", head=head, share=share(position))
        return self._say("kind_content", head=head, share=share(1 - position))

    def first(self) -> None:
        """Draw the maps, and what the logits of every head are made of."""
        self.draw_maps()
        if self.view.measured is None:
            st.info(t("real_models.one_token"))
            return
        st.subheader(self._say("shares_title"), anchor=False)
        prose.say(self._say("shares_look"))
        self._shares()

    def _shares(self) -> None:
        """Draw content, position and what they share of each head's logit variance."""
        view, found = self.view, self.view.measured
        own = ("content", "position") if view.of_places else ("own_keys", "shared_key")
        names = [t(f"real_models.{name}") for name in (*own, "shared")]
        amounts = (found.content, found.position, found.shared)
        fig = partial(
            figures.head_shares,
            range(view.config.n_heads),
            {of: part.numpy() for of, part in zip(names, amounts, strict=True)},
            roles=tuple(ROLES.values()),
            axes=(t("real_models.head"), t("real_models.share")),
        )
        most = int(np.nan_to_num(view.balance).argmax())
        values = {"most": count(most), "share": digits(float(view.balance[most]), 2)}
        alt = self._say("alt_shares", heads=self.heads, **values)
        rows = layers.numbers({view.loaded.layer: found})
        rows.columns = [*rows.columns[:2], *names]
        charts.show(fig, "real:shares", alt=alt, data=lambda: rows, file="heads.csv")

    def below(self) -> None:
        """Draw all heads of the model, how logits become attention, the cache, other layers."""
        if self.view.measured is None:
            self.draw_parts()
            return
        atlas.section(self.view)
        self.draw_parts()
        st.subheader(t("real_models.latents_title"), anchor=False)
        cached(self.view, "c_KV", "k_R")
        matrices(self.view)
        layers.section(self.view)
