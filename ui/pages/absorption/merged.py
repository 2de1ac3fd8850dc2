"""One head's merged matrix as a picture, its spectrum, and its size against the factors."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import LatentConfig, MultiHeadLatentAttention, figures
from ui.engine import queue, shared_cache
from ui.pages.absorption.view import View
from ui.parts import charts, prose
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings.parsers import Setting, one_of, whole
from ui.sources import Source, layers, work
from ui.words.numbers import count, entries, times
from ui.words.text import t, tensor

MATRICES = ("W_QK", "W_VO")
SETTINGS = {
    "ab_head": Setting(0, whole(0, 127), "number_input"),
    "ab_matrix": Setting("W_QK", one_of(*MATRICES), "segmented_control"),
}
HEIGHT = 420


@dataclass(frozen=True, eq=False)
class Merged:
    """A merged matrix of one head, its singular values and how many of them are not rounding."""

    matrix: np.ndarray  # [l,c] or [d,c]
    singular_values: np.ndarray  # falling
    rank: int


@shared_cache.cached(anywhere=True)
def merge(config: LatentConfig, source: Source, head: int) -> dict[str, Merged]:
    """Merge W_QK and W_VO of one head.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    rows = config.d_latent_q or config.d_model, config.d_model
    operations = sum(work.singular_values(n, config.d_latent_kv) for n in rows)
    work.require(operations + work.drawing(config, (head,), source), work.SMALLER_LAYER)
    layers.bring(config, source, (head,))
    with queue.turn(), torch.inference_mode():
        layer = layers.layer(config, source, (head,))
        found = layer.absorbed_matrices()
        matrices = found.W_QK[0], found.W_VO[0]
        # Of the merged matrix itself, so that the rounding beyond its rank is seen.
        values = [torch.linalg.svdvals(matrix.double()) for matrix in matrices]
        ranks = int(found.rank_QK()[0]), int(found.rank_VO()[0])
    return {
        name: Merged(layers.to_numpy(matrix), layers.to_numpy(falling), rank)
        for name, matrix, falling, rank in zip(MATRICES, matrices, values, ranks, strict=True)
    }


@shared_cache.cached
def n_entries(config: LatentConfig) -> dict[str, tuple[int, int]]:
    """Count entries of all heads' merged matrices, and of their factors, from the shapes."""
    heads = MultiHeadLatentAttention(config, device="meta").absorbed_matrices()
    pairs = zip(heads.merged_elements, heads.factor_elements, strict=True)
    return dict(zip(MATRICES, pairs, strict=True))


def section(view: View) -> None:
    """Draw the matrix, its singular values, and what keeping the factors saves."""
    with st.spinner(t("absorption.running")):
        facts = _facts(view)
    look = t("absorption.merged_look", name=tensor(view.chosen.matrix), **facts)
    prose.say(look + prose.weights_mark(view.source))
    picture, spectrum, said = st.columns([4, 4, 4], gap="medium")
    with picture:
        _picture(view, facts)
    with spectrum:
        _spectrum(view, facts)
    with said:
        control("ab_matrix")
        last = view.config.n_heads - 1
        control("ab_head", label=t("absorption.head", last=count(last)), most=last)
        prose.say(t("absorption.entries", heads=count(view.config.n_heads)))
        st.table(_entries(view.config))
        prose.say(t("absorption.why_factors"))


def _found(view: View) -> Merged:
    return merge(view.config, view.source, view.chosen.head)[view.chosen.matrix]


def _facts(view: View) -> dict[str, str]:
    """Return shape and rank of the matrix, for the sentences about it."""
    found = _found(view)
    rows, columns = found.matrix.shape
    width = view.config.d_head if view.chosen.matrix == "W_QK" else view.config.d_value
    return {
        "head": count(view.chosen.head),
        "rows": count(rows),
        "columns": count(columns),
        "rank": count(found.rank),
        "most": count(min(rows, columns)),
        "width": count(width),
    }


def _picture(view: View, facts: dict[str, str]) -> None:
    name = view.chosen.matrix
    from_queries = name == "W_QK" and view.config.d_latent_q
    charts.show(
        partial(
            figures.tensor_map,
            _found(view).matrix,
            axes=(t(f"maps.axis_{'l' if from_queries else 'd'}"), t("maps.axis_c")),
            name=figures.symbol_html(name),
            height=HEIGHT,
            words=map_words(),
        ),
        "absorption:merged",
        alt=t("absorption.alt_merged", name=name, **facts),
        data=lambda: pd.DataFrame(_found(view).matrix),
        file=f"{name}.csv",
    )


def _spectrum(view: View, facts: dict[str, str]) -> None:
    name, found = view.chosen.matrix, _found(view)
    charts.show(
        partial(
            figures.spectrum,
            {figures.symbol_html(name): found.singular_values},
            at=found.rank,
            at_name=t("absorption.rank", rank=count(found.rank)),
            axes=(t("absorption.number"), t("absorption.singular_value")),
            height=HEIGHT,
        ),
        "absorption:spectrum",
        alt=t("absorption.alt_spectrum", name=name, **facts),
        data=lambda: pd.DataFrame({"singular_value": _found(view).singular_values}),
        file=f"{name}_singular_values.csv",
    )


def _entries(config: LatentConfig) -> pd.DataFrame:
    """Return the entries of the merged matrices and of their factors, all heads of a layer."""
    rows = {
        t(f"absorption.entries_{name}"): (entries(merged), entries(parts), times(merged / parts))
        for name, (merged, parts) in n_entries(config).items()
    }
    columns = [t(f"absorption.column_{name}") for name in ("merged", "factors", "ratio")]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)
