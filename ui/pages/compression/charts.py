"""The compression page's sections: pictures with alternative texts, numbers and downloads."""

from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import figures
from ui.pages.compression import run
from ui.pages.compression.view import (
    BF16_BYTES,
    DECAYS,
    ERRORS,
    View,
    all_heads,
    head_counts,
    mend,
    own_latent,
    percent,
    query_table,
    query_ways,
    way_name,
    weights,
    weights_label,
    words,
)
from ui.parts import charts, prose
from ui.settings import state
from ui.words.numbers import count, size
from ui.words.text import t

PICTURE, STRIP, SPECTRUM = 380, 210, 380
SEPARATE_STYLES = (("latent", "solid"), ("key", "dash"))
CACHE_STYLES = (("latent", "solid"), ("query", "dash"))


def plot(fig: object, key: str, alt: str) -> None:
    """A chart with its alternative text."""
    st.plotly_chart(fig, width="stretch", key=f"compression:{key}", alt=alt)


def rank(view: View) -> None:
    """The size of the latent."""
    full = view.source.full
    state.control(st.slider, t("compression.rank_of", full=count(full)), "cmp_rank", 0, full)


def controls() -> None:
    """The heads that share the latent, and where the weights come from."""
    s = state.settings()
    options = head_counts()
    if len(options) > 1:
        state.control(
            st.select_slider,
            t("compression.heads", heads=count(all_heads())),
            "cmp_heads",
            options,
            then=mend,
        )
    state.control(
        st.segmented_control,
        t("compression.weights"),
        "cmp_weights",
        weights(),
        format_func=weights_label,
        required=True,
    )
    state.control(
        st.select_slider,
        t("compression.decay"),
        "cmp_decay",
        sorted({*DECAYS, s["cmp_decay"]}),
        format_func=lambda value: f"{value:g}",
        disabled=s["cmp_weights"] != "spectrum",
    )
    state.control(st.toggle, t("compression.log"), "cmp_log")


def numbers(view: View) -> None:
    """The four errors at the chosen size."""
    lost = view.lost("joint")
    for cell, name in zip([*st.columns(2), *st.columns(2)], ERRORS, strict=True):
        cell.metric(t(f"compression.error_{name}"), percent(getattr(lost, name)))
    saved = {"rank": count(view.rank), "full": count(view.source.full)}
    held, whole = (size(BF16_BYTES * n) for n in (view.rank, view.source.full))
    st.markdown(t("compression.saved", held=held, whole=whole, **saved))


def errors(view: View, curves: pd.DataFrame) -> None:
    """What is lost and what is cached, over the size of the latent."""
    found = curves[curves["way"] == "joint"]
    ranks = found["rank"].tolist()
    lines = {t(f"compression.error_{name}"): 100 * found[name].to_numpy() for name in ERRORS}
    titles = t("compression.axis_rank"), t("compression.axis_error")
    log = state.settings()["cmp_log"]
    fig = figures.over_rank(ranks, lines, titles=titles, at=view.rank, log=log, height=PICTURE)
    lost = {name: percent(getattr(view.lost("joint"), name)) for name in ERRORS}
    plot(fig, "errors", t("compression.alt_errors", rank=count(view.rank), **lost))
    full = view.source.full
    cache = {
        t("compression.cache_latent"): [BF16_BYTES * rank for rank in ranks],
        t("compression.cache_mha"): [BF16_BYTES * full] * len(ranks),
    }
    titles = t("compression.axis_rank"), t("compression.axis_cache")
    fig = figures.over_rank(
        ranks, cache, titles=titles, at=view.rank, styles=CACHE_STYLES, height=STRIP
    )
    held, whole = (size(BF16_BYTES * n) for n in (view.rank, full))
    plot(fig, "cache", t("compression.alt_cache", rank=count(view.rank), held=held, whole=whole))
    charts.download(partial(_with_cache, curves), "mla_compression_errors.csv")


def _with_cache(curves: pd.DataFrame) -> pd.DataFrame:
    return curves.assign(cache_bytes_per_token_bf16=BF16_BYTES * curves["rank"])


def spectrum(view: View) -> None:
    """Singular values of the stacked weights, and of each by itself."""
    spectra = run.prepared(view.source).spectra
    fig = figures.spectrum(
        {
            t(f"compression.spectrum_{name}", keys="W<sup>K</sup>", values="W<sup>V</sup>"): values
            for name, values in spectra.items()
        },
        at=view.rank if 0 < view.rank <= len(spectra["both"]) else None,
        at_name=t("compression.kept", rank=count(view.rank)),
        axes=(t("compression.number"), t("compression.singular_value")),
        decades=8 if own_latent() else 6,  # down to the rounding beyond a real latent's rank
        height=SPECTRUM,
    )
    largest, least = (f"{v:.2e}" for v in (spectra["both"][0], spectra["both"][-1]))
    plot(fig, "spectrum", t("compression.alt_spectrum", largest=largest, least=least))
    table = {name: pd.Series(values) for name, values in spectra.items()}
    charts.download(partial(pd.DataFrame, table), "mla_compression_spectra.csv")
    prose.say(words())


def separately(view: View, curves: pd.DataFrame) -> None:
    """Joint against separate compression, both caching as many numbers."""
    error = state.settings()["cmp_error"]
    picture, said = st.columns([3, 2], gap="large")
    with said:
        state.control(
            st.segmented_control,
            t("compression.error_of"),
            "cmp_error",
            ERRORS,
            format_func=lambda name: t(f"compression.error_{name}"),
            required=True,
        )
        one, two = (view.lost(way) for way in run.WAYS)
        keys, values = view.split()
        facts = {"joint": percent(getattr(one, error)), "separate": percent(getattr(two, error))}
        facts |= {"rank": count(view.rank), "keys": count(keys), "values": count(values)}
        st.markdown(t("compression.separate_words", name=t(f"compression.error_{error}"), **facts))
        prose.say(t("compression.separate_why"))
    with picture:
        lines = {
            t(f"compression.{way}"): 100 * curves[curves["way"] == way][error].to_numpy()
            for way in run.WAYS
        }
        fig = figures.over_rank(
            view.ranks,
            lines,
            titles=(t("compression.axis_rank"), t("compression.axis_error")),
            at=view.rank,
            log=state.settings()["cmp_log"],
            styles=SEPARATE_STYLES,
            height=PICTURE,
        )
        plot(fig, "separate", t("compression.alt_separate", **facts))
        charts.download(partial(curves.pivot, index="rank", columns="way", values=error),
                      "mla_joint_separate.csv")  # fmt: skip


def queries() -> None:
    """What training keeps of the queries, with a latent and without."""
    config, width, ways = query_ways()
    key = "query_look" if config.d_latent_q else "query_look_assumed"
    facts = {
        "latent": count(width),
        "queries": count(ways[0].kept_elements),
        "recomputed": count(ways[-1].kept_elements),
    }
    prose.say(t(f"compression.{key}", **facts))
    picture, said = st.columns(2, gap="large")
    with picture:
        names = [way_name(way) for way in ways]
        kept = [way.kept_elements for way in ways]
        fig = figures.bars(
            names,
            {t("compression.kept_numbers"): kept},
            axis=t("compression.axis_kept"),
            roles=("query",),
            totals=[count(n) for n in kept],
            height=300,
        )
        each = "; ".join(f"{n}: {count(k)}" for n, k in zip(names, kept, strict=True))
        plot(fig, "queries", t("compression.alt_queries", each=each))
        charts.download(partial(pd.DataFrame, [vars(way) for way in ways]), "mla_query_memory.csv")
    with said:
        st.table(query_table(ways))
        prose.say(t("compression.query_words"))
