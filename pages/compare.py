"""Compare: any two layers side by side, and what differs between them."""

import streamlit as st

from ui import compare, compare_charts, compare_words, page
from ui.text import t

page.setup("compare", source="any", mend=compare.mend)
found, refusals = compare_words.both()
if refusals:
    page.title(t("compare.title_refused"), t("compare.look_flow"))
else:
    page.title(compare_words.title(*found), compare_words.look())

compare_words.choices()
for refusal in refusals:
    page.refused(refusal)
if not refusals:
    view = compare_words.chosen_view()
    try:
        getattr(compare_charts, view)(*found)
    except ValueError as refusal:
        page.refused(refusal)
    for sentence in compare_words.limitations(found):
        st.markdown(sentence)
page.footer("compare")
