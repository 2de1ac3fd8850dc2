"""Absorption: the order of multiplication, the merged matrices, and what must not be merged."""

import streamlit as st

from mla_engine.studies.bracketing import FORMS, SIDES
from ui.frame import page
from ui.pages.absorption import PAGE
from ui.pages.absorption import charts as absorption_charts
from ui.pages.absorption import merges as absorption_merges
from ui.pages.absorption import rounding as absorption_rounding
from ui.pages.absorption import view as absorption
from ui.parts import prose
from ui.settings import state
from ui.words.numbers import count
from ui.words.text import t

page.setup(PAGE)
try:
    view, error = absorption.view(), None
except ValueError as refusal:
    view, error = None, refusal

if view:
    prose.title(view.title(), absorption.look())
else:
    prose.title(t("absorption.title_refused"), "")
    prose.refused(error)

picture, bars, controls = st.columns([6, 6, 4], gap="medium")
with picture:
    state.control(
        st.segmented_control,
        t("absorption.side"),
        "ab_side",
        SIDES,
        format_func=lambda code: t(f"absorption.side_{code}"),
        required=True,
    )
    state.control(
        st.segmented_control,
        t("absorption.order"),
        "ab_order",
        FORMS,
        format_func=absorption.order_label,
        required=True,
    )
with controls:
    state.control(
        st.select_slider,
        t("absorption.queries"),
        "ab_queries",
        absorption.QUERIES,
        format_func=count,
    )
    state.control(
        st.select_slider,
        t("absorption.context"),
        "ab_context",
        absorption.CONTEXTS,
        format_func=count,
    )
if view:
    with controls:
        st.markdown(view.verdict())
        st.caption(t("absorption.counted"))
    with picture:
        absorption_charts.brackets(view)
    with bars:
        absorption_charts.counts(view)
    for section in (
        absorption_charts.merged,
        absorption_rounding.rounding,
        absorption_merges.heads_in_one,
        absorption_merges.past_the_norm,
    ):
        st.subheader(t(f"absorption.section_{section.__name__}"), anchor=False)
        try:
            section(view)
        except ValueError as refusal:
            prose.refused(refusal)

page.footer(view)
