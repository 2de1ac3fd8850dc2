"""The layer as an MLA, made after its training: what is lost where the latent can be absorbed."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
import torch

from mla_engine import figures
from mla_engine.studies.compression import Joint, joint, loss
from mla_engine.studies.transmla import Conversion, Loss, converted, losses
from ui.engine import queue, shared_cache
from ui.pages.compression import answers, fitting
from ui.pages.compression.errors import curves
from ui.pages.compression.source import Source, entering, prepared, preparing
from ui.pages.compression.view import View
from ui.parts import charts, prose
from ui.sources import work
from ui.words.numbers import count, error_percent, in_percent
from ui.words.text import t

HEIGHT = 380
LOOKS = (0, "latent")  # what can be absorbed, and what is rotated after it is rebuilt
FLOATS = 3  # as many operations as one multiply-add in float32: the components are in float64


def draw(view: View) -> None:
    """Draw the output's error over the numbers cached, with a latent that is rotated or not."""
    st.subheader(t("compression.section_mla"), anchor=False)
    try:
        found = _found(view)
    except work.CostError:  # the page itself shows more heads than this can take
        prose.note(t("compression.mla_many"))
        return
    picture, said = st.columns([3, 2], gap="large")
    with said:
        prose.say(_says(view, found))
        if view.answers:
            prose.say(_answered(view))
        _tell_how(view, found)
    with picture:
        _picture(view, found)


def _found(view: View) -> dict[int, Loss]:
    """Return what the MLA loses by the numbers cached; the last one is of the whole latent.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    rotary = _rotary(view.source)
    fixed = {rank for rank in view.fixed_ranks if rank > rotary}
    curve = tuple(sorted(fixed | {view.source.full + rotary}))
    found = {}
    for cached in [curve] if view.rank <= rotary else [curve, (view.rank,)]:
        work.require(_losing(view.source, len(view.words), len(cached)), work.FEWER_WORDS)
        lost = _lost(view.source, view.words, cached, fitting.fitted(view.source))
        found |= zip(cached, lost, strict=True)
    return dict(sorted(found.items()))


def _losing(source: Source, tokens: int, points: int) -> int:
    """Count operations of the components, and of running the layer at so many ranks.

    Raises:
        CostError: even the components take too long.
    """
    width = source.n_kv_heads * (source.grouped.d_head + source.grouped.d_value)
    run = work.running(source.grouped, "grouped", tokens, source.heads)
    making = FLOATS * 2 * width**2 * source.config.d_model
    components = work.factoring(width, max(width, source.config.d_model))
    return preparing(source) + 2 * components + points * (3 * run + making)


@shared_cache.cached
def _converted(source: Source, fitted: bool) -> Conversion:
    layer = prepared(source).layer
    h = fitting.inputs(source) if fitted else None
    with queue.turn(), torch.inference_mode():
        return converted(layer, h)


@shared_cache.cached(anywhere=True)
def _lost(
    source: Source, words: tuple[str, ...], cached: tuple[int, ...], fitted: bool
) -> list[Loss]:
    found, h = _converted(source, fitted), entering(source, words)
    with queue.turn(), torch.inference_mode():
        return losses(found, h, [min(size - _rotary(source), found.most) for size in cached])


@shared_cache.cached
def _joint(source: Source) -> Joint:
    layer, texts = prepared(source).layer, fitting.inputs(source)
    with queue.turn(), torch.inference_mode():
        return joint(layer.W_K, layer.W_V, texts)


@shared_cache.cached(anywhere=True)
def _lost_rotated(source: Source, words: tuple[str, ...], ranks: tuple[int, ...]) -> list[float]:
    """Return the output's errors of fitted latents whose keys are rotated after rebuilding."""
    layer, way, h = prepared(source).layer, _joint(source), entering(source, words)
    with queue.turn(), torch.inference_mode():
        return [one.u for one in loss(layer, h, way, [min(rank, way.most) for rank in ranks])]


def _says(view: View, found: Mapping[int, Loss]) -> str:
    """Return what one shared rotary key leaves, at the chosen size and at best."""
    at = found.get(view.rank)
    own = "at" if at else "small"
    facts = {"size": count(view.rank), "rotary": count(_rotary(view.source))}
    here = t(f"compression.mla_{own}", u=error_percent(at.u) if at else "", **facts)
    if view.source.grouped.rope is None or view.source.n_kv_heads == 1:
        key = "no_rotation" if view.source.grouped.rope is None else "one_key"
        return t(f"compression.mla_{key}") + here
    share = 100 * _converted(view.source, fitting.fitted(view.source)).share
    heads, floor = count(view.source.n_kv_heads), error_percent(_whole(found).u)
    return t("compression.mla_words", share=count(share), heads=heads, floor=floor) + here


def _tell_how(view: View, found: Mapping[int, Loss]) -> None:
    """Say how k_R and the latent are chosen, and show the text that they are fitted to."""
    tokens = fitting.tokens(view.source)
    key = "texts" if view.answers else "passage" if tokens else "weights"
    facts = {"tokens": count(tokens), "noise": count(100 * fitting.NOISE)}
    chosen = t(f"compression.mla_by_{key}", **facts)
    at, whole = found.get(view.rank, _whole(found)), _whole(found)
    most = t(f"compression.mla_most_{'rank' if at.u >= 2 * whole.u else 'rotation'}")
    prose.say(t("compression.mla_why", chosen=chosen, most=most))
    if not tokens:
        return
    if view.rank > _rotary(view.source):
        (alone,) = _lost(view.source, view.words, (view.rank,), False)
        prose.say(t("compression.mla_alone", u=error_percent(alone.u)))
    with st.expander(t("compression.mla_passage")):
        st.text(fitting.TEXT)


def _answered(view: View) -> str:
    """Return how many answers of the trained model are left when all of its layers become MLA."""
    whole = answers.mean(answers.cut(answers.WHOLE, view.source.full))
    facts = {"right": in_percent(answers.as_mla()), "whole": in_percent(whole)}
    return t("compression.mla_answered", **facts)


def _whole(found: Mapping[int, Loss]) -> Loss:
    return found[max(found)]


def _rotary(source: Source) -> int:
    return 0 if source.grouped.rope is None else source.grouped.d_head


def _picture(view: View, found: Mapping[int, Loss]) -> None:
    ranks = view.ranks
    if fitting.fitted(view.source):
        fixed = tuple(view.fixed_ranks)
        errors = dict(zip(fixed, _lost_rotated(view.source, view.words, fixed), strict=True))
        errors |= {view.rank: _lost_rotated(view.source, view.words, (view.rank,))[0]}
        rotated = 100 * np.array([errors[rank] for rank in ranks])
    else:
        table = curves(view)
        rotated = 100 * table[table["way"] == "joint"]["u"].to_numpy()
    as_mla = np.array([100 * found[rank].u if rank in found else np.nan for rank in ranks])
    figure = partial(
        figures.over_rank,
        ranks,
        {t("compression.mla_line"): as_mla, t("compression.mla_joint"): rotated},
        titles=(t("compression.axis_size"), t("compression.mla_error")),
        at=view.rank,
        log=view.chosen.log,
        roles=LOOKS,
        height=HEIGHT,
    )
    charts.show(
        figure,
        "compression:as_mla",
        alt=t("compression.alt_mla", floor=error_percent(_whole(found).u)),
        data=lambda: pd.DataFrame([vars(loss) for loss in found.values()]),
        file="mla_compression_as_mla.csv",
        follows=view.follows,
    )
