"""Inside the layer: what a latent in place of its keys and values loses and saves, and why."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.compression.errors import HEIGHT, curves, factoring, rank_control, weights_control
from ui.pages.compression.spectrum import spectrum
from ui.pages.compression.view import ERRORS, View, all_heads, head_counts, mend
from ui.parts import charts, prose
from ui.parts.control import control
from ui.words.numbers import count, error_percent, size
from ui.words.text import t

STRIP = 210
CACHES = ("latent", "mha")
WIDTHS = [6, 5, 4]
BF16_BYTES = 2


def draw(view: View) -> None:
    """Draw errors, spectrum and cache, and what they are set by.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words; the controls are drawn.
    """
    layer = count(view.model.source.layer) if view.answers else ""
    key = "section_inside" if view.answers else "section_latent"
    st.subheader(t(f"compression.{key}", layer=layer), anchor=False)
    try:
        with factoring():
            line = _line(view)
    except ValueError:
        _controls(view)
        raise
    if not view.answers:  # else it stands with the answers
        prose.badges()
    prose.say(line if view.answers else f"{line} {t('compression.look')}")
    with st.container(key="inside" if view.answers else "beside"):
        picture, spectral, panel = st.columns(WIDTHS, gap="medium")
    with panel:
        _controls(view)
        _numbers(view)
    with spectral:
        spectrum(view)
    with picture:
        if not view.answers:
            rank_control(view)
        _over_rank(view)


def _line(view: View) -> str:
    """Return how small the chosen latent is, and what it loses.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    found = view.errors("joint")
    errors = {"k": error_percent(found.k), "u": error_percent(found.u)}
    return t("compression.line", rank=count(view.rank), full=count(view.source.full), **errors)


def _controls(view: View) -> None:
    """Draw the heads that share the latent, where the weights come from, and the errors' axis.

    Of a trained model all heads share it, and its weights are chosen above.
    """
    if not view.answers:
        options = head_counts(view.model)
        if len(options) > 1:
            label = t("compression.heads", heads=count(all_heads(view.model)))
            control("cmp_heads", label=label, options=options, then=mend)
        weights_control(view)
        control("cmp_decay", disabled=view.weights != "spectrum")
    control("cmp_log")


def _numbers(view: View) -> None:
    """Draw the four errors at the chosen size, and what is cached in place of keys and values."""
    cells = [*st.columns(2), *st.columns(2)]
    for cell, (name, error) in zip(cells, _errors(view).items(), strict=True):
        cell.metric(t(f"compression.error_{name}"), error)
    drawn = "" if view.trained else prose.weights_mark(view.source.origin, view.weights)
    sizes = {"rank": count(view.rank), "full": count(view.source.full)}
    prose.say(t("compression.saved", **sizes, **_caches(view)) + drawn)


def _errors(view: View) -> dict[str, str]:
    """Return the four errors at the chosen size, by their codes."""
    found = vars(view.errors("joint"))
    return {name: error_percent(found[name]) for name in ERRORS}


def _caches(view: View) -> dict[str, str]:
    """Return the bytes per token in bf16, with the latent and without."""
    held, whole = (size(BF16_BYTES * n) for n in (view.rank, view.source.full))
    return {"held": held, "whole": whole}


def _over_rank(view: View) -> None:
    """Draw what is lost, and below it what is cached, over the size of the latent."""
    table = curves(view)
    joint = table[table["way"] == "joint"]
    lines = {t(f"compression.error_{name}"): 100 * joint[name].to_numpy() for name in ERRORS}
    titles = t("compression.axis_rank"), t("compression.axis_error")
    options = {"titles": titles, "at": view.rank, "log": view.chosen.log, "height": HEIGHT}
    figure = partial(figures.over_rank, view.ranks, lines, **options)
    alt = t("compression.alt_errors", rank=count(view.rank), **_errors(view))
    about = {"alt": alt, "follows": view.follows}
    if view.answers:  # whose cache the first picture has
        about |= {"data": lambda: table, "file": "mla_compression_errors.csv"}
    charts.show(figure, "compression:errors", **about)
    if not view.answers:
        _cache(view, table)


def _cache(view: View, table: pd.DataFrame) -> None:
    lines = {
        t("compression.cache_latent"): [BF16_BYTES * rank for rank in view.ranks],
        t("compression.cache_mha"): [BF16_BYTES * view.source.full for _ in view.ranks],
    }
    titles = t("compression.axis_rank"), t("compression.axis_cache")
    options = {"titles": titles, "at": view.rank, "roles": CACHES, "height": STRIP}
    charts.show(
        partial(figures.over_rank, view.ranks, lines, **options),
        "compression:cache",
        alt=t("compression.alt_cache", rank=count(view.rank), **_caches(view)),
        data=lambda: table.assign(cache_bytes_per_token_bf16=BF16_BYTES * table["rank"]),
        file="mla_compression_errors.csv",
        follows=view.follows,
    )
