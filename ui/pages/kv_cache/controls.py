"""The controls of the cache page: for each topic those that change it."""

from functools import partial

import streamlit as st

from mla_engine import PRESETS
from mla_engine.costs import ATTENTION, GPUS
from ui.engine import model
from ui.pages.kv_cache.common import type_label
from ui.pages.kv_cache.scene import WIDTHS
from ui.pages.kv_cache.topics import TOPICS
from ui.pages.kv_cache.view import RANKS, View, kv_heads, most_caches
from ui.parts import prose, typed
from ui.parts.growth import LENGTHS
from ui.parts.own_model import Take
from ui.settings import state
from ui.settings.parsers import preset_of
from ui.settings.sizes import longest
from ui.words.numbers import count
from ui.words.text import t

BATCHES = tuple(2**n for n in range(11))


def topic() -> None:
    """Draw the choice of the question."""
    state.control(
        st.segmented_control,
        t("kv_cache.view"),
        "kv_view",
        list(TOPICS),
        format_func=lambda code: t(f"kv_cache.view_{code}"),
        required=True,
        label_visibility="collapsed",
    )


def left() -> None:
    """The model on the left."""
    _model(t("kv_cache.model_left"), "kv_left")


def right() -> None:
    """The model on the right."""
    _model(t("kv_cache.model_right"), "kv_right")


def _model(label: str, name: str) -> None:
    keys = dict.fromkeys((*PRESETS, state.default(name), state.settings()[name]))
    state.control(st.selectbox, label, name, keys, format_func=lambda key: preset_of(key).name)


def takers() -> dict[str, Take]:
    """Return the ways to show a model of the reader's own, on a side or every page, by label."""
    sides = {t(f"kv_cache.own_{name}"): partial(_show, f"kv_{name}") for name in ("left", "right")}
    return sides | {t("own_model.everywhere"): model.take}


def _show(side: str, key: str) -> None:
    state.change(**{side: key})


def draw(view: View) -> None:
    """The controls of the present topic, in their order."""
    for control in OF_TOPIC[view.topic]:
        control(view)


def _context(view: View) -> None:
    most = longest(*(scene.key for scene in view.scenes))
    lengths = [n for n in LENGTHS if n <= most]
    state.control(st.select_slider, t("kv_cache.context"), "kv_context", lengths, format_func=count)


def _groups(view: View) -> None:
    state.control(st.select_slider, t("kv_cache.groups"), "kv_groups", kv_heads(view.scenes))


def _layers(view: View) -> None:
    typed.slider(
        t("kv_cache.layers"),
        "kv_layers",
        range(most_caches(view.scenes) + 1),
        format_func=lambda n: count(n) if n else t("kv_cache.all_layers"),
    )


def _batch(_view: View) -> None:
    state.control(st.select_slider, t("kv_cache.batch"), "kv_batch", BATCHES, format_func=count)


def _sequences(_view: View) -> None:
    state.control(st.select_slider, t("kv_cache.batch"), "kv_sequences", BATCHES, format_func=count)


def _type(_view: View) -> None:
    _types(t("kv_cache.type"), "kv_type")


def _weights(_view: View) -> None:
    _types(t("kv_cache.weights"), "kv_weights")


def _types(label: str, name: str) -> None:
    state.control(
        st.segmented_control, label, name, list(WIDTHS), format_func=type_label, required=True
    )


def _unit(_view: View) -> None:
    state.control(st.segmented_control, t("kv_cache.unit"), "kv_unit", ["GiB", "GB"], required=True)
    prose.note(t("kv_cache.unit_note"))


def _log(_view: View) -> None:
    state.control(st.toggle, t("kv_cache.log"), "kv_log")


def _dots(view: View) -> None:
    """Say where the dots come from, or why there are none."""
    measured = view.scenes[0].has_points
    prose.note(t("kv_cache.measured_note") if measured else t("kv_cache.unmeasured_note"))


def _gpu(_view: View) -> None:
    keys = list(GPUS)
    state.control(
        st.selectbox, t("kv_cache.gpu"), "kv_gpu", keys, format_func=lambda key: GPUS[key].name
    )


def _ranks(_view: View) -> None:
    state.control(st.select_slider, t("kv_cache.ranks"), "kv_ranks", RANKS, format_func=count)


def _attention(_view: View) -> None:
    state.control(
        st.segmented_control,
        t("kv_cache.attention"),
        "kv_attention",
        ATTENTION,
        format_func=lambda code: t(f"kv_cache.attention_{code}"),
        required=True,
        help=t("kv_cache.attention_help"),
    )


OF_TOPIC = {
    "context": (_context, _groups, _layers, _batch, _type, _unit, _log, _dots),
    "memory": (
        _gpu, _ranks, _attention, _weights, _context, _batch, _groups, _type, _unit, _log,
    ),
    "layouts": (_context, _layers, _batch, _type, _unit),
    "parallel": (_ranks, _sequences, _context, _groups, _type, _unit, _log),
    "formula": (_context, _layers, _batch, _type, _unit, _log),
}  # fmt: skip
