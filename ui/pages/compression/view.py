"""What the compression page shows: a layer, a latent's size, and what it loses and saves."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import GroupedConfig, LatentConfig
from mla_engine.studies.merging import content_config
from mla_engine.studies.training import QueryMemory, query_memory
from ui.engine import model
from ui.engine import real_layer as source
from ui.pages.compression import run
from ui.settings import state
from ui.settings.page import Note
from ui.words.numbers import count, digits
from ui.words.text import t

ERRORS = ("k", "v", "scores", "u")
POINTS = 16  # of the curves, beside the chosen rank
MOST_SIDE = 2048  # of the matrix whose eigenvectors are sought: seconds, not minutes
HEADS = (1, 2, 4, 8, 16, 32, 64, 128)
DECAYS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
BF16_BYTES = 2
ASSUMED_LATENT = 12  # heads' widths: DeepSeek-V2 and V3 have d_c' = 1,536 = 12 d_h


@dataclass(frozen=True)
class View:
    """The present settings' layer and the chosen size of the latent."""

    source: run.Source
    words: tuple[str, ...]
    rank: int

    @property
    def ranks(self) -> list[int]:
        """Where the curves are computed, the chosen rank among them."""
        closer_to_none = np.linspace(0, 1, POINTS + 1) ** 2
        ranks = (self.source.full * closer_to_none).round().astype(int)
        # where the joint error ends
        most = min(self.source.full, self.source.config.d_model, own_latent() or self.source.full)
        return sorted({*ranks.tolist(), most - 1, most, self.rank})

    def title(self) -> str:
        """The statement on top: what the chosen latent saves and loses."""
        lost = self.lost("joint")
        return t(
            "compression.title",
            rank=count(self.rank),
            full=count(self.source.full),
            k=percent(lost.k),
            u=percent(lost.u),
        )

    def lost(self, way: str) -> run.Loss:
        """The errors at the chosen rank."""
        return run.lost(self.source, self.words, way, self.rank)

    def curves(self) -> pd.DataFrame:
        """The errors of both ways at every rank; long work in pieces, with its progress."""
        wanted = [(way, rank) for way in run.WAYS for rank in self.ranks]
        bar = st.progress(0.0, t("compression.running"))
        rows = []
        for done, (way, rank) in enumerate(wanted, start=1):
            found = run.lost(self.source, self.words, way, rank)
            rows.append({"way": way, "rank": rank} | {e: getattr(found, e) for e in ERRORS})
            bar.progress(done / len(wanted), t("compression.running"))
        bar.empty()
        return pd.DataFrame(rows)

    def split(self) -> tuple[int, int]:
        """How separate compression shares the chosen rank between keys and values."""
        separate = run.prepared(self.source).ways["separate"]
        return separate.ranks(min(self.rank, separate.most))


def percent(error: float) -> str:
    """A relative error as a percentage of fixed width."""
    return f"{100 * error:.1f}\N{NO-BREAK SPACE}%"


def weights() -> tuple[str, ...]:
    """What the weights can be: of a seeded layer its own are the random ones."""
    if source.chosen():
        return ("own", "random", "spectrum")
    return ("random" if state.settings()["cmp_weights"] == "random" else "own", "spectrum")


def layer_config() -> GroupedConfig:
    """The layer whose keys and values are compressed: a real one's as it is, else an MHA.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    if not source.chosen():
        return model.config("mha")
    config = model.base()
    return config if isinstance(config, GroupedConfig) else content_config(config)


def own_latent() -> int | None:
    """The size of the latent that the weights come from, if they are a real MLA's own."""
    own = source.chosen() and state.settings()["cmp_weights"] == "own"
    return getattr(model.base(), "d_latent_kv", None) if own else None


def all_heads() -> int:
    """Heads with keys and values of their own: all of an MHA, the KV heads of a GQA."""
    grouped = source.chosen() and isinstance(model.base(), GroupedConfig)
    return model.sizes()["n_kv_heads" if grouped else "n_heads"]


def head_counts() -> list[int]:
    """How many heads can be compressed together in a moment, at the present sizes."""
    s, every = model.sizes(), all_heads()
    width, d_model = s["d_head"] + s["d_value"], s["d_model"]
    possible = {n for n in HEADS if n < every} | {every}
    return [n for n in sorted(possible) if n == 1 or min(n * width, d_model) <= MOST_SIDE]


def mend() -> list[Note]:
    """Bring heads and latent to the nearest that the sizes allow."""
    s = model.sizes()
    heads = max(n for n in head_counts() if n <= max(1, state.settings()["cmp_heads"]))
    notes = state.nearest(cmp_heads=heads)
    return notes + state.at_most(cmp_rank=heads * (s["d_head"] + s["d_value"]))


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    s, config, loaded = state.settings(), layer_config(), source.chosen()
    heads = tuple(range(s["cmp_heads"] * config.group_size))
    decay = s["cmp_decay"] if s["cmp_weights"] == "spectrum" else None
    origin = loaded if loaded and s["cmp_weights"] == "own" else s["seed"]
    return View(run.Source(config, origin, heads, decay, loaded), model.words(), s["cmp_rank"])


def words() -> str:
    """What the weights are, and what that means for a latent."""
    s, latent = state.settings(), own_latent()
    if latent:
        return t("compression.words_latent", latent=count(latent))
    if source.chosen() and s["cmp_weights"] == "own":
        config = model.base()
        facts = {"heads": count(config.n_heads), "groups": count(config.n_kv_heads)}
        return t("compression.words_grouped", **facts)
    return t(f"compression.words_{'spectrum' if s['cmp_weights'] == 'spectrum' else 'random'}")


def weights_label(code: str) -> str:
    """A choice of weights in the reader's language."""
    drawn = code == "own" and not source.chosen()
    return t(f"compression.weights_{'random' if drawn else code}")


def query_ways() -> tuple[LatentConfig, int, list[QueryMemory]]:
    """The MLA of these sizes, the width of its query latent, and four ways to train it.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    config = model.config("mla")
    width = config.d_latent_q or ASSUMED_LATENT * config.d_head
    return config, width, query_memory(config, width)


def way_name(way: QueryMemory) -> str:
    """A way to train in the reader's language."""
    latent = "latent" if way.compressed else "plain"
    return t(f"compression.way_{latent}_{'again' if way.recomputed else 'kept'}")


def query_table(ways: list[QueryMemory]) -> pd.DataFrame:
    """Kept numbers, work done again and weights of each way, as text."""
    rows = {
        way_name(way): (
            count(way.kept_elements),
            million(way.recomputed_multiply_adds),
            million(way.weights),
        )
        for way in ways
    }
    columns = [t(f"compression.column_{name}") for name in ("kept", "again", "weights")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def million(value: float) -> str:
    """Millions where there are some: 37.7 M."""
    return f"{digits(value / 1e6)} M" if value >= 1e6 else count(value)
