"""The answers that trained models still give when their cache is cut."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import pandas as pd
import streamlit as st
import torch

from mla_engine.language_model import LanguageModel
from mla_engine.language_model.accuracy import batch, by_task
from mla_engine.language_model.cuts import measured, without_minor_directions
from mla_engine.language_model.retrofit import IntoMLA, Retrofit
from ui.engine import queue, shared_cache
from ui.engine.device import DEVICE
from ui.sources import Trained, trained
from ui.words.text import t

MHA, MLA = "mha", "mla"
WHOLE, WEIGHTS, TEXTS = "whole", "weights", "texts"  # MHA as it is, and cut in two ways
CUTS = (WEIGHTS, TEXTS, MLA)  # lines of the picture
ASKED, SEED = 4, 2 * 10**6  # texts of each task and load, which no training has seen
MEASURED = 16  # texts that say which directions matter, others than those asked
STEPS = 16  # of the size, up to the one that loses nothing


@dataclass(frozen=True)
class Cut:
    """A trained model that caches `size` numbers per token and layer.

    Args:
        way: WHOLE, WEIGHTS or TEXTS of the trained MHA, or the trained MLA.
        size: of the latent, the MLA's rotary key counted in.
        written: when the model's file was.
    """

    way: str
    size: int
    written: int


def cut(way: str, size: int) -> Cut:
    """Return the trained model of a way, cut to a size.

    Raises:
        CheckpointError: there is no such model, or its file is damaged.
    """
    return Cut(way, size, _model(way).written)


def cached(code: str) -> int:
    """Return the numbers that a trained variant keeps of a token in a layer.

    Raises:
        CheckpointError: as `cut`.
    """
    return trained.load(code).cached


def sizes(most: int) -> list[int]:
    """Return what the cache can be cut to: dense where answers break, and the trained MLA's size.

    Args:
        most: numbers of a latent that loses nothing.
    """
    step = max(1, round(most / STEPS))
    half = most // 2 // step * step
    wide = range(half + 2 * step, most, 2 * step)
    return sorted({*range(step, half + 1, step), *wide, most, min(most, cached(MLA))})


def fits(way: str, size: int) -> bool:
    """Return whether a way has such a size: an MLA keeps its rotary key, and cannot grow."""
    return way != MLA or _rotary() < size <= cached(MLA)


@shared_cache.cached(anywhere=True)
def right(wanted: Cut) -> dict[str, float]:
    """Return task -> the share of right answers, over the same fresh texts for all.

    Raises:
        ValueError, FullError: in the engine's words.
    """
    own = wanted.way in (WEIGHTS, TEXTS)
    latents = _latents(wanted.way, wanted.written) if own else None  # before the turn
    with queue.turn(), torch.inference_mode():
        return by_task(_made(wanted, latents), ASKED, SEED)


def mean(wanted: Cut) -> float:
    """Return the share of right answers, the mean over the tasks."""
    return fmean(right(wanted).values())


def over_sizes(every: Sequence[int]) -> pd.DataFrame:
    """Return right answers by task and their mean, a row a way and size, run some at a time.

    Raises:
        ValueError, FullError: as `right`.
    """
    wanted = [(way, size) for way in CUTS for size in every if fits(way, size)]
    place, rows = st.empty(), []
    try:
        for done, (way, size) in enumerate(wanted):
            one = cut(way, size)
            if right.peek(one) is None:  # a bar that comes and goes moves what is below
                place.progress(done / len(wanted), t("compression.asking"))
            found = right(one)
            rows.append({"way": way, "size": size} | found | {"mean": fmean(found.values())})
    finally:
        place.empty()
    return pd.DataFrame(rows)


def as_mla() -> float:
    """Return the share of right answers of the trained MHA as an MLA with the largest latent.

    Raises:
        ValueError, FullError: as `right`.
    """
    return fmean(_as_mla(_model(WHOLE).written).values())


@shared_cache.cached(anywhere=True)
def _as_mla(_written: int) -> dict[str, float]:
    with queue.turn(), torch.inference_mode():
        found = IntoMLA.by_texts(trained.load(MHA).model, measured(MEASURED, SEED))
        return by_task(found.cut(found.most), ASKED, SEED)


@shared_cache.cached
def entering(layer: Trained) -> torch.Tensor:
    """Return what enters a trained layer when its model reads fresh texts, h [b,t,d]."""
    with queue.turn(), torch.inference_mode():
        model = trained.load(layer.code).model
        blocks = model(batch(measured(MEASURED, SEED), model.config.words).tokens).blocks
        return blocks[layer.layer].attention.h.to(DEVICE)


def _model(way: str) -> trained.TrainedModel:
    return trained.load(MLA if way == MLA else MHA)


def _rotary() -> int:
    return trained.load(MLA).config.attention.d_rope


@shared_cache.cached
def _latents(way: str, _written: int) -> Retrofit:
    with queue.turn(), torch.inference_mode():
        model = trained.load(MHA).model
        if way == WEIGHTS:
            return Retrofit.by_weights(model)
        return Retrofit.by_texts(model, measured(MEASURED, SEED))


def _made(wanted: Cut, latents: Retrofit | None) -> LanguageModel:
    if latents:
        return latents.cut(wanted.size)
    model = _model(wanted.way).model
    if wanted.way == WHOLE or wanted.size == cached(MLA):
        return model
    rank = wanted.size - _rotary()
    return without_minor_directions(model, rank, measured(MEASURED, SEED))
