"""The charts of what all heads of MLA look at, of what is kept, and of the heads' matrices."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from mla_engine import SYMBOLS, figures
from mla_engine.figures import symbol_html
from mla_engine.lazy import LazyModule
from mla_engine.studies.logit_shares import LogitShares, table
from mla_engine.studies.spectra import Spectrum
from ui.pages.real_models import controls
from ui.pages.real_models.view import View
from ui.parts import charts, prose
from ui.parts.charts import map_words
from ui.parts.maps.run import Run
from ui.parts.maps.view import Maps
from ui.settings.page import LATENT_LAYER
from ui.words.numbers import count, digits
from ui.words.text import t

pd = LazyModule("pandas")

TALL, LATENTS = 420, 400  # pixels high
FEW = 10  # rows that need no scrolling
ROLES = {"content": "latent", "position": "rope", "shared": "score"}


def shares(view: View) -> None:
    """Content, position and what they share of each head's logit variance."""
    found, heads = view.measured, range(view.config.n_heads)
    amounts = (found.content, found.position, found.shared)
    fig = partial(
        figures.head_shares,
        heads,
        {of: part.numpy() for of, part in zip(_parts(view), amounts, strict=True)},
        roles=tuple(ROLES.values()),
        axes=(t("real_models.head"), t("real_models.share")),
    )
    most = int(np.nan_to_num(view.balance).argmax())
    values = {"most": count(most), "share": digits(float(view.balance[most]), 2)}
    told = "alt_shares" if view.of_places else "alt_shares_shared"
    alt = t(f"real_models.{told}", heads=count(len(heads)), **values)
    rows = numbers({view.loaded.layer: found})
    rows.columns = [*rows.columns[:2], *_parts(view)]
    charts.show(fig, "real:shares", alt=alt, data=lambda: rows, file="heads.csv")


def _parts(view: View) -> list[str]:
    """Return the names of the variance's parts."""
    own = ("content", "position") if view.of_places else ("own_keys", "shared_key")
    return [t(f"real_models.{name}") for name in (*own, "shared")]


def numbers(layers: Mapping[int, LogitShares]) -> "pd.DataFrame":
    """Every layer and head, its columns in the reader's language."""
    rows = pd.DataFrame(table(layers))
    return rows.rename(columns={name: t(f"real_models.{name}") for name in rows.columns})


def cached(view: View, *codes: str) -> None:
    """Draw what is cached of each token or entry, side by side."""
    made = view.maps.run.tensors
    there = [code for code in codes if code in made and made[code].size]
    widths = [made[code].shape[-1] for code in there]
    columns = st.columns([max(n, 2 * max(widths) / 3) for n in widths])
    for column, code in zip(columns, there, strict=True):
        with column:
            _kept(view, code)


def _kept(view: View, code: str) -> None:
    values, words = view.maps.run.tensors[code][0], _rows(view.maps, code)
    fig = partial(
        figures.tensor_map,
        values,
        axes=(t(_row(code)), t(f"maps.axis_{SYMBOLS[code].axes[-1]}")),
        name=symbol_html(code),
        rows=words,
        height=LATENTS,
        words=map_words(),
    )
    alone = code == "k_R" and not view.of_places
    said = "latent_k_R_shared" if alone else f"latent_{code}"
    prose.say(t(f"real_models.{said}", width=count(values.shape[1])))
    of = "entry" if _of_entries(code) else "latent"
    alt = t(f"real_models.alt_{of}", name=code, tokens=count(len(words)))
    charts.show(fig, f"real:{code}", alt=alt, data=partial(_named, view.maps.run, code, words))


def _row(code: str) -> str:
    return "maps.entries_axis" if _of_entries(code) else "real_models.token"


def _of_entries(code: str) -> bool:
    return "i" in SYMBOLS[code].axes.split()


def _rows(maps: Maps, code: str) -> tuple[str, ...]:
    """Return the names of the rows: words, or entries by the words that they pool."""
    words = maps.run.words
    return maps.columns[len(words) : -1] if _of_entries(code) else words


def _named(run: Run, code: str, names: Sequence[str]) -> "pd.DataFrame":
    """A row for each token or entry, its name first."""
    rows = pd.DataFrame(run.tensors[code][0])
    rows.insert(0, "token", names)
    return rows


def matrices(view: View) -> None:
    """Draw how many directions each head uses, of a matrix of the reader's choice."""
    st.subheader(t("real_models.matrices_title"), anchor=False)
    prose.say(t("real_models.matrices_look"))
    if view.mechanism != LATENT_LAYER:
        prose.say(t(f"real_models.matrices_{view.mechanism}"))
    controls.matrix(view)
    _spectra_of(view)


def _spectra_of(view: View) -> None:
    """The singular values of one matrix in every head, and what sums them up."""
    found = view.spectra[view.matrix]
    values, rows = found.singular_values.numpy(), summed_up(found)
    picture, summary = st.columns([3, 2], gap="medium")
    with picture:
        _spectra(view.matrix, values, partial(_joined, rows, values))
    with summary:
        height = TALL if len(rows) > FEW else "content"
        st.table(rows.map(_written).set_index(t("real_models.head")), height=height)


def _spectra(name: str, values: np.ndarray, data: charts.Table) -> None:
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
    charts.show(fig, "real:spectra", alt=alt, data=data, file=f"{name}.csv")


def summed_up(found: Spectrum) -> "pd.DataFrame":
    """A row for each head: what its singular values come to."""
    return pd.DataFrame(
        {
            t("real_models.head"): range(len(found.singular_values)),
            t("real_models.norm"): found.norm.numpy(),
            t("real_models.largest"): found.singular_values[:, 0].numpy(),
            t("real_models.effective_rank"): found.effective_rank.numpy(),
            t("real_models.numerical_rank"): found.numerical_rank.numpy(),
        }
    )


def _joined(rows: "pd.DataFrame", values: np.ndarray) -> "pd.DataFrame":
    """The table, and in the same rows all singular values."""
    return pd.concat([rows, pd.DataFrame(values)], axis=1)


def _written(value: float) -> str:
    return digits(value) if isinstance(value, float) else count(value)


def layers(found: Mapping[int, LogitShares]) -> None:
    """The share of position by layer and head."""
    balance = np.stack([shares.balance.numpy() for shares in found.values()])
    fig = partial(
        figures.share_map,
        balance,
        axes=(t("real_models.layer"), t("real_models.head")),
        name=t("real_models.position"),
        words=map_words(),
    )
    most = int(np.nan_to_num(balance).mean(1).argmax())
    n_layers, n_heads = map(count, balance.shape)
    alt = t("real_models.alt_layers", layers=n_layers, heads=n_heads, most=count(most))
    rows = numbers(found)
    charts.show(fig, "chart:real_layers", alt=alt, data=lambda: rows, file="layers.csv")
    with st.expander(t("real_models.layers_table")):
        st.dataframe(rows, hide_index=True)
