"""The pictures of a long text and what is said of them."""

from functools import partial
from time import monotonic

import numpy as np

from mla_engine import figures
from mla_engine.late import Late
from ui.pages.attention_maps.long.view import SIDE, LongView, Told
from ui.parts import charts, prose, weights
from ui.parts.figure_words import map_words
from ui.parts.maps.charts import LARGE
from ui.parts.maps.view import short
from ui.parts.progress import PATIENCE_SECONDS
from ui.parts.tables import named
from ui.streamlit_internals import DeltaGenerator
from ui.words.numbers import count, share, tied_size
from ui.words.text import safe, t

pd = Late("pandas")

WIDTH = np.dtype(np.float32).itemsize
BRIGHT = 0.99  # of the blocks are below the darkest colour
Spans = list[tuple[int, int]]


def facts(view: LongView) -> dict[str, str]:
    """What the page says of a long text, as plain text."""
    tokens, (top, left) = view.text.tokens, view.corner
    return {
        "tokens": count(tokens),
        "block": count(view.block),
        "head": count(view.text.head),
        "held": tied_size(view.held_bytes),
        "whole": tied_size(tokens**2 * WIDTH),
        "query": short(view.words[view.query]),
        "target": short(view.words[view.key]),
        "at_query": count(view.query),
        "at_key": count(view.key),
        "share": share(view.share),
        "limit": share(_limit(view.pooled)),
        "top": count(top),
        "bottom": count(min(top + SIDE, tokens) - 1),
        "left": count(left),
        "right": count(min(left + SIDE, tokens) - 1),
        "variant": t(f"common.{view.model.variant}"),
    }


def say(view: LongView, key: str) -> str:
    """A text of the page, safe as Markdown."""
    plain = facts(view)
    shown = plain | {name: safe(plain[name]) for name in ("query", "target")}
    return t(f"attention_maps.long_{key}", **shown)


def progress(place: DeltaGenerator) -> Told:
    """A bar at `place`, from the first moment that the reading takes a while."""
    started = monotonic()

    def told(done: int, every: int) -> None:
        if done == every:
            place.empty()
        elif monotonic() - started > PATIENCE_SECONDS:
            said = {"done": count(done), "all": count(every)}
            place.progress(done / every, t("attention_maps.long_reading", **said))

    return told


def lead(view: LongView) -> None:
    """How many cells the whole map has, and how it is read all the same."""
    cells = t("attention_maps.long_cells", n=count(view.text.tokens**2))
    prose.lead(cells, say(view, "line"))


def memory(view: LongView) -> None:
    """What was kept to read it."""
    prose.say(say(view, "look"))


def blocks(view: LongView) -> None:
    """The whole map by blocks; the frame is where the exact part lies."""
    prose.say(say(view, "blocks") + weights.mark(view.text.seed))
    edges = _spans(0, view.text.tokens, view.block)
    table = partial(_of_blocks, view)
    _show(view, "blocks", view.pooled, (edges, edges), limit=_limit(view.pooled), table=table)


def part(view: LongView) -> None:
    """The part around the chosen cell, every cell one word to one word."""
    prose.say(say(view, "part"))
    top, left = view.corner
    values = view.part
    edges = _spans(top, top + values.shape[0], 1), _spans(left, left + values.shape[1], 1)
    table = partial(_of_part, view)
    limit = float(values.max()) or 1.0
    _show(view, "part", values, edges, limit=limit, tokens=view.words, table=table)
    prose.note(say(view, "where"))


def _limit(pooled: np.ndarray) -> float:
    """The share of the darkest colour: the first words, which see few others, are beyond it."""
    seen = pooled[np.tri(len(pooled), dtype=bool)]
    return float(np.quantile(seen, BRIGHT)) or 1.0


def _spans(first: int, last: int, step: int) -> Spans:
    return [(a, min(a + step, last) - 1) for a in range(first, last, step)]


def _show(
    view: LongView,
    chart: str,
    shares: np.ndarray,
    edges: tuple[Spans, Spans],
    *,
    limit: float,
    table: charts.Table,
    tokens: tuple[str, ...] | None = None,
) -> None:
    drawing = partial(
        figures.span_map,
        shares,
        *edges,
        tokens=tokens,
        limit=limit,
        head=count(view.text.head),
        name=t("maps.share"),
        cell=(view.query, view.key),
        height=LARGE,
        words=map_words(),
    )
    alt = t(f"attention_maps.long_alt_{chart}", **facts(view))
    charts.show(drawing, f"chart:long_{chart}", alt=alt, data=table, clicks=f"long_{chart}")


def _of_blocks(view: LongView) -> "pd.DataFrame":
    names = [f"{a}-{b}" for a, b in _spans(0, view.text.tokens, view.block)]
    return named(np.where(np.tri(len(names), dtype=bool), view.pooled, np.nan), names, names)


def _of_part(view: LongView) -> "pd.DataFrame":
    values, corner = view.part, view.corner
    names = [
        [f"{place} {view.words[place]}" for place in range(first, first + side)]
        for first, side in zip(corner, values.shape, strict=True)
    ]
    return named(values, *names)
