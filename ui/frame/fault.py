"""The answer to an error that nobody foresaw: one sentence with a reference, and ways on."""

import html
import logging
from contextlib import AbstractContextManager, nullcontext
from secrets import token_hex

import streamlit as st

from ui.frame import navigation
from ui.settings import address, state
from ui.settings.page import HOME, PAGES, Page
from ui.settings.visit import visit
from ui.streamlit_internals import (
    ask_for_run,
    drop_widget_message,
    has_begun,
    is_given_up,
    is_in_fragment,
)
from ui.words.text import catalogue, t

LOG = logging.getLogger(__name__)


def show(error: Exception) -> bool:
    """Log an error of a page, a callback or a fragment, and say so on the page.

    Streamlit calls it where the error arose. True: Streamlit's own box is not needed.
    """
    if is_given_up():
        LOG.warning("%.200r in a run that is given up: another has taken its place", error)
        return True
    reference = token_hex(4)
    page = st.session_state.get("page")
    said = {"reference": reference, "page": page}
    LOG.error("fault %s on %s", reference, page, exc_info=error, extra=said)
    if not has_begun():  # the message or a callback failed: draw the page as it was before
        drop_widget_message()
        st.session_state.fault = reference
        ask_for_run()
        return True
    try:
        with _place():
            _say(reference)
    except Exception:  # the session itself is broken: words and links that need nothing of it
        LOG.exception("fault %s cannot be said in the page's frame", reference, extra=said)
        _say_without_session(reference)
    return True


def tell() -> None:
    """Say the fault of what the reader did last, if there was one, on the page as it was."""
    if reference := st.session_state.pop("fault", None):
        _say(reference)


def _say(reference: str) -> None:
    page = visit().page if "visit" in st.session_state else PAGES[HOME]
    with st.container(key=f"fault_{reference}", border=True):
        st.markdown(t("fault.says", reference=reference))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                t("fault.anew"),
                key=f"anew_{reference}",
                icon=":material/restart_alt:",
                type="primary",
                on_click=_begin_again,
                args=(page,),
            )
            home = address.link(address.browsers(), HOME, {"lang": state.settings()["lang"]})
            _way_home(home, t("fault.home"))


def _place() -> AbstractContextManager:
    """Return the place above the title; a fragment may draw only within itself."""
    if is_in_fragment():
        return nullcontext()
    if visit().top:
        return visit().top
    with st.sidebar:  # the run ended before it had drawn the ways to other pages
        navigation.draw()
    return nullcontext()


def _begin_again(page: Page) -> None:
    """Put back the settings that the page begins with; of a broken session, all that it has."""
    try:
        state.renew(page)
    except Exception:
        LOG.exception("a session had to be emptied")
        st.session_state.clear()
        st.query_params.clear()


def _say_without_session(reference: str) -> None:
    """In every language, since the reader's is unknown."""
    says, home = catalogue()["fault.says"], catalogue()["fault.home"]
    for text in says.values():
        st.markdown(text.format(reference=reference))
    _way_home("./", " / ".join(home.values()))


def _way_home(link: str, label: str) -> None:
    """A plain link: the browser begins a new session there, whatever becomes of this one."""
    text = f'<a class="way" href="{html.escape(link)}" target="_self">{html.escape(label)}</a>'
    st.markdown(text, unsafe_allow_html=True, width="content")
