"""Claims: every statement of the sources with its verdict and the numbers that it follows from."""

import streamlit as st

from ui.frame import page
from ui.pages.claims import PAGE
from ui.pages.claims import view as claims_list
from ui.parts import charts, prose
from ui.parts import claim_words as claims_words
from ui.parts import findings as claims
from ui.parts import places as claims_links
from ui.settings import state
from ui.words.text import t

page.setup(PAGE)
try:
    found = claims.findings(st.empty())
except ValueError as error:
    prose.title(t("claims.title_waiting"), "")
    prose.refused(error)
    page.footer(None)
    st.stop()
prose.title(claims_words.headline(found), t("claims.look"))

verdicts, sources = claims_words.verdict_options(found), claims_words.source_options()
verdict, source, search = st.columns([5, 3, 3])
with verdict:
    state.control(
        st.segmented_control,
        t("claims.verdict"),
        "claims_verdict",
        list(verdicts),
        format_func=verdicts.get,
        required=True,
    )
with source:
    state.control(
        st.selectbox, t("claims.source"), "claims_source", list(sources), format_func=sources.get
    )
with search:
    state.control(st.text_input, t("claims.search"), "claims_text", max_chars=60)

shown = claims_list.shown(found)
st.html(claims_words.board(shown))
st.caption(t("claims.shown", n=len(shown), all=len(found)))
if not shown:
    st.info(t("claims.nothing"), icon=":material/filter_alt_off:")
for finding in shown:
    with st.container(border=True):
        words, link = st.columns([6, 1], vertical_alignment="center")
        words.html(claims_words.card(finding))
        target = claims_links.place(finding.id)
        if target:
            link.button(
                t("claims.see", page=claims_links.name(target)),
                key=f"see:{finding.id}",
                on_click=claims_links.follow,
                args=(target,),
                width="stretch",
            )

table = claims_list.table(shown)
charts.download(lambda: table, "claims.csv")
page.footer(shown)
