"""Claims: every statement of the sources with its verdict and the numbers that it follows from."""

import streamlit as st

from ui.frame import page
from ui.pages.claims import FEW, PAGE, cards
from ui.pages.claims.places import PLACES
from ui.pages.claims.view import figures, lead, source_control, verdict_control, view
from ui.parts import charts, links, prose
from ui.parts.control import control
from ui.words.text import t

with page.frame(PAGE) as frame:
    prose.title(t("claims.title"))
    try:
        here = view(st.empty())
    except ValueError as error:
        prose.refused(error)
    else:
        prose.lead(*lead(here), t("claims.look"))

        verdict, source, search = st.columns([5, 3, 3])
        with verdict:
            verdict_control(here)
        with source:
            source_control()
        with search:
            control("claims_text", max_chars=60)

        st.html(cards.board(here.shown))
        st.caption(t("claims.shown", n=len(here.shown), all=len(here.found)))
        if not here.shown:
            st.info(t("claims.nothing"), icon=":material/filter_alt_off:")
        with st.container(key="claims", gap="xsmall"):
            for finding in here.shown:
                with st.container(border=True, key=cards.key(finding)):
                    st.html(cards.card(finding, opened=len(here.shown) <= FEW))
                    if finding.id in PLACES:
                        st.button(
                            t("claims.see", page=links.name(PLACES[finding.id])),
                            key=f"see:{finding.id}",
                            on_click=links.follow,
                            args=(PLACES[finding.id],),
                        )

        table = figures(here)  # now, in the language of the page
        charts.download(lambda: table, "claims.csv")
        frame.view = here
