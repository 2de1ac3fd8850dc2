"""The keys that a query reads: what the indexer finds of each, and what the heads would give it."""

from functools import partial

from mla_engine import figures
from mla_engine.lazy import LazyModule
from ui.pages.sparse.view import OWN, Reading, View, percent
from ui.parts import charts, prose, trained_layer
from ui.parts.control import control
from ui.settings import state
from ui.words.numbers import count, share
from ui.words.text import safe, t
from ui.words.text import sentences as in_a_row

pd = LazyModule("pandas")

PICTURE = 360


def lead(view: View) -> tuple[str, str]:
    """The statement on top: what is still right with so few keys."""
    most = count(view.questions.tokens.shape[1])
    facts = {"keys": count(view.keys), "most": most, "whole": percent(view.whole.right)}
    return percent(view.asked.right), t("sparse.line", **facts)


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
    charts.show(fig, "sparse:keys", alt=alt(view), data=lambda: frame, file=file)
    prose.say(under(view))
    if said := left_undrawn(view):
        prose.note(said)


def under(view: View) -> str:
    """Return what the choice leaves out for this query, and what that does to the next word."""
    lost = float(view.reading.left_out[view.layer, view.query])
    facts = {"query": _word(view, view.query), "layer": count(view.layer), "seen": count(view.seen)}
    if view.seen <= view.keys:
        said = t("sparse.nothing_left", **facts)
    else:
        said = t(
            "sparse.left",
            kept=percent(1 - lost),
            lost=percent(lost),
            keys=count(view.keys),
            **facts,
        )
    return in_a_row((said, _next(view)))


def _next(view: View) -> str:
    few, whole = (_expected(view, one) for one in (view.reading, view.dense))
    return t("sparse.next", few=few[0], p=few[1], whole=whole[0], q=whole[1])


def _expected(view: View, reading: Reading) -> tuple[str, str]:
    said = view.trained.config.words[reading.likeliest[view.query]]
    return t("sparse.word", word=safe(said)), share(float(reading.probability[view.query]))


def _word(view: View, place: int) -> str:
    """A word of the text in quotes."""
    return t("sparse.word", word=safe(view.words[place]))


def left_undrawn(view: View) -> str:
    """Return the note that not all keys are drawn, where it is so."""
    shown = len(view.drawn)
    if shown == view.seen:
        return ""
    return t("sparse.drawn", drawn=count(shown), all=count(view.seen))


def alt(view: View) -> str:
    """The picture of the keys in words."""
    reading, places = view.reading, view.drawn
    index, heads, chosen = (view.row(one) for one in (reading.index, reading.heads, reading.chosen))
    each = "; ".join(
        t(
            f"sparse.alt_{'read' if chosen[place] else 'left'}_key",
            word=view.words[place],
            index=share(float(index[place])),
            heads=share(float(heads[place])),
        )
        for place in places
    )
    return t("sparse.alt_keys", query=view.words[view.query], each=each)


def keys_control() -> None:
    """Draw the choice of how many keys each query reads."""
    control("sp_keys")


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
    trained_layer.sentence(then=_at_the_end, own=OWN)
    trained_layer.examples_row(then=_at_the_end)


def _at_the_end() -> None:
    state.change(sp_back=0)
