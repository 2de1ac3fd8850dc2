"""The entries of a run: the words that each pools, and the indexer's choice among them.

Of blocks that are chosen as wholes it is their index keys that are pooled.
"""

from functools import partial

import numpy as np
import streamlit as st
import torch

from mla_engine import figures
from mla_engine.pooled.reading import pooled_from
from ui.parts import charts, prose
from ui.parts.charts import map_words, named
from ui.parts.maps.charts import BESIDE, LARGE
from ui.parts.maps.columns import entries
from ui.parts.maps.view import Maps
from ui.parts.maps.words import block_facts, pooled_facts
from ui.sources.layers import to_numpy
from ui.words.numbers import count, share
from ui.words.text import listed, t

GATES = "gates", "gates_I"  # of entries, and of index keys where only these are pooled
MOST_MARKED = 128  # words and entries: beyond them dots would hide the cells


def draw(maps: Maps) -> None:
    """Draw the gates, and beside these the index scores where an indexer chooses."""
    facts, mark = _facts(maps), prose.weights_mark(maps.run.source)
    chooses = "index_E" in maps.run.tensors
    left, right = st.columns(2, gap="large") if chooses else (st.container(), None)
    with left:
        prose.say(t(f"maps.{_kind(maps)}_look", **facts) + mark)
        _gates(maps)
    if chooses:
        with right:
            prose.say(t(f"maps.index_of_{_kind(maps)}", **facts) + mark)
            _index(maps)


def gates(maps: Maps) -> np.ndarray:
    """Return each word's share in each entry [i,s], NaN where the entry does not pool it."""
    of_index = "gates" not in maps.run.tensors
    made, members = (maps.run.tensors[code] for code in (GATES[of_index], "members"))
    # Of a run's own arrays, which are read-only, torch wants copies.
    of_words = pooled_from(torch.tensor(made), torch.tensor(members).long(), len(maps.run.words))
    shares, pooled = to_numpy(of_words[0]), np.zeros(of_words.shape[1:], dtype=bool)
    for place, tokens in enumerate(members.astype(int)):
        pooled[place, tokens[tokens >= 0]] = True
    return np.where(pooled, shares, np.nan)


def _gates(maps: Maps) -> None:
    words, shares, kind = maps.run.words, gates(maps), _kind(maps)
    names = entries(maps.run)
    fig = partial(
        figures.share_map,
        shares,
        axes=(t(f"maps.{kind}_axis"), t("maps.entries_words")),
        name=t("maps.entries_name"),
        rows=names,
        columns=words,
        height=BESIDE,
        words=dict(map_words()) | {"masked": t("maps.entries_masked")},
    )
    counted = {"entries": count(len(names)), "tokens": count(len(words))}
    alt = t(f"maps.alt_{kind}", most=share(float(np.nanmax(shares))), **counted)
    charts.show(fig, "entries:gates", alt=alt, data=partial(named, shares, names, words))


def index_scores(maps: Maps) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores [t,i], NaN before an entry is complete, and the choice, bool [t,i]."""
    found, chosen = (maps.run.tensors[code][0] for code in ("index_E", "chosen_E"))
    ends = maps.run.tensors["members"][:, -1]
    complete = ends <= np.arange(len(found))[:, None]
    return np.where(complete, found, np.nan), chosen.astype(bool)


def _index(maps: Maps) -> None:
    words, names, kind = maps.run.words, entries(maps.run), _kind(maps)
    found, chosen = index_scores(maps)
    marked = (chosen, t("maps.index_chosen"))
    fig = partial(
        figures.tensor_map,
        found,
        axes=(t("figures.query"), t(f"maps.{kind}_axis")),
        name=t("maps.index_name"),
        rows=words,
        columns=names,
        height=LARGE,
        numbers=False,
        words=map_words(),
        marked=marked if max(found.shape) <= MOST_MARKED else None,
    )
    of_query = [names[place] for place in np.flatnonzero(chosen[maps.query])]
    facts = _facts(maps) | {"chosen": listed(of_query) or t("maps.index_none")}
    alt = t(f"maps.alt_index_of_{kind}", **facts)
    charts.show(fig, "entries:index", alt=alt, data=partial(named, found, words, names))


def _kind(maps: Maps) -> str:
    return "blocks" if maps.run.blocks else "entries"


def _facts(maps: Maps) -> dict[str, str]:
    return (block_facts if maps.run.blocks else pooled_facts)(maps)
