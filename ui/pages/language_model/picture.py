"""The whole model in one picture: a map a block, a row a word, the path of one word lit."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mla_engine.figures import pixels
from mla_engine.language_model import BlockTrace
from ui import asset
from ui.pages.language_model.inside import Way, ways
from ui.pages.language_model.view import View
from ui.sources.layers import to_numpy
from ui.words.numbers import count, share
from ui.words.text import t

MOST_ROWS = 16  # words whose rows are drawn: a hall reads them
MOST_KEYS = 48  # columns of a head's map
GAP = 1  # clear columns between two heads


@dataclass(frozen=True, eq=False)
class Block:
    """A block of the model.

    Args:
        code: names it.
        values: what it makes of the text, a row a word [t,...].
        signed: whether there are numbers below 0.
        name: over it.
        shape: of all that it makes.
        says: what it does, in a line.
        ways: to the pages that show its inside.
        columns: of the map at most.
    """

    code: str
    values: np.ndarray
    signed: bool
    name: str
    shape: str
    says: str
    ways: Sequence[Way] = ()
    columns: int | None = None


def blocks(view: View) -> Iterator[Block]:
    """From the embedding to the probabilities of the next word."""
    embedded = to_numpy(view.trace.embedded[0])
    yield _block("embedding", embedded, says=t("language_model.embedding_says"))
    for number, one in enumerate(view.trace.blocks):
        yield _attention(view, number, one)
        values = to_numpy(one.hidden[0])
        yield _block("mlp", values, f"mlp_{number}", number, t("language_model.mlp_says"))
    says = t("language_model.output_says", n=count(view.probabilities.shape[1]))
    yield _block("output", view.probabilities, says=says, signed=False)


def _block(
    kind: str,
    values: np.ndarray,
    code: str = "",
    layer: int = 0,
    says: str = "",
    *,
    signed: bool = True,
) -> Block:
    name = t(f"language_model.{kind}", layer=layer)
    return Block(code or kind, values, signed, name, _times(*values.shape), says)


def _attention(view: View, number: int, one: BlockTrace) -> Block:
    """All heads side by side: [t, h keys and the gaps between them]."""
    maps = to_numpy(one.attention.attention[0])
    heads, t_, s = maps.shape
    seen = np.where(np.tril(np.ones((t_, s), bool)), maps, np.nan)
    every = np.full((t_, heads, s + GAP), np.nan, np.float32)
    every[:, :, :s] = seen.transpose(1, 0, 2)
    head, key, most = looks(view, maps)
    facts = {"word": view.words[view.path], "target": view.words[key], "head": head}
    return Block(
        code=f"attention_{number}",
        values=every.reshape(t_, -1)[:, :-GAP],
        signed=False,
        name=t("language_model.attention", layer=number),
        shape=_times(*maps.shape),
        says=t("language_model.attention_says", share=share(most), **facts),
        ways=ways(view, number, head, key),
        columns=heads * MOST_KEYS,
    )


def looks(view: View, maps: np.ndarray) -> tuple[int, int, float]:
    """Return the head that looks most at one place from the lit word, the place, and its share."""
    row = maps[:, view.path]
    head, key = np.unravel_index(row.argmax(), row.shape)
    return int(head), int(key), float(row.max())


def _times(*sizes: int) -> str:
    return " × ".join(map(count, sizes))


def pooled(view: View) -> int:
    """Earlier words that a column of an attention's map stands for, where it has no room for all.

    The gap after a head counts as one.
    """
    heads = view.trained.config.attention.n_heads
    return -(-(heads * (len(view.words) + GAP) - GAP) // (heads * MOST_KEYS))


def rows(view: View) -> range:
    """The words that are drawn: the last ones, or those up to the lit one."""
    every = len(view.words)
    last = every if view.path >= every - MOST_ROWS else max(view.path + 1, MOST_ROWS)
    return range(max(0, last - MOST_ROWS), last)


def drawn(view: View) -> str:
    """The picture as HTML: words in, the blocks from left to right, words out."""
    there = rows(view)
    lit = view.path - there[0]
    words = _words([view.words[row] for row in there], lit, "words_in")
    best = view.probabilities.argmax(1)
    says = _words([view.trained.config.words[best[row]] for row in there], lit, "words_out")
    inside = "".join(_drawn(view, one, words, there) for one in blocks(view))
    style = f"--rows:{len(there)};--lit:{lit}"
    return (
        f"<style>{asset('language_model.css')}</style>"
        f'<figure class="model_box"><div class="model" style="{style}">'
        f'<section class="ends"><h4>{t("language_model.words_in")}</h4>{words}</section>{inside}'
        f'<section class="ends out"><h4>{t("language_model.words_out")}</h4>{says}</section>'
        "</div></figure>"
    )


def _words(words: list[str], lit: int, kind: str) -> str:
    items = (
        f'<li class="lit">{html.escape(word)}</li>'
        if row == lit
        else f"<li>{html.escape(word)}</li>"
        for row, word in enumerate(words)
    )
    return f'<ol class="{kind}">{"".join(items)}</ol>'


def _drawn(view: View, one: Block, words: str, there: range) -> str:
    shown = one.values[there[0] : there[-1] + 1]
    address = pixels(shown, signed=one.signed, columns=one.columns)
    alt = html.escape(t("language_model.alt", name=one.name, shape=one.shape, says=one.says))
    inside = " · ".join(
        f'<a href="{html.escape(way.address)}" target="_self">{way.label}</a>' for way in one.ways
    )
    return (
        f'<section class="block {one.code}"><h4>{one.name}</h4><p class="shape">{one.shape}</p>'
        f'<div class="row">{words}<div class="map"><img alt="{alt}" src="{address}">'
        '<div class="path"></div></div></div>'
        f"<p>{html.escape(one.says)}</p><p>{inside}</p></section>"
    )


def table(view: View) -> pd.DataFrame:
    """The numbers of the lit path: every block's, in order."""
    found = [
        (one.code, place, float(value))
        for one in blocks(view)
        for place, value in enumerate(one.values[view.path])
        if np.isfinite(value)
    ]
    return pd.DataFrame(found, columns=["block", "place", "value"])
