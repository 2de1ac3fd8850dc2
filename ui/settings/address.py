"""The app's address in links: as the reader's browser has it, or as PUBLIC_URL says."""

from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

import streamlit as st

from ui.settings.page import HOME, PAGES
from ui.settings.server import server

ASKED = "asked_page"  # in a link: the page that there is not, which led here
LONGEST = 2000  # characters of a link that every browser, chat and mail program takes whole
OWN = 7000  # of the address in the reader's browser, which a reload sends: proxies take 8 KiB


def known() -> str:
    """The address that the audience has, or else the browser's."""
    return server().public_url or browsers()


def browsers() -> str:
    """The app's address in the reader's browser, without the page; empty where none is known."""
    url, page = st.context.url or "", st.session_state.get("page", HOME)
    if page != HOME:
        return url.removesuffix(f"/{page}")
    parts = urlsplit(url)  # an unknown page leads to the overview: its name goes
    base = st.get_option("server.baseUrlPath").strip("/")
    return f"{parts.scheme}://{parts.netloc}/{base}".rstrip("/") if url else ""


def link(root: str, page: str, parameters: dict[str, str]) -> str:
    """The whole link to a page of the app at `root`."""
    return f"{root}/{'' if page == HOME else page}?{urlencode(parameters)}"


def beyond(parameters: dict[str, str], longest: int = LONGEST) -> set[str]:
    """The names that go, the longest first, until a link of any page is short enough."""
    excess = max(map(len, (known(), browsers()))) + max(map(len, PAGES)) + len("/?") - longest
    lengths = {name: len(urlencode({name: text})) for name, text in parameters.items()}
    excess += sum(lengths.values()) + len(lengths) - 1
    gone = set()
    for name in sorted(lengths, key=lengths.get, reverse=True):
        if excess <= 0:
            break
        gone.add(name)
        excess -= lengths[name] + len("&")
    return gone


def is_local(root: str) -> bool:
    """Tell whether only this machine reaches the address."""
    host = urlsplit(root).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    number = getattr(number, "ipv4_mapped", None) or number
    return number.is_loopback or number.is_unspecified
