"""Merging too much: all heads into one matrix, and past the norm."""

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import LatentConfig, figures
from mla_engine.studies import merging
from ui.engine import queue, shared_cache
from ui.pages.absorption.view import View
from ui.parts import charts, links, prose
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings.page import Link
from ui.settings.parsers import Setting, number
from ui.sources import Source, layers, work
from ui.words.numbers import count, digits, off_by, shortest
from ui.words.text import safe, t

SETTINGS = {
    "ab_gain": Setting(  # how many times as long the last word's h is made
        2.0,
        number(0.25, 4),
        "select_slider",
        options=(0.25, 0.5, 1.0, 2.0, 4.0),
        write=lambda gain: f"{shortest(gain)}×",
    ),
}
CLAIMS = {name: Link("claims", {"claims_text": name}) for name in ("P4", "C2")}
MAP, BARS = 435, 520
MOST_BARS = 12  # the last words of a longer text, whose names can be read


@dataclass(frozen=True, eq=False)
class TooMuch:
    """The results of one matrix for all heads, and of one in the place of the norm."""

    scores: np.ndarray  # [h,t,s], scaled content logits
    scores_one: np.ndarray  # [t,s]
    scores_error: float
    sum_error: float
    best_output: float  # the least relative RMS error of u, over the heads
    key_lengths: np.ndarray  # [s,h]
    merged_lengths: np.ndarray  # [s,h]
    errors: Mapping[str, float | None]  # of keys and queries, with the norm and without


@shared_cache.cached(anywhere=True)
def too_much(
    config: LatentConfig,
    source: Source,
    heads: tuple[int, ...],
    words: tuple[str, ...],
    gain: float,
) -> TooMuch:
    """Merge what must not be merged; the last word's h is `gain` times as long.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    _require_both(config, source, heads, len(words))
    layers.bring(config, source, heads)
    layers.bring(replace(config, latent_norm=False), source, heads)
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(config, source, heads)
        plain = layers.layer(replace(config, latent_norm=False), source, heads)
        h = source.hidden(words, config.d_model)
        longer = h.clone()
        longer[:, -1] *= gain
        one = merging.heads_in_one(layer, h)
        normed, without = (merging.past_the_norm(each, longer) for each in (layer, plain))
    return TooMuch(
        scores=layers.to_numpy(one.scores[0]),
        scores_one=layers.to_numpy(one.scores_one[0]),
        scores_error=one.scores_error,
        sum_error=one.sum_error,
        best_output=min(one.u_errors),
        key_lengths=layers.to_numpy(normed.keys[0].norm(dim=-1)),
        merged_lengths=layers.to_numpy(normed.keys_merged[0].norm(dim=-1)),
        errors={
            "keys": normed.key_error,
            "keys_plain": without.key_error,
            "queries": normed.query_error,
            "queries_plain": without.query_error,
        },
    )


def _require_both(
    config: LatentConfig, source: Source, heads: tuple[int, ...], tokens: int
) -> None:
    """Refuse too much: a whole matrix for all heads and for each, and two layers that are run."""
    merged = 2 * len(heads) * config.d_head * config.d_model * config.d_latent_kv
    runs = 4 * work.running(config, "expanded", tokens, heads)
    work.require(4 * merged + runs + 2 * work.drawing(config, heads, source), work.SMALLER_LAYER)


def _found(view: View) -> TooMuch:
    return too_much(view.config, view.source, view.heads, view.words, view.chosen.gain)


def heads_in_one(view: View) -> None:
    """Draw two heads' scores and the only map that one matrix for all heads can give."""
    prose.say(t("absorption.heads_look") + prose.weights_mark(view.source))
    with st.spinner(t("absorption.running")):
        found = _found(view)
    heads, place = count(len(view.heads)), view.heads.index(view.chosen.head)
    shown = place, (place + 1) % len(view.heads)
    labels = [t("absorption.own_map", head=count(view.heads[n])) for n in shown]
    labels.append(t("absorption.one_map", heads=heads))
    maps = [*(found.scores[n] for n in shown), found.scores_one]
    limit = figures.shared_limit(*maps)
    for n, column in enumerate(st.columns(3)):
        with column:
            _scores(view, n, labels[n], maps[n], limit)
    errors = {"scores": found.scores_error, "sum": found.sum_error, "output": found.best_output}
    off = {name: off_by(error) for name, error in errors.items()}
    prose.say(t("absorption.one_words", heads=heads, **off))
    _claims("P4")


def _scores(view: View, n: int, label: str, scores: np.ndarray, limit: float) -> None:
    prose.say(label)
    figure = partial(
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
        figure,
        f"absorption:map_{n}",
        alt=t("absorption.alt_map", label=label.replace("**", "")),
        data=partial(pd.DataFrame, scores, columns=view.words),
        file=f"scores_{n}.csv",
    )


def past_the_norm(view: View) -> None:
    """Draw keys by W_UK W_DKV against the right ones, as one word's h gets longer."""
    prose.say(t("absorption.norm_look") + prose.weights_mark(view.source))
    with st.spinner(t("absorption.running")):
        found = _found(view)
    place = view.heads.index(view.chosen.head)
    right, wrong = found.key_lengths[:, place], found.merged_lengths[:, place]
    facts = {"right": digits(right[-1]), "merged": digits(wrong[-1])}
    facts["gain"] = shortest(view.chosen.gain)
    picture, said = st.columns([3, 2], gap="large")
    with picture:
        _key_lengths(view.words, right, wrong, t("absorption.alt_norm", **facts))
    with said:
        control("ab_gain", label=t("absorption.gain", word=safe(view.words[-1])))
        prose.say(t("absorption.norm_words", **facts))
        errors = {name: off_by(error) for name, error in found.errors.items() if error is not None}
        key = "norm_errors" if view.config.d_latent_q else "norm_errors_keys"
        prose.say(t(f"absorption.{key}", **errors))
        _claims("C2")


def _key_lengths(words: tuple[str, ...], right: np.ndarray, wrong: np.ndarray, alt: str) -> None:
    names = [f"{i} {html.escape(word, quote=False)}" for i, word in enumerate(words)]
    figure = partial(
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
    table = partial(pd.DataFrame, {"word": words, "right": right, "merged": wrong})
    charts.show(figure, "absorption:norm", alt=alt, data=table, file="keys_past_the_norm.csv")


def _claims(name: str) -> None:
    """Draw a button to what has been published on this, which is checked on a page of its own."""
    st.button(
        t("absorption.see_claims"),
        key=f"absorption:{name}",
        type="tertiary",
        icon=":material/arrow_forward:",
        on_click=links.follow,
        args=(CLAIMS[name],),
    )
