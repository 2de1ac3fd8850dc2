"""The app's own real model, or another: all its heads on a sentence, and one of them large."""

from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.language_model.real import load_real
from mla_engine.language_model.text_heads import KINDS, repeat_scores, scores
from ui.parts import atlas, examples, maps, prose, reader
from ui.parts import checkpoint as real_layer_parts
from ui.parts.atlas import Found
from ui.parts.examples import OF_HEADS, of_head
from ui.parts.links import follow, name
from ui.parts.maps import view as maps_of
from ui.parts.maps.view import Maps
from ui.parts.snippet import made
from ui.settings import state
from ui.settings.page import Functions, Link, Note, Recipe
from ui.sources import Checkpoint, checkpoint
from ui.sources.small_model import AS_TRAINED
from ui.words.numbers import count, head_name, share
from ui.words.text import t

MAPS, REAL = "attention_maps", "real_models"  # whose settings hold here too: a head, the atlas
WAYS = "attention_maps", "decode", "language_model"  # where the same head or sentence is shown
CUP = "The cup (blue) and the plate (white) were on the table."
EXAMPLES = OF_HEADS | {"bracket": of_head(CUP, 1, 5, 10, 8)}


@dataclass(frozen=True, eq=False)
class RealView:
    """A head's map, and what all heads of its model do.

    Args:
        maps: of the chosen head.
        found: all heads, None where the page says why they are not compared.
    """

    maps: Maps
    found: Found | None

    @property
    def loaded(self) -> Checkpoint:
        """The layer and its text."""
        return self.maps.model.checkpoint

    @property
    def head(self) -> tuple[int, int]:
        """Layer and number of the chosen head."""
        return self.loaded.layer, self.maps.head


def view() -> RealView | None:
    """Return the view of the present settings; None where the text or the layer is not read.

    Why is told above the title. Of a model of somebody else all heads wait for a button.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    if checkpoint.chosen() is None:
        return None
    shown = maps_of.chosen(state.chosen(MAPS))
    return RealView(shown, atlas.all_heads(shown.model.checkpoint, state.chosen(REAL)))


def mend() -> list[Note]:
    """Bring the head and the cell within the maps."""
    return maps_of.mend(state.chosen(MAPS))


def lead(shown: RealView) -> None:
    """Draw how many heads do a nameable thing."""
    if not shown.found:
        return
    found = shown.found
    names = [one for row in found.names for one in row]
    named = sum(one in KINDS for one in names)
    number = t("common.out_of", n=count(named), all=count(len(names)))
    fresh = "fresh" if found.fresh else "here"
    prose.lead(number, t(f"trained_heads.real_line_{fresh}", name=checkpoint.title(shown.loaded)))


def all_heads(shown: RealView) -> None:
    """Draw the map of every head of the model."""
    if shown.found:
        atlas.draw(shown.found, shown.head, state.chosen(REAL))


def text() -> None:
    """Draw who reads; beside it the text of the app's own model, and five that show something."""
    if not AS_TRAINED.reads():
        reader.choice()
        return
    sentence, who = st.columns([11, 6], gap="medium")
    with sentence:
        reader.text(EXAMPLES, then=_at_the_strongest)
    with who:
        reader.choice()


def _at_the_strongest() -> None:
    """Go to the strongest look of the chosen head on another text; the page tells what fails."""
    with suppress(ValueError):
        loaded = checkpoint.named()
        query, key = atlas.drawn(loaded).cells[loaded.layer, state.settings()["map_head"]]
        state.change(map_query=int(query), map_key=int(key))


def one_head(shown: RealView) -> None:
    """Draw the chosen head large, and what it does on this text."""
    large, side = st.columns([16, 9], gap="medium")
    with large:
        prose.say(maps.words.large(shown.maps))
        maps.charts.large(shown.maps)
    with side:
        maps.controls.head_control()
        prose.say(_said(shown))
        maps.controls.cell_controls(shown.maps.run.words, shown.maps.columns)
        _ways(shown)
        real_layer_parts.controls()
    prose.note(t("trained_heads.real_made_up"))
    maps.controls.listen(shown.maps, atlas.clicks(shown.loaded, state.chosen(REAL)))


def _said(shown: RealView) -> str:
    """Return what the chosen head is named after, and what it does on this text."""
    layer, head = shown.head
    ids = checkpoint.inputs(shown.loaded).ids
    here = examples.told(ids, shown.maps.attention[shown.maps.place], head)
    found = shown.found
    if not (found and found.fresh and layer < found.shape[0]):
        return here
    kind = found.names[layer][head]
    facts = {"head": head_name(layer, head)}
    if kind is None:
        return f"{t('trained_heads.real_unnamed', **facts)} {here}"
    score = found.fresh.table[layer, head, found.fresh.kinds.index(kind)]
    facts |= {"look": t(f"examples.look_{kind}"), "share": share(float(score))}
    return f"{t('trained_heads.real_named', **facts)} {here}"


def _ways(shown: RealView) -> None:
    """Draw the ways to other pages with this head and this sentence."""
    layer, head = shown.head
    values = {"text": state.settings()["text"], "layer": layer, "map_head": head}
    values |= {"map_query": shown.maps.query, "map_key": shown.maps.key}
    if not AS_TRAINED.reads():
        values["source"] = shown.loaded.location
    with st.container(horizontal=True, gap="small"):
        for page in WAYS:
            link = Link(page, values)
            st.button(name(link), key=f"to_{page}", on_click=follow, args=(link,))


def ran(shown: RealView) -> Functions:
    """Return what read the model and scored its heads."""
    if shown.found and shown.found.fresh:
        return load_real, repeat_scores, scores
    return load_attention, hidden_states, scores


def recipe(shown: RealView) -> Recipe:
    """Return the template and the values that count the heads with a name."""
    if shown.found and shown.found.fresh:
        return "real", {"location": shown.loaded.location}
    values = made(shown.maps.model, shown.maps.run.config, None)
    layers = shown.found.shape[0] if shown.found else 1
    return "real_here", values | {"text": shown.loaded.text, "layers": layers}
