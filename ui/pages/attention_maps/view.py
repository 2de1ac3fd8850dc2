"""The view of the page: the maps of a head and a tensor, and which kind of page is drawn."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import numpy as np

from mla_engine import mechanisms
from mla_engine.language_model.answers import answer
from ui.pages.attention_maps.real import strongest
from ui.pages.attention_maps.trained import Look, look
from ui.parts.maps import view as maps_of
from ui.parts.maps.view import CELL, Maps
from ui.settings import state
from ui.settings.page import Note
from ui.settings.visit import visit
from ui.sources import Trained, checkpoint
from ui.sources.model import Model, present
from ui.sources.small_model import AS_TRAINED

RUN = "map_text", "map_generated", "map_run", "map_head"  # settings of what is run
READ = "map_causal", "map_temperature"  # and of how its maps are read
LONGER = tuple(2**n for n in range(11, 16))  # words of a text whose map is read in blocks
LEARNED = "learned positions"  # added to the words, as the plan of a checkpoint notes


@dataclass(frozen=True, eq=False)
class View:
    """The maps and what is chosen beside them.

    Args:
        maps: of the chosen head.
        chosen: the page's settings by their short names.
        tensor: the code of the tensor below the maps.
        missing: the code of the tensor that is asked for where this layer has none; or empty.
    """

    maps: Maps
    chosen: SimpleNamespace
    tensor: str
    missing: str

    @property
    def trained(self) -> Trained | None:
        """The trained layer that is run, if one is."""
        source = self.maps.run.source
        return source if isinstance(source, Trained) else None

    @property
    def look(self) -> Look:
        """The chosen cell of a trained layer, or of the app's own real model."""
        return look(self.maps, self.trained)

    @property
    def own(self) -> bool:
        """True where the app's own real model reads."""
        return AS_TRAINED.reads() and self.maps.model.checkpoint is not None

    @property
    def favourites(self) -> tuple[int, ...]:
        """The places that get most attention from the chosen query, of any head that is run."""
        most = self.maps.attention[:, self.maps.query].argmax(axis=-1)
        return tuple(sorted({int(place) for place in most}))

    @property
    def equal_words(self) -> bool:
        """True where equal words enter the layer as equal vectors."""
        loaded = self.maps.model.checkpoint
        if not loaded:
            return True
        learned = LEARNED in checkpoint.plan(loaded).notes
        return checkpoint.inputs(loaded).origin == "embedding" and not learned

    @property
    def tensors(self) -> tuple[str, ...]:
        """The codes of all that was run, and of the weights."""
        return (*self.maps.run.steps, *self.maps.run.weights)

    @property
    def matrix(self) -> np.ndarray:
        """The chosen tensor as rows and columns, of the chosen head where it has heads."""
        return self.maps.run.matrix(self.tensor, self.maps.head)

    @property
    def axes(self) -> tuple[str, str]:
        """The letters of its rows and columns."""
        return self.maps.run.axes(self.tensor)


def is_whole(view: object) -> bool:
    """Tell whether a view has maps of all its words: not blocks of a long text, nor a state."""
    return isinstance(view, View) and not view.maps.run.linear


chosen = partial(state.chosen, "attention_maps")  # the page's settings by their short names


def view() -> View:
    """Return the view that the present settings ask for.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    s = chosen()
    causal = s.causal or not can_be_unmasked(present())
    heads = 0 if reads_a_sentence() else s.run  # all of the few that they have
    maps = maps_of.chosen(s, heads=heads, causal=causal, temperature=s.temperature)
    wanted, steps = s.tensor, maps.run.steps
    there = wanted in (*steps, *maps.run.weights)
    tensor = wanted if there else steps[1]  # the first after h
    missing = "" if there or wanted == state.default("map_tensor") else wanted
    return View(maps, s, tensor, missing)


def reads_a_sentence() -> bool:
    """Tell whether a trained model reads the words, also where nothing could be run."""
    return present().is_trained


def has_entries() -> bool:
    """Tell whether pooled entries stand among the columns, also where nothing could be run."""
    return mechanisms.of_variant(present().variant).config_type.has_entries


def has_blocks() -> bool:
    """Tell whether words are chosen block by block, also where nothing could be run."""
    return mechanisms.of_variant(present().variant).config_type.has_blocks


def pools_nothing() -> bool:
    """Tell whether there are only a window and a sink, also where nothing could be run."""
    return present().base.pooling == 0


def keeps_a_state() -> bool:
    """Tell whether the variant keeps a state, and has no attention to draw.

    Raises:
        CheckpointError: a real model's layer that cannot be read.
    """
    return mechanisms.form_of(present().variant).read is not None


def can_be_unmasked(model: Model) -> bool:
    """Tell whether a map can be drawn without its mask; not beside a sink or of a state."""
    return not model.sinks and mechanisms.form_of(model.variant).read is None


def is_long() -> bool:
    """Tell whether more words are asked for than have their maps run whole, and can be read.

    Raises:
        CheckpointError: a real model's layer that cannot be read.
    """
    if chosen().generated <= maps_of.WHOLE:
        return False
    return can_be_long(present())


def can_be_long(model: Model) -> bool:
    """Tell whether a text of any length can be read: drawn weights, a cache that grows by key."""
    drawn = model.checkpoint is None and not model.is_trained
    by_key = any(one.grows_evenly for one in mechanisms.of_variant(model.variant).caches)
    return drawn and by_key and can_be_unmasked(model)


def at_the_end() -> None:
    """The last word, and what decides the next one, or what the chosen head looks at most."""
    words = maps_of.words(chosen())
    state.change(map_query=len(words) - 1, map_key=0)
    found = answer(words)
    state.change(map_key=found.place if found else _favourite())


def at_the_strongest() -> None:
    """Go to the cell that tells most about the chosen head on a real model's text."""
    with suppress(ValueError):  # which the page will tell
        query, key = strongest(maps_of.chosen(chosen()))
        state.change(map_query=query, map_key=key)


def at_the_answer() -> None:
    """Go to the end, and to the head of the layer that looks most at the answer."""
    at_the_end()
    maps = maps_of.chosen(chosen())
    looks = maps.attention[:, maps.query, maps.key]
    state.change(map_head=maps.run.heads[int(looks.argmax())])


def _favourite() -> int:
    maps = maps_of.chosen(chosen())
    return int(maps.attention[maps.place, maps.query].argmax())


def nearest() -> list[Note]:
    """Bring the settings within what there is; a sentence without a cell is seen at its end."""
    if is_long():
        heads, last = present().sizes["n_heads"], chosen().generated - 1
        return state.at_most(map_head=heads - 1, map_run=heads, map_query=last, map_key=last)
    notes = maps_of.mend(chosen())
    if present().checkpoint is None and not present().is_trained:
        notes += state.at_most(map_generated=maps_of.WHOLE)
    cell_is_given = not visit().asked.isdisjoint(CELL)
    if has_entries() and not cell_is_given:
        maps_of.begin_at_an_entry(chosen())
    if "sentence" in visit().asked and not cell_is_given and reads_a_sentence():
        at_the_end()
    return notes
