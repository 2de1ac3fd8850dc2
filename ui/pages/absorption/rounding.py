"""Both forms' outputs, and how far rounding drives them apart."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import LatentConfig, figures
from mla_engine.studies.agreement import DTYPES, agreement_of
from ui.engine import queue, shared_cache
from ui.pages.absorption.view import View
from ui.parts import charts, prose
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings.parsers import Setting, one_of
from ui.sources import Checkpoint, Source, layers, work
from ui.words.numbers import count, scientific
from ui.words.text import listed, t

FORMATS = tuple(str(dtype).removeprefix("torch.") for dtype in DTYPES)
SETTINGS = {"ab_type": Setting("bfloat16", one_of(*FORMATS), "segmented_control", write=str)}
DISTANCES = ("between", "expanded_error", "absorbed_error")
BESIDE = 330
LIMITS = (1e-17, 1.0)  # from float64's rounding to nothing right


@dataclass(frozen=True, eq=False)
class Rounding:
    """Both forms' outputs [t,d] in one format, and relative RMS distances."""

    expanded: np.ndarray
    absorbed: np.ndarray
    difference: np.ndarray
    between: float
    expanded_error: float
    absorbed_error: float


@shared_cache.cached(anywhere=True)
def rounding(
    config: LatentConfig, source: Source, heads: tuple[int, ...], words: tuple[str, ...]
) -> dict[str, Rounding]:
    """Return naive and absorbed output in float64, float32 and bfloat16.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    both = work.running(config, "expanded", len(words), heads)
    both += work.running(config, "absorbed", len(words), heads)
    each = both + work.drawing(config, heads, source)
    work.require(len(FORMATS) * each, work.SMALLER_LAYER)
    h = source.hidden(words, config.d_model)
    read = {}
    if isinstance(source, Checkpoint):  # before the turn
        read = {dtype: source.attention(config, heads, dtype) for dtype in DTYPES}
    with queue.turn(), torch.inference_mode():
        found = agreement_of(
            lambda dtype: read.pop(dtype, None) or layers.built(config, source, heads, dtype), h
        )
    return {
        name: Rounding(
            layers.to_numpy(result.expanded[0]),
            layers.to_numpy(result.absorbed[0]),
            layers.to_numpy(result.difference[0]),
            result.between,
            *result.errors,
        )
        for name, result in zip(FORMATS, found.values(), strict=True)
    }


def section(view: View) -> None:
    """Draw both outputs and their difference in one format, and the distances in all of them."""
    with st.spinner(t("absorption.running")):
        found = _found(view)
    result = found[view.chosen.type]
    look = t(
        "absorption.rounding_look",
        type=view.chosen.type,
        between=scientific(result.between),
        heads=count(len(view.heads)),
        words=count(len(view.words)),
    )
    prose.say(look + prose.weights_mark(view.source))
    control("ab_type")
    _outputs(view, result)
    left, right = st.columns(2, gap="large")
    with left:
        _distances(found)
    with right:
        st.table(_table(found))
        charts.download(partial(_numbers, view), "mla_forms_rounding.csv")
        prose.say(t("absorption.rounding_words"))


def _found(view: View) -> dict[str, Rounding]:
    return rounding(view.config, view.source, view.heads, view.words)


def _outputs(view: View, result: Rounding) -> None:
    shared = figures.shared_limit(result.expanded, result.absorbed)
    own = figures.shared_limit(result.difference)
    limits = {"expanded": shared, "absorbed": shared, "difference": own}
    for column, (name, limit) in zip(st.columns(3), limits.items(), strict=True):
        with column:
            _output(view, name, vars(result)[name], limit)


def _output(view: View, name: str, u: np.ndarray, limit: float) -> None:
    label = t(f"absorption.u_{name}")
    prose.say(label)
    figure = partial(
        figures.tensor_map,
        u,
        axes=(t("maps.axis_t"), t("maps.axis_d")),
        name="u",
        rows=view.words,
        limit=limit,
        height=BESIDE,
        words=map_words(),
    )
    aloud, largest = label.replace("**", ""), scientific(np.abs(u).max(), 2)
    alt = t("absorption.alt_u", name=aloud, largest=largest)
    charts.show(figure, f"absorption:u_{name}", alt=alt, data=partial(_rows, view, name))


def _rows(view: View, name: str) -> pd.DataFrame:
    """Return one output in the chosen format, a row for each word."""
    u = vars(_found(view)[view.chosen.type])[name]
    return pd.DataFrame(u, pd.Index(view.words, name="word")).reset_index()


def _distances(found: dict[str, Rounding]) -> None:
    parts = {
        t("absorption.between"): [r.between for r in found.values()],
        t("absorption.expanded_error"): [r.expanded_error for r in found.values()],
        t("absorption.absorbed_error"): [r.absorbed_error for r in found.values()],
    }
    figure = partial(
        figures.bars,
        list(found),
        parts,
        stacked=False,
        log=True,
        roles=(1, "mla_each", "mla_absorbed"),
        limits=LIMITS,
        height=BESIDE,
        axis=t("absorption.relative"),
    )
    each = listed(f"{name} {scientific(r.between)}" for name, r in found.items())
    charts.show(figure, "absorption:rounding", alt=t("absorption.alt_rounding", each=each))


def _table(found: dict[str, Rounding]) -> pd.DataFrame:
    """Return the distances in every format."""
    rows = {
        name: [scientific(vars(result)[distance]) for distance in DISTANCES]
        for name, result in found.items()
    }
    columns = [t(f"absorption.{distance}") for distance in DISTANCES]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _numbers(view: View) -> pd.DataFrame:
    """Return the distances as numbers, in codes."""
    found = _found(view).items()
    return pd.DataFrame({"type": name} | {d: vars(r)[d] for d in DISTANCES} for name, r in found)
