"""The cache page's view of GPU memory: what the weights leave, and how much cache fits there."""

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.costs import GPUS, Serving
from ui.pages.kv_cache import view as kv
from ui.pages.kv_cache import words as kv_words
from ui.pages.kv_cache.context import ends
from ui.pages.kv_cache.controls import type_label
from ui.pages.kv_cache.view import WIDTHS, Scene
from ui.pages.kv_cache.words import TIED, shown
from ui.parts.figure_words import growth_words
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

Settings = dict[str, object]


def served(scene: Scene, s: Settings, way: str | None = None, gpu: str | None = None) -> Serving:
    """The model on the chosen GPUs, its cache kept in one `way` (its own by default).

    Raises:
        ValueError: more GPUs than heads to split.
    """
    return Serving(
        config=scene.ways[way or scene.own],
        caches=replace(scene, layers=0).n_caches,
        total_parameters=scene.preset.parameters or 0,
        gpu_bytes=GPUS[gpu or s["kv_gpu"]].memory_bytes,
        ranks=s["kv_ranks"],
        attention=s["kv_attention"],
        weight_bytes=WIDTHS[s["kv_weights"]],
        cache_bytes=WIDTHS[scene.dtype],
    )


def gpus(s: Settings, key: str | None = None) -> str:
    """So many of a GPU, "8 × H200 SXM"."""
    return f"{s['kv_ranks']}{TIED}×{TIED}{GPUS[key or s['kv_gpu']].name}"


def title(scene: Scene) -> str:
    """What fits beside the model's weights, or that they do not fit."""
    s, on = state.settings(), served(scene, state.settings())
    said = {"model": scene.preset.name, "gpus": gpus(s), "type": type_label(s["kv_weights"])}
    if on.free_bytes <= 0:
        each = shown(on.rank_weight_bytes)
        return t("kv_cache.title_too_large", **said, each=each, memory=shown(on.gpu_bytes))
    said |= {"free": shown(on.free_bytes), "longest": count(on.longest_context(scene.batch))}
    if not scene.preset.parameters:
        return t("kv_cache.title_memory_unknown", **said)
    return t("kv_cache.title_memory", **said)


def look() -> str:
    """What to look at."""
    return t("kv_cache.look_memory")


def draw(scene: Scene, name: str) -> None:
    """The cache of every way on one GPU, with the memory that there is."""
    s, on = state.settings(), served(scene, state.settings())
    contexts = kv.contexts()
    held = _curves(scene, s, contexts)
    figure = figures.cache_growth(
        contexts,
        held,
        log=s["kv_log"],
        unit=s["kv_unit"],
        limits=_limits(on, s, contexts),
        at=s["kv_context"],
        words=growth_words() | {"cache": t("kv_cache.axis_each_gpu")},
    )
    levels = {t("kv_cache.level_gpu", gpu=GPUS[s["kv_gpu"]].name): on.gpu_bytes}
    if scene.preset.parameters and on.free_bytes > 0:
        levels = {t("kv_cache.level_free"): on.free_bytes}
    figures.add_levels(figure, levels, ends=(contexts[0], contexts[-1]), unit=s["kv_unit"])
    st.plotly_chart(figure, width="stretch", key=f"{name}:memory", alt=_alt(scene, on, s))
    st.table(_table(scene, s))
    for sentence in _sentences(scene, on, s):
        st.markdown(sentence)
    for sentence in kv_words.limitations(scene):
        st.markdown(sentence)


def _curves(scene: Scene, s: Settings, contexts: tuple[int, ...]) -> dict[str, np.ndarray]:
    curves = {}
    for way in scene.ways:
        on = served(scene, s, way)
        held = [on.held_bytes(tokens, scene.batch) for tokens in contexts]
        curves[scene.label(way)] = np.array(held)
    return curves


def _limits(on: Serving, s: Settings, contexts: tuple[int, ...]) -> tuple[float, float]:
    if not s["kv_log"]:
        return 0, 1.5 * on.gpu_bytes  # beyond it nothing fits
    return ends(
        lambda scene: _curves(scene, s, contexts).values(), log=True, least_top=on.gpu_bytes
    )


def fit(on: Serving, context: int, batch: int) -> tuple[int, int]:
    """The longest context of `batch` sequences, the most sequences of `context` tokens."""
    return on.longest_context(batch), on.largest_batch(context)


def _table(scene: Scene, s: Settings) -> pd.DataFrame:
    """One row a GPU, as text: what is free on each, the longest context, the largest batch."""
    rows = {}
    for key, gpu in GPUS.items():
        on = served(scene, s, gpu=key)
        name = f"{gpu.name} ◀" if key == s["kv_gpu"] else gpu.name
        if on.free_bytes <= 0:
            rows[name] = (t("kv_cache.no_room"), "0", "0")
        else:
            rows[name] = (shown(on.free_bytes), *map(count, fit(on, s["kv_context"], scene.batch)))
    columns = [
        t("kv_cache.column_free"),
        t("kv_cache.column_longest", batch=count(scene.batch)),
        t("kv_cache.column_batch", tokens=count(s["kv_context"])),
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _sentences(scene: Scene, on: Serving, s: Settings) -> list[str]:
    longest, mha = (
        served(scene, s, way).longest_context(scene.batch) for way in (scene.own, "mha")
    )
    parameters = scene.preset.parameters
    if parameters:
        weights = t(
            "kv_cache.weights_counted",
            parameters=count(parameters),
            width=WIDTHS[s["kv_weights"]],
            ranks=s["kv_ranks"],
            each=shown(on.rank_weight_bytes),
        )
    else:
        weights = t("kv_cache.weights_unknown")
    against = t("kv_cache.fits_mha", own=count(longest), mha=count(mha), gpus=gpus(s))
    said = [weights, against, t("kv_cache.memory_bound")]
    most = scene.preset.max_context
    if most and s["kv_context"] <= most < longest:
        said.append(t("kv_cache.beyond", most=count(most)))
    return said


def _alt(scene: Scene, on: Serving, s: Settings) -> str:
    return t(
        "kv_cache.alt_memory",
        model=scene.preset.name,
        gpus=gpus(s),
        free=shown(max(0, on.free_bytes)),
        held=shown(on.held_bytes(s["kv_context"], scene.batch)),
        tokens=count(s["kv_context"]),
    )


def download(scenes: tuple[Scene, ...], s: Settings) -> pd.DataFrame:
    """What fits for both models on every GPU, in bytes, tokens and sequences."""
    rows = []
    for scene in scenes:
        for key, gpu in GPUS.items():
            try:
                on = served(scene, s, gpu=key)
            except ValueError:
                continue  # refused on the screen, in the engine's words
            longest, batch = fit(on, s["kv_context"], scene.batch)
            rows.append(
                {
                    "model": scene.preset.name,
                    "gpu": gpu.name,
                    "gpus": s["kv_ranks"],
                    "attention": s["kv_attention"],
                    "memory_bytes": on.gpu_bytes,
                    "weight_bytes_each": on.rank_weight_bytes if on.total_parameters else None,
                    "free_bytes_each": on.free_bytes,
                    "cache_bytes_per_token_each": on.token_bytes,
                    "batch": scene.batch,
                    "longest_context_tokens": longest,
                    "context_tokens": s["kv_context"],
                    "largest_batch": batch,
                }
            )
    return pd.DataFrame(rows)
