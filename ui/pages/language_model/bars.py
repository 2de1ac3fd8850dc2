"""The bars of the page: the next word's probabilities, and the caches of all variants."""

import html
from collections.abc import Iterable, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.figures.axes import safe as plotly_text
from ui.pages.language_model import picture
from ui.pages.language_model.real.view import View as Real
from ui.pages.language_model.view import View, name
from ui.parts import charts
from ui.settings.parsers import MOST_WORDS
from ui.words.numbers import count, share
from ui.words.text import listed, safe, t

FEW = 3  # next words that stand beside the text
QUOTED = 8  # words of the text in the statement
LETTERS = 16  # of a word at its bar
ROW, LINE = 30, 18  # pixels: of a name, and of each further row of it
ROOM = 100  # below and above the rows


def lead(view: View) -> tuple[str, str]:
    """Return how likely the likeliest next word is, and after what."""
    word, probability = view.likeliest[0]
    more = "… " if len(view.words) > QUOTED else ""
    line = t(
        "language_model.line",
        text=safe(more + " ".join(view.words[-QUOTED:])),
        model=name(view.trained.code),
        cached=count(view.trained.cached),
        word=safe(word),
    )
    return share(probability), line


def notes(view: View) -> list[str]:
    """Return the notes on a long text; none of a short one."""
    most, there = view.trained.config.max_context, picture.rows(view)
    values = {"words": count(len(view.words)), "most": count(most), "limit": count(MOST_WORDS)}
    found = [t("language_model.beyond", **values)] if len(view.words) > most else []
    if len(there) < len(view.words):
        shown = {"first": count(there[0] + 1), "last": count(there[-1] + 1)}
        found.append(t("language_model.part", all=count(len(view.words)), **shown))
    if (several := picture.pooled(view)) > 1:
        found.append(t("language_model.pooled", n=count(several)))
    return found


def model(view: View) -> None:
    """Draw the whole model."""
    with st.container(key="lm_model_picture"):
        st.html(picture.drawn(view))
    charts.download(partial(picture.table, view), "language_model_path.csv")


def likeliest(view: View | Real) -> None:
    """Draw the few likeliest next words beside the text: `next_word` has more, with its data."""
    rows = (
        f"<dt>{html.escape(word)}</dt>"
        f'<dd><i style="width: {100 * probability:.3f}%"></i>{share(probability)}</dd>'
        for word, probability in view.likeliest[:FEW]
    )
    title = html.escape(t("language_model.next"))
    st.html(f'<p class="next">{title}</p><dl class="next">{"".join(rows)}</dl>')


def next_word(view: View | Real) -> None:
    """Draw the likeliest next words."""
    words, shares = zip(*view.likeliest, strict=True)
    names = [plotly_text(word, LETTERS) for word in words]
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
    charts.show(figure, "lm_next", alt=next_alt(view), data=table, file="next_word.csv")


def next_alt(view: View | Real) -> str:
    """Return the bars of the next word in words."""
    said = (t("language_model.word_share", word=w, share=share(p)) for w, p in view.likeliest)
    return t("language_model.next_alt", listed=listed(said))


def next_table(view: View | Real) -> pd.DataFrame:
    """Return every word with its probability, the likeliest first."""
    table = {"word": view.vocabulary, "probability": view.last}
    return pd.DataFrame(table).sort_values("probability", ascending=False, ignore_index=True)


def caches(view: View) -> None:
    """Draw what each variant keeps of the text, on an axis that stays while words are written."""
    codes = list(view.cached)
    names = in_rows(map(name, codes))
    figure = partial(
        figures.bars,
        names,
        {t("language_model.cache"): [view.held(code) for code in codes]},
        axis=t("language_model.axis_cache"),
        chosen=codes.index(view.trained.code),
        totals=[count(view.held(code)) for code in codes],
        limits=(0, 1.2 * _most(view)),
        height=height(names),
    )
    table = partial(cache_table, view)
    charts.show(figure, "lm_caches", alt=held_alt(view), data=table, file="caches.csv")


def in_rows(names: Iterable[str]) -> list[str]:
    """Return names of bars in short rows, which leave the bars more room."""
    return ["<br>".join(figures.rows(name)) for name in names]


def height(names: Sequence[str]) -> int:
    """Return the pixels of a chart with these names: all rows are as high as the highest."""
    return ROOM + len(names) * (ROW + LINE * max(name.count("<br>") for name in names))


def held(view: View, code: str) -> str:
    """Return how many numbers a variant keeps of the text."""
    return count(view.held(code))


def held_alt(view: View) -> str:
    """Return the caches in words."""
    said = (
        t("language_model.held_of", name=name(code), numbers=held(view, code))
        for code in view.cached
    )
    return t("language_model.held_alt", words=count(len(view.words)), listed=listed(said))


def _most(view: View) -> float:
    """Return the size of the largest cache after the longest text of training, or of any."""
    most = view.trained.config.max_context
    tokens = most if len(view.tokens) <= most else MOST_WORDS
    return max(view.cached.values()) * view.trained.config.n_layers * tokens


def cache_table(view: View) -> pd.DataFrame:
    """Return every variant with its numbers."""
    rows = [
        (code, each, view.trained.config.n_layers, len(view.tokens), view.held(code))
        for code, each in view.cached.items()
    ]
    return pd.DataFrame(rows, columns=["variant", "a_token_and_layer", "layers", "tokens", "held"])


def counted(view: View) -> str:
    """Return how the caches are counted."""
    layers, words = count(view.trained.config.n_layers), count(len(view.words))
    values = {"each": count(view.trained.cached), "numbers": held(view, view.trained.code)}
    values |= {"model": name(view.trained.code), "layers": layers, "words": words}
    return t("language_model.counted", **values)
