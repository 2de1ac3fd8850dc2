"""One latent for keys and values together against one for each, both caching as much."""

from functools import partial

import streamlit as st

from mla_engine import figures
from ui.engine import shared_cache
from ui.pages.compression.errors import HEIGHT, curves
from ui.pages.compression.source import WAYS, Source, prepared
from ui.pages.compression.view import View
from ui.parts import charts, prose
from ui.parts.control import control
from ui.words.numbers import count, error_percent
from ui.words.text import t

LOOKS = ("latent", 1)  # one latent, and two


@shared_cache.cached(anywhere=True)
def split(source: Source, rank: int) -> tuple[int, int]:
    """Return how separate compression shares a latent's numbers between keys and values."""
    separate = prepared(source).ways["separate"]
    return separate.ranks(min(rank, separate.most))


def draw(view: View) -> None:
    """Draw their errors over the size, and say them at the chosen one."""
    st.subheader(t("compression.section_separate"), anchor=False)
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
        roles=LOOKS,
        height=HEIGHT,
    )
    about = {"alt": t("compression.alt_separate", **facts), "follows": view.follows}
    about |= {"data": table.reset_index, "file": "mla_joint_separate.csv"}
    with picture:
        charts.show(figure, "compression:separate", **about)
