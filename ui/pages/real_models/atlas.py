"""All heads of a model on the text: coloured by one kind of look, and the best of it as maps."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from mla_engine import budget, figures
from mla_engine.language_model.heads import HeadScores
from mla_engine.language_model.text_heads import KINDS, scores
from mla_engine.lazy import LazyModule
from ui.engine import layers as engine
from ui.engine import queue, real_layer, real_model, shared_cache
from ui.engine.real_layer import RealLayer
from ui.pages.real_models import layers
from ui.pages.real_models.view import View, blocks, with_bar
from ui.parts import charts, prose, sections
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import Setting, one_of
from ui.words.numbers import count, share, size
from ui.words.text import listed, t

pd = LazyModule("pandas")

CELLS, TILES = "atlas", "atlas_maps"  # under which clicks are told
MOST_TILED, TILED = 128, 24  # tokens of a text, and heads, whose maps are drawn small
AUTO = "auto"  # the kind of look that the chosen head gives most to
HEIGHTS, HEIGHT, TALL, PRINTED = (1440, 1460, 1560), 420, 620, 5  # pixels; heads that are named
SETTINGS = {
    "real_kind": Setting(
        AUTO,
        one_of(AUTO, *KINDS),
        "segmented_control",
        write=lambda kind: t(f"real_sentences.example_{kind}"),
    )
}


def section(view: View) -> None:
    """Draw all heads once the reader comes near; their layers are read one after the other."""
    title = t("real_models.atlas_title")
    sections.later("atlas", partial(_section, view, title), HEIGHTS, title=title)


def _section(view: View, title: str) -> None:
    st.subheader(title, anchor=False)
    if set(real_layer.plan(view.loaded).mechanisms) != {"grouped"}:
        prose.note(t("real_models.atlas_mixed"))
        return
    first, limit = replace(view.loaded, layer=0, activations=""), budget.limit_bytes()
    if view.loaded.activations:
        prose.note(t("real_models.layers_text"))
    found = layers.reach(first, limit)
    if found.next_bytes is not None:
        sizes = {"needed": size(found.next_bytes), "limit": size(limit)}
        prose.note(t("real_models.layers_left", first=count(found.layers), **sizes))
    if view.loaded.location == real_model.source() or view.chosen.layers:
        _draw(view, first, found.layers)
        return
    prose.note(t("real_models.layers_read", size=size(found.read_bytes)))
    label, compare = t("real_models.atlas_begin"), partial(state.change, real_layers=True)
    st.button(label, on_click=compare, icon=":material/grid_on:")


def _draw(view: View, first: RealLayer, n_layers: int) -> None:
    """Draw the chosen kind's score of every layer and head, and name the best heads."""
    place, told = st.empty(), t("real_models.layers_running")
    place.progress(0.0, told)
    found, maps = _joined(list(with_bar(_layers(first, n_layers), place, told)))
    if not found.kinds:
        prose.note(t("real_models.atlas_short"))
        return
    chosen, kind = (min(view.loaded.layer, n_layers - 1), view.maps.head), _kind(view, found)
    control("real_kind", options=found.kinds, shown=kind)
    table = found.table[..., found.kinds.index(kind)].numpy()
    prose.say(_said(found, kind, table))
    fig = partial(
        figures.share_map,
        table.T,
        axes=(t("real_models.head"), t("real_models.layer")),
        name=t(f"real_sentences.look_{kind}"),
        cell=chosen[::-1],
        height=HEIGHT,
        numbers=False,
        words=map_words(),
    )
    layer, head = divmod(int(table.argmax()), table.shape[1])
    values = {"layers": count(n_layers), "heads": count(table.shape[1])}
    values |= {"best": f"{layer}.{head}", "share": share(float(table[layer, head]))}
    alt = t("real_models.alt_atlas", look=t(f"real_sentences.look_{kind}"), **values)
    rows = partial(_rows, found)
    charts.show(fig, "chart:atlas", alt=alt, data=rows, file="all_heads.csv", clicks=CELLS)
    if maps is not None:
        _tiles(first, _best(table, TILED), maps, chosen)


def _joined(
    every: list[tuple[HeadScores, np.ndarray | None]],
) -> tuple[HeadScores, np.ndarray | None]:
    """Join what was found of each layer; maps [layers,h,t,s], None of a long text."""
    found = replace(every[0][0], table=torch.cat([one.table for one, _ in every]))
    return found, None if every[0][1] is None else np.stack([maps for _, maps in every])


def _kind(view: View, found: HeadScores) -> str:
    """Return the chosen kind of look, or else the one that the chosen head gives most to."""
    if view.chosen.kind in found.kinds:
        return view.chosen.kind
    layer = min(view.loaded.layer, len(found.table) - 1)
    return found.kinds[int(found.table[layer, view.maps.head].argmax())]


def _best(table: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Return layer and head of the highest scores, the highest first."""
    order = np.argsort(-table, axis=None, kind="stable")[:most]
    return [divmod(int(one), table.shape[1]) for one in order]


def _tiles(
    first: RealLayer, best: list[tuple[int, int]], maps: np.ndarray, chosen: tuple[int, int]
) -> None:
    """Draw the maps of the best heads small, the best first."""
    prose.say(t("real_models.atlas_maps", best=count(len(best))))
    names, words = [f"{layer}.{head}" for layer, head in best], real_layer.inputs(first).tokens
    attention = np.stack([maps[one] for one in best])
    fig = partial(
        figures.head_tiles,
        attention,
        names,
        tokens=(words, words),
        mask=np.tri(attention.shape[1], dtype=bool),
        chosen=best.index(chosen) if chosen in best else None,
        height=TALL,
        words=map_words(),
    )
    alt = t("real_models.alt_atlas_maps", best=listed(names))
    charts.show(fig, "chart:atlas_maps", alt=alt, clicks=TILES)


def _said(found: HeadScores, kind: str, table: np.ndarray) -> str:
    """Return how many heads give this look more than half, and which give it most."""
    best = _best(table, PRINTED)
    named = [f"{layer}.{head} ({share(float(table[layer, head]))})" for layer, head in best]
    facts = {"look": t(f"real_sentences.look_{kind}"), "all": count(table.size)}
    facts |= {"many": count(int((table > 0.5).sum())), "best": listed(named)}
    even = share(float(found.even[found.kinds.index(kind)]))
    return t("real_models.atlas_look", even=even, **facts)


def _rows(found: HeadScores) -> "pd.DataFrame":
    """Return every layer and head with the scores of all kinds."""
    n_layers, heads, _ = found.table.shape
    layer, head = np.divmod(np.arange(n_layers * heads), heads)
    columns = {t("real_models.layer"): layer, t("real_models.head"): head}
    kinds = found.table.flatten(0, 1).T.numpy()
    looks = [t(f"real_sentences.look_{kind}") for kind in found.kinds]
    return pd.DataFrame(columns | dict(zip(looks, kinds, strict=True)))


def clicks(view: View) -> dict[str, Callable[[dict], None]]:
    """Return what takes a click on each picture: it opens the head above."""
    return {CELLS: _cell, TILES: partial(_tile, view)}


def _cell(cell: dict) -> None:
    state.change(layer=max(round(cell["x"]), 0), map_head=max(round(cell["y"]), 0))


def _tile(view: View, cell: dict) -> None:
    first = replace(view.loaded, layer=0, activations="")
    n_layers = layers.reach(first, budget.limit_bytes()).layers
    found, maps = _joined([one for one, _ in _layers(first, n_layers)])
    best = _best(found.table[..., found.kinds.index(_kind(view, found))].numpy(), TILED)
    grid = figures.TileGrid.of((len(best), *maps.shape[2:]))
    if (tile := grid.tile_at(cell["x"], cell["y"])) is not None:
        layer, head = best[tile]
        state.change(layer=layer, map_head=head)


def _layers(
    first: RealLayer, n_layers: int
) -> Iterator[tuple[tuple[HeadScores, np.ndarray | None], float]]:
    """Yield layer after layer, with the share that is done; each is kept."""
    inputs = real_layer.inputs_of_layers(first, n_layers)
    for layer in range(n_layers):
        yield _scored(replace(first, layer=layer), inputs[layer]), (layer + 1) / n_layers


@shared_cache.cached(key=lambda loaded, _: loaded)
def _scored(loaded: RealLayer, h: Tensor) -> tuple[HeadScores, np.ndarray | None]:
    """Return the scores of one layer's heads on the text, and of a short text their maps [h,t,s].

    They are computed some heads at a time.
    """
    config, maps = real_layer.plan(loaded).config, []
    for heads in blocks(config, h.shape[1]):
        layer = engine.real(config, loaded, heads, torch.float32)
        with queue.turn(), torch.inference_mode():
            maps.append(layer(h.to(engine.DEVICE)).attention.cpu())
    ids = torch.tensor(real_layer.inputs(replace(loaded, layer=0)).ids)
    every = torch.cat(maps, dim=1)
    small = every[0].numpy() if len(ids) <= MOST_TILED else None
    return scores(ids[None], [every]), small
