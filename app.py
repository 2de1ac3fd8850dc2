"""Overview: what MLA is for, what flows through it, and what it saves at the chosen sizes."""

import streamlit as st

from mla_engine.figures import data_flow
from ui.engine import model
from ui.frame import page
from ui.pages.overview import PAGE
from ui.parts import charts, prose
from ui.parts import flow as overview
from ui.parts.figure_words import flow_words
from ui.settings import state
from ui.settings.shared import VARIANTS
from ui.words.text import t

page.setup(PAGE)
try:
    shown = overview.of(model.config())
except ValueError as error:
    shown = None
    prose.refused(error)
else:
    prose.title(shown.title(), t("overview.look"))
    state.control(
        st.segmented_control,
        t("overview.variant"),
        "variant",
        VARIANTS,
        format_func=lambda code: t(f"common.{code}"),
        required=True,
        label_visibility="collapsed",
    )
    picture, words = st.columns([3, 2], gap="large")
    with picture:
        flow = data_flow(shown.nodes(), shown.edges(), words=flow_words())
        st.plotly_chart(flow, width="stretch", alt=shown.alt(), key="flow")
        st.caption(t("overview.shapes"))
        charts.download(shown.table, "mla_data_flow.csv")
    with words:
        with st.container(key="figures"):
            cells = [*st.columns(2), *st.columns(2)]
        for cell, (key, (figure, beside)) in zip(cells, shown.figures().items(), strict=True):
            with cell.container(border=True):
                st.metric(t(f"overview.{key}"), figure, help=t(f"overview.{key}_help"))
                st.caption(t(f"overview.{key}_beside", beside=beside))
        prose.say(overview.problem())
page.footer(shown)
