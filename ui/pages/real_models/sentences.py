"""Five sentences for the app's own real model, and what a head does on the sentence that is read.

Each stands beside a head that shows one kind of look on it: of all 270 heads one of the best at it,
by `text_heads.sentence_scores`, and the cell shows that look.
"""

from functools import partial
from typing import NamedTuple

import streamlit as st
import torch

from mla_engine.language_model.text_heads import looks_in, scores
from ui.engine import real_layer, real_model
from ui.engine.real_layer import RealLayer
from ui.pages.real_models.view import View
from ui.settings import state
from ui.words.numbers import count, share
from ui.words.text import t


class Example(NamedTuple):
    """A sentence, and the layer, head and cell of its map that show something on it."""

    text: str
    layer: int
    map_head: int
    map_query: int
    map_key: int


ALICE = "Alice went to the market and bought a red apple. "
ALICE += "Then Alice went to the market and bought a green pear."
RIVER = "The river was cold, the wind was cold, and the stones along the river were cold."
KEEPER = "The old lighthouse keeper climbed the narrow stairs every evening to light the lamp."
SPOONS = "My grandmother keeps her silver spoons in the top drawer of the kitchen."
CODE = "def area(width, height):\n    size = width * height\n    return size * width * height"
EXAMPLES = {
    "induction": Example(ALICE, 17, 5, 19, 8),  # the second `a` at `red`
    "previous": Example(KEEPER, 16, 0, 3, 2),
    "same": Example(RIVER, 5, 6, 17, 3),
    "first": Example(SPOONS, 18, 8, 5, 0),
    "code": Example(CODE, 5, 6, 12, 5),
}


def opens() -> dict[str, object]:
    """Return what the page opens with: the app's own real model and the first sentence, if any."""
    source = real_model.source()
    return {"source": source} | EXAMPLES["induction"]._asdict() if source else {}


def examples(loaded: RealLayer) -> None:
    """Draw a button for each sentence, where the app's own real model reads."""
    if loaded.location != real_model.source():
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="examples"):
        st.markdown(t("sentences.examples"), width="content")
        for name, example in EXAMPLES.items():
            taken = partial(state.change, activations="", **example._asdict())
            label = t(f"real_models.example_{name}")
            st.button(label, key=f"example_{name}", on_click=taken)


def told(view: View) -> str:
    """Return what the chosen head does on this text; empty where its keys have no tokens."""
    loaded = view.loaded
    if loaded.activations:
        return ""
    ids = torch.tensor(real_layer.inputs(loaded).ids)
    maps = torch.tensor(view.maps.attention[[view.maps.place]])
    found = scores(ids[None], [maps[None]])
    if not found.kinds:
        return ""
    [[name]], [[row]] = found.names(), found.table.tolist()
    best = row.index(max(row))
    kind = found.kinds[best]
    facts = {"head": count(view.maps.head), "share": share(row[best])}
    facts |= {"even": share(float(found.even[best])), "queries": count(_queries(ids, kind))}
    key = f"head_{kind}" if name else "head_unnamed"
    return t(f"real_models.{key}", look=t(f"real_models.look_{kind}"), **facts)


def _queries(ids: torch.Tensor, kind: str) -> int:
    """Return how many tokens have something of this kind to look at."""
    return int(looks_in(ids)[kind].any(-1).sum())
