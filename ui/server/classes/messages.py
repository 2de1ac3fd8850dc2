"""What a browser says of its class, as far as it can be true."""

from typing import Any

import orjson
from starlette.types import Receive

from ui.classroom.store import ClassError
from ui.settings.address import LONGEST
from ui.settings.rooms import PAGES, SETTINGS

MOST_BYTES = 200_000  # of a message: a question in every language
NAME = 40  # characters of a question's name


async def read(receive: Receive) -> dict[str, Any]:
    """The body of a request.

    Raises:
        ClassError: "garbled".
    """
    body, more = b"", True
    while more:
        part = await receive()
        if part["type"] == "http.disconnect":
            raise ClassError("garbled")
        body, more = body + part.get("body", b""), part.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise ClassError("garbled")
    try:
        message = orjson.loads(body or b"{}")
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ClassError("garbled")
    return message


def here(said: Any) -> str:
    """Where a lecturer is: a page that there is, and settings that others may have.

    Raises:
        ClassError: "garbled".
    """
    page, query = (said.get("page"), said.get("query")) if isinstance(said, dict) else (0, 0)
    known = isinstance(page, str) and page in PAGES and isinstance(query, dict)
    if not known or not all(_shared(*pair) for pair in query.items()):
        raise ClassError("garbled")
    if sum(len(name) + len(text) for name, text in query.items()) > LONGEST:
        raise ClassError("garbled")
    return orjson.dumps({"page": page, "query": query}).decode()


def _shared(setting: str, text: Any) -> bool:
    known = setting in SETTINGS and setting != "lang" and not SETTINGS[setting].personal
    return known and isinstance(text, str)


def answer(message: dict[str, Any], count: int) -> tuple[str, int]:
    """The question's name, and which of its answers is given.

    Raises:
        ClassError: "closed", where no question stands; "no_choice"; "garbled".
    """
    asks, choice = name(message.get("question")), message.get("choice")
    if not count:
        raise ClassError("closed")
    if type(choice) is not int or not 0 <= choice < count:
        raise ClassError("no_choice", count=count, given=choice)
    return asks, choice


def name(said: Any) -> str:
    """The name of a question.

    Raises:
        ClassError: "garbled".
    """
    if not isinstance(said, str) or len(said) > NAME:
        raise ClassError("garbled")
    return said
