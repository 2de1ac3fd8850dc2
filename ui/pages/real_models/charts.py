"""The charts of the real models' page, each with its alternative text and download."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Figure, symbol_html
from mla_engine.studies.logit_shares import LogitShares, table
from ui.pages.real_models.view import MATRICES, View
from ui.parts import charts, prose
from ui.parts.figure_words import map_words
from ui.settings import state
from ui.words.numbers import count, digits
from ui.words.text import t

TALL, LATENTS = 420, 400  # pixels high
FEW = 10  # rows that need no scrolling
PARTS = {"content": "latent", "position": "rope", "shared": "score"}


def plot(fig: Figure, key: str, alt: str) -> None:
    """A chart with its alternative text."""
    st.plotly_chart(fig, key=f"real:{key}", alt=alt, config={"displaylogo": False})


def shares(view: View) -> None:
    """Content, position and what they share of each head's logit variance."""
    found, heads = view.shares, range(view.config.n_heads)
    parts = {t(f"real_models.{name}"): getattr(found, name).numpy() for name in PARTS}
    fig = figures.head_shares(
        heads,
        parts,
        roles=tuple(PARTS.values()),
        axes=(t("real_models.head"), t("real_models.share")),
    )
    most = int(np.nan_to_num(view.balance).argmax())
    values = {"most": most, "share": digits(float(view.balance[most]), 2)}
    plot(fig, "shares", t("real_models.alt_shares", heads=len(heads), **values))
    rows = numbers({view.loaded.layer: found})
    charts.download(lambda: rows, "heads.csv")


def numbers(layers: Mapping[int, LogitShares]) -> pd.DataFrame:
    """Every layer and head, its columns in the reader's language."""
    rows = pd.DataFrame(table(layers))
    return rows.rename(columns={name: t(f"real_models.{name}") for name in rows.columns})


def latents(view: View) -> None:
    """What is cached of each token: c_KV and k_R."""
    run = view.maps.run
    for column, code in zip(st.columns([3, 2]), ("c_KV", "k_R"), strict=True):
        if code not in run.tensors:
            continue
        values = run.tensors[code][0]
        axis = t(f"attention_maps.axis_{'c' if code == 'c_KV' else 'r'}")
        fig = figures.tensor_map(
            values,
            axes=(t("real_models.token"), axis),
            name=symbol_html(code),
            rows=run.words,
            height=LATENTS,
            words=map_words(),
        )
        with column:
            prose.say(t(f"real_models.latent_{code}", width=count(values.shape[1])))
            alt = t("real_models.alt_latent", name=code, tokens=len(run.words))
            plot(fig, code, alt)
            charts.download(partial(_of_tokens, values, run.words), f"{code}.csv")


def matrices(view: View) -> None:
    """Singular values of one matrix in every head, and what sums them up."""
    state.control(
        st.segmented_control,
        t("real_models.matrix"),
        "real_matrix",
        MATRICES,
        required=True,
    )
    name = state.settings()["real_matrix"]
    found = view.spectra[name]
    values = found.singular_values.numpy()
    heads = [str(head) for head in range(len(values))]
    fig = figures.share_map(
        values / np.maximum(values[:, :1], np.finfo(float).tiny),
        axes=(t("real_models.head"), t("real_models.number")),
        name=t("real_models.of_largest"),
        rows=heads,
        height=TALL,
        words=map_words(),
    )
    rows = pd.DataFrame(
        {
            t("real_models.head"): range(len(values)),
            t("real_models.norm"): found.norm.numpy(),
            t("real_models.largest"): values[:, 0],
            t("real_models.effective_rank"): found.effective_rank.numpy(),
            t("real_models.numerical_rank"): found.numerical_rank.numpy(),
        }
    )
    picture, numbers = st.columns([3, 2], gap="medium")
    with picture:
        plot(fig, "spectra", t("real_models.alt_spectra", name=name, heads=len(heads)))
        charts.download(partial(_joined, rows, values), f"{name}.csv")
    with numbers:
        height = TALL if len(heads) > FEW else "content"
        st.table(rows.map(_written).set_index(t("real_models.head")), height=height)


def _of_tokens(values: np.ndarray, words: tuple[str, ...]) -> pd.DataFrame:
    """A row for each token, its word first."""
    rows = pd.DataFrame(values)
    rows.insert(0, "token", words)
    return rows


def _joined(rows: pd.DataFrame, values: np.ndarray) -> pd.DataFrame:
    """The table, and in the same rows all singular values."""
    return pd.concat([rows, pd.DataFrame(values)], axis=1)


def _written(value: float) -> str:
    return digits(value) if isinstance(value, float) else count(value)
