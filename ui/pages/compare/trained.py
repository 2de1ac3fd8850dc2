"""Two trained models over the same sentence: where their heads look, and what comes next."""

import numpy as np

from mla_engine.language_model.answers import answer
from ui.engine.trained_layer import TrainedLayer
from ui.pages.compare.side import Side
from ui.pages.compare.view import View
from ui.parts.maps.reading import named, quoted, reading
from ui.parts.maps.run import run
from ui.words.numbers import count, share
from ui.words.text import listed, t


def asked(view: View) -> tuple[int, int] | None:
    """The last word and the one that decides what comes next; None where none does."""
    found = answer(view.words) if view.trained else None
    return (len(view.words) - 1, found.place) if found else None


def look(view: View) -> str:
    """Return what both models make of the last word; empty where the sentence leaves it open."""
    cell = asked(view)
    if cell is None:
        return ""
    query, key = (named(view.words, place) for place in cell)
    values = {"query": query, "target": key} | _said(view.a, view, cell) | _said(view.b, view, cell)
    read = [reading(side.origin, view.words, cell[0]) for side in view.sides]
    a, b = (one.expected for one in read)
    values |= {"next_a": quoted(a), "next_b": quoted(b)}
    return t(f"compare.same_{'next' if a == b else 'query'}", **values)


def _said(side: Side, view: View, cell: tuple[int, int]) -> dict[str, str]:
    """Return how much a side's shown head gives to the cell, and which head it is."""
    letter = side.letter.lower()
    head, maps = view.head_of(side), _maps(side, view)
    return {f"head_{letter}": count(head), letter: share(float(maps[(head, *cell)]))}


def heads(side: Side, view: View) -> str:
    """Return each head's favourite place, from the word that is asked or the last one."""
    query = len(view.words) - 1
    each = (
        t(
            "compare.head_looks",
            head=count(head),
            target=named(view.words, int(row.argmax())),
            share=share(float(row.max())),
        )
        for head, row in enumerate(_maps(side, view)[:, query])
    )
    return t("compare.heads_look", query=named(view.words, query), each=listed(each))


def _maps(side: Side, view: View) -> np.ndarray:
    """The attention of all heads of a side [h,t,s]."""
    every = tuple(range(side.config.n_heads))
    return run(side.config, side.form, view.words, side.origin, every).attention(True, 1.0)


def weights(view: View) -> str:
    """Whose weights the maps are of, where a side is trained."""
    layer = count(view.model.trained)
    real = [side for side in view.sides if isinstance(side.origin, TrainedLayer)]
    if len(real) == 1:
        (drawn,) = (side for side in view.sides if side not in real)
        return t("compare.one_trained", real=real[0].letter, drawn=drawn.letter, layer=layer)
    same = view.a.origin == view.b.origin
    return t("compare.one_model" if same else "compare.both_trained", layer=layer)
