"""What the absorption page says of merging too much: all heads in one, and past the norm."""

import html
from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.absorption import run
from ui.pages.absorption.charts import MAP, plot
from ui.pages.absorption.view import GAINS, View, percent
from ui.parts import charts, prose
from ui.parts.figure_words import map_words
from ui.settings import state
from ui.words.numbers import count, digits
from ui.words.text import safe, t

MOST_BARS = 12  # the last words of a longer text, whose names can be read


def found(view: View) -> run.TooMuch:
    """The wrong merges of the present settings."""
    gain = state.settings()["ab_gain"]
    with st.spinner(t("absorption.running")):
        return run.too_much(view.config, view.origin, view.heads, view.words, gain)


def heads_in_one(view: View) -> None:
    """Two heads' scores and the only map that one matrix for all heads can give."""
    merged = found(view)
    place = view.heads.index(view.head)
    other = (place + 1) % len(view.heads)
    panels = [
        (t("absorption.own_map", head=count(view.head)), merged.scores[place]),
        (t("absorption.own_map", head=count(view.heads[other])), merged.scores[other]),
        (t("absorption.one_map", heads=count(len(view.heads))), merged.scores_one),
    ]
    limit = figures.shared_limit(*(scores for _, scores in panels))
    for n, (column, (label, scores)) in enumerate(zip(st.columns(3), panels, strict=True)):
        with column:
            st.markdown(label)
            fig = figures.score_map(
                scores,
                view.words,
                view.words,
                limit=limit,
                height=MAP,
                numbers=False,
                words=map_words(),
            )
            plot(fig, f"map_{n}", t("absorption.alt_map", label=label))
            table = partial(pd.DataFrame, scores, columns=view.words)
            charts.download(table, f"scores_{n}.csv")
    facts = {
        "heads": count(len(view.heads)),
        "scores": percent(merged.scores_error),
        "sum": percent(merged.sum_error),
        "output": percent(merged.best_output),
    }
    prose.say(t("absorption.one_words", **facts))
    _claims_on_heads()


def _claims_on_heads() -> None:
    for name, figure_names in (
        ("P4", ("from_each", "from_sum")),
        ("P5", ("best_head", "per_head")),
    ):
        verdict = run.claim(name)
        values = {key: digits(verdict.value(key), 2) for key in figure_names}
        values["n_heads"] = count(verdict.value("n_heads"))
        prose.say(t(f"absorption.claim_{name}", verdict=judged(verdict), **values))


def judged(verdict: run.claims.Verdict) -> str:
    """The verdict in the reader's language."""
    return t(f"absorption.verdict_{verdict.verdict.replace(' ', '_')}")


def past_the_norm(view: View) -> None:
    """Keys by W_UK W_DKV against the right ones, as one word's h gets longer."""
    merged, gain = found(view), state.settings()["ab_gain"]
    place = view.heads.index(view.head)
    right, wrong = merged.key_lengths[:, place], merged.merged_lengths[:, place]
    facts = {"right": digits(right[-1]), "merged": digits(wrong[-1]), "gain": f"{gain:g}"}
    picture, words = st.columns([3, 2], gap="large")
    with picture:
        names = [f"{i} {html.escape(word, quote=False)}" for i, word in enumerate(view.words)]
        fig = figures.bars(
            names[-MOST_BARS:],
            {
                t("absorption.keys_right"): right[-MOST_BARS:],
                t("absorption.keys_merged"): wrong[-MOST_BARS:],
            },
            stacked=False,
            axis=t("absorption.key_length"),
            roles=("value", "key"),
            height=MAP + 100,
        )
        plot(fig, "norm", t("absorption.alt_norm", **facts))
        columns = {"word": view.words, "right": right, "merged": wrong}
        charts.download(partial(pd.DataFrame, columns), "keys_past_the_norm.csv")
    with words:
        state.control(
            st.select_slider,
            t("absorption.gain", word=safe(view.words[-1])),
            "ab_gain",
            sorted({*GAINS, gain}),
            format_func=lambda x: f"{x:g}×",
        )
        prose.say(t("absorption.norm_words", **facts))
        errors = {name: percent(e) for name, e in merged.errors.items() if e is not None}
        key = "norm_errors" if view.config.d_latent_q else "norm_errors_keys"
        prose.say(t(f"absorption.{key}", **errors))
        _claims_on_norms()


def _claims_on_norms() -> None:
    keys, queries = run.claim("C2"), run.claim("C6")
    figures_of_keys = {
        "merged": f"{keys.value('merged_weights'):.1f}",
        "factors": f"{keys.value('factor_weights'):.1f}",
        "full": count(keys.value("cache_full")),
        "latent": count(keys.value("cache_latent")),
    }
    for name, verdict, more in (("C2", keys, figures_of_keys), ("C6", queries, {})):
        values = {
            "without": f"{verdict.value('without_norm'):.0e}",
            "normed": digits(verdict.value("with_norm"), 2),
        }
        prose.say(t(f"absorption.claim_{name}", verdict=judged(verdict), **values, **more))
