"""The cache on each of several GPUs, split by heads or by sequences."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine.costs import Serving, cache_elements, kept_parts
from mla_engine.studies.split_latents import cached_on_each_gpu
from ui.engine import shared_cache
from ui.pages.kv_cache.common import growth, limitations, shown, two_models, whole_model
from ui.pages.kv_cache.scene import Scene
from ui.pages.kv_cache.view import RANKS, SIDES, WAYS, View
from ui.parts import charts, prose
from ui.settings.page import Functions, Panel, Recipe
from ui.words.numbers import count, digits
from ui.words.text import parted, sentences, t

CONTROLS = (
    "kv_ranks", "kv_sequences", "kv_context", "kv_ways", "kv_groups", "kv_type", "kv_unit",
    "kv_log",
)  # fmt: skip
GROUPS = 2  # of heads that have a latent each in GLA-2


@dataclass(frozen=True)
class Sharing:
    """A way of caching and how the GPUs share it."""

    view: View
    scene: Scene
    way: str
    attention: str = "tensor"
    cache: str | None = None

    @property
    def code(self) -> str:
        """The code of the sharing in tables."""
        kind = "mla_full" if self.cache == "kv" else self.way
        return f"{kind}_{self.attention}"

    @property
    def role(self) -> str:
        """The key of its looks."""
        return "mla_kv" if self.cache == "kv" else self.scene.role(self.way)

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
        shared = {"ranks": ranks, "attention": self.attention}
        return self.scene.serving(self.way, whole=True, cache=self.cache, **shared)

    def held(self, ranks: int) -> float:
        """Bytes on the fullest of so many GPUs."""
        return self.on(ranks).held_bytes(self.view.context, self.view.sequences)

    def copies(self, ranks: int) -> float:
        """Return how often all GPUs keep the whole cache, each as much as the fullest."""
        return ranks * self.held(ranks) / self.held(1)


class SplitLatents(Sharing):
    """MLA whose groups of heads have a latent each, which GPUs share out."""

    code = "gla_tensor"
    role = "gla"
    label = f"GLA-{GROUPS}"

    def numbers(self, ranks: int) -> int:
        """Per token and layer, on each of so many GPUs."""
        return cached_on_each_gpu(self.scene.ways[self.way], GROUPS, ranks)

    def held(self, ranks: int) -> float:
        """Bytes on each of so many GPUs."""
        numbers = self.numbers(ranks) * self.scene.all_caches * self.scene.width
        return numbers * self.view.context * self.view.sequences


def _sharings(view: View, scene: Scene) -> Iterator[Sharing]:
    """Yield the sharings that are chosen, in the order of the chart's legend.

    Of all there are also keys and values of MLA in full, its split latents, and what came later.
    """
    every = view.ways == "all"
    *heads, mla = WAYS[view.ways] or WAYS["four"]
    later = [way for way, config in scene.ways.items() if kept_parts(config, 1, scene.width)]
    later = later if every else []
    yield from (Sharing(view, scene, way) for way in heads)
    if every:
        yield Sharing(view, scene, mla, cache="kv")
    yield Sharing(view, scene, mla)
    if every:
        yield from _split(view, scene)
    yield from (Sharing(view, scene, way) for way in later)
    yield Sharing(view, scene, scene.own, attention="data")
    if scene.own not in (*heads, mla, *later):
        yield Sharing(view, scene, scene.own)


def _split(view: View, scene: Scene) -> Iterator[SplitLatents]:
    """GLA-2, where heads and latent can be halved."""
    sharing = SplitLatents(view, scene, "mla")
    with suppress(ValueError):
        sharing.numbers(GROUPS)
        yield sharing


def title(_view: View) -> str:
    """The point of the picture."""
    return t("kv_cache.title_parallel")


def lead(view: View) -> tuple[str, str]:
    """Say what each GPU keeps of the left model's own cache, and how often the whole is there.

    Raises:
        ValueError: more GPUs than heads to split.
    """
    scene, ranks = view.scenes[0], view.ranks
    own = Sharing(view, scene, scene.own)
    copies = digits(own.copies(ranks))
    line = t(
        "kv_cache.line_parallel",
        model=scene.preset.name,
        ranks=ranks,
        own=shown(view, own.held(ranks)),
        one=shown(view, own.held(1)),
        copies=copies,
    )
    return t("kv_cache.copies", n=copies), line


def look(view: View) -> str:
    """Say what to look at."""
    more = [t("kv_cache.look_parallel_more")] if view.ways == "all" else []
    return sentences([t("kv_cache.look_parallel"), *more])


def _draw(view: View, scene: Scene, side: str) -> None:
    """Bytes on each GPU over their number, and the table at the chosen one.

    Raises:
        ValueError: more GPUs than heads to split.
    """
    Sharing(view, scene, scene.own).on(view.ranks)  # refused before anything is drawn
    ranks = _possible(scene)
    figure = growth(
        view,
        scene,
        _curves,
        places=ranks,
        at=view.ranks,
        roles=[g.role for g in _sharings(view, scene)],
        axes={"context": t("kv_cache.axis_gpus"), "cache": t("kv_cache.axis_each_gpu")},
        ticks=ranks[::2] if view.log else ranks[-3:],
    )
    alt, file = _alt(view, scene), f"kv_cache_{scene.key}"
    charts.show(figure, f"{side}:parallel", alt=alt, file=file, follows="kv_ranks")
    st.table(_table(view, scene))
    for sentence in (_dealt(view, scene), *_halved(view, scene), *limitations(view, scene)):
        prose.say(sentence)


def _possible(scene: Scene) -> list[int]:
    """Numbers of GPUs that its heads can be split among."""
    return [n for n in RANKS if n <= scene.preset.config.n_heads]


@shared_cache.cached(
    key=lambda view, scene: (scene, view.context, view.sequences, view.ways, view.language)
)
def _curves(view: View, scene: Scene) -> dict[str, np.ndarray]:
    """Return the bytes of every sharing on the fullest GPU [number of GPUs]."""
    ranks = _possible(scene)
    return {g.label: np.array([g.held(n) for n in ranks]) for g in _sharings(view, scene)}


def _table(view: View, scene: Scene) -> pd.DataFrame:
    ranks = view.ranks
    rows = {}
    for g in _sharings(view, scene):
        each = g.held(ranks)
        rows[g.label] = (shown(view, each), shown(view, ranks * each), digits(g.copies(ranks)))
    columns = [
        t("kv_cache.column_each", ranks=ranks),
        t("kv_cache.column_all"),
        t("kv_cache.column_copies"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _dealt(view: View, scene: Scene) -> str:
    """Say how many whole sequences the fullest GPU keeps."""
    whole = Sharing(view, scene, scene.own, attention="data").on(view.ranks)
    each, every = count(whole.rank_sequences(view.sequences)), count(view.sequences)
    return t("kv_cache.dealt", sequences=every, ranks=view.ranks, each=each)


def _halved(view: View, scene: Scene) -> Iterator[str]:
    """Say what a second latent saves each GPU, where that is drawn."""
    for split in _split(view, scene) if view.ways == "all" else ():
        half, whole = count(split.numbers(GROUPS)), count(cache_elements(scene.ways["mla"]))
        yield t("kv_cache.split_latents", half=half, whole=whole)


def _alt(view: View, scene: Scene) -> str:
    held = parted(f"{g.label} {shown(view, g.held(view.ranks))}" for g in _sharings(view, scene))
    return t("kv_cache.alt_parallel", model=scene.preset.name, ranks=view.ranks, held=held)


def data(view: View) -> pd.DataFrame:
    """Bytes on each GPU for every sharing and every number of GPUs."""
    rows = [
        {
            "model": scene.preset.name,
            "sharing": g.code,
            "gpus": ranks,
            "context_tokens": view.context,
            "sequences": view.sequences,
            "bytes_each": g.held(ranks),
            "copies": g.copies(ranks),
        }
        for scene in view.scenes
        for g in _sharings(view, scene)
        for ranks in _possible(scene)
    ]
    return pd.DataFrame(rows)


def code(_view: View) -> Functions:
    """Return the functions of the engine that ran."""
    return kept_parts, Serving.rank_sequences, Serving.held_bytes


def snippet(view: View) -> Recipe:
    """Return the snippet that makes the headline's numbers."""
    scene = view.scenes[0]
    return "parallel", whole_model(scene) | {
        "context": view.context,
        "sequences": view.sequences,
        "ranks": view.ranks,
    }


PANEL = Panel(
    name="parallel",
    settings=(*SIDES, *CONTROLS),
    shown={"kv_view": "parallel"},
    title=title,
    lead=lead,
    look=look,
    draw=partial(two_models, _draw, CONTROLS),
    data=data,
    code=code,
    snippet=snippet,
)
