"""Bytes over the context length for every way of caching."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from kvcount import Placing
from mla_engine import costs
from mla_engine.cache import Cache
from ui.engine import shared_cache
from ui.pages.kv_cache.common import curves_of, growth, limitations, numbers_of, shown, two_models
from ui.pages.kv_cache.layouts import mla_compared, rows_in_words
from ui.pages.kv_cache.scene import Scene, type_label
from ui.pages.kv_cache.view import SIDES, View
from ui.parts import charts, prose
from ui.parts.questions import Question, decades, tokens
from ui.parts.snippet import counted
from ui.parts.ways import kind_of
from ui.settings.page import Functions, Panel, Recipe
from ui.settings.sizes import CONTEXTS
from ui.words.numbers import amount, count, mixed, times
from ui.words.text import parted, sentences, t

CONTROLS = (
    "kv_context", "kv_ways", "kv_groups", "kv_layers", "kv_batch", "kv_type", "kv_unit", "kv_log",
)  # fmt: skip
GROUPED = "mha", "gqa", "own", "mqa"


def title(view: View) -> str:
    """The point of the picture."""
    return t("kv_cache.title_context" if view.scenes[0].grows else "kv_cache.title_state")


def lead(view: View) -> tuple[str, str]:
    """The left model's cache, that of MHA with its heads, and their ratio."""
    scene = view.scenes[0]
    own, mha = (scene.held_bytes(way, view.context) for way in (scene.own, "mha"))
    line = t(
        "kv_cache.line",
        keeps=_keeps(view, scene),
        model=scene.preset.name,
        tokens=count(view.context),
        own=shown(view, own),
        mha=shown(view, mha),
        ratio=times(mha / own),
    )
    return shown(view, own), line


def _keeps(view: View, scene: Scene) -> str:
    """The verb: an upper bound of old links, conditional beyond the published length."""
    preset = scene.preset
    bound = "alternating local and global layers" in preset.not_modelled
    beyond = preset.max_context and view.context > preset.max_context
    key = ("would_keep" if beyond else "keeps") + ("_at_most" if bound else "")
    return t(f"kv_cache.verb_{key}")


def look(view: View) -> str:
    """Say what to look at, by the kind of axes."""
    axes = "log" if view.log else "linear"
    more = [t(f"kv_cache.look_more_{axes}")] if view.ways == "all" else []
    bends = [t("kv_cache.look_window")] if any(scene.windows for scene in view.scenes) else []
    return sentences([t(f"kv_cache.look_{axes}"), *bends, *more])


def _draw(view: View, scene: Scene, side: str) -> None:
    """One model's chart, its table, and what they leave out."""
    figure = growth(
        view,
        scene,
        _curves,
        roles=[scene.role(way) for way in scene.ways],
        points=scene.points(),
    )
    alt, file = _alt(view, scene), f"kv_cache_{scene.key}"
    charts.show(figure, f"{side}:chart", alt=alt, file=file, follows=view.follows)
    st.table(_table(view, scene))
    for sentence in (_product(view, scene), _baseline(scene), *limitations(view, scene)):
        prose.say(sentence)


@shared_cache.cached(key=lambda view, scene: (scene, view.contexts, view.language))
def _curves(view: View, scene: Scene) -> dict[str, np.ndarray]:
    """Return the bytes of every way [context]."""
    return curves_of(view, scene, scene.serving)


def _dots(view: View) -> None:
    """Say where the dots come from, or why there are none."""
    measured = view.scenes[0].has_points
    prose.note(t("kv_cache.measured_note") if measured else t("kv_cache.unmeasured_note"))


def _table(view: View, scene: Scene) -> pd.DataFrame:
    """One row a way of caching, as text: numbers per token and layer, bytes, ratio to MHA."""
    held = {way: scene.held_bytes(way, view.context) for way in scene.ways}
    rows = {
        scene.label(way): (
            _mean(scene) if scene.mixed and way == scene.own else numbers_of(config),
            shown(view, held[way]),
            times(held["mha"] / held[way]),
        )
        for way, config in scene.ways.items()
    }
    columns = [
        t("kv_cache.column_numbers"),
        t("kv_cache.column_bytes", tokens=count(view.context)),
        t("kv_cache.column_ratio"),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _mean(scene: Scene) -> str:
    """The numbers of a token of a model whose layers do not all keep the same."""
    mean = scene.numbers(scene.own)
    every = {"all": amount(mean * scene.n_caches), "layers": count(scene.n_caches)}
    return t("kv_cache.numbers_mean", mean=amount(mean), **every)


def _product(view: View, scene: Scene) -> str:
    """Explain the model's own bytes: as a product, by kind of row, or by kind of layer."""
    tokens, batch = count(view.context), count(scene.batch)
    held = shown(view, scene.held_bytes(scene.own, view.context))
    values = {"caches": count(scene.n_caches), "tokens": tokens, "batch": batch, "bytes": held}
    if scene.mixed:
        each = (
            t(
                "kv_cache.of_kind",
                n=count(n),
                kind=kind_of(one),
                numbers=numbers_of(one, bound=False),
            )
            for one, n in scene.kinds(scene.own)
        )
        kind = type_label(scene.dtype)
        return t("kv_cache.product_kinds", each=parted(each), type=kind, **values)
    if not scene.each_token:
        found = scene.rows(scene.own, view.context)
        each = shown(view, sum(row.n_bytes for row in found.values()))
        return t("kv_cache.product_rows", rows=rows_in_words(found), each=each, **values)
    numbers = amount(costs.cache_elements(scene.ways[scene.own]))
    return t("kv_cache.product", numbers=numbers, width=scene.width, **values)


def _baseline(scene: Scene) -> str:
    """Say what the ratios are measured against, and where the MLA of the chart comes from."""
    mla = scene.ways["mla"]
    groups = mixed(costs.equivalent_kv_heads(mla))
    if scene.uneven:
        return sentences([t("kv_cache.against_mha"), *mla_compared(scene)])
    if scene.assumes("mla"):
        latent = count(mla.d_latent_kv)
        return t("kv_cache.assumed", latent=latent, rope=mla.d_rope, groups=groups)
    full = costs.cache_elements(mla, "kv")
    ratio = times(full / costs.cache_elements(mla))
    return t("kv_cache.own_heads", full=count(full), ratio=ratio, groups=groups)


def _alt(view: View, scene: Scene) -> str:
    """The chart in words: the bytes of every way at the chosen length."""
    held = parted(
        f"{scene.label(way)} {shown(view, scene.held_bytes(way, view.context))}"
        for way in scene.ways
    )
    return t("kv_cache.alt", model=scene.preset.name, tokens=count(view.context), held=held)


def data(view: View) -> pd.DataFrame:
    """Every curve of both models, numbers as numbers.

    In codes, not in the reader's words: a download is made outside the session, with no settings.
    """
    rows = [
        {
            "model": scene.preset.name,
            "cache": "gqa" if way == "own" else way,
            "kv_heads": config.n_kv_heads if way in GROUPED else None,
            "is_the_models_own": way == scene.own,
            "layers": scene.n_caches,
            "batch": scene.batch,
            "type": scene.dtype,
            "context_tokens": tokens,
            "numbers_per_token_and_layer": scene.numbers(way),
            "bytes": scene.held_bytes(way, tokens),
        }
        for scene in view.scenes
        for way, config in scene.ways.items()
        for tokens in CONTEXTS
    ]
    return pd.DataFrame(rows).astype({"kv_heads": "Int64"})


def question(view: View) -> Question | None:
    """Ask after how many tokens MHA keeps as much; None where the model is MHA itself."""
    scene = view.scenes[0]
    if scene.own == "mha":
        return None
    own = scene.held_bytes(scene.own, view.context)
    return decades(
        "kv_cache",
        t(
            "kv_cache.guess",
            model=scene.preset.name,
            own=shown(view, own),
            tokens=count(view.context),
        ),
        own / scene.held_bytes("mha", 1),
        (1, 10 ** len(str(view.context))),
        say=lambda n: tokens(count(n)),
        why=t("kv_cache.guess_why"),
        hides=("lead",),
    )


def code(view: View) -> Functions:
    """Return the functions of the engine that ran, with what fills the caches behind the dots."""
    filled = (Cache.with_zeros,) if view.scenes[0].has_points else ()
    return costs.kept, Placing.held_bytes, *filled


def snippet(view: View) -> Recipe:
    """Return the snippet that makes the headline's numbers."""
    scene = view.scenes[0]
    return "context", {
        "model": counted(scene.kinds(scene.own), scene.key),
        "mha": counted(scene.kinds("mha"), scene.key),
        "tokens": view.context,
        "batch": scene.batch,
        "type": scene.dtype,
    }


PANEL = Panel(
    name="context",
    settings=(*SIDES, *CONTROLS),
    shown={"kv_view": "context"},
    title=title,
    lead=lead,
    look=look,
    draw=partial(two_models, _draw, CONTROLS, below=_dots),
    question=question,
    data=data,
    code=code,
    snippet=snippet,
)
