"""The view of the page: one attention of a checkpoint over the reader's text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.studies.spectra import Spectrum
from ui.engine import real_layer
from ui.engine.model import present
from ui.engine.real_layer import RealLayer
from ui.pages.real_models import run
from ui.pages.real_models.run import Measured
from ui.parts.maps import view as maps_of
from ui.parts.maps.view import Maps
from ui.settings import state
from ui.settings.page import Note
from ui.settings.visit import visit
from ui.streamlit_internals import DeltaGenerator
from ui.words.text import t

MAPS = "attention_maps"  # the page whose settings of a head and a cell hold here too


@dataclass(frozen=True, eq=False)
class View:
    """The chosen head's maps, and what all heads of its layer do.

    Args:
        maps: of the chosen head.
        measured: of every head, by the layer's kind; None of one without, or of one token of MLA.
        spectra: of the matrices of every head, by the matrix; empty where nothing is measured.
        wanted: the matrix that is set.
        every_layer: whether all layers are compared.
    """

    maps: Maps
    measured: Measured | None
    spectra: Mapping[str, Spectrum]
    wanted: str
    every_layer: bool

    @property
    def loaded(self) -> RealLayer:
        """The layer and its text."""
        return self.maps.model.layer

    @property
    def config(self) -> AttentionConfig:
        """The layer's own."""
        return self.maps.run.config

    @property
    def mechanism(self) -> str:
        """The key of its mechanism."""
        return mechanisms.of(self.config).key

    @property
    def of_places(self) -> bool:
        """True where MLA's shared key tells places: without a rotation it is one more key."""
        return self.config.rotation is not None or not self.config.d_rope

    @property
    def matrix(self) -> str:
        """The matrix that is shown: the one that is set, or the first that this kind has."""
        return self.wanted if self.wanted in self.spectra else next(iter(self.spectra))

    @property
    def topk(self) -> int:
        """Keys that an indexer chooses at most for a query; 0 without one."""
        return vars(self.config).get("index_topk", 0)

    @property
    def balance(self) -> np.ndarray:
        """The share of position in each of MLA's heads' two variances [h]."""
        return self.measured.balance.numpy()


def mend() -> list[Note]:
    """Bring the cell within the maps; of a layer of entries to one that is read."""
    notes = maps_of.mend(state.chosen(MAPS))
    cell_is_given = not visit().asked.isdisjoint(maps_of.CELL)
    of_entries = mechanisms.form_of(present().variant).columns
    if real_layer.chosen() and of_entries and not cell_is_given:
        maps_of.begin_at_an_entry(state.chosen(MAPS))
    return notes


def view() -> View | None:
    """Return the view of the present settings; None without a checkpoint.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    if real_layer.chosen() is None:
        return None
    s, maps = state.chosen("real_models"), maps_of.chosen(state.chosen(MAPS))
    chosen = (s.matrix, s.layers)
    config, words = maps.run.config, maps.run.words
    if not run.can_measure(config, len(words)):
        return View(maps, None, {}, *chosen)
    pieces = run.pieces(maps.model.layer, config, words)
    done = list(with_bar(pieces, st.empty(), t("real_models.all_heads")))
    measured = run.joined([one for one, _ in done])
    return View(maps, measured, run.joined_spectra([of for _, of in done]), *chosen)


def with_bar(pieces: Iterator, place: DeltaGenerator, told: str) -> Iterator:
    """The results of (result, share done), with a bar at `place` from the second piece on."""
    for result, done in pieces:
        if done < 1:
            place.progress(done, told)
        yield result
    place.empty()
