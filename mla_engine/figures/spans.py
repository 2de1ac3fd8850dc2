"""A long text's attention: by blocks of tokens, or a part of it."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from mla_engine.figures.axes import Spans
from mla_engine.figures.figure import Figure
from mla_engine.figures.heatmap import Options, token_map
from mla_engine.figures.theme import PROBABILITY


def span_map(
    shares: np.ndarray,
    rows: Spans,
    columns: Spans,
    *,
    tokens: Sequence[str] | None = None,
    limit: float,
    head: str = "",
    name: str = "attention",
    **options: Unpack[Options],
) -> Figure:
    """A long text's attention by blocks of tokens, the largest share of each, or a part of it.

    Args:
        shares: a share for each drawn cell.
        rows: first and last query that each row stands for.
        columns: first and last key that each column stands for.
        tokens: all words of the text, to name cells of one token; by default they have numbers.
        limit: the largest share of the colours.
        head: its number.
        name: of what is drawn.
        options: of every map; a framed cell is a query and a key.
    """
    seen = np.array([[first <= last for first, _ in columns] for _, last in rows])
    colours, spans = (0.0, limit, PROBABILITY), (rows, columns)
    labels = tokens, tokens
    return token_map(shares, labels, colours, seen, head, name, spans=spans, **options)
