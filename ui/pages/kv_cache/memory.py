"""The memory that weights leave, and how much cache fits."""

from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine.costs import GPUS, Serving
from ui.engine import shared_cache
from ui.pages.kv_cache.common import (
    beyond,
    curves_of,
    growth,
    limitations,
    shown,
    two_models,
    whole_model,
)
from ui.pages.kv_cache.scene import WIDTHS, Scene, type_label
from ui.pages.kv_cache.view import SIDES, View
from ui.parts import charts, prose
from ui.settings.page import Functions, Panel, Recipe
from ui.settings.sizes import MOST_TOKENS
from ui.words.numbers import TIED, count
from ui.words.text import t

CONTROLS = (
    "kv_gpu", "kv_ranks", "kv_attention", "kv_weights", "kv_context", "kv_batch", "kv_ways",
    "kv_groups", "kv_type", "kv_unit", "kv_log",
)  # fmt: skip


def served(view: View, scene: Scene, way: str | None = None, gpu: str | None = None) -> Serving:
    """Return the model on the chosen GPUs, its cache kept in one `way` (its own by default).

    Raises:
        ValueError: more GPUs than heads to split.
    """
    return scene.serving(
        way or scene.own,
        whole=True,
        total_parameters=scene.preset.parameters or 0,
        gpu_bytes=GPUS[gpu or view.gpu].memory_bytes,
        ranks=view.ranks,
        attention=view.attention,
        weight_bytes=WIDTHS[view.weights],
    )


def _gpus(view: View) -> str:
    """So many of a GPU, "8 × H200 SXM"."""
    return f"{view.ranks}{TIED}×{TIED}{GPUS[view.gpu].name}"


def title(view: View) -> str:
    """The point of the picture."""
    return t("kv_cache.title_memory" if view.scenes[0].grows else "kv_cache.title_memory_state")


def lead(view: View) -> tuple[str, str]:
    """Say what fits beside the left model's weights, or that they do not fit.

    Raises:
        ValueError: more GPUs than heads to split.
    """
    scene = view.scenes[0]
    on = served(view, scene)
    said = {"model": scene.preset.name, "gpus": _gpus(view), "type": type_label(view.weights)}
    if on.free_bytes <= 0:
        each, memory = shown(view, on.rank_weight_bytes), shown(view, on.gpu_bytes)
        return each, t("kv_cache.line_too_large", **said, each=each, memory=memory)
    said |= {"free": shown(view, on.free_bytes), "tokens": count(view.context)}
    if not scene.preset.parameters:
        held, batch = on.held_bytes(view.context, scene.batch), count(scene.batch)
        return shown(view, held), t("kv_cache.line_memory_unknown", **said, batch=batch)
    said["fits"] = count(on.largest_batch(view.context))
    return t("kv_cache.sequences", n=said["fits"]), t("kv_cache.line_memory", **said)


def look(view: View) -> str:
    """Say what to look at.

    Raises:
        ValueError: more GPUs than heads to split.
    """
    scene = view.scenes[0]
    left = _left(scene, served(view, scene))
    return t("kv_cache.look_memory" if left else "kv_cache.look_memory_whole")


def _left(scene: Scene, on: Serving) -> bool:
    """Tell if the weights are known and leave something."""
    return bool(scene.preset.parameters) and on.free_bytes > 0


def _draw(view: View, scene: Scene, side: str) -> None:
    """The cache of every way on one GPU, with the memory that there is.

    Raises:
        ValueError: more GPUs than heads to split.
    """
    on = served(view, scene)
    figure = growth(
        view,
        scene,
        _curves,
        roles=[scene.role(way) for way in scene.ways],
        limits=None if view.log else (0, 1.5 * on.gpu_bytes),  # beyond it nothing fits
        least_top=on.gpu_bytes,
        axes={"cache": t("kv_cache.axis_each_gpu")},
        levels=_levels(view, scene, on),
    )
    alt, file = _alt(view, scene, on), f"kv_cache_{scene.key}"
    charts.show(figure, f"{side}:memory", alt=alt, file=file, follows=view.follows)
    st.table(_table(view, scene))
    for sentence in (*_sentences(view, scene, on), *limitations(view, scene)):
        prose.say(sentence)


@shared_cache.cached(
    key=lambda view, scene: (scene, view.contexts, view.ranks, view.attention, view.language)
)
def _curves(view: View, scene: Scene) -> dict[str, np.ndarray]:
    """Return the bytes of every way on the fullest GPU [context]."""
    return curves_of(view, scene, partial(served, view, scene))


def _levels(view: View, scene: Scene, on: Serving) -> dict[str, float]:
    """Return what the weights leave, or the whole memory where that is unknown or nothing."""
    if _left(scene, on):
        return {t("kv_cache.level_free"): on.free_bytes}
    return {t("kv_cache.level_gpu", gpu=GPUS[view.gpu].name): on.gpu_bytes}


def _fit(scene: Scene, on: Serving, context: int) -> tuple[int, int]:
    """The longest context of the chosen sequences, the most sequences of the chosen context.

    None is longer than the model was published for.
    """
    most = scene.preset.max_context or MOST_TOKENS
    return min(on.longest_context(scene.batch), most), on.largest_batch(context)


def _table(view: View, scene: Scene) -> pd.DataFrame:
    """One row a GPU, as text: what is free on each, the longest context, the largest batch.

    Nothing is said of what fits beside weights that are not known.
    """
    rows = {}
    for key, gpu in GPUS.items():
        on = served(view, scene, gpu=key)
        free = shown(view, on.free_bytes) if on.free_bytes > 0 else t("kv_cache.no_room")
        fits = _fit(scene, on, view.context) if scene.preset.parameters else ()
        name = f"{gpu.name} ◀" if key == view.gpu else gpu.name
        rows[name] = (free, *map(count, fits))
    known = [
        t("kv_cache.column_free"),
        t("kv_cache.column_longest", batch=count(scene.batch)),
        t("kv_cache.column_batch", tokens=count(view.context)),
    ]
    columns = known if scene.preset.parameters else [t("kv_cache.column_memory")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _sentences(view: View, scene: Scene, on: Serving) -> list[str]:
    if not _left(scene, on):
        return [_weights(view, scene, on), t("kv_cache.memory_bound")]
    longest, mha = (
        _fit(scene, served(view, scene, way), view.context)[0] for way in (scene.own, "mha")
    )
    against = t("kv_cache.fits_mha", own=count(longest), mha=count(mha), gpus=_gpus(view))
    said = [_weights(view, scene, on), against, t("kv_cache.memory_bound")]
    most = scene.preset.max_context
    return said + [beyond(scene)] * bool(most and view.context <= most == longest)


def _weights(view: View, scene: Scene, on: Serving) -> str:
    if not scene.preset.parameters:
        return t("kv_cache.weights_unknown")
    return t(
        "kv_cache.weights_counted",
        parameters=count(scene.preset.parameters),
        rounded=t("kv_cache.rounded") if scene.preset.rounded else "",
        width=WIDTHS[view.weights],
        ranks=view.ranks,
        each=shown(view, on.rank_weight_bytes),
    )


def _alt(view: View, scene: Scene, on: Serving) -> str:
    return t(
        "kv_cache.alt_memory",
        model=scene.preset.name,
        gpus=_gpus(view),
        free=shown(view, max(0, on.free_bytes)),
        held=shown(view, on.held_bytes(view.context, scene.batch)),
        tokens=count(view.context),
    )


def data(view: View) -> pd.DataFrame:
    """Return what fits for both models on every GPU, in bytes, tokens and sequences."""
    rows = []
    for scene in view.scenes:
        for key in GPUS:
            with suppress(ValueError):  # refused on the screen, in the engine's words
                rows.append(_row(view, scene, key))
    return pd.DataFrame(rows)


def _row(view: View, scene: Scene, gpu: str) -> dict[str, object]:
    on = served(view, scene, gpu=gpu)
    known = bool(on.total_parameters)
    longest, batch = _fit(scene, on, view.context) if known else (None, None)
    return {
        "model": scene.preset.name,
        "gpu": GPUS[gpu].name,
        "gpus": view.ranks,
        "attention": view.attention,
        "memory_bytes": on.gpu_bytes,
        "weight_bytes_each": on.rank_weight_bytes if known else None,
        "free_bytes_each": on.free_bytes if known else None,
        "cache_bytes_per_token_each": on.token_bytes,
        "batch": scene.batch,
        "longest_context_tokens": longest,
        "context_tokens": view.context,
        "largest_batch": batch,
    }


def code(_view: View) -> Functions:
    """Return the functions of the engine that ran."""
    fits = Serving.free_bytes, Serving.rank_weight_bytes
    made = Serving.held_bytes, Serving.longest_context, Serving.largest_batch
    return *(part.fget for part in fits), *made


def snippet(view: View) -> Recipe:
    """Return the snippet that makes the headline's numbers."""
    scene = view.scenes[0]
    return "memory", whole_model(scene) | {
        "parameters": scene.preset.parameters or 0,
        "gpu": view.gpu,
        "ranks": view.ranks,
        "attention": view.attention,
        "weight_width": WIDTHS[view.weights],
        "tokens": view.context,
        "batch": scene.batch,
    }


PANEL = Panel(
    name="memory",
    settings=(*SIDES, *CONTROLS),
    shown={"kv_view": "memory"},
    title=title,
    lead=lead,
    look=look,
    draw=partial(two_models, _draw, CONTROLS),
    data=data,
    code=code,
    snippet=snippet,
)
