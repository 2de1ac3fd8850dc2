"""The charts of the page on rotations, each with its alternative text and its data."""

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.rope import view as rope
from ui.pages.rope.view import Head
from ui.parts import charts
from ui.parts.figure_words import map_words
from ui.settings import state
from ui.words.numbers import digits
from ui.words.text import t

PANEL = 500  # pixels
NOTHING = {"displaylogo": False}


def _show(fig: object, chart: str, alt: str, data: pd.DataFrame) -> None:
    fig.update_layout(meta={"chart": chart})
    st.plotly_chart(fig, width="stretch", key=f"chart:{chart}", alt=alt, config=NOTHING)
    charts.download(lambda: data, f"{chart}.csv")


def _named(matrix: np.ndarray, rows: object, columns: object) -> pd.DataFrame:
    table = pd.DataFrame(matrix, columns=list(map(str, columns)))
    table.insert(0, "", list(map(str, rows)))
    return table


def turning(one: Head) -> None:
    """The chosen pair in its plane, and the scores at every two positions."""
    s = state.settings()
    shown = rope.turning(one, s["rope_pair"])
    at = s["rope_query"], s["rope_key"]
    plane, scores = st.columns(2, gap="medium")
    with plane:
        st.markdown(t("rope.plane_caption", pair=s["rope_pair"], angle=digits(shown.angle)))
        fig = figures.turning_pair(
            shown.query,
            shown.key,
            at=at,
            dimensions=shown.dimensions,
            height=PANEL,
            words=map_words(),
        )
        alt = t("rope.plane_alt", t=at[0], i=at[1], pair=s["rope_pair"])
        numbers = np.concatenate((shown.query, shown.key), axis=1)
        columns = [f"{name}_{d}" for name in ("query", "key") for d in shown.dimensions]
        _show(fig, "rope_plane", alt, _named(numbers, range(rope.POSITIONS), columns))
    with scores:
        st.markdown(t("rope.scores_caption"))
        words = [str(i) for i in range(rope.POSITIONS)]
        options = {"cell": at, "height": PANEL, "words": map_words()}
        fig = figures.score_map(shown.scores, words, words, **options)
        alt = t("rope.scores_alt", score=digits(float(shown.scores[at])), t=at[0], i=at[1])
        _show(fig, "rope_scores", alt, _named(shown.scores, words, words))


def merged(one: Head) -> None:
    """The merged matrix across the rotation, the decoupled one, and the change with distance."""
    distance = state.settings()["rope_distance"]
    shown = rope.merged(one, distance)
    limit = figures.shared_limit(shown.rotated, shown.decoupled)
    letter = "l" if one.config.d_latent_q else "d"
    axes = t("rope.input_axis", letter=letter), t("rope.latent_axis")
    columns = st.columns(3, gap="medium")
    for column, name in zip(columns, ("rotated", "decoupled"), strict=False):
        with column:
            st.markdown(t(f"rope.{name}_caption", distance=distance), unsafe_allow_html=True)
            matrix = getattr(shown, name)
            options = {"limit": limit, "height": PANEL, "words": map_words()}
            fig = figures.tensor_map(matrix, axes=axes, name="M", **options)
            alt = t(f"rope.{name}_alt", distance=distance)
            sides = range(len(matrix)), range(matrix.shape[1])
            _show(fig, f"rope_{name}", alt, _named(matrix, *sides))
    with columns[-1]:
        st.markdown(t("rope.change_caption"))
        distances = range(rope.FAR + 1)
        lines = {
            t("rope.decoupled"): np.zeros(len(distances)),
            t("rope.rotated"): shown.change,
        }
        titles = t("rope.distance_axis"), t("rope.change_axis")
        fig = figures.curves(distances, lines, titles=titles, at=distance, height=PANEL)
        alt = t("rope.change_alt", distance=distance, change=digits(100 * shown.change[distance]))
        _show(fig, "rope_change", alt, _named(shown.change[:, None], distances, ["change"]))


def reading(one: Head, topic: str) -> None:
    """The right map, the map by a wrong convention, and where the logits differ."""
    code = state.settings()[f"rope_{topic}"]
    shown = rope.reading(one, topic, code)
    maps = {"right": shown.right, "read": shown.read}
    columns = st.columns(3, gap="medium")
    options = {"mask": shown.mask, "height": PANEL, "words": map_words(), "numbers": False}
    for column, (name, attention) in zip(columns, maps.items(), strict=False):
        with column:
            st.markdown(t(f"rope.{name}_caption"))
            fig = figures.attention_map(attention, one.words, one.words, **options)
            alt = t(f"rope.{name}_alt", reading=t(f"rope.{topic}_{code}"))
            table = np.where(shown.mask, attention, np.nan)
            _show(fig, f"rope_{name}", alt, _named(table, one.words, one.words))
    with columns[-1]:
        st.markdown(t("rope.difference_caption"))
        name = t("rope.difference")
        options |= {"limit": shown.limit, "name": name}
        fig = figures.score_map(shown.difference, one.words, one.words, **options)
        figures.mark_cells(fig, shown.kept, t("rope.unharmed"))
        kept, visible = int(shown.kept.sum()), int(shown.mask.sum())
        alt = t("rope.difference_alt", kept=kept, visible=visible)
        table = np.where(shown.mask, shown.difference, np.nan)
        _show(fig, "rope_difference", alt, _named(table, one.words, one.words))


def yarn(one: Head) -> None:
    """Frequencies before and after the scaling, and the softmax scale of every model."""
    shown = rope.frequencies(one.rope, one.config.d_rope)
    curves, table = st.columns(2, gap="medium")
    pairs = range(one.pairs)
    with curves:
        st.markdown(t("rope.frequencies_caption"))
        lines = {t("rope.before"): shown.before, t("rope.after"): shown.after}
        titles = t("rope.pair_axis"), t("rope.frequency_axis")
        fig = figures.curves(pairs, lines, titles=titles, log=True, band=shown.band, height=PANEL)
        slowest = digits(float(shown.before[-1])), digits(float(shown.after[-1]))
        alt = t("rope.frequencies_alt", before=slowest[0], after=slowest[1])
        numbers = np.stack((shown.before, shown.after), axis=1)
        _show(fig, "rope_frequencies", alt, _named(numbers, pairs, ["before", "after"]))
    with table:
        st.markdown(t("rope.scales_caption"))
        numbers = {
            name: st.column_config.NumberColumn(t(f"rope.column_{name}"), format=form)
            for name, form in (
                ("width", "%d"),
                ("plain", "%.8f"),
                ("softmax_magnitude", "%.4f"),
                ("scale", "%.8f"),
                ("rotation_magnitude", "%.4f"),
            )
        }
        config = {"model": st.column_config.TextColumn(t("rope.column_model"), pinned=True)}
        scales = rope.scales()
        st.dataframe(scales, height=PANEL, hide_index=True, column_config=config | numbers)
        charts.download(lambda: scales, "softmax_scales.csv")
