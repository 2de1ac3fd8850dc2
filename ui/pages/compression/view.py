"""What the compression page shows: a layer, the size of a latent, and what it loses and saves."""

from dataclasses import dataclass

import numpy as np

from mla_engine import GroupedConfig, LatentConfig
from mla_engine.studies.merging import content_config
from ui.engine import model, work
from ui.engine.model import Model
from ui.pages.compression import run
from ui.settings import state
from ui.settings.page import Note

HEADS = (1, 2, 4, 8, 16, 32, 64, 128)
ASSUMED_LATENT = 12  # heads' widths: DeepSeek-V2 and V3 have d_c' = 1,536 = 12 d_h


@dataclass(frozen=True)
class View:
    """The present settings' layer and the chosen size of the latent.

    Args:
        model: the sizes and whose weights.
        words: the tokens.
        rank: the size of the latent.
        heads: how many of those with keys and values of their own share it.
        weights: "own" of a real layer, "random" or "spectrum".
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
        config = _compressed_config(self.model)
        return run.Source(
            config=config,
            origin=self.model.layer if self.trained else self.model.seed,
            heads=tuple(range(self.heads * config.group_size)),
            decay=self.decay if self.weights == "spectrum" else None,
            inputs=self.model.layer,
        )

    @property
    def trained(self) -> bool:
        """Whether the weights are a real layer's own."""
        return self.model.layer is not None and self.weights == "own"

    @property
    def latent(self) -> int | None:
        """The size of the latent that the weights come from, if they are a real MLA's own."""
        return getattr(self.model.base, "d_latent_kv", None) if self.trained else None

    @property
    def ranks(self) -> list[int]:
        """Where the curves are drawn, the chosen rank among them."""
        return sorted({*self.fixed_ranks, self.rank})

    @property
    def fixed_ranks(self) -> list[int]:
        """Where they are computed whatever rank is chosen."""
        source = self.source
        closer_to_none = np.linspace(0, 1, run.POINTS + 1) ** 2
        ranks = (source.full * closer_to_none).round().astype(int)
        # where the joint error ends
        most = min(source.full, source.config.d_model, self.latent or source.full)
        return sorted({*ranks.tolist(), most - 1, most})

    @property
    def query_config(self) -> LatentConfig:
        """The MLA of these sizes.

        Raises:
            ValueError: sizes that no layer can have, in the engine's words.
        """
        return self.model.config("mla")

    @property
    def query_width(self) -> int:
        """The width of its query latent, assumed where it has none."""
        config = self.query_config
        return config.d_latent_q or ASSUMED_LATENT * config.d_head

    def lost(self, way: str) -> run.Loss:
        """The errors at the chosen rank."""
        return run.lost(self.source, self.words, way, (self.rank,))[0]


def _compressed_config(chosen: Model) -> GroupedConfig:
    """The layer whose keys and values are compressed: a real one's as it is, else an MHA."""
    if not chosen.layer:
        return chosen.config("mha")
    base = chosen.base
    return base if isinstance(base, GroupedConfig) else content_config(base)


def all_heads(chosen: Model) -> int:
    """Heads with keys and values of their own: all of an MHA, the KV heads of a GQA."""
    grouped = chosen.layer and isinstance(chosen.base, GroupedConfig)
    return chosen.sizes["n_kv_heads" if grouped else "n_heads"]


def head_counts(chosen: Model) -> list[int]:
    """How many heads can be compressed together in a moment, at the present sizes."""
    every = all_heads(chosen)
    possible = sorted({n for n in HEADS if n < every} | {every})
    try:
        config = _compressed_config(chosen)
    except ValueError:  # said in the place of the picture, whatever the heads
        return possible
    return [n for n in possible if n == 1 or _affordable(config, n, len(chosen.words))]


def _affordable(config: GroupedConfig, heads: int, tokens: int) -> bool:
    """Whether so many can be compressed, with seeded weights and a chosen spectrum too."""
    source = run.Source(config, 0, tuple(range(heads * config.group_size)), decay=1.0)
    try:
        work.require(run.losing(source, tokens), work.SMALLER_LAYER)
    except work.CostError:
        return False
    return True


def mend() -> list[Note]:
    """Bring heads and latent to the nearest that the sizes allow."""
    chosen = model.present()
    heads = max(n for n in head_counts(chosen) if n <= max(1, state.settings()["cmp_heads"]))
    notes = state.nearest(cmp_heads=heads)
    width = chosen.sizes["d_head"] + chosen.sizes["d_value"]
    return notes + state.at_most(cmp_rank=heads * width)


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is."""
    s, chosen = state.settings(), model.present()
    return View(
        model=chosen,
        words=chosen.words,
        rank=s["cmp_rank"],
        heads=s["cmp_heads"],
        weights=_weights(chosen),
        decay=s["cmp_decay"],
        error=s["cmp_error"],
        log=s["cmp_log"],
    )


def _weights(chosen: Model) -> str:
    """Whose weights are compressed: what has directions that matter, where nothing is asked."""
    asked, real = state.settings()["cmp_weights"], chosen.layer is not None
    if asked == "auto":
        return "own" if real else "spectrum"
    return "random" if asked == "own" and not real else asked
