"""The charts of the page on rotations, each with its alternative text and its data."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import figures
from mla_engine.late import Late
from ui.pages.rope import run, turns
from ui.pages.rope.view import View
from ui.parts import charts, prose, weights
from ui.parts.figure_words import map_words
from ui.parts.tables import named
from ui.words.numbers import digits, signed
from ui.words.text import t

pd = Late("pandas")

PANEL = 500  # pixels


def draw(view: View) -> None:
    """The pictures of the topic."""
    match view.topic:
        case "turning":
            _turning(view)
        case "merged":
            _merged(view)
        case "yarn":
            _yarn(view)
        case _:
            _reading(view)


def _show(
    figure: charts.Drawing,
    chart: str,
    alt: str,
    values: np.ndarray,
    rows: Sequence,
    columns: Sequence,
    clicks: str = "",
) -> None:
    table = partial(named, values, rows, columns)
    charts.show(figure, f"chart:{chart}", alt=alt, data=table, clicks=clicks)


def _turning(view: View) -> None:
    """The chosen pair in its plane, and the scores at every two positions."""
    plane, scores = st.columns(2, gap="medium")
    with plane:
        turns.plane(view)
    with scores:
        _scores(view)


def _scores(view: View) -> None:
    scores, cell = view.found.scores, (view.query, view.key)
    prose.say(t("rope.scores_caption") + weights.mark(view.head.origin))
    words = [str(position) for position in range(run.POSITIONS)]
    options = {"cell": cell, "height": PANEL, "words": map_words()}
    figure = partial(figures.score_map, scores, words, words, name=t("rope.score"), **options)
    alt = t("rope.scores_alt", score=signed(float(scores[cell])), t=view.query, i=view.key)
    _show(figure, "rope_scores", alt, scores, words, words, clicks=turns.CLICKABLE)


def _merged(view: View) -> None:
    """The merged matrix across the rotation, the decoupled one, and the change with distance."""
    shown = view.found
    limit = figures.shared_limit(shown.rotated, shown.decoupled)
    matrices = {"rotated": shown.rotated, "decoupled": shown.decoupled}
    *sides, last = st.columns(3, gap="medium")
    for side, (name, matrix) in zip(sides, matrices.items(), strict=True):
        with side:
            _matrix(view, name, matrix, limit)
    with last:
        _change(view)


def _matrix(view: View, name: str, matrix: np.ndarray, limit: float) -> None:
    caption = t(f"rope.{name}_caption", distance=view.distance)
    prose.say(caption + weights.mark(view.head.origin))
    letter = "l" if view.head.config.d_latent_q else "d"
    axes = t("rope.input_axis", letter=letter), t("rope.latent_axis")
    options = {"limit": limit, "height": PANEL, "words": map_words()}
    figure = partial(figures.tensor_map, matrix, axes=axes, name="M", **options)
    alt = t(f"rope.{name}_alt", distance=view.distance)
    _show(figure, f"rope_{name}", alt, matrix, range(len(matrix)), range(matrix.shape[1]))


def _change(view: View) -> None:
    change, distance = view.found.change, view.distance
    prose.say(t("rope.change_caption"))
    distances = range(len(change))
    lines = {t("rope.decoupled"): np.zeros(len(change)), t("rope.rotated"): change}
    titles = t("rope.distance_axis"), t("rope.change_axis")
    figure = partial(figures.curves, distances, lines, titles=titles, at=distance, height=PANEL)
    alt = t("rope.change_alt", distance=distance, change=digits(100 * float(change[distance])))
    _show(figure, "rope_change", alt, change[:, None], distances, ["change"])


def _reading(view: View) -> None:
    """The right map, the map by a wrong convention, and where the logits differ."""
    right, read, difference = st.columns(3, gap="medium")
    with right:
        _attention(view, "right", view.found.right)
    with read:
        _attention(view, "read", view.found.read)
    with difference:
        _difference(view)


def _attention(view: View, name: str, attention: np.ndarray) -> None:
    words, mask = view.head.words, view.found.mask
    prose.say(t(f"rope.{name}_caption") + weights.mark(view.head.origin))
    options = {"mask": mask, "height": PANEL, "words": map_words(), "numbers": False}
    options |= {"name": t("rope.attention")}
    figure = partial(figures.attention_map, attention, words, words, **options)
    alt = t(f"rope.{name}_alt", reading=t(f"rope.{view.topic}_{view.mistake}"))
    charts.show(figure, f"chart:rope_{name}", alt=alt, data=partial(_visible, view, name))


def _visible(view: View, name: str) -> "pd.DataFrame":
    """One of the maps, masked cells empty."""
    values = np.where(view.found.mask, vars(view.found)[name], np.nan)
    return named(values, view.head.words, view.head.words)


def _difference(view: View) -> None:
    words, shown = view.head.words, view.found
    prose.say(t("rope.difference_caption"))
    figure = partial(
        figures.score_map,
        shown.difference,
        words,
        words,
        mask=shown.mask,
        limit=shown.limit,
        name=t("rope.difference"),
        height=PANEL,
        numbers=False,
        words=map_words(),
        marked=(shown.kept, t("rope.unharmed")),
    )
    kept, visible = int(shown.kept.sum()), int(shown.mask.sum())
    alt = t("rope.difference_alt", kept=kept, visible=visible)
    data = partial(_visible, view, "difference")
    charts.show(figure, "chart:rope_difference", alt=alt, data=data)


def _yarn(view: View) -> None:
    """Frequencies before and after the scaling, and the softmax scale of every model."""
    frequencies, table = st.columns(2, gap="medium")
    with frequencies:
        _frequencies(view)
    with table:
        _scales()


def _frequencies(view: View) -> None:
    shown, pairs = view.found, range(view.head.pairs)
    prose.say(t("rope.frequencies_caption"))
    lines = {t("rope.before"): shown.before, t("rope.after"): shown.after}
    titles = t("rope.pair_axis"), t("rope.frequency_axis")
    options = {"log": True, "band": shown.band, "height": PANEL}
    figure = partial(figures.curves, pairs, lines, titles=titles, **options)
    before, after = (digits(float(of_pairs[-1])) for of_pairs in (shown.before, shown.after))
    alt = t("rope.frequencies_alt", before=before, after=after)
    numbers = np.stack((shown.before, shown.after), axis=1)
    _show(figure, "rope_frequencies", alt, numbers, pairs, ["before", "after"])


def _scales() -> None:
    prose.say(t("rope.scales_caption"))
    formats = {
        "width": "%d",
        "plain": "%.8f",
        "softmax_magnitude": "%.4f",
        "scale": "%.8f",
        "rotation_magnitude": "%.4f",
    }
    config = {"model": st.column_config.TextColumn(t("rope.column_model"), pinned=True)}
    config |= {
        name: st.column_config.NumberColumn(t(f"rope.column_{name}"), format=form)
        for name, form in formats.items()
    }
    st.dataframe(run.scales(), height=PANEL, hide_index=True, column_config=config)
    charts.download(run.scales, "softmax_scales.csv")
