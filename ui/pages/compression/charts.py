"""The compression page's sections: pictures, tables and the sentences beside them."""

from functools import partial

import streamlit as st

from mla_engine import figures
from mla_engine.late import Late
from mla_engine.studies.training import query_memory
from ui.pages.compression import controls, run, words
from ui.pages.compression.run import ERRORS
from ui.pages.compression.view import View
from ui.pages.compression.words import BF16_BYTES
from ui.parts import charts, prose
from ui.words.numbers import count, scientific
from ui.words.text import t

pd = Late("pandas")

PICTURE, STRIP, SPECTRUM, BARS = 380, 210, 380, 300
ROOM = 1.8  # times the longest bar: beside the sidebar as much as its number takes
SEPARATE = ("latent", 1)  # looks: one latent, and two
CACHES = ("latent", "mha")
WIDTHS = [6, 5, 4]


def first(view: View, *, drawn: bool) -> None:
    """What a latent loses and saves, the spectrum, and what both are set by.

    Where nothing could be run, the controls stand alone.
    """
    picture, spectral, panel = st.columns(WIDTHS, gap="medium")
    with panel:
        controls.layer(view)
    if drawn:
        with panel, st.container(key="compression_numbers"):
            numbers(view)
        with spectral:
            spectrum(view)
        with picture:
            controls.rank(view)
            over_rank(view)


def inside(view: View) -> None:
    """The same of a layer of a trained model, whose controls stand with the first picture."""
    picture, spectral, panel = st.columns(WIDTHS, gap="medium")
    with panel:
        controls.log()
        numbers(view)
    with spectral:
        spectrum(view)
    with picture:
        over_rank(view)


def numbers(view: View) -> None:
    """The four errors at the chosen size."""
    cells = [*st.columns(2), *st.columns(2)]
    for cell, (name, error) in zip(cells, words.errors(view).items(), strict=True):
        cell.metric(t(f"compression.error_{name}"), error)
    prose.say(words.saved(view))


def over_rank(view: View) -> None:
    """What is lost, and below it what is cached, over the size of the latent."""
    curves = _curves(view)
    joint = curves[curves["way"] == "joint"]
    lines = {t(f"compression.error_{name}"): 100 * joint[name].to_numpy() for name in ERRORS}
    titles = t("compression.axis_rank"), t("compression.axis_error")
    options = {"titles": titles, "at": view.rank, "log": view.log, "height": PICTURE}
    fig = partial(figures.over_rank, view.ranks, lines, **options)
    alt = t("compression.alt_errors", rank=count(view.rank), **words.errors(view))
    if view.answers:  # whose cache the first picture has
        file = "mla_compression_errors.csv"
        charts.show(fig, "compression:errors", alt=alt, data=lambda: curves, file=file)
        return
    charts.show(fig, "compression:errors", alt=alt)
    _cache(view, curves)


def _curves(view: View) -> "pd.DataFrame":
    return run.curves(view.source, view.words, view.fixed_ranks, view.rank)


def _cache(view: View, curves: "pd.DataFrame") -> None:
    lines = {
        t("compression.cache_latent"): [BF16_BYTES * rank for rank in view.ranks],
        t("compression.cache_mha"): [BF16_BYTES * view.source.full for _ in view.ranks],
    }
    titles = t("compression.axis_rank"), t("compression.axis_cache")
    options = {"titles": titles, "at": view.rank, "roles": CACHES, "height": STRIP}
    charts.show(
        partial(figures.over_rank, view.ranks, lines, **options),
        "compression:cache",
        alt=t("compression.alt_cache", rank=count(view.rank), **words.caches(view)),
        data=lambda: curves.assign(cache_bytes_per_token_bf16=BF16_BYTES * curves["rank"]),
        file="mla_compression_errors.csv",
    )


def spectrum(view: View) -> None:
    """Singular values of the stacked weights, and of each by itself."""
    spectra = run.spectra(view.source)
    symbols = {"keys": "W<sup>K</sup>", "values": "W<sup>V</sup>"}
    most = len(spectra["both"])
    fig = partial(
        figures.spectrum,
        {
            t(f"compression.spectrum_{name}", **symbols): falling
            for name, falling in spectra.items()
        },
        at=view.rank if 0 < view.rank <= most else None,
        at_name=t("compression.kept", rank=count(view.rank)),
        axes=(t("compression.number"), t("compression.singular_value")),
        decades=8 if view.latent else 6,  # down to the rounding beyond a real latent's rank
        height=SPECTRUM,
    )
    largest, least = (scientific(spectra["both"][at], 2) for at in (0, -1))
    charts.show(
        fig,
        "compression:spectrum",
        alt=t("compression.alt_spectrum", largest=largest, least=least),
        data=lambda: pd.DataFrame({name: pd.Series(values) for name, values in spectra.items()}),
        file="mla_compression_spectra.csv",
    )
    prose.say(words.weights(view))


def separately(view: View) -> None:
    """Joint against separate compression, both caching as many numbers."""
    curves = _curves(view)
    picture, said = st.columns([3, 2], gap="large")
    with said:
        controls.error()
        prose.say(words.separately(view))
        prose.say(t("compression.separate_why"))
    with picture:
        _separate(view, curves.pivot(index="rank", columns="way", values=view.error))


def _separate(view: View, errors: "pd.DataFrame") -> None:
    fig = partial(
        figures.over_rank,
        errors.index.tolist(),
        {t(f"compression.{way}"): 100 * errors[way].to_numpy() for way in run.WAYS},
        titles=(t("compression.axis_rank"), t("compression.axis_error")),
        at=view.rank,
        log=view.log,
        roles=SEPARATE,
        height=PICTURE,
    )
    alt = t("compression.alt_separate", **words.ways(view))
    file = "mla_joint_separate.csv"
    charts.show(fig, "compression:separate", alt=alt, data=errors.reset_index, file=file)


def queries(view: View) -> None:
    """What training keeps of the queries, with a latent and without."""
    found = query_memory(view.query_config, view.query_width)
    prose.say(words.queries(view, found))
    picture, said = st.columns(2, gap="large")
    with picture:
        names = [words.way_name(way) for way in found]
        totals = [count(way.kept_elements) for way in found]
        fig = partial(
            figures.bars,
            names,
            {t("compression.kept_numbers"): [way.kept_elements for way in found]},
            axis=t("compression.axis_kept"),
            roles=("query",),
            totals=totals,
            limits=(0, ROOM * max(way.kept_elements for way in found)),
            height=BARS,
        )
        each = "; ".join(f"{name}: {kept}" for name, kept in zip(names, totals, strict=True))
        charts.show(
            fig,
            "compression:queries",
            alt=t("compression.alt_queries", each=each),
            data=partial(pd.DataFrame, [vars(way) for way in found]),
            file="mla_query_memory.csv",
        )
    with said:
        st.table(words.query_table(found))
        prose.say(t("compression.query_words"))
