"""The rooms of this server, where its operator keeps them."""

from functools import lru_cache

from ui.classroom import codes
from ui.classroom.embedded import Embedded
from ui.classroom.remote import Remote
from ui.classroom.store import Ages, Store
from ui.settings.server import server


def store() -> Store:
    """The store that is set."""
    return _of(server().redis_url)


@lru_cache(maxsize=1)
def _of(address: str) -> Store:
    return Remote(address, Ages()) if address else Embedded(Ages())


def open_new() -> str:
    """Open a room; the key that leads it.

    Raises:
        ClassError: "rooms_full", "away".
    """
    key = codes.new_key()
    take(codes.code_of(key), key)
    return key


def take(code: str, key: str) -> None:
    """Open the room of a key, or go on with it.

    Raises:
        ClassError: "rooms_full", "away".
    """
    store().open(code, codes.lead_of(key), server().classes)
