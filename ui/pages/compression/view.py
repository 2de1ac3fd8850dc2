"""What the compression page shows: a layer, the size of a latent, and what it loses and saves."""

from dataclasses import dataclass

import numpy as np

from mla_engine import PRESETS, GroupedConfig, LatentConfig
from mla_engine.config import AttentionConfig
from mla_engine.studies.merging import content_config
from mla_engine.studies.words import words_of
from ui.engine import model, trained, work
from ui.engine.model import Model
from ui.pages.compression import answers, run
from ui.pages.compression.answers import Cut
from ui.settings import state
from ui.settings.page import Note
from ui.words.text import t

HEADS = (1, 2, 4, 8, 16, 32, 64, 128)
ASSUMED_LATENT = 12  # heads' widths: DeepSeek-V2 and V3 have d_c' = 1,536 = 12 d_h
QUERIES_OF = "deepseek-v3"  # in the place of a model too small for a query latent


@dataclass(frozen=True)
class View:
    """The present settings' layer and the chosen size of the latent.

    Args:
        model: the sizes and whose weights.
        words: the tokens; a trained model's own keys and values are of fresh texts.
        rank: the size of the latent; of a trained model what it caches of a token in a layer.
        heads: how many of those with keys and values of their own share it.
        weights: "own" of a trained or real layer, "random" or "spectrum".
        decay: how fast a chosen spectrum falls.
        error: what joint and separate compression are compared by.
        log: whether the errors stand on a logarithmic axis.
    """

    model: Model
    words: tuple[str, ...]
    rank: int
    heads: int
    weights: str
    decay: float
    error: str
    log: bool

    @property
    def source(self) -> run.Source:
        """The layer whose keys and values are compressed.

        Raises:
            ValueError: sizes that no layer can have, in the engine's words.
        """
        config = _config(self.model, own=self.trained)
        source = run.Source(
            config=config,
            origin=self.model.origin(config) if self.trained else self.model.seed,
            heads=(),
            decay=self.decay if self.weights == "spectrum" else None,
            inputs=self.model.layer,
        )
        return source.with_heads(self.heads)

    @property
    def trained(self) -> bool:
        """Whether the weights are a trained or real layer's own."""
        return self.weights == "own"

    @property
    def answers(self) -> bool:
        """Whether they are those of a trained model, which can be asked what it still knows."""
        return self.trained and self.model.layer is None

    @property
    def latent(self) -> int | None:
        """The size of the latent that the weights come from, if they are a real MLA's own."""
        own = self.trained and self.model.layer
        return getattr(self.model.base, "d_latent_kv", None) if own else None

    @property
    def ranks(self) -> list[int]:
        """Where the curves are drawn, the chosen rank among them."""
        return sorted({*self.fixed_ranks, self.rank})

    @property
    def fixed_ranks(self) -> list[int]:
        """Where they are computed whatever rank is chosen."""
        if self.answers:
            return [0, *self.sizes]
        source = self.source
        closer_to_none = np.linspace(0, 1, run.POINTS + 1) ** 2
        ranks = (source.full * closer_to_none).round().astype(int)
        # where the joint error ends
        most = min(source.full, source.config.d_model, self.latent or source.full)
        return sorted({*ranks.tolist(), most - 1, most})

    @property
    def sizes(self) -> list[int]:
        """What the cache of a trained model can be cut to; empty where there is none."""
        return _sizes(self.model)

    @property
    def query_config(self) -> LatentConfig:
        """The MLA of these sizes, or a published one where they are those of a small model.

        Raises:
            ValueError: sizes that no layer can have, in the engine's words.
        """
        small = self.model.trained is not None
        return PRESETS[QUERIES_OF].config if small else self.model.config("mla")

    @property
    def query_width(self) -> int:
        """The width of its query latent, assumed where it has none."""
        config = self.query_config
        return config.d_latent_q or ASSUMED_LATENT * config.d_head

    def lost(self, way: str) -> run.Loss:
        """The errors at the chosen rank."""
        return run.lost(self.source, self.words, way, (self.rank,))[0]

    def cut(self, way: str) -> Cut | None:
        """A trained model at the chosen size; None where a way has no such size."""
        return answers.cut(way, self.rank) if answers.fits(way, self.rank) else None


def _config(chosen: Model, *, own: bool = False) -> AttentionConfig:
    """The layer whose keys and values are compressed: a real one's as it is, else an MHA.

    Args:
        chosen: the sizes.
        own: with its own weights; an MLA's are compressed as what its latents stand for.
    """
    if not chosen.layer:
        return chosen.config("mha")
    base = chosen.base
    return base if own or isinstance(base, GroupedConfig) else content_config(base)


def all_heads(chosen: Model) -> int:
    """Heads with keys and values of their own: all of an MHA, the KV heads of a GQA."""
    grouped = chosen.layer and isinstance(chosen.base, GroupedConfig)
    return chosen.sizes["n_kv_heads" if grouped else "n_heads"]


def head_counts(chosen: Model) -> list[int]:
    """How many heads can be compressed together in a moment, at the present sizes."""
    every = all_heads(chosen)
    if chosen.trained is not None:  # all of them: they share what is cached
        return [every]
    possible = sorted({n for n in HEADS if n < every} | {every})
    try:
        config = _config(chosen)
    except ValueError:  # said in the place of the picture, whatever the heads
        return possible
    return [n for n in possible if n == 1 or _affordable(config, n, len(chosen.words))]


def _affordable(config: GroupedConfig, heads: int, tokens: int) -> bool:
    """Whether so many can be compressed, with seeded weights and a chosen spectrum too."""
    source = run.Source(config, 0, (), decay=1.0).with_heads(heads)
    try:
        work.require(run.losing(source, tokens), work.SMALLER_LAYER)
    except work.CostError:
        return False
    return True


def _sizes(chosen: Model) -> list[int]:
    if chosen.trained is None:
        return []
    s = chosen.sizes
    return answers.sizes(min(s["d_model"], s["n_heads"] * (s["d_head"] + s["d_value"])))


def mend() -> list[Note]:
    """Bring heads and latent to the nearest that the sizes allow."""
    chosen = model.present()
    if sizes := _sizes(chosen):
        asked = state.settings()["cmp_size"]
        return state.nearest(cmp_size=asked and min(sizes, key=lambda size: abs(size - asked)))
    heads = max(n for n in head_counts(chosen) if n <= max(1, state.settings()["cmp_heads"]))
    notes = state.nearest(cmp_heads=heads)
    width = chosen.sizes["d_head"] + chosen.sizes["d_value"]
    return notes + state.at_most(cmp_rank=heads * width)


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is."""
    s, chosen = state.settings(), model.present()
    small, weights = chosen.trained is not None, _weights(chosen)
    seeded = small and weights != "own"
    return View(
        model=chosen,
        words=words_of(t("maps.example")) if seeded else chosen.words,
        rank=(s["cmp_size"] or answers.cached(answers.MLA)) if small else s["cmp_rank"],
        heads=all_heads(chosen) if small else s["cmp_heads"],
        weights=weights,
        decay=s["cmp_decay"],
        error=s["cmp_error"],
        log=s["cmp_log"],
    )


def drawn() -> bool:
    """Whether weights are asked for that are drawn at random, in the place of trained ones."""
    return state.settings()["cmp_weights"] in ("random", "spectrum")


def own_weights(chosen: Model) -> bool:
    """Whether there are weights that nobody drew: a real layer's, or a trained MHA's."""
    small = chosen.trained is not None and answers.MHA in trained.present()
    return chosen.layer is not None or small


def _weights(chosen: Model) -> str:
    """Whose weights are compressed: what has directions that matter, where nothing is asked."""
    asked, own = state.settings()["cmp_weights"], own_weights(chosen)
    if asked == "auto":
        return "own" if own else "spectrum"
    return "random" if asked == "own" and not own else asked
