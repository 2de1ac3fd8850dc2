"""The present page for somebody else: its link, and a QR code of it for the audience."""

import html
from urllib.parse import urlsplit

import segno
import streamlit as st

from ui.settings import address, state
from ui.words.numbers import count
from ui.words.text import listed, safe, t

LARGE = 300  # characters; a longer link has a code too fine for the last rows


def link() -> str:
    """This page as it stands, without what is personal."""
    return address.link(address.known(), st.session_state.page, state.link())


def code(text: str, alt: str) -> str:
    """A QR code as HTML: an SVG picture, black on white with its quiet zone of four modules."""
    made = segno.make_qr(text, error="l")  # lowest: fewest modules; raised where it costs none
    picture = made.svg_data_uri(border=4, dark="#000", light="#fff", omitsize=True)
    return f'<img class="share-code" src="{html.escape(picture)}" alt="{html.escape(alt)}">'


def button(key: str = "share", **options: object) -> None:
    """A quiet button that opens the code."""
    if st.button(t("share.button"), icon=":material/qr_code_2:", key=key, **options):
        st.dialog(t("share.title"), width="large")(_audience)()


def _audience() -> None:
    text = link()
    long = len(text) > LARGE  # of many lines: what to do stands before them
    words = f'<p class="share-link{" long" * long}">{html.escape(text)}</p>'
    st.html(code(text, t("share.alt")))
    if not long:
        st.html(words)
    for warning in _warnings(text):
        st.warning(warning, icon=":material/info:")
    if long:
        st.html(words)


def _warnings(text: str) -> list[str]:
    """Return what keeps the audience from this link, and what to do."""
    found = []
    if address.is_local(text):
        found.append(t("share.local", host=safe(urlsplit(text).netloc)))
    if len(text) > LARGE:
        found.append(t("share.long", count=count(len(text)), most=LARGE))
    if state.left_out():
        found.append(left_out())
    return found


def left_out() -> str:
    """Say which settings a link has no room for."""
    names = listed(f"“{name}”" for name in sorted(state.left_out()))
    return t("share.left_out", names=names, most=count(address.LONGEST))
