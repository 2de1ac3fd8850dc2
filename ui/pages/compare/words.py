"""The words and choices of the comparison: title, what to look at, the two pickers."""

import streamlit as st

from mla_engine import PRESETS, costs
from ui.engine import model
from ui.engine import real_layer as source
from ui.pages.compare import charts as compare_charts
from ui.pages.compare import view as compare
from ui.pages.compare.settings import SHARED_SIZES
from ui.pages.compare.view import SIDES, Side
from ui.settings import state
from ui.settings.parsers import SMALL
from ui.words.numbers import count, times
from ui.words.text import t


def both() -> tuple[list[Side], list[ValueError]]:
    """A and B, and the refusals of those that cannot be."""
    found, refusals = [], []
    for letter in SIDES:
        try:
            found.append(compare.side(letter))
        except ValueError as refusal:
            refusals.append(refusal)
    return found, refusals


def title(a: Side, b: Side) -> str:
    """The caches of both and their ratio."""
    left, right = costs.cache_elements(a.config), costs.cache_elements(b.config)
    said = {"a": count(left), "b": count(right), "left": a.shown_name, "right": b.shown_name}
    if left == right:
        return t("compare.title_equal", **said)
    return t("compare.title", ratio=times(max(left, right) / min(left, right)), **said)


def look() -> str:
    """What to look at in the present view."""
    return t(f"compare.look_{state.settings()['vs_view']}")


def choices() -> None:
    """Model and variant of each side, and the view."""
    with st.container(key="compare_choices"):
        places = st.columns(2, gap="large")
    for place, (letter, name) in zip(places, SIDES.items(), strict=True):
        key, variant = place.columns((3, 2))
        with key:
            state.control(
                st.selectbox,
                t("compare.model", letter=letter),
                name,
                [SHARED_SIZES, SMALL, *PRESETS],
                format_func=_model_label,
            )
        with variant:
            state.control(
                st.selectbox,
                t("compare.variant", letter=letter),
                f"{name}_as",
                compare.variants(),
                format_func=compare.variant_label,
            )


def _model_label(key: str) -> str:
    if key != SHARED_SIZES:
        return model.preset_name(key)
    return model.shown_name() if source.chosen() else t("compare.shared")


def chosen_view() -> str:
    """The view that is chosen, its control drawn."""
    state.control(
        st.segmented_control,
        t("compare.view"),
        "vs_view",
        compare_charts.VIEWS,
        format_func=lambda code: t(f"compare.view_{code}"),
        required=True,
        label_visibility="collapsed",
    )
    return state.settings()["vs_view"]


def limitations(sides: list[Side]) -> list[str]:
    """What the engine does not compute of the models, a sentence each."""
    keys = dict.fromkeys(one.preset for one in sides if one.preset)
    return [model.not_modelled(key) for key in keys if PRESETS[key].not_modelled]
