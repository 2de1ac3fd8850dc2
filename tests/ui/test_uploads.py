"""Uploads by messages of ASGI: who may send a file, how many, and how large, by arithmetic."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st

from ui.frame import page
from ui.frame.pages import PAGES
from ui.server import uploads

MIB = 2**20
LARGEST = 64 * MIB  # as .streamlit/config.toml has it
IN, OUT = "takes", "takes-none"
Put = Callable[..., int]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Return the sizes of the files that are kept, by session; all but OUT take files."""
    sizes: dict[str, list[int]] = {}
    assert st.get_option("server.maxUploadSize") * MIB == LARGEST
    monkeypatch.setattr(uploads, "takes_uploads", lambda session: session != OUT)
    monkeypatch.setattr(uploads, "upload_sizes", lambda: sizes)
    return sizes


async def put(app: uploads.Uploads, session: str, length: object) -> int:
    """Return the status of a file's way to the server."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [] if length is None else [(b"content-length", str(length).encode())]
    scope = {"type": "http", "method": "PUT", "headers": headers}
    await app(scope | {"path": f"/_stcore/upload_file/{session}/file"}, None, send)
    return sent[0]["status"]


async def taken(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})


def status(session: str, length: object) -> int:
    return asyncio.run(put(uploads.Uploads(taken), session, length))


def test_who_may_not_and_what_has_no_length(held):
    assert [status(OUT, 1), status(IN, None), status(IN, "-1"), status(IN, 1)] == [
        403, 411, 411, 204,
    ]  # fmt: skip


def test_a_session_keeps_20_files(held):
    held[IN] = [1] * 19
    assert status(IN, 1) == 204
    held[IN] = [1] * 20
    assert status(IN, 1) == 413


def test_a_session_keeps_two_of_the_largest_and_a_little_more(held):
    room = 2 * LARGEST + MIB
    assert [status(IN, room), status(IN, room + 1)] == [204, 413]
    held[IN] = [LARGEST]
    assert [status(IN, room - LARGEST), status(IN, room - LARGEST + 1)] == [204, 413]


def test_all_sessions_keep_eight_of_the_largest(held):
    held.update({f"another{n}": [LARGEST] for n in range(7)})
    assert [status(IN, LARGEST), status(IN, LARGEST + 1)] == [204, 413]


def test_what_is_under_way_counts_until_it_has_come(held):
    found = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if not found:
            found.append(0)
            found.append(await put(app, IN, LARGEST + MIB + 1))
            found.append(await put(app, IN, LARGEST + MIB))
        await taken(scope, receive, send)

    app = uploads.Uploads(slow)
    assert asyncio.run(put(app, IN, LARGEST)) == 204
    assert found == [0, 413, 204]
    assert asyncio.run(put(app, IN, 2 * LARGEST + MIB)) == 204


def test_a_session_takes_files_as_long_as_its_page_does(monkeypatch):
    monkeypatch.setattr(page, "session_id", lambda: "one")
    monkeypatch.setattr(page, "is_connected", lambda _: True)
    for name, takes in (("planner", True), ("claims", False), ("decode", True), ("quiz", False)):
        page.note_uploads(PAGES[name])
        assert page.takes_uploads("one") is takes, name
