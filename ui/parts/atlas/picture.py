"""The picture of all heads: their order, their colours, what is said of them, and a click."""

import html
from collections.abc import Mapping
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.language_model.text_heads import KINDS
from ui.parts import charts, prose
from ui.parts.atlas.found import Found
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import Setting, one_of
from ui.words.numbers import count, head_name, share
from ui.words.text import listed, t

NAME, NARROW = "atlas", "atlas_phone"  # under which clicks are told
ALL = "auto"  # heads of every kind
PRINTED = 5  # heads that are named in a sentence
Head = tuple[int, int]  # layer and number


def _kind(kind: str) -> str:
    return t("atlas.kind_all" if kind == ALL else f"examples.example_{kind}")


SETTINGS = {
    "real_kind": Setting(ALL, one_of(ALL, *KINDS), "segmented_control", write=_kind),
    "real_order": Setting(
        "layers",
        one_of("layers", "score"),
        "segmented_control",
        write=lambda order: t(f"atlas.order_{order}"),
    ),
}


def draw(found: Found, chosen: Head, s: SimpleNamespace) -> None:
    """Draw the map of every head, `chosen` framed; below it what is coloured, and the choice.

    Args:
        found: at least one kind of look.
        chosen: layer and head.
        s: the settings of Real models, as a page hands them in, by their short names.
    """
    kind = _shown(found, s.kind)
    alt = t("atlas.alt", heads=count(found.shape[0] * found.shape[1]), named=_legend_text(found))
    rows = partial(_rows, found)
    with st.container(key="atlas_names"):  # on a phone, whose window has no room for the legend's
        st.html(_names(found, kind))
    with st.container(key="atlas"):
        drawing = _drawing(found, kind, chosen, s.order)
        charts.show(drawing, f"chart:{NAME}", alt=alt, clicks=NAME)
    with st.container(key="atlas_phone"):  # in place of it, as narrow as a phone
        drawing = _drawing(found, kind, chosen, s.order, narrow=True)
        charts.show(drawing, f"chart:{NARROW}", alt=alt, clicks=NARROW)
    charts.download(rows, "all_heads.csv", f"chart:{NAME}")
    prose.say(_said(found, kind))
    with st.container(horizontal=True, gap="medium"):
        control("real_kind", options=[ALL, *found.here.kinds], shown=kind)
        control("real_order")


def _drawing(
    found: Found, kind: str, chosen: Head, order: str, *, narrow: bool = False
) -> charts.Drawing:
    """Return the picture: of a layer a column, or as narrow as a phone a row."""
    shown, n_heads = _order(found, kind, order, narrow=narrow), found.shape[1]
    axes = t("atlas.layer"), t("atlas.head")
    return partial(
        figures.head_atlas,
        found.maps.reshape(-1, *found.maps.shape[2:]),
        [
            figures.Tile(layer * n_heads + head, _hue(found, kind, (layer, head)),
                         _hover(found, (layer, head)))
            for layer, head in shown
        ],
        tokens=found.tokens,
        columns=_columns(found, narrow=narrow),
        names=() if narrow else _legend(found, kind),
        axes=(axes[::-1] if narrow else axes) if order == "layers" else None,
        chosen=shown.index(chosen) if chosen in shown else None,
        words=map_words(),
    )  # fmt: skip


def _columns(found: Found, *, narrow: bool) -> int:
    """Return how many maps stand in a row."""
    return found.shape[1 if narrow else 0]


def open_head(
    found: Found, s: SimpleNamespace, cell: Mapping[str, float], *, narrow: bool = False
) -> None:
    """Open the head whose map was clicked, at its strongest look; pages share all of that.

    Args:
        found: what the picture was drawn of.
        s: the settings that it was drawn with, by their short names.
        cell: the place of the click.
        narrow: whether that was on a phone's picture.
    """
    heads = _order(found, _shown(found, s.kind), s.order, narrow=narrow)
    columns = _columns(found, narrow=narrow)
    tile = figures.tile_under(cell["x"], cell["y"], columns, len(heads))
    if tile is not None:
        layer, head = heads[tile]
        query, key = map(int, found.cells[layer, head])
        state.change(layer=layer, map_head=head, map_query=query, map_key=key)


def _shown(found: Found, kind: str) -> str:
    """Return the kind whose heads are coloured; every one where the text has none of that kind."""
    return kind if kind in found.here.kinds else ALL


def _order(found: Found, kind: str, order: str, *, narrow: bool = False) -> list[Head]:
    """Return all heads, row by row: of a layer a column or a row, or the highest score first.

    Of all kinds those come first that have a name, kind after kind.
    """
    layers, heads = found.shape
    every = [(layer, head) for layer in range(layers) for head in range(heads)]
    if order == "layers":
        return every if narrow else sorted(every, key=lambda one: one[::-1])
    if kind != ALL:
        table = found.table(kind)
        return sorted(every, key=lambda one: -table[one])
    rank = {name: place for place, name in enumerate((*KINDS, None))}
    tables = {name: found.table(name) for name in found.here.kinds}
    none = np.zeros(found.shape)

    def place(one: Head) -> tuple[int, float]:
        name = found.names[one[0]][one[1]]
        return rank[name], -tables.get(name, none)[one]

    return sorted(every, key=place)


def _hue(found: Found, kind: str, one: Head) -> int:
    """Return the place of a head's colour: none where it has no name, or another than asked for."""
    name = found.names[one[0]][one[1]]
    return 1 + KINDS.index(name) if name and kind in (ALL, name) else 0


def _legend(found: Found, kind: str) -> list[str]:
    """Return the name of each colour that there is, with the number of its heads."""
    counts = [len(found.named(name)) if kind in (ALL, name) else 0 for name in KINDS]
    rest = found.here.table[..., 0].numel() - sum(counts)
    others = t("atlas.unnamed" if kind == ALL else "atlas.others", n=count(rest))
    named = zip(KINDS, counts, strict=True)
    return [others, *(_entry(name, n) if n else "" for name, n in named)]


def _entry(name: str, n: int) -> str:
    """Return a kind of look, and the number of heads that are named after it."""
    return t("atlas.entry", look=t(f"examples.look_{name}"), n=count(n))


def _names(found: Found, kind: str) -> str:
    """Return the legend as HTML, whose entries wrap."""
    entries = zip(figures.HUES, _legend(found, kind), strict=True)
    items = (f'<li style="--hue:{hue}">{html.escape(name)}</li>' for hue, name in entries if name)
    return f"<ul>{''.join(items)}</ul>"


def _legend_text(found: Found) -> str:
    return listed(filter(None, _legend(found, ALL)))


def _hover(found: Found, one: Head) -> str:
    """Return a head's numbers, its name, and what it gives most to on this text."""
    name, row = found.names[one[0]][one[1]], found.here.table[one].tolist()
    best = max(range(len(row)), key=row.__getitem__)
    look = t(f"examples.look_{found.here.kinds[best]}")
    called = t(f"examples.look_{name}") if name else t("atlas.no_name")
    facts = {"head": head_name(*one), "name": called, "look": look, "share": share(row[best])}
    return t("atlas.hover", **facts)


def _said(found: Found, kind: str) -> str:
    """Return what is coloured, and which heads do that most on this text."""
    source = "fresh" if found.fresh else "here"
    if kind == ALL:
        return t(f"atlas.said_{source}")
    facts = {"all": count(found.shape[0] * found.shape[1])}
    table = found.table(kind)
    best = sorted(np.ndindex(*found.shape), key=lambda one: -table[one])[:PRINTED]
    facts["best"] = listed(f"{head_name(*one)} ({share(float(table[one]))})" for one in best)
    facts |= {"look": t(f"examples.look_{kind}"), "many": count(len(found.named(kind)))}
    facts["even"] = share(float(found.here.even[found.here.kinds.index(kind)]))
    return t(f"atlas.said_{source}_kind", **facts)


def _rows(found: Found) -> pd.DataFrame:
    """Return every layer and head with its name and its scores of all kinds."""
    heads = [(layer, head) for layer in range(found.shape[0]) for head in range(found.shape[1])]
    layer, head = zip(*heads, strict=True)
    columns = {t("atlas.layer"): layer, t("atlas.head"): head}
    columns[t("atlas.name")] = [name or "" for row in found.names for name in row]
    for place, kind in enumerate(found.here.kinds):
        look = t(f"examples.look_{kind}")
        columns[look] = found.here.table[..., place].flatten().numpy()
        if found.fresh and kind in found.fresh.kinds:
            fresh = found.fresh.table[..., found.fresh.kinds.index(kind)].flatten().numpy()
            columns[t("atlas.on_fresh", look=look)] = fresh
    return pd.DataFrame(columns)
