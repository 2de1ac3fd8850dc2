"""The rooms of this server, where its operator keeps them."""

from functools import lru_cache

import streamlit as st

from ui.classroom import codes
from ui.classroom.embedded import Embedded
from ui.classroom.limits import network
from ui.classroom.remote import Remote
from ui.classroom.store import Ages, Store
from ui.settings.server import server


def store() -> Store:
    """The store that is set."""
    return _of(server().redis_url)


@lru_cache(maxsize=1)
def _of(address: str) -> Store:
    return Remote(address, Ages()) if address else Embedded(Ages())


def secret() -> str:
    """Return what all processes of this server share, if its operator has set it."""
    return st.get_option("server.cookieSecret")


def open_new(address: str | None) -> str:
    """Open a room for who asks from an address; the key that leads it.

    Raises:
        ClassError: as `Store.open`.
    """
    key = codes.new_key()
    take(codes.code_of(key), key, address)
    return key


def take(code: str, key: str, address: str | None) -> None:
    """Open the room of a key, or go on with it.

    Raises:
        ClassError: as `Store.open`.
    """
    opener = codes.mark(network(address), secret())
    store().open(code, codes.lead_of(key), server().classes, opener)
