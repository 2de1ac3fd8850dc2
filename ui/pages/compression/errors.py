"""The errors that a latent makes and the cache it saves over its size, joint and separate."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import streamlit as st

from kvcount.lazy import LazyModule
from mla_engine import figures
from ui.engine import shared_cache
from ui.pages.compression.source import PORTION, WAYS, Source, lost, prepared
from ui.pages.compression.spectrum import spectrum
from ui.pages.compression.view import ERRORS, View, all_heads, head_counts, mend, own_weights
from ui.parts import charts, prose
from ui.parts.control import control
from ui.parts.questions import Question, evenly
from ui.words.numbers import count, error_percent, percent, size, tenths
from ui.words.text import t

pd = LazyModule("pandas")

PICTURE, STRIP = 380, 210
SEPARATE = ("latent", 1)  # looks: one latent, and two
CACHES = ("latent", "mha")
WIDTHS = [6, 5, 4]
BF16_BYTES = 2


@contextmanager
def factoring() -> Iterator[None]:
    """Show a line while the weights are factored, the first time: later it would move all below."""
    place, seen = st.empty(), st.session_state.setdefault("compression_seen", False)
    st.session_state.compression_seen = True
    try:
        if seen:
            yield
        else:
            with place, st.spinner(t("compression.factoring")):
                yield
    finally:
        place.empty()


def lead(view: View) -> tuple[str, str]:
    """Return how small the chosen latent is, and what it loses."""
    found = view.errors("joint")
    errors = {"k": error_percent(found.k), "u": error_percent(found.u)}
    sizes = {"rank": count(view.rank), "full": count(view.source.full)}
    number = t("common.out_of", n=sizes["rank"], all=sizes["full"])
    return number, t("compression.line", **sizes, **errors)


def question(view: View) -> Question:
    """Ask for the error of the keys at the chosen size."""
    return evenly(
        "compression",
        t("compression.guess", rank=count(view.rank), full=count(view.source.full)),
        100 * view.errors("joint").k,
        100,
        say=lambda n: percent(tenths(n)),
        why=t(f"compression.guess_{'trained' if view.trained else view.weights}"),
        hides=("lead", "compression:errors", "compression_numbers"),
    )


def first(view: View, *, drawn: bool) -> None:
    """Draw what a latent loses and saves, the spectrum, and what both are set by.

    Where nothing could be run, only the controls.
    """
    picture, spectral, panel = st.columns(WIDTHS, gap="medium")
    with panel:
        _layer(view)
    if drawn:
        with panel, st.container(key="compression_numbers"):
            _numbers(view)
        with spectral:
            spectrum(view)
        with picture:
            rank_control(view)
            _over_rank(view)


def inside(view: View) -> None:
    """Draw the same of a layer of a trained model, whose controls stand with the first picture."""
    picture, spectral, panel = st.columns(WIDTHS, gap="medium")
    with panel:
        control("cmp_log")
        _numbers(view)
    with spectral:
        spectrum(view)
    with picture:
        _over_rank(view)


def rank_control(view: View) -> None:
    """Draw the size of the latent; of a trained model one of those whose answers are known."""
    full = count(view.source.full)
    if view.sizes:
        label = t("compression.size_of", full=full)
        control("cmp_size", label=label, options=view.sizes, shown=view.rank)
    else:
        control("cmp_rank", label=t("compression.rank_of", full=full), most=view.source.full)


def weights_control(view: View) -> None:
    """Draw the choice of a spectrum, random weights, or a trained or real layer's own."""
    own = ("own",) if own_weights(view.model) else ()
    control("cmp_weights", options=(*own, "spectrum", "random"), shown=view.weights)


def _layer(view: View) -> None:
    """Draw the heads that share the latent, where the weights come from, and the errors' axis."""
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


def curves(view: View) -> "pd.DataFrame":
    """Return the errors of both ways at every rank, the chosen one among them, some at a time.

    Raises:
        ValueError, MemoryBudgetError, CostError: in the engine's words.
    """
    ranks = view.fixed_ranks
    parts = [tuple(ranks[n : n + PORTION]) for n in range(0, len(ranks), PORTION)]
    wanted = [(way, part) for way in WAYS for part in [(view.rank,), *parts]]
    bar = st.progress(0.0, t("compression.running"))
    rows = {}
    try:
        for done, (way, part) in enumerate(wanted, start=1):
            found = lost(view.source, view.words, way, part)
            for rank, loss in zip(part, found, strict=True):
                errors = {error: getattr(loss, error) for error in ERRORS}
                rows[way, rank] = {"way": way, "rank": rank} | errors
            bar.progress(done / len(wanted), t("compression.running"))
    finally:
        bar.empty()
    return pd.DataFrame([rows[place] for place in sorted(rows)])


def _over_rank(view: View) -> None:
    """Draw what is lost, and below it what is cached, over the size of the latent."""
    table = curves(view)
    joint = table[table["way"] == "joint"]
    lines = {t(f"compression.error_{name}"): 100 * joint[name].to_numpy() for name in ERRORS}
    titles = t("compression.axis_rank"), t("compression.axis_error")
    options = {"titles": titles, "at": view.rank, "log": view.chosen.log, "height": PICTURE}
    figure = partial(figures.over_rank, view.ranks, lines, **options)
    alt = t("compression.alt_errors", rank=count(view.rank), **_errors(view))
    about = {"alt": alt, "follows": view.follows}
    if view.answers:  # whose cache the first picture has
        about |= {"data": lambda: table, "file": "mla_compression_errors.csv"}
    charts.show(figure, "compression:errors", **about)
    if not view.answers:
        _cache(view, table)


def _cache(view: View, table: "pd.DataFrame") -> None:
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


@shared_cache.cached(anywhere=True)
def split(source: Source, rank: int) -> tuple[int, int]:
    """Return how separate compression shares a latent's numbers between keys and values."""
    separate = prepared(source).ways["separate"]
    return separate.ranks(min(rank, separate.most))


def separately(view: View) -> None:
    """Draw joint against separate compression, both caching as many numbers."""
    error = view.chosen.error
    joint, separate = (vars(view.errors(way))[error] for way in WAYS)
    keys, values = split(view.source, view.rank)
    numbers = {"rank": view.rank, "keys": keys, "values": values}
    facts = {"joint": error_percent(joint), "separate": error_percent(separate)}
    facts |= {name: count(number) for name, number in numbers.items()}
    table = curves(view).pivot(index="rank", columns="way", values=error)
    picture, said = st.columns([3, 2], gap="large")
    with said:
        control("cmp_error")
        name = t(f"compression.error_{error}")
        prose.say(t("compression.separate_words", name=name, **facts))
        prose.say(t("compression.separate_why"))
    figure = partial(
        figures.over_rank,
        table.index.tolist(),
        {t(f"compression.{way}"): 100 * table[way].to_numpy() for way in WAYS},
        titles=(t("compression.axis_rank"), t("compression.axis_error")),
        at=view.rank,
        log=view.chosen.log,
        roles=SEPARATE,
        height=PICTURE,
    )
    about = {"alt": t("compression.alt_separate", **facts), "follows": view.follows}
    about |= {"data": table.reset_index, "file": "mla_joint_separate.csv"}
    with picture:
        charts.show(figure, "compression:separate", **about)
