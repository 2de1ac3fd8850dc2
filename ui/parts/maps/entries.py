"""What the entries of a run stand for: the words that each pools, and how the indexer chooses."""

from functools import partial

import numpy as np
import streamlit as st
import torch

from mla_engine import figures
from mla_engine.pooled.reading import pooled_from
from ui.engine.layers import to_numpy
from ui.parts import charts, prose, weights
from ui.parts.figure_words import map_words
from ui.parts.maps import pooled_words
from ui.parts.maps.charts import PANEL
from ui.parts.maps.view import Maps
from ui.parts.tables import named
from ui.words.numbers import count, share
from ui.words.text import listed, t

MOST_MARKED = 128  # words and entries: beyond them dots would hide the cells


def draw(maps: Maps) -> None:
    """Their gates, and beside these the index scores where an indexer chooses."""
    facts, mark = pooled_words.facts(maps), weights.mark(maps.run.origin)
    chooses = maps.run.config.chooses
    left, right = st.columns(2, gap="large") if chooses else (st.container(), None)
    with left:
        prose.say(t("maps.entries_look", **facts) + mark)
        _gates(maps)
    if chooses:
        with right:
            k = count(maps.run.config.index_topk)
            prose.say(t("maps.index_look", k=k) + mark)
            _index(maps)


def gates(maps: Maps) -> np.ndarray:
    """How much of each entry is of which word [i,s], NaN where it pools it not."""
    made, members = (maps.run.tensors[code] for code in ("gates", "members"))
    # Of a run's own arrays, which are read-only, torch wants copies.
    of_words = pooled_from(torch.tensor(made), torch.tensor(members).long(), len(maps.run.words))
    shares, pooled = to_numpy(of_words[0]), np.zeros(of_words.shape[1:], dtype=bool)
    for place, tokens in enumerate(members.astype(int)):
        pooled[place, tokens[tokens >= 0]] = True
    return np.where(pooled, shares, np.nan)


def _gates(maps: Maps) -> None:
    words, shares = maps.run.words, gates(maps)
    names = _names(maps)
    fig = partial(
        figures.share_map,
        shares,
        axes=(t("maps.entries_axis"), t("maps.entries_words")),
        name=t("maps.entries_name"),
        rows=names,
        columns=words,
        height=PANEL,
        words=dict(map_words()) | {"masked": t("maps.entries_masked")},
    )
    counted = {"entries": count(len(names)), "tokens": count(len(words))}
    alt = t("maps.alt_entries", most=share(float(np.nanmax(shares))), **counted)
    charts.show(fig, "entries:gates", alt=alt, data=partial(named, shares, names, words))


def index_scores(maps: Maps) -> tuple[np.ndarray, np.ndarray]:
    """The index scores [t,i], NaN where an entry is not complete, and the choice, bool [t,i]."""
    found, chosen = (maps.run.tensors[code][0] for code in ("index_E", "chosen_E"))
    ends = maps.run.tensors["members"][:, -1]
    complete = ends <= np.arange(len(found))[:, None]
    return np.where(complete, found, np.nan), chosen.astype(bool)


def _index(maps: Maps) -> None:
    words, names = maps.run.words, _names(maps)
    found, chosen = index_scores(maps)
    marked = (chosen, t("maps.index_chosen"))
    fig = partial(
        figures.tensor_map,
        found,
        axes=(t("figures.query"), t("maps.entries_axis")),
        name=t("maps.index_name"),
        rows=words,
        columns=names,
        height=PANEL,
        numbers=False,
        words=map_words(),
        marked=marked if max(found.shape) <= MOST_MARKED else None,
    )
    of_query = [names[place] for place in np.flatnonzero(chosen[maps.query])]
    facts = pooled_words.facts(maps) | {"chosen": listed(of_query) or t("maps.index_none")}
    alt = t("maps.alt_index", **facts)
    charts.show(fig, "entries:index", alt=alt, data=partial(named, found, words, names))


def _names(maps: Maps) -> tuple[str, ...]:
    return maps.columns[len(maps.run.words) : -1]
