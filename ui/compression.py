"""What the compression page shows: a layer, a latent's size, and what it loses and saves."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import LatentConfig
from mla_engine.training import QueryMemory, query_memory
from ui import compression_run as run
from ui import model, state
from ui.text import count, digits, t
from ui.tokens import words_of

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
        most = min(self.source.full, self.source.config.d_model)  # where the joint error ends
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


def head_counts() -> list[int]:
    """How many heads can be compressed together in a moment, at the present sizes."""
    s = state.settings()
    width, d_model = s["d_head"] + s["d_value"], s["d_model"]
    possible = {n for n in HEADS if n < s["n_heads"]} | {s["n_heads"]}
    return [n for n in sorted(possible) if n == 1 or min(n * width, d_model) <= MOST_SIDE]


def mend() -> list[state.Note]:
    """Bring heads and latent to the nearest that the sizes allow."""
    s = state.settings()
    heads = max(n for n in head_counts() if n <= max(1, s["cmp_heads"]))
    notes = state.nearest(cmp_heads=heads)
    return notes + state.at_most(cmp_rank=heads * (s["d_head"] + s["d_value"]))


def view() -> View:
    """What the present settings show, once `mend` has brought them within what there is.

    Raises:
        ValueError: sizes that no layer can have, in the engine's words.
    """
    s = state.settings()
    config = model.config("mha")
    heads = tuple(range(s["cmp_heads"]))
    decay = s["cmp_decay"] if s["cmp_weights"] == "spectrum" else None
    source = run.Source(config, s["seed"], heads, decay)
    return View(source, words_of(t("attention_maps.example")), s["cmp_rank"])


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
