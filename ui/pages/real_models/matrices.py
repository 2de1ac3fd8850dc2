"""The rows cached of each token or entry, and the directions that the heads' matrices use."""

from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import SYMBOLS, figures
from mla_engine.figures import symbol_html
from mla_engine.studies.spectra import Spectrum
from ui.pages.real_models.view import View
from ui.parts import charts, prose
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings.parsers import Setting, one_of
from ui.words.numbers import count, digits
from ui.words.text import t

TALL, LATENTS = 420, 400  # pixels high
FEW = 10  # rows that need no scrolling
MATRICES = {  # by the kind of a layer
    "latent": ("W_QK", "W_UK", "W_UV"),
    "pooled": ("W_UQ", "W_DO", "W_VO"),
    "delta": ("W_Q", "W_K", "W_V", "W_O", "W_A"),
}
SETTINGS = {
    "real_matrix": Setting(
        "W_QK", one_of(*chain(*MATRICES.values())), "segmented_control", write=str
    ),
}


def cached(view: View, *codes: str) -> None:
    """Draw what is cached of each token or entry, side by side."""
    made = view.maps.run.tensors
    there = [code for code in codes if code in made and made[code].size]
    widths = [made[code].shape[-1] for code in there]
    columns = st.columns([max(n, 2 * max(widths) / 3) for n in widths])
    for column, code in zip(columns, there, strict=True):
        with column:
            _cached(view, code)


def _cached(view: View, code: str) -> None:
    values, words = view.maps.run.tensors[code][0], view.maps.run.words
    of_entries = "i" in SYMBOLS[code].axes.split()
    rows = view.maps.columns[len(words) : -1] if of_entries else words
    row = "maps.entries_axis" if of_entries else "real_models.token"
    fig = partial(
        figures.tensor_map,
        values,
        axes=(t(row), t(f"maps.axis_{SYMBOLS[code].axes[-1]}")),
        name=symbol_html(code),
        rows=rows,
        height=LATENTS,
        words=map_words(),
    )
    alone = code == "k_R" and not view.of_places
    said = "latent_k_R_shared" if alone else f"latent_{code}"
    prose.say(t(f"real_models.{said}", width=count(values.shape[1])))
    of = "entry" if of_entries else "latent"
    alt = t(f"real_models.alt_{of}", name=code, tokens=count(len(rows)))

    def table() -> pd.DataFrame:
        cells = pd.DataFrame(view.maps.run.tensors[code][0])
        cells.insert(0, "token", rows)
        return cells

    charts.show(fig, f"real:{code}", alt=alt, data=table)


def matrices(view: View) -> None:
    """Draw how many directions each head uses, of a matrix of the reader's choice."""
    st.subheader(t("real_models.matrices_title"), anchor=False)
    prose.say(t("real_models.matrices_look"))
    if view.kind != "latent":
        prose.say(t(f"real_models.matrices_{view.kind}"))
    control("real_matrix", shown=view.matrix, options=MATRICES[view.kind])
    found = view.spectra[view.matrix]
    rows = _summed_up(found)
    picture, summary = st.columns([3, 2], gap="medium")
    with picture:
        _spectra(view.matrix, found.singular_values.numpy(), rows)
    with summary:
        height = TALL if len(rows) > FEW else "content"
        st.table(rows.map(_written).set_index(t("real_models.head")), height=height)


def _spectra(name: str, values: np.ndarray, summary: pd.DataFrame) -> None:
    """Draw the singular values of one matrix in every head."""
    heads = [str(head) for head in range(len(values))]
    fig = partial(
        figures.share_map,
        values / np.maximum(values[:, :1], np.finfo(float).tiny),
        axes=(t("real_models.head"), t("real_models.number")),
        name=t("real_models.of_largest"),
        rows=heads,
        height=TALL,
        words=map_words(),
    )
    alt = t("real_models.alt_spectra", name=name, heads=count(len(heads)))

    def table() -> pd.DataFrame:
        return pd.concat([summary, pd.DataFrame(values)], axis=1)

    charts.show(fig, "real:spectra", alt=alt, data=table, file=f"{name}.csv")


def _summed_up(found: Spectrum) -> pd.DataFrame:
    """Return a row for each head: what its singular values come to."""
    return pd.DataFrame(
        {
            t("real_models.head"): range(len(found.singular_values)),
            t("real_models.norm"): found.norm.numpy(),
            t("real_models.largest"): found.singular_values[:, 0].numpy(),
            t("real_models.effective_rank"): found.effective_rank.numpy(),
            t("real_models.numerical_rank"): found.numerical_rank.numpy(),
        }
    )


def _written(value: float) -> str:
    return digits(value) if isinstance(value, float) else count(value)
