"""The cache page's view of several GPUs: what each keeps when heads or sequences are dealt out."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.costs import Serving, cache_elements
from ui.pages.kv_cache import words as kv_words
from ui.pages.kv_cache.context import ends
from ui.pages.kv_cache.controls import RANKS
from ui.pages.kv_cache.view import WIDTHS, Scene
from ui.pages.kv_cache.words import shown
from ui.parts.figure_words import growth_words
from ui.settings import state
from ui.words.numbers import count, digits
from ui.words.text import t

Settings = dict[str, object]


@dataclass(frozen=True)
class Sharing:
    """A way of caching and how the GPUs share it."""

    scene: Scene
    way: str
    attention: str = "tensor"
    cache: str | None = None

    @property
    def code(self) -> str:
        """What names it in tables of codes."""
        kind = "mla_full" if self.cache == "kv" else self.way
        return f"{kind}_{self.attention}"

    @property
    def label(self) -> str:
        """Its short name in the reader's language."""
        if self.cache == "kv":
            return t("kv_cache.share_full")
        name = self.scene.label(self.way)
        return t("kv_cache.share_data", name=name) if self.attention == "data" else name

    def on(self, ranks: int) -> Serving:
        """The cache alone on so many GPUs.

        Raises:
            ValueError: more GPUs than heads to split.
        """
        return Serving(
            config=self.scene.ways[self.way],
            caches=self.scene.preset.n_caches or self.scene.preset.n_layers,
            total_parameters=0,
            gpu_bytes=1,
            ranks=ranks,
            attention=self.attention,
            cache_bytes=WIDTHS[self.scene.dtype],
            cache=self.cache,
        )

    def copies(self, ranks: int, s: Settings) -> float:
        """How often the GPUs together keep the whole cache; uneven shares count as the fullest."""
        whole = cache_elements(self.scene.ways[self.way], self.cache) * self.on(1).cache_bytes
        every = whole * self.on(1).caches * s["kv_context"] * s["kv_sequences"]
        return ranks * held(self, ranks, s) / every


def held(sharing: Sharing, ranks: int, s: Settings) -> float:
    """Bytes on the fullest of so many GPUs."""
    return sharing.on(ranks).held_bytes(s["kv_context"], s["kv_sequences"])


def sharings(scene: Scene) -> Iterator[Sharing]:
    """What the chart compares, in the order of its legend."""
    yield Sharing(scene, "mha")
    yield Sharing(scene, "gqa")
    yield Sharing(scene, "mla", cache="kv")
    yield Sharing(scene, "mla")
    yield Sharing(scene, scene.own, attention="data")
    if scene.own == "own":
        yield Sharing(scene, "own")


def own(scene: Scene) -> Sharing:
    """The model's own cache, its heads split."""
    return Sharing(scene, scene.own)


def title(scene: Scene) -> str:
    """What each GPU keeps of the model's own cache, and how often the whole is there."""
    s = state.settings()
    ranks, sharing = s["kv_ranks"], own(scene)
    return t(
        "kv_cache.title_parallel",
        model=scene.preset.name,
        ranks=ranks,
        own=shown(held(sharing, ranks, s)),
        one=shown(held(sharing, 1, s)),
        copies=digits(sharing.copies(ranks, s)),
    )


def look() -> str:
    """What to look at."""
    return t("kv_cache.look_parallel")


def draw(scene: Scene, name: str) -> None:
    """Bytes on each GPU over their number, and the table at the chosen one."""
    s = state.settings()
    held(own(scene), s["kv_ranks"], s)  # refuses more GPUs than heads before anything is drawn
    ranks = possible(scene)
    figure = figures.cache_growth(
        ranks,
        _curves(scene, s),
        log=s["kv_log"],
        unit=s["kv_unit"],
        limits=ends(lambda one: _curves(one, s).values(), log=s["kv_log"]),
        at=s["kv_ranks"],
        words=growth_words()
        | {"context": t("kv_cache.axis_gpus"), "cache": t("kv_cache.axis_each_gpu")},
    )
    figures.ticks_at(figure, ranks if s["kv_log"] else ranks[-3:])
    st.plotly_chart(figure, width="stretch", key=f"{name}:parallel", alt=_alt(scene, s))
    st.table(_table(scene, s))
    st.markdown(_sentence(scene, s))
    for sentence in kv_words.limitations(scene):
        st.markdown(sentence)


def possible(scene: Scene) -> list[int]:
    """Numbers of GPUs that its heads can be split among."""
    return [n for n in RANKS if n <= scene.preset.config.n_heads]


def _curves(scene: Scene, s: Settings) -> dict[str, np.ndarray]:
    ranks = possible(scene)
    return {g.label: np.array([held(g, n, s) for n in ranks]) for g in sharings(scene)}


def _table(scene: Scene, s: Settings) -> pd.DataFrame:
    ranks = s["kv_ranks"]
    rows = {}
    for g in sharings(scene):
        each = held(g, ranks, s)
        rows[g.label] = (shown(each), shown(ranks * each), digits(g.copies(ranks, s)))
    columns = [
        t("kv_cache.column_each", ranks=ranks),
        t("kv_cache.column_all"),
        t("kv_cache.column_copies"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _sentence(scene: Scene, s: Settings) -> str:
    ranks = s["kv_ranks"]
    own_data = Sharing(scene, scene.own, attention="data").on(ranks)
    deals = own_data.rank_sequences(s["kv_sequences"])
    return t("kv_cache.dealt", sequences=count(s["kv_sequences"]), ranks=ranks, each=count(deals))


def _alt(scene: Scene, s: Settings) -> str:
    ranks = s["kv_ranks"]
    said = "; ".join(f"{g.label} {shown(held(g, ranks, s))}" for g in sharings(scene))
    return t("kv_cache.alt_parallel", model=scene.preset.name, ranks=ranks, held=said)


def download(scenes: tuple[Scene, ...], s: Settings) -> pd.DataFrame:
    """Bytes on each GPU for every sharing and every number of GPUs."""
    rows = [
        {
            "model": scene.preset.name,
            "sharing": g.code,
            "gpus": ranks,
            "context_tokens": s["kv_context"],
            "sequences": s["kv_sequences"],
            "bytes_each": held(g, ranks, s),
            "copies": g.copies(ranks, s),
        }
        for scene in scenes
        for g in sharings(scene)
        for ranks in possible(scene)
    ]
    return pd.DataFrame(rows)
