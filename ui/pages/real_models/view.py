"""What the page shows: one attention of a checkpoint over the reader's text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from mla_engine import mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.studies.logit_shares import LogitShares
from mla_engine.studies.spectra import Spectrum
from ui.engine import real_layer
from ui.engine.real_layer import RealLayer
from ui.pages.real_models import run
from ui.parts.maps import view as maps_of
from ui.parts.maps.view import Maps
from ui.settings import state
from ui.settings.page import LATENT_LAYER
from ui.words.text import t


@dataclass(frozen=True, eq=False)
class View:
    """The chosen head's maps, and of an MLA layer what all its heads look at.

    Args:
        maps: of the chosen head.
        shares: of the variance of every head's logits; None without latents, or of one token.
        spectra: of the matrices of every head, by the matrix; empty where there are no shares.
        matrix: the one that is shown.
        every_layer: whether all layers are compared.
    """

    maps: Maps
    shares: LogitShares | None
    spectra: Mapping[str, Spectrum]
    matrix: str
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
    def latent(self) -> bool:
        """Whether it has latents."""
        return has_latents(self.config)

    @property
    def topk(self) -> int:
        """Keys that an indexer chooses at most for a query; 0 without one."""
        return vars(self.config).get("index_topk", 0)

    @property
    def balance(self) -> np.ndarray:
        """How much of each head's two variances is position [h]."""
        return self.shares.balance.numpy()


def has_latents(config: AttentionConfig) -> bool:
    """Whether a layer's latents, matrices and parts of the logits can be shown."""
    return mechanisms.of(config).key == LATENT_LAYER


def view() -> View | None:
    """What the present settings show; None without a checkpoint.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    if real_layer.chosen() is None:
        return None
    s, maps = state.settings(), maps_of.chosen()
    chosen = (s["real_matrix"], s["real_layers"])
    config, words = maps.run.config, maps.run.words
    if not has_latents(config) or len(words) < 2:
        return View(maps, None, {}, *chosen)
    pieces = run.pieces(maps.model.layer, config, words)
    done = list(with_bar(pieces, st.empty(), t("real_models.all_heads")))
    shares = run.joined_shares([one for one, _ in done])
    return View(maps, shares, run.joined_spectra([of for _, of in done]), *chosen)


def with_bar(pieces: Iterator, place: DeltaGenerator, told: str) -> Iterator:
    """The results of (result, share done), with a bar at `place` from the second piece on."""
    for result, done in pieces:
        if done < 1:
            place.progress(done, told)
        yield result
    place.empty()
