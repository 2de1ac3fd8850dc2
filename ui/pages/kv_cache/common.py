"""Shared by panels of the cache page: two models side by side, words, controls, charts."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import PRESETS, costs, mechanisms
from mla_engine.config import AttentionConfig
from mla_engine.costs import Serving
from mla_engine.figures import cache_growth
from ui.pages.kv_cache.scene import WIDTH_OF_STATES, Scene
from ui.pages.kv_cache.view import SIDES, View, kv_heads, most_caches
from ui.parts import prose, snippet
from ui.parts.charts import Drawing, growth_words
from ui.parts.control import control
from ui.parts.ways import kind_of
from ui.settings import state
from ui.settings.sizes import LENGTHS, longest
from ui.words import numbers
from ui.words.numbers import TIED, amount, count
from ui.words.text import listed, parted, t

Curves = Callable[[View, Scene], Mapping[str, np.ndarray]]
"""A panel's curves of one model: label -> bytes [place]."""


def two_models(
    draw: Callable[[View, Scene, str], object],
    names: Sequence[str],
    view: View,
    *,
    below: Callable[[View], object] = lambda _view: None,
) -> None:
    """Draw a panel's figure of each model under the choice of it, and the controls beside them.

    Args:
        draw: draws the figure of one model, on the side that this setting names.
        names: of the settings whose controls stand beside.
        view: the reader's choices.
        below: draws what stands under the controls.
    """
    with st.container(key="beside"):
        left, right, beside = st.columns((4, 4, 2), gap="medium")
    for place, scene, side in zip((left, right), view.scenes, SIDES, strict=True):
        with place:
            choose_model(side, scene)
            try:
                draw(view, scene, side)
            except ValueError as error:
                prose.refused(error)
    with beside:
        controls(view, names)
        below(view)


def choose_model(name: str, scene: Scene) -> None:
    """Draw the choice of the model on a side, "kv_left" or "kv_right"."""
    control(name, options=dict.fromkeys((*PRESETS, state.default(name), scene.key)))


def controls(view: View, names: Sequence[str]) -> None:
    """Draw the controls of these settings, with what there is for one of the models."""
    most = longest(*(scene.key for scene in view.scenes))
    lengths = [n for n in LENGTHS if n <= most]
    for name in names:
        if name == "kv_layers":
            layers = range(most_caches(view.scenes) + 1)
            control(
                name, options=layers, write=lambda n: count(n) if n else t("kv_cache.all_layers")
            )
        elif name == "kv_context":
            control(name, options=lengths)
        elif name == "kv_groups":
            control(name, options=kv_heads(view.scenes))
        elif name == "kv_attention":
            control(name, help=t("kv_cache.attention_help"))
        else:
            control(name)
        if name == "kv_unit":
            prose.note(t("kv_cache.unit_note"))


def curves_of(view: View, scene: Scene, serving: Callable[[str], Serving]) -> dict[str, np.ndarray]:
    """Return the bytes of every way [context], by its label, each served as `serving` says."""
    curves = {}
    for way in scene.ways:
        on = serving(way)
        held = [on.held_bytes(tokens, scene.batch) for tokens in view.contexts]
        curves[scene.label(way)] = np.array(held)
    return curves


def whole_model(scene: Scene) -> dict[str, object]:
    """Return what the layers of a model keep, and in which type, as a snippet has them."""
    kinds = scene.kinds(scene.own, whole=True)
    return {"model": snippet.counted(kinds, scene.key), "type": scene.dtype}


def growth(
    view: View,
    scene: Scene,
    curves: Curves,
    *,
    places: Sequence[int] = (),
    at: int = 0,
    limits: tuple[float, float] | None = None,
    least_top: float = 0,
    axes: Mapping[str, str] | None = None,
    **options: object,
) -> Drawing:
    """Return the chart of a model's curves in the chosen unit, as high as that of the other model.

    Args:
        view: the reader's choices.
        scene: the model.
        curves: of this panel.
        places: tokens or GPUs, by default the lengths of context that are drawn.
        at: the place that is marked, by default the chosen length.
        limits: ends of the y axis, by default with room below and above the curves of both models.
        least_top: the least upper end of these.
        axes: titles of the axes that are not the context and the cache.
        options: further arguments of `cache_growth`.
    """
    return partial(
        cache_growth,
        places or view.contexts,
        curves(view, scene),
        log=view.log,
        unit=view.unit,
        limits=limits or _limits(view, curves, least_top),
        at=at or view.context,
        words=growth_words() | dict(axes or {}),
        **options,
    )


def _limits(view: View, curves: Curves, least_top: float) -> tuple[float, float]:
    """Return the ends of the y axis; a model whose curves are refused is left out."""
    drawn: list[np.ndarray] = []
    for scene in view.scenes:
        with suppress(ValueError):
            drawn.extend(curves(view, scene).values())
    low = min(curve.min() for curve in drawn)
    high = max(least_top, *(curve.max() for curve in drawn))
    return (low / 2, high * 2) if view.log else (0, high * 1.05)


def shown(view: View, n_bytes: float) -> str:
    """Write bytes in the chosen kind of unit."""
    return numbers.tied_size(n_bytes, binary=view.unit == "GiB")


def numbers_of(config: AttentionConfig, *, bound: bool = True) -> str:
    """Write the numbers per token and layer, g x (k + v) or c + r, and the window that bounds them.

    `bound` is False where the window is told beside it.
    """
    width = WIDTH_OF_STATES
    numbers, fixed = costs.cache_elements(config), costs.fixed_bytes(config, width) / width
    if not numbers:
        return t("kv_cache.numbers_state", fixed=count(fixed))
    parts, total = mechanisms.of(config).costs.written(config), amount(numbers)
    written = f"{parts} = {total}" if parts != total else total
    if bound and (window := config.sliding_window):
        return t("kv_cache.numbers_window", numbers=written, window=count(window))
    return t("kv_cache.numbers_most", numbers=written, fixed=count(fixed)) if fixed else written


def limitations(view: View, scene: Scene) -> list[str]:
    """Return a sentence on each thing that is not as the reader asked or that curves leave out."""
    gaps = [t(f"kv_cache.gap_{gap.replace(' ', '_')}") for gap in scene.preset.not_modelled]
    return _capped(scene) + _published(view, scene) + gaps


def _capped(scene: Scene) -> list[str]:
    said = []
    if scene.layers > scene.n_caches:
        asked, most = count(scene.layers), count(scene.n_caches)
        said.append(t("kv_cache.layers_capped", asked=asked, most=most))
    if scene.gqa_heads != scene.kv_heads:
        heads, drawn = count(scene.preset.config.n_heads), count(scene.gqa_heads)
        asked = count(scene.kv_heads)
        said.append(t("kv_cache.groups_mended", asked=asked, heads=heads, drawn=drawn))
    return said


def _published(view: View, scene: Scene) -> list[str]:
    preset, said = scene.preset, []
    if preset.max_context and view.context > preset.max_context:
        said.append(beyond(scene))
    if preset.beside:
        said.append(_kinds(scene))
    if preset.n_attentions != preset.n_layers:
        caches, layers = count(preset.n_attentions), count(preset.n_layers)
        key = "caches_differ" if scene.grows else "states_differ"
        said.append(t(f"kv_cache.{key}", caches=caches, layers=layers))
    if scene.windows:
        said.append(t("kv_cache.window", window=parted(map(count, scene.windows))))
    return said


def _kinds(scene: Scene) -> str:
    """Name the kinds of the model's layers, or the one that so many of them are counted as."""
    kind = kind_of(scene.preset.config)
    if not (scene.mixed or scene.first):
        return t("kv_cache.counted_as", layers=count(scene.n_caches), kind=kind)
    each = [f"{count(n)}{TIED}×{TIED}{kind_of(config)}" for config, n in scene.preset.kinds]
    if scene.first:
        others = listed(each[1:])
        return t("kv_cache.first_kind", n=count(scene.n_caches), kind=kind, others=others)
    return t("kv_cache.kinds", layers=count(scene.all_caches), each=listed(each))


def beyond(scene: Scene) -> str:
    """Tell the greatest length that the model was published for."""
    return t("kv_cache.beyond", most=count(scene.preset.max_context))


def notes(view: View, scene: Scene) -> str:
    """Return what is uncertain about the model's numbers, in the reader's language."""
    return scene.preset.notes_in.get(view.language, scene.preset.notes)
