"""Claims: every statement of the sources with its verdict and the numbers that it follows from."""

import streamlit as st

from ui.frame import page
from ui.pages.claims import PAGE, tables, words
from ui.pages.claims.places import PLACES
from ui.pages.claims.view import view
from ui.parts import charts, links, prose
from ui.settings import state
from ui.words.text import t

FEW = 3  # statements that stand open

with page.frame(PAGE) as frame:
    prose.title(t("claims.title"))
    try:
        here = view(st.empty())
    except ValueError as error:
        prose.refused(error)
    else:
        prose.lead(*words.lead(here), t("claims.look"))

        verdicts, sources = words.verdicts(here), words.sources()
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
                st.selectbox,
                t("claims.source"),
                "claims_source",
                list(sources),
                format_func=sources.get,
            )
        with search:
            state.control(st.text_input, t("claims.search"), "claims_text", max_chars=60)

        st.html(words.board(here))
        st.caption(t("claims.shown", n=len(here.shown), all=len(here.found)))
        if not here.shown:
            st.info(t("claims.nothing"), icon=":material/filter_alt_off:")
        with st.container(key="claims", gap="xsmall"):
            for finding in here.shown:
                with st.container(border=True, key=words.key(finding)):
                    st.html(words.card(finding, opened=len(here.shown) <= FEW))
                    if finding.id in PLACES:
                        st.button(
                            t("claims.see", page=links.name(PLACES[finding.id])),
                            key=f"see:{finding.id}",
                            on_click=links.follow,
                            args=(PLACES[finding.id],),
                        )

        table = tables.figures(here)  # now, in the language of the page
        charts.download(lambda: table, "claims.csv")
        frame.view = here
