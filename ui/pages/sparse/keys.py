"""The keys that a query reads: what the indexer finds of each, and what the heads would give it."""

from functools import partial

import numpy as np
import pandas as pd

from mla_engine import figures
from ui.pages.sparse.view import OWN, Reading, View
from ui.parts import charts, prose, reader
from ui.parts.control import control
from ui.settings import state
from ui.words.numbers import count, in_percent, share
from ui.words.text import parted, safe, sentences, t

PICTURE = 420  # pixels high


def lead(view: View) -> tuple[str, str]:
    """The statement on top: what is still right with so few keys."""
    most = count(view.questions.tokens.shape[1])
    facts = {
        "keys": count(view.chosen.keys),
        "most": most,
        "whole": in_percent(view.whole.right, 1),
    }
    return in_percent(view.asked.right, 1), t("sparse.line", **facts)


def draw(view: View) -> None:
    """Draw what the indexer finds of each key, and what the heads would give it."""
    reading, places = view.reading, view.drawn
    index, heads, chosen = (view.row(one) for one in (reading.index, reading.heads, reading.chosen))
    halves = {"index": 100 * index[places], "heads": 100 * heads[places]}
    fig = partial(
        figures.chosen_keys,
        tuple(view.words[place] for place in places),
        {t(f"sparse.half_{name}"): shares for name, shares in halves.items()},
        chosen[places],
        titles=(t("sparse.axis_keys"), t("sparse.axis_share")),
        said=(t("sparse.read"), t("sparse.not_read")),
        height=PICTURE,
    )
    frame = pd.DataFrame(
        {"word": view.words[: view.seen], "index": index, "heads": heads, "read": chosen}
    )
    file = "sparse_keys.csv"
    alt = _alt(view, index, heads, chosen)
    charts.show(fig, "sparse:keys", alt=alt, data=lambda: frame, file=file)


def under(view: View) -> None:
    """Say how the picture of the keys is read, and what it shows."""
    prose.say(t("sparse.look"))
    prose.say(_left(view))
    if (drawn := len(view.drawn)) < view.seen:
        prose.note(t("sparse.drawn", drawn=count(drawn), all=count(view.seen)))


def _left(view: View) -> str:
    """Return what the choice leaves out for this query, and what that does to the next word."""
    lost = float(view.reading.left_out[view.chosen.layer, view.query])
    facts = {"query": _word(view, view.query), "seen": count(view.seen)}
    facts["layer"] = count(view.chosen.layer)
    if view.seen <= view.chosen.keys:
        said = t("sparse.nothing_left", **facts)
    else:
        said = t(
            "sparse.left",
            kept=in_percent(1 - lost, 1),
            lost=in_percent(lost, 1),
            keys=count(view.chosen.keys),
            **facts,
        )
    return sentences((said, _next(view)))


def _next(view: View) -> str:
    few, whole = (_expected(view, one) for one in (view.reading, view.dense))
    return t("sparse.next", few=few[0], p=few[1], whole=whole[0], q=whole[1])


def _expected(view: View, reading: Reading) -> tuple[str, str]:
    said = view.trained.config.words[reading.likeliest[view.query]]
    return t("sparse.word", word=safe(said)), share(float(reading.probability[view.query]))


def _word(view: View, place: int) -> str:
    """A word of the text in quotes."""
    return t("sparse.word", word=safe(view.words[place]))


def _alt(view: View, index: np.ndarray, heads: np.ndarray, chosen: np.ndarray) -> str:
    """Return the picture of the keys in words."""
    each = parted(
        t(
            f"sparse.alt_{'read' if chosen[place] else 'left'}_key",
            word=view.words[place],
            index=share(float(index[place])),
            heads=share(float(heads[place])),
        )
        for place in view.drawn
    )
    return t("sparse.alt_keys", query=view.words[view.query], each=each)


def query_control(view: View) -> None:
    """Draw the choice of the word that asks."""
    last = len(view.words) - 1
    control(
        "sp_back",
        shown=last - view.query,
        options=range(last + 1),
        write=lambda back: f"{last - back + 1} · {view.words[last - back]}",
    )


def layer_control(view: View) -> None:
    """Draw the choice of the layer whose indexer and heads are shown."""
    control("sp_layer", options=range(view.trained.config.n_layers))


def text_control() -> None:
    """Draw the box for the reader's own text; in another one the last word asks."""
    reader.sentence(then=_at_the_end, own=OWN)
    reader.examples_row(then=_at_the_end)


def _at_the_end() -> None:
    state.change(sp_back=0)
