"""The bars of the page: the next word's probabilities, and the caches of all variants."""

from functools import partial

import streamlit as st

from mla_engine import figures
from mla_engine.late import Late
from ui.pages.language_model import picture, words
from ui.pages.language_model.view import View
from ui.parts import charts
from ui.settings.parsers import MOST_WORDS
from ui.words.numbers import count, share
from ui.words.text import t

pd = Late("pandas")

ROW = 30  # pixels
ROOM = 100  # below and above the rows


def model(view: View) -> None:
    """The whole model."""
    with st.container(key="lm_model_picture"):
        st.html(picture.drawn(view))
    charts.download(partial(picture.table, view), "language_model_path.csv")


def next_word(view: View) -> None:
    """The likeliest next words."""
    names, shares = zip(*view.likeliest, strict=True)
    figure = partial(
        figures.bars,
        names,
        {t("language_model.probability"): [100 * one for one in shares]},
        axis=t("language_model.axis_probability"),
        chosen=0,
        totals=[share(one) for one in shares],
        limits=(0, 118),  # a bar of 100 leaves room for its number
        height=ROW * len(names) + ROOM,
    )
    table = partial(next_table, view)
    charts.show(figure, "lm_next", alt=words.next_alt(view), data=table, file="next_word.csv")


def next_table(view: View) -> "pd.DataFrame":
    """Every word with its probability, the likeliest first."""
    table = {"word": view.trained.config.words, "probability": view.probabilities[-1]}
    return pd.DataFrame(table).sort_values("probability", ascending=False, ignore_index=True)


def caches(view: View) -> None:
    """What each variant keeps of the text, on an axis that stays while words are written."""
    codes = list(view.cached)
    figure = partial(
        figures.bars,
        [words.name(code) for code in codes],
        {t("language_model.cache"): [view.held(code) for code in codes]},
        axis=t("language_model.axis_cache"),
        chosen=codes.index(view.trained.code),
        totals=[count(view.held(code)) for code in codes],
        limits=(0, 1.2 * _most(view)),
        height=ROW * len(codes) + ROOM,
    )
    table = partial(cache_table, view)
    charts.show(figure, "lm_caches", alt=words.held_alt(view), data=table, file="caches.csv")


def _most(view: View) -> float:
    """Numbers that the largest cache has after the longest text of training, or after any."""
    most = view.trained.config.max_context
    tokens = most if len(view.tokens) <= most else MOST_WORDS
    return max(view.cached.values()) * view.trained.config.n_layers * tokens


def cache_table(view: View) -> "pd.DataFrame":
    """Every variant with its numbers."""
    rows = [
        (code, each, view.trained.config.n_layers, len(view.tokens), view.held(code))
        for code, each in view.cached.items()
    ]
    return pd.DataFrame(rows, columns=["variant", "a_token_and_layer", "layers", "tokens", "held"])
