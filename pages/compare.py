"""Compare: any two layers side by side, and what differs between them."""

import streamlit as st

from ui.frame import page
from ui.pages.compare import PAGE
from ui.pages.compare import charts as compare_charts
from ui.pages.compare import words as compare_words
from ui.parts import prose
from ui.words.text import t

page.setup(PAGE)
found, refusals = compare_words.both()
if refusals:
    prose.title(t("compare.title_refused"), t("compare.look_flow"))
else:
    prose.title(compare_words.title(*found), compare_words.look())

compare_words.choices()
for refusal in refusals:
    prose.refused(refusal)
if not refusals:
    view = compare_words.chosen_view()
    try:
        getattr(compare_charts, view)(*found)
    except ValueError as refusal:
        prose.refused(refusal)
    for sentence in compare_words.limitations(found):
        st.markdown(sentence)
page.footer(found if not refusals else None)
