"""The controls of the cache page, for each of its views those that change it."""

import streamlit as st

from mla_engine.costs import ATTENTION, GPUS
from ui.pages.kv_cache import view as kv
from ui.pages.kv_cache import words as kv_words
from ui.parts import growth
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

RANKS = tuple(2**n for n in range(8))
OF_VIEW = {
    "context": ("context", "groups", "layers", "batch", "type", "unit", "log", "dots"),
    "memory": (
        "gpu", "ranks", "attention", "weights", "context", "batch", "groups", "type", "unit", "log",
    ),
    "layouts": ("context", "layers", "batch", "type", "unit"),
    "parallel": ("ranks", "sequences", "context", "groups", "type", "unit", "log"),
    "formula": ("context", "layers", "batch", "type", "unit", "log"),
}  # fmt: skip


def type_label(code: str) -> str:
    """What a type is called in the reader's language."""
    return t("kv_cache.four_bit") if code == "int4" else code


def draw(view: str) -> None:
    """The controls of one view, in their order."""
    for name in OF_VIEW[view]:
        globals()[f"_{name}"]()


def _context() -> None:
    state.control(
        st.select_slider, t("kv_cache.context"), "kv_context", growth.LENGTHS, format_func=count
    )


def _groups() -> None:
    state.control(st.select_slider, t("kv_cache.groups"), "kv_groups", kv.kv_heads())


def _layers() -> None:
    state.control(
        st.select_slider,
        t("kv_cache.layers"),
        "kv_layers",
        range(kv.most_caches() + 1),
        format_func=lambda n: count(n) if n else t("kv_cache.all_layers"),
    )


def _batch() -> None:
    state.control(st.select_slider, t("kv_cache.batch"), "kv_batch", kv.BATCHES, format_func=count)


def _type() -> None:
    _types(t("kv_cache.type"), "kv_type")


def _weights() -> None:
    _types(t("kv_cache.weights"), "kv_weights")


def _types(label: str, name: str) -> None:
    state.control(
        st.segmented_control,
        label,
        name,
        list(kv.WIDTHS),
        format_func=type_label,
        required=True,
    )


def _unit() -> None:
    state.control(st.segmented_control, t("kv_cache.unit"), "kv_unit", ["GiB", "GB"], required=True)
    st.caption(t("kv_cache.unit_note"))


def _log() -> None:
    state.control(st.toggle, t("kv_cache.log"), "kv_log")


def _dots() -> None:
    st.caption(kv_words.measured(kv.scenes()[0]))


def _gpu() -> None:
    state.control(
        st.selectbox,
        t("kv_cache.gpu"),
        "kv_gpu",
        list(GPUS),
        format_func=lambda key: GPUS[key].name,
    )


def _ranks() -> None:
    state.control(st.select_slider, t("kv_cache.ranks"), "kv_ranks", RANKS, format_func=count)


def _attention() -> None:
    state.control(
        st.segmented_control,
        t("kv_cache.attention"),
        "kv_attention",
        ATTENTION,
        format_func=lambda code: t(f"kv_cache.attention_{code}"),
        required=True,
        help=t("kv_cache.attention_help"),
    )


def _sequences() -> None:
    state.control(
        st.select_slider, t("kv_cache.batch"), "kv_sequences", kv.BATCHES, format_func=count
    )
