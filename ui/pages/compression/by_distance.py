"""Recall over how far back the pair stood, all loads together."""

from functools import partial

import pandas as pd
import streamlit as st

from ui.pages.compression import names
from ui.pages.compression.curves import ends, lines, variant_row
from ui.pages.compression.quality import Quality
from ui.parts import charts, prose
from ui.words.text import t


def draw(view: Quality) -> None:
    """Draw it, a line a variant."""
    st.subheader(t("quality.section_distance"), anchor=False)
    prose.say(t("quality.distance_words"))
    found = {code: view.study.by_distance(code) for code in view.caches}
    rows = [
        variant_row(view, code) | {"distance_from": first} | vars(spread)
        for code, spreads in found.items()
        for first, spread in spreads.items()
    ]
    charts.show(
        lines(view, found, t("quality.axis_distance")),
        "quality:distance",
        alt=t("quality.alt_distance", each=ends(view, found, names.share)),
        data=partial(pd.DataFrame, rows),
        file="mla_quality_distance.csv",
    )
