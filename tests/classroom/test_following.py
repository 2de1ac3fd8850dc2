"""Followers are drawn for once: the messages of a step come to all, as a session's own would."""

import asyncio
import gzip
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import Mock

import pytest
from google.protobuf.message import Message
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests import patience
from tests.attacks.client import Session
from tests.attacks.server import App, copied, running
from ui.classroom import codes, store
from ui.frame.pages import PAGES
from ui.server.classes import drawing, following, watch
from ui.settings.page import HOME

OPENS, ROOT = "opens ", "http://localhost"  # as `Session` says
NAMES = re.compile(r"[0-9a-f]{32}|(?<=session)\W+[0-9a-f]{8}\b")
PLACES = [(name, {}) for name in PAGES] + [
    ("kv_cache", {"seed": "3", "kv_view": "memory"}),
    ("attention_maps", {"seed": "5"}),
]


class Room:
    """A class that is led at a server, without a page of the lecturer's."""

    def __init__(self, app: App) -> None:
        self.app, self.key = app, codes.new_key()
        self.code = codes.code_of(self.key)

    def lead(self, page: str, query: dict | None = None) -> None:
        self.post("lead", {"here": {"page": page, "query": query or {}}}, {"x-class-key": self.key})

    def post(self, act: str, said: dict, headers: dict[str, str]) -> dict:
        url = f"{self.app.url}/_class/{self.code}/{act}"
        asked = urllib.request.Request(url, json.dumps(said).encode(), headers)
        with urllib.request.urlopen(asked, timeout=patience.SECONDS) as answer:
            return json.loads(answer.read())

    @contextmanager
    def follower(self, token: str = "", **said: object) -> Iterator["Follower"]:
        """One who follows; `said` are other words of its page."""
        token = token or self.post("join", {}, {})["token"]
        hello = {"token": token, "lang": "en", "root": self.app.url, "own": {}, "shows": ""}
        url = f"ws{self.app.url.removeprefix('http')}/_class/{self.code}/follow"
        with connect(url, max_size=None, proxy=None) as socket:
            socket.send(json.dumps(hello | said))
            yield Follower(socket, token)


class Follower:
    """A browser that follows: the bodies that it knows are those of the page that it shows."""

    def __init__(self, socket, token: str) -> None:
        self.socket, self.token, self.kept, self.page = socket, token, {}, {}

    def next(self) -> dict:
        """Return the next news, with nothing else, or the next page, with its messages."""
        while (said := self.socket.recv(patience.SECONDS)) == "{}":
            pass
        if isinstance(said, str):
            return json.loads(said)
        head, _, rest = gzip.decompress(said).partition(b"\n")
        page = json.loads(head)
        for name, size in page["new"]:
            self.kept[name], rest = rest[:size], rest[size:]
        messages, shown = [], {}
        for size, *name in page["messages"]:
            first, rest = rest[:size], rest[size:]
            shown |= {one: self.kept[one] for one in name}
            messages.append(ForwardMsg.FromString(first + b"".join(map(shown.get, name))))
        assert not rest
        self.kept = shown
        return page | {"messages": messages}

    def at(self, page: str) -> dict:
        """Return the drawing of a page that comes."""
        while (found := self.next()).get("page") != page:
            pass
        return found

    def refused(self) -> str:
        while "refused" not in (found := self.next()):
            pass
        return found["refused"]


def screen(messages: list[Message]) -> dict[tuple, str]:
    """Return what was sent last for each place, without the names that each run gives."""
    drawn = {}
    for message in messages:
        kind = message.WhichOneof("type")
        if kind == "delta":
            body = message.delta
            drawn[body.WhichOneof("type"), tuple(message.metadata.delta_path)] = body
        elif kind in ("page_config_changed", "navigation"):
            drawn[kind, ()] = getattr(message, kind)
    return {at: NAMES.sub("*", str(body)) for at, body in drawn.items()}


class Alone(Session):
    """A session of the live app, which keeps what comes."""

    def _take(self, message: Message) -> None:
        if message.WhichOneof("type") == "new_session":
            self.messages = []
        self.messages.append(message)
        super()._take(message)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A server that says which pages it runs."""
    begins = "    with waits.drawing_turn(page), _observed(page):"
    noted = f'    print("{OPENS}", page.name, flush=True)\n{begins}'
    root = copied(tmp_path_factory.mktemp("app"), {"ui/frame/page.py": (begins, noted)})
    with running(root=root, folder=root) as one:
        yield one
        assert "Traceback" not in one.log


@pytest.fixture
def room(app: App) -> Room:
    room = Room(app)
    room.lead(HOME)
    return room


def runs(app: App) -> int:
    return sum(line.startswith(OPENS) for line in app.log.splitlines())


def test_a_step_is_run_once_and_shows_what_a_session_of_its_own_shows(app, room):
    with room.follower(root=ROOT) as first, room.follower(root=ROOT) as second:
        for one in (first, second):
            one.at(HOME)
        for page, query in PLACES[1:]:
            before = runs(app)
            room.lead(page, query)
            shown = first.at(page)
            assert screen(second.at(page)["messages"]) == screen(shown["messages"])
            assert runs(app) == before + 1, page
            asked = "&".join(f"{n}={v}" for n, v in (query | {"room": room.code}).items())
            with Alone(app.url) as alone:
                alone.open("" if page == HOME else page, asked)
            drawn, own = screen(shown["messages"]), screen(alone.messages)
            assert drawn.keys() == own.keys()
            differing = [at for at in own if own[at] != drawn[at]]
            assert not differing, (page, drawn[differing[0]][:1500], own[differing[0]][:1500])


def test_who_comes_late_or_again_is_not_drawn_for_again(app, room):
    room.lead("attention_maps")
    with room.follower() as first:
        whole = first.at("attention_maps")
        before = runs(app)
        with room.follower() as late:
            shown = late.at("attention_maps")
        assert screen(shown["messages"]) == screen(whole["messages"])
        assert runs(app) == before
    with room.follower(first.token, shows=whole["name"]) as back:  # its socket was cut
        back.kept = first.kept
        room.lead("notation")
        assert back.next()["here"]["page"] == "attention_maps"
        assert back.next()["here"]["page"] == "notation"
        assert back.next()["page"] == "notation"


def test_each_language_is_drawn_for_itself_and_own_settings_go_along(room):
    room.lead("rope")
    with room.follower() as english, room.follower(lang="zh-CN", own={"lecture": "1"}) as other:
        first, second = english.at("rope"), other.at("rope")
    assert f"room={room.code}" in first["query"]
    assert "lecture=1" in second["query"]
    assert "旋转" not in str(screen(first["messages"]))
    texts = str(screen(second["messages"]).values()).encode().decode("unicode_escape")
    assert "旋转" in texts.encode("latin-1", "ignore").decode("utf-8", "ignore")


def test_files_that_a_drawing_names_are_there_as_long_as_it_is_shown(app, room):
    room.lead("notation")
    with room.follower() as one:
        shown = one.at("notation")["messages"]
        icons = [m.page_config_changed.favicon for m in shown if m.page_config_changed.favicon]
        assert icons[0].startswith("/media/")
        assert app.get(icons[0])[0] == 200


def test_who_may_not_follow_is_told_why(room):
    for said, why in (
        ({"token": "someone." + "0" * 32}, "stranger"),
        ({"own": {"lang": "none"}}, "garbled"),
        ({"root": "javascript:alert(1)"}, "garbled"),
        ({"own": 7}, "garbled"),
        ({"lang": "x" * 5000}, "garbled"),
    ):
        token = said.pop("token", "")
        with room.follower(token, **said) as liar:
            assert liar.refused() == why
    there = room.follower()
    room.code = "22222222"
    with pytest.raises(urllib.error.HTTPError, match="404"), there:
        pass
    with room.follower("any.token") as wrong:
        assert wrong.refused() == "no_room"
        with pytest.raises(ConnectionClosed):
            wrong.next()


def test_a_page_that_was_not_drawn_is_drawn_again(monkeypatch):
    tries, came = [], asyncio.Event()

    async def fails_once(asked: drawing.Asked) -> drawing.Drawing:
        tries.append(asked)
        if len(tries) == 1:
            raise TimeoutError
        return drawing.Drawing("", asked, ((b"drawn",),), {}, passes=False)

    async def stays() -> None:
        return await asyncio.Event().wait()

    async def send(said: dict) -> None:
        if "bytes" in said:
            came.set()

    async def followed() -> None:
        said = following.Hello("", "en", ROOT, (), "")
        here = json.dumps({"page": "rope", "query": {}})
        there = store.Room(codes.Lead("", ""), told={"here": here})
        follower = asyncio.create_task(
            following.follow(watch.Watch("22222222", there), "one", said, stays, send)
        )
        await asyncio.wait_for(came.wait(), patience.SECONDS)
        follower.cancel()

    for part in ("hold_media_files", "finalize"):  # of a server that runs
        monkeypatch.setattr(drawing, part, Mock())
    monkeypatch.setattr(watch, "draw", fails_once)
    monkeypatch.setattr(watch, "LATER", 0.01)
    asyncio.run(followed())
    assert [one.page for one in tries] == ["rope", "rope"]


def test_one_browser_has_a_few_sockets_and_no_more(room):
    with room.follower() as one, room.follower(one.token) as two, room.follower(one.token) as three:
        for tab in (one, two, three):
            tab.at(HOME)
        with room.follower(one.token) as fourth:
            assert fourth.refused() == "hurry"
