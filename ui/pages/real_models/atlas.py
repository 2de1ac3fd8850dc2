"""All heads of a model on the text: cells of heads by layers, coloured by one kind of look."""

from collections.abc import Iterator, Mapping
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
from ui.engine import queue, real_layer, shared_cache
from ui.engine.real_layer import RealLayer
from ui.pages.real_models import layers
from ui.pages.real_models.sentences import OWN
from ui.pages.real_models.view import View, blocks, with_bar
from ui.parts import charts, prose, sections
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import Setting, one_of
from ui.words.numbers import count, share, size
from ui.words.text import listed, t

pd = LazyModule("pandas")

CHART = "atlas"  # under which a click on its cells is told
AUTO = "auto"  # the kind of look that the chosen head gives most to
HEIGHTS, HEIGHT, PRINTED = (640, 660, 760), 420, 5  # pixels; heads that are named
SETTINGS = {
    "real_kind": Setting(
        AUTO,
        one_of(AUTO, *KINDS),
        "segmented_control",
        write=lambda kind: t(f"real_models.example_{kind}"),
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
    found = layers.reach(first, limit)
    if found.next_bytes is not None:
        sizes = {"needed": size(found.next_bytes), "limit": size(limit)}
        prose.note(t("real_models.layers_left", first=count(found.layers), **sizes))
    if view.loaded.location == OWN or view.chosen.layers:
        _draw(view, first, found.layers)
        return
    prose.note(t("real_models.layers_read", size=size(found.read_bytes)))
    label, compare = t("real_models.atlas_begin"), partial(state.change, real_layers=True)
    st.button(label, on_click=compare, icon=":material/grid_on:")


def _draw(view: View, first: RealLayer, n_layers: int) -> None:
    """Draw the chosen kind's score of every layer and head, and name the best heads."""
    place, told = st.empty(), t("real_models.layers_running")
    place.progress(0.0, told)
    every = list(with_bar(_layers(first, n_layers), place, told))
    found = replace(every[0], table=torch.cat([one.table for one in every]))
    if not found.kinds:
        prose.note(t("real_models.atlas_short"))
        return
    chosen = min(view.loaded.layer, n_layers - 1), view.maps.head
    own = found.kinds[int(found.table[chosen].argmax())]
    kind = view.chosen.kind if view.chosen.kind in found.kinds else own
    control("real_kind", options=found.kinds, shown=kind)
    table = found.table[..., found.kinds.index(kind)].numpy()
    prose.say(_said(found, kind, table))
    fig = partial(
        figures.share_map,
        table.T,
        axes=(t("real_models.head"), t("real_models.layer")),
        name=t(f"real_models.look_{kind}"),
        cell=chosen[::-1],
        height=HEIGHT,
        numbers=False,
        words=map_words(),
    )
    layer, head = divmod(int(table.argmax()), table.shape[1])
    values = {"layers": count(n_layers), "heads": count(table.shape[1])}
    values |= {"best": f"{layer}.{head}", "share": share(float(table[layer, head]))}
    alt = t("real_models.alt_atlas", look=t(f"real_models.look_{kind}"), **values)
    rows = partial(_rows, found)
    charts.show(fig, "chart:atlas", alt=alt, data=rows, file="all_heads.csv", clicks=CHART)


def _said(found: HeadScores, kind: str, table: np.ndarray) -> str:
    """Return how many heads give this look more than half, and which give it most."""
    best = np.argsort(table, axis=None)[::-1][:PRINTED]
    named = [
        f"{layer}.{head} ({share(float(table[layer, head]))})"
        for layer, head in (divmod(int(one), table.shape[1]) for one in best)
    ]
    facts = {"look": t(f"real_models.look_{kind}"), "all": count(table.size)}
    facts |= {"many": count(int((table > 0.5).sum())), "best": listed(named)}
    even = share(float(found.even[found.kinds.index(kind)]))
    return t("real_models.atlas_look", even=even, **facts)


def _rows(found: HeadScores) -> "pd.DataFrame":
    """Return every layer and head with the scores of all kinds."""
    n_layers, heads, _ = found.table.shape
    layer, head = np.divmod(np.arange(n_layers * heads), heads)
    columns = {t("real_models.layer"): layer, t("real_models.head"): head}
    kinds = found.table.flatten(0, 1).T.numpy()
    looks = [t(f"real_models.look_{kind}") for kind in found.kinds]
    return pd.DataFrame(columns | dict(zip(looks, kinds, strict=True)))


def clicked(cell: dict) -> None:
    """Open the head of a cell above."""
    state.change(layer=max(round(cell["x"]), 0), map_head=max(round(cell["y"]), 0))


def _layers(first: RealLayer, n_layers: int) -> Iterator[tuple[HeadScores, float]]:
    """Yield the scores of layer after layer, with the share that is done; each layer is kept."""
    inputs: Mapping[int, Tensor] = layers.inputs(first, n_layers)
    for layer in range(n_layers):
        yield _scored(replace(first, layer=layer), inputs[layer]), (layer + 1) / n_layers


@shared_cache.cached(key=lambda loaded, _: loaded)
def _scored(loaded: RealLayer, h: Tensor) -> HeadScores:
    """Return the scores of one layer's heads on the text, some heads at a time."""
    config, maps = real_layer.plan(loaded).config, []
    for heads in blocks(config, h.shape[1]):
        layer = engine.real(config, loaded, heads, torch.float32)
        with queue.turn(), torch.inference_mode():
            maps.append(layer(h.to(engine.DEVICE)).attention.cpu())
    ids = torch.tensor(real_layer.inputs(replace(loaded, layer=0)).ids)
    return scores(ids[None], [torch.cat(maps, dim=1)])
