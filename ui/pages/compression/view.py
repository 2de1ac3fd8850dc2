"""The layer that the compression page shows, and the size of the latent that it gets."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from mla_engine import GroupedConfig
from mla_engine.config import AttentionConfig
from mla_engine.studies.compression import Loss
from mla_engine.studies.merging import content_config
from mla_engine.studies.words import words_of
from ui.pages.compression import answers
from ui.pages.compression.answers import Cut
from ui.pages.compression.source import POINTS, Source, losing, lost
from ui.settings import state
from ui.settings.page import Note
from ui.settings.parsers import Setting, flag, number, one_of, whole
from ui.sources import Drawn, trained, work
from ui.sources.model import Model, present
from ui.words.numbers import shortest
from ui.words.text import t

ERRORS = ("k", "v", "scores", "u")
HEADS = (1, 2, 4, 8, 16, 32, 64, 128)
SETTINGS = {
    # of a trained model's cache; 0 is that of the trained MLA
    "cmp_size": Setting(0, whole(0, 2**16), "select_slider"),
    "cmp_rank": Setting(128, whole(0, 2**16), "slider", recorded=(8, 16, 32, 64, 128, 256, 512)),
    "cmp_heads": Setting(4, whole(1, 128), "select_slider"),  # that share the latent
    # "auto" is a trained or real layer's own weights, else a falling spectrum; "own" ones of a
    # seeded layer are random
    "cmp_weights": Setting(
        "auto",
        one_of("auto", "own", "random", "spectrum"),
        "segmented_control",
        follows=lambda _preset: "auto",
    ),
    "cmp_decay": Setting(
        1.0,
        number(0, 3),
        "select_slider",
        options=(0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0),
        write=shortest,
    ),
    # by which joint and separate compression are compared
    "cmp_error": Setting("u", one_of(*ERRORS), "segmented_control", "compression.error_of"),
    "cmp_log": Setting(False, flag, "toggle", recorded=True),
}


@dataclass(frozen=True)
class View:
    """The present settings' layer and the chosen size of the latent.

    Args:
        model: the sizes and whose weights.
        words: the tokens; a trained model's own keys and values are of fresh texts.
        rank: the size of the latent; of a trained model what it caches of a token in a layer.
        heads: how many of those with keys and values of their own share it.
        weights: "own" of a trained or real layer, "random" or "spectrum".
        chosen: the page's own settings.
    """

    model: Model
    words: tuple[str, ...]
    rank: int
    heads: int
    weights: str
    chosen: SimpleNamespace

    @property
    def source(self) -> Source:
        """The layer whose keys and values are compressed.

        Raises:
            ValueError: sizes that no layer can have, in the engine's words.
        """
        config = _config(self.model, own=self.trained)
        source = Source(
            config=config,
            origin=self.model.source_of(config) if self.trained else self.model.drawn,
            heads=(),
            decay=self.chosen.decay if self.weights == "spectrum" else None,
            inputs=self.model.checkpoint,
        )
        return source.with_heads(self.heads)

    @property
    def trained(self) -> bool:
        """True if the weights are a trained or real layer's own."""
        return self.weights == "own"

    @property
    def answers(self) -> bool:
        """True if they are those of a trained model, which can be asked what it still knows."""
        return self.trained and self.model.checkpoint is None

    @property
    def latent(self) -> int | None:
        """The size of the latent that the weights come from, if they are a real MLA's own."""
        own = self.trained and self.model.checkpoint
        return self.model.base.d_latent_kv if own else None

    @property
    def ranks(self) -> list[int]:
        """The ranks at which the curves are drawn, the chosen one among them."""
        return sorted({*self.fixed_ranks, self.rank})

    @property
    def fixed_ranks(self) -> list[int]:
        """The ranks at which they are computed whatever rank is chosen."""
        if self.answers:
            return [0, *self.sizes]
        source = self.source
        closer_to_none = np.linspace(0, 1, POINTS + 1) ** 2
        ranks = (source.full * closer_to_none).round().astype(int)
        # where the joint error ends
        most = min(source.full, source.config.d_model, self.latent or source.full)
        return sorted({*ranks.tolist(), most - 1, most})

    @property
    def follows(self) -> str:
        """The slider of the rank, with which its lines in the pictures go along."""
        return "cmp_size" if self.sizes else "cmp_rank"

    @property
    def sizes(self) -> list[int]:
        """The sizes that the cache of a trained model can be cut to; empty where there is none."""
        return _sizes(self.model)

    def errors(self, way: str) -> Loss:
        """Return the errors at the chosen rank."""
        return lost(self.source, self.words, way, (self.rank,))[0]

    def cut(self, way: str) -> Cut | None:
        """Return a trained model at the chosen size; None where a way has no such size."""
        return answers.cut(way, self.rank) if answers.fits(way, self.rank) else None


def _config(model: Model, *, own: bool = False) -> AttentionConfig:
    """Return the layer whose keys and values are compressed: a real one's as it is, else an MHA.

    Args:
        model: the sizes.
        own: with its own weights; an MLA's are compressed as what its latents stand for.
    """
    if not model.checkpoint:
        return model.config("mha")
    base = model.base
    return content_config(base) if base.has_latent and not own else base


def all_heads(model: Model) -> int:
    """Count heads with keys and values of their own: all of an MHA, the KV heads of a GQA."""
    shared = model.checkpoint and not model.base.has_latent
    return model.sizes["n_kv_heads" if shared else "n_heads"]


def head_counts(model: Model) -> list[int]:
    """Return how many heads can be compressed together in a moment, at the present sizes."""
    every = all_heads(model)
    if model.is_trained:  # all of them: they share what is cached
        return [every]
    possible = sorted({n for n in HEADS if n < every} | {every})
    try:
        config = _config(model)
    except ValueError:  # said in the place of the picture, whatever the heads
        return possible
    return [n for n in possible if n == 1 or _affordable(config, n, len(model.words))]


def _affordable(config: GroupedConfig, heads: int, tokens: int) -> bool:
    """Return whether so many can be compressed, with seeded weights and a chosen spectrum too."""
    source = Source(config, Drawn(0), (), decay=1.0).with_heads(heads)
    try:
        work.require(losing(source, tokens), work.SMALLER_LAYER)
    except work.CostError:
        return False
    return True


def _sizes(model: Model) -> list[int]:
    if not model.is_trained:
        return []
    s = model.sizes
    return answers.sizes(min(s["d_model"], s["n_heads"] * (s["d_head"] + s["d_value"])))


def mend() -> list[Note]:
    """Bring heads and latent to the nearest that the sizes allow."""
    model = present()
    if sizes := _sizes(model):
        asked = state.settings()["cmp_size"]
        return state.nearest(cmp_size=asked and min(sizes, key=lambda size: abs(size - asked)))
    heads = max(n for n in head_counts(model) if n <= max(1, state.settings()["cmp_heads"]))
    notes = state.nearest(cmp_heads=heads)
    width = model.sizes["d_head"] + model.sizes["d_value"]
    return notes + state.at_most(cmp_rank=heads * width)


def view() -> View:
    """Return what the present settings show, once `mend` has brought them within what there is."""
    model, chosen = present(), state.chosen("compression")
    small, weights = model.is_trained, _weights(model)
    seeded = small and weights != "own"
    return View(
        model=model,
        words=words_of(t("maps.example")) if seeded else model.words,
        rank=(chosen.size or answers.cached(answers.MLA)) if small else chosen.rank,
        heads=all_heads(model) if small else chosen.heads,
        weights=weights,
        chosen=chosen,
    )


def drawn() -> bool:
    """Return whether random weights are asked for in the place of trained ones."""
    return state.settings()["cmp_weights"] in ("random", "spectrum")


def own_weights(model: Model) -> bool:
    """Return whether there are weights that nobody drew: a real layer's, or a trained MHA's."""
    small = model.is_trained and answers.MHA in trained.present()
    return model.checkpoint is not None or small


def _weights(model: Model) -> str:
    """Return whose weights are compressed; unasked, those with directions that matter."""
    asked, own = state.settings()["cmp_weights"], own_weights(model)
    if asked == "auto":
        return "own" if own else "spectrum"
    return "random" if asked == "own" and not own else asked
