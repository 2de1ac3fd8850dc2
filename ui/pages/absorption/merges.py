"""Merging too much: all heads into one matrix, and past the norm."""

import html
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.late import Late
from ui.pages.absorption import controls, run, words
from ui.pages.absorption.places import CLAIMS
from ui.pages.absorption.run import TooMuch
from ui.pages.absorption.view import View
from ui.parts import charts, links, prose, weights
from ui.parts.figure_words import map_words
from ui.words.numbers import count
from ui.words.text import t

pd = Late("pandas")

MAP, BARS = 435, 520
MOST_BARS = 12  # the last words of a longer text, whose names can be read


def heads_in_one(view: View) -> None:
    """Two heads' scores and the only map that one matrix for all heads can give."""
    prose.say(t("absorption.heads_look") + weights.mark(view.origin))
    merged = _too_much(view)
    panels = _score_panels(view, merged)
    limit = figures.shared_limit(*(scores for _, scores in panels))
    for n, (column, panel) in enumerate(zip(st.columns(3), panels, strict=True)):
        with column:
            _scores(view, n, *panel, limit)
    prose.say(words.one_matrix(view, merged))
    _claims("P4")


def _too_much(view: View) -> TooMuch:
    with st.spinner(t("absorption.running")):
        return _found(view)


def _found(view: View) -> TooMuch:
    return run.too_much(view.config, view.origin, view.heads, view.words, view.gain)


def _shown_heads(view: View) -> tuple[int, int]:
    """The places of the chosen head and its neighbour."""
    place = view.heads.index(view.head)
    return place, (place + 1) % len(view.heads)


def _maps(view: View, merged: TooMuch) -> list[np.ndarray]:
    """The chosen head's map, its neighbour's, and the one for all."""
    return [*(merged.scores[place] for place in _shown_heads(view)), merged.scores_one]


def _numbers(view: View, n: int) -> "pd.DataFrame":
    """One of the maps, its columns by the words."""
    return pd.DataFrame(_maps(view, _found(view))[n], columns=view.words)


def _score_panels(view: View, merged: TooMuch) -> list[tuple[str, np.ndarray]]:
    """The maps with their labels."""
    own = [t("absorption.own_map", head=count(view.heads[place])) for place in _shown_heads(view)]
    labels = [*own, t("absorption.one_map", heads=count(len(view.heads)))]
    return list(zip(labels, _maps(view, merged), strict=True))


def _scores(view: View, n: int, label: str, scores: np.ndarray, limit: float) -> None:
    prose.say(label)
    fig = partial(
        figures.score_map,
        scores,
        view.words,
        view.words,
        limit=limit,
        height=MAP,
        numbers=False,
        name=t("absorption.score"),
        words=map_words(),
    )
    charts.show(
        fig,
        f"absorption:map_{n}",
        alt=t("absorption.alt_map", label=words.aloud(label)),
        data=partial(_numbers, view, n),
        file=f"scores_{n}.csv",
    )


def past_the_norm(view: View) -> None:
    """Keys by W_UK W_DKV against the right ones, as one word's h gets longer."""
    prose.say(t("absorption.norm_look") + weights.mark(view.origin))
    merged = _too_much(view)
    picture, said = st.columns([3, 2], gap="large")
    with picture:
        _key_lengths(view, merged)
    with said:
        controls.gain(view)
        prose.say(t("absorption.norm_words", **words.key_facts(view, merged)))
        prose.say(words.norm_errors(view, merged))
        _claims("C2")


def _claims(name: str) -> None:
    """To what has been published on this, which is checked on a page of its own."""
    st.button(
        t("absorption.see_claims"),
        key=f"absorption:{name}",
        type="tertiary",
        icon=":material/arrow_forward:",
        on_click=links.follow,
        args=(CLAIMS[name],),
    )


def _key_lengths(view: View, merged: TooMuch) -> None:
    place = view.heads.index(view.head)
    right, wrong = merged.key_lengths[:, place], merged.merged_lengths[:, place]
    names = [f"{i} {html.escape(word, quote=False)}" for i, word in enumerate(view.words)]
    fig = partial(
        figures.bars,
        names[-MOST_BARS:],
        {
            t("absorption.keys_right"): right[-MOST_BARS:],
            t("absorption.keys_merged"): wrong[-MOST_BARS:],
        },
        stacked=False,
        axis=t("absorption.key_length"),
        roles=("key", 1),
        height=BARS,
    )
    charts.show(
        fig,
        "absorption:norm",
        alt=t("absorption.alt_norm", **words.key_facts(view, merged)),
        data=partial(pd.DataFrame, {"word": view.words, "right": right, "merged": wrong}),
        file="keys_past_the_norm.csv",
    )
