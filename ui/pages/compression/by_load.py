"""Right answers over the load, a line a variant."""

import pandas as pd
import streamlit as st

from ui.pages.compression import names
from ui.pages.compression.curves import answers, ends, lines
from ui.pages.compression.quality import Quality, loads
from ui.parts import charts
from ui.words.numbers import count
from ui.words.text import t


def draw(view: Quality) -> None:
    """Draw them, at the chosen task."""
    st.subheader(t("quality.section_load"), anchor=False)
    every = loads(view.task)
    found = {code: {load: view.accuracy_at(code, load) for load in every} for code in view.caches}
    axis = t(f"quality.load_{view.task}")
    charts.show(
        lines(view, found, axis, ticks=every),
        "quality:load",
        alt=t(
            "quality.alt_load",
            each=ends(view, found, names.share),
            first=count(every[0]),
            last=count(every[-1]),
        ),
        data=lambda: pd.DataFrame([answers(view, c, load) for c in view.caches for load in every]),
        file="mla_quality_load.csv",
    )
