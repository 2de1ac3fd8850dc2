"""What the real models' page shows: one attention of a checkpoint over the reader's text."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch

from mla_engine import GroupedConfig, LatentConfig, MultiHeadLatentAttention
from mla_engine.checkpoints.families import FAMILIES
from mla_engine.studies.logit_shares import LogitShares, logit_shares
from mla_engine.studies.spectra import Spectrum, spectra
from ui.engine import layers as compute
from ui.engine import model, queue
from ui.engine import real_layer as source
from ui.engine.real_layer import RealLayer
from ui.parts.maps import view as maps
from ui.parts.maps.run import Config, block_of_heads, run
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

MATRICES = ("W_QK", "W_UK", "W_UV")
FEWEST_HEADS = 16  # of a block: each reads the layer anew
Block = tuple[LogitShares, dict[str, Spectrum]]


@dataclass(frozen=True, eq=False)
class View:
    """The chosen head's maps, and of an MLA layer what all its heads look at."""

    maps: maps.View
    loaded: RealLayer
    shares: LogitShares | None
    spectra: dict[str, Spectrum]

    @property
    def config(self) -> Config:
        """The layer's own."""
        return self.maps.run.config

    @property
    def balance(self) -> np.ndarray:
        """How much of each head's two variances is position [h]."""
        return self.shares.balance.numpy()

    def title(self) -> str:
        """The page's statement with its numbers."""
        facts = {"layer": count(self.loaded.layer), "heads": count(self.config.n_heads)}
        facts["name"] = source.title(self.loaded)
        if isinstance(self.config, GroupedConfig):
            groups = count(self.config.n_kv_heads)
            return t("real_models.title_grouped", groups=groups, **facts)
        if self.shares is None:
            return t("real_models.title_one", **facts)
        positional = int((self.balance > 0.5).sum())
        return t("real_models.title", positional=count(positional), **facts)

    def kind(self) -> str:
        """Whether the chosen head looks at words or at places, in words; "" where none has both."""
        if self.shares is None:
            return ""
        share, head = float(self.balance[self.maps.head]), count(self.maps.head)
        if math.isnan(share):
            return t("real_models.kind_flat", head=head)
        if share > 0.5:
            return t("real_models.kind_position", head=head, share=maps.percent(share))
        return t("real_models.kind_content", head=head, share=maps.percent(1 - share))

    def missing(self) -> str:
        """Why latents and the split into content and position are not shown."""
        grouped = isinstance(self.config, GroupedConfig)
        return t("real_models.no_latent" if grouped else "real_models.one_token")


def blocks(config: Config, tokens: int) -> list[tuple[int, ...]]:
    """All heads in blocks that take a moment each."""
    size = max(len(block_of_heads(config, tokens, 0, 0)), FEWEST_HEADS)
    return [
        tuple(range(first, min(first + size, config.n_heads)))
        for first in range(0, config.n_heads, size)
    ]


def view() -> View | None:
    """What the present settings show; None without a checkpoint.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    loaded = source.chosen()
    if loaded is None:
        return None
    s, config, words = state.settings(), model.config(), model.words()
    heads = block_of_heads(config, len(words), s["map_head"], 0)
    found = run(config, maps.FORMS.get(model.present_variant(), "grouped"), words, loaded, heads)
    seen = (s["map_head"], s["map_query"], s["map_key"], True, 1.0)
    of_maps = maps.View(found, found.attention(True, 1.0), *seen)
    if not isinstance(config, LatentConfig) or len(words) < 2:
        return View(of_maps, loaded, None, {})
    place = st.empty()
    told = t("real_models.all_heads")
    done = [piece for piece, _ in with_bar(_pieces(loaded, config, words), place, told)]
    return View(of_maps, loaded, joined_shares(done), joined_spectra(done))


def with_bar(pieces: Iterator, place: st.delta_generator.DeltaGenerator, told: str) -> Iterator:
    """Hand on (result, share done) with a bar at `place` from the second piece on."""
    for piece in pieces:
        if piece[1] < 1:
            place.progress(piece[1], told)
        yield piece
    place.empty()


def _pieces(
    loaded: RealLayer, config: LatentConfig, words: tuple[str, ...]
) -> Iterator[tuple[Block, float]]:
    parts = blocks(config, len(words))
    for done, heads in enumerate(parts, start=1):
        yield block(config, loaded, words, heads), done / len(parts)


@st.cache_resource(max_entries=512, show_spinner=False)
def block(
    config: LatentConfig, loaded: RealLayer, words: tuple[str, ...], heads: tuple[int, ...]
) -> Block:
    """Logit shares and spectra of some heads.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    layer, h = weights(config, loaded, heads), compute.hidden(words, loaded, config.d_model)
    with queue.turn(), torch.inference_mode():
        return logit_shares(layer(h)), spectra(layer)


def weights(
    config: LatentConfig, loaded: RealLayer, heads: tuple[int, ...]
) -> MultiHeadLatentAttention:
    """These heads: those of a whole layer shared with the maps, others read for this once."""
    if len(heads) == config.n_heads:
        return compute.layer(config, loaded, heads)
    with queue.turn():
        return compute.built(config, loaded, heads, torch.float32)


def joined_shares(found: list[Block]) -> LogitShares:
    """The shares of all heads [h]."""
    names = ("variance_content", "variance_position", "covariance")
    return LogitShares(
        **{n: torch.cat([getattr(shares, n) for shares, _ in found]).cpu() for n in names}
    )


def joined_spectra(found: list[Block]) -> dict[str, Spectrum]:
    """The spectra of all heads, by matrix."""
    firsts = found[0][1]
    return {
        name: Spectrum(
            shape=firsts[name].shape,
            dtype=firsts[name].dtype,
            singular_values=torch.cat([each[name].singular_values for _, each in found]),
        )
        for name in MATRICES
    }


def families() -> str:
    """The model_types that can be read, as they stand in config.json."""
    return ", ".join(f"`{name}`" for name in FAMILIES)
