"""One attention of a checkpoint over the reader's text: its maps, and what all its heads do."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from mla_engine.config import AttentionConfig
from mla_engine.delta.reading import Memory, memory
from mla_engine.grouped.reading import SinkShares, sink_shares
from mla_engine.layer import AttentionLayer
from mla_engine.pooled.reading import Given, given
from mla_engine.studies.logit_shares import LogitShares, logit_shares
from mla_engine.studies.spectra import Spectrum, spectra
from ui.engine import queue, shared_cache
from ui.parts.maps import view as maps_of
from ui.parts.maps.view import Maps
from ui.parts.pieces import blocks, with_bar
from ui.settings import state
from ui.settings.page import Note, mla_layer
from ui.settings.visit import visit
from ui.sources import Checkpoint, checkpoint, layers
from ui.sources.model import present
from ui.words.text import t

MAPS = "attention_maps"  # the page whose settings of a head and a cell hold here too
Measured = LogitShares | Given | SinkShares | Memory
Block = tuple[Measured, dict[str, Spectrum]]
MEASURES: Mapping[str, Callable[..., Measured]] = {  # of a trace, by the kind of its layer
    "latent": logit_shares,
    "pooled": given,
    "sink": sink_shares,
    "delta": memory,
}


def kind_of(config: AttentionConfig) -> str:
    """Return the kind of a layer by what it has; "plain" where only its maps are shown."""
    if mla_layer(config):
        return "latent"
    if config.has_entries:
        return "pooled"
    if config.has_state:
        return "delta"
    if config.has_latent or not config.in_full:
        return "plain"
    return "sink" if config.sinks else "grouped"


@dataclass(frozen=True, eq=False)
class View:
    """The chosen head's maps, and what all heads of its layer do.

    Args:
        maps: of the chosen head.
        measured: of every head, by the layer's kind; None of one without, or of one token of MLA.
        spectra: of the matrices of every head, by the matrix; empty where none are shown.
        chosen: the page's own settings.
    """

    maps: Maps
    measured: Measured | None
    spectra: Mapping[str, Spectrum]
    chosen: SimpleNamespace

    @property
    def loaded(self) -> Checkpoint:
        """The layer and its text."""
        return self.maps.model.checkpoint

    @property
    def config(self) -> AttentionConfig:
        """The layer's own."""
        return self.maps.run.config

    @property
    def kind(self) -> str:
        """The kind of the layer, by what it has."""
        return kind_of(self.config)

    @property
    def of_places(self) -> bool:
        """True where MLA's shared key tells places: without a rotation it is one more key."""
        return self.config.rotation is not None or not self.config.d_rope

    @property
    def matrix(self) -> str:
        """The matrix that is shown: the one that is set, or the first that this kind has."""
        wanted = self.chosen.matrix
        return wanted if wanted in self.spectra else next(iter(self.spectra))

    @property
    def topk(self) -> int:
        """Keys that an indexer chooses at most for a query; 0 without one."""
        return self.config.index_topk or 0

    @property
    def balance(self) -> np.ndarray:
        """The share of position in each of MLA's heads' two variances [h]."""
        return self.measured.balance.numpy()


def mend() -> list[Note]:
    """Bring the cell within the maps; of a layer of entries to one that is read."""
    notes = maps_of.mend(state.chosen(MAPS))
    cell_is_given = not visit().asked.isdisjoint(maps_of.CELL)
    of_entries = present().base.has_entries
    if checkpoint.chosen() and of_entries and not cell_is_given:
        maps_of.begin_at_an_entry(state.chosen(MAPS))
    return notes


def view() -> View | None:
    """Return the view of the present settings; None without a checkpoint.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    if checkpoint.chosen() is None:
        return None
    chosen, maps = state.chosen("real_models"), maps_of.chosen(state.chosen(MAPS))
    config, words = maps.run.config, maps.run.words
    if not _can_measure(config, len(words)):
        return View(maps, None, {}, chosen)
    pieces = _pieces(maps.model.checkpoint, config, words)
    done = list(with_bar(pieces, st.empty(), t("real_models.all_heads")))
    measured = joined([one for one, _ in done])
    return View(maps, measured, _joined_spectra([of for _, of in done]), chosen)


def _can_measure(config: AttentionConfig, tokens: int) -> bool:
    """Tell whether all heads of a layer are measured: of MLA parts of keys, elsewhere sinks."""
    kind = kind_of(config)
    return kind in MEASURES and (tokens > 1 or kind != "latent")


def _pieces(
    loaded: Checkpoint, config: AttentionConfig, words: tuple[str, ...]
) -> Iterator[tuple[Block, float]]:
    """Yield block after block of all heads, with the share that is done."""
    parts = blocks(config, len(words))
    for done, heads in enumerate(parts, start=1):
        yield _block(config, loaded, words, heads), done / len(parts)


@shared_cache.cached
def _block(
    config: AttentionConfig, loaded: Checkpoint, words: tuple[str, ...], heads: tuple[int, ...]
) -> Block:
    """Return what some heads do on these words, and the spectra of their matrices.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    kind = kind_of(config)
    with queue.turn(), torch.inference_mode():
        layer, h = _weights(config, loaded, heads), loaded.hidden(words, config.d_model)
        return MEASURES[kind](layer(h)), {} if kind == "sink" else spectra(layer)


def _weights(config: AttentionConfig, loaded: Checkpoint, heads: tuple[int, ...]) -> AttentionLayer:
    """Return these heads: of a whole layer as the maps share it, others read for this once."""
    if len(heads) == config.n_heads:
        return layers.layer(config, loaded, heads)
    return loaded.attention(config, heads, torch.float32)


def joined(found: list[Measured]) -> Measured:
    """Join the results of some heads to those of all; heads are each tensor's first axis."""
    tensors = [name for name, value in vars(found[0]).items() if isinstance(value, Tensor)]
    return replace(
        found[0], **{name: torch.cat([vars(one)[name] for one in found]) for name in tensors}
    )


def _joined_spectra(found: list[dict[str, Spectrum]]) -> dict[str, Spectrum]:
    """Return the spectra of all heads by matrix, from those of some."""
    values = {name: torch.cat([one[name].singular_values for one in found]) for name in found[0]}
    return {name: replace(one, singular_values=values[name]) for name, one in found[0].items()}
