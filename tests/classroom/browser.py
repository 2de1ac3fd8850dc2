"""Send what a browser in a class sends straight to the app's own layer for it."""

import asyncio
import json
from dataclasses import dataclass

from tests import patience
from ui.server.classes.endpoint import Classes


@dataclass(frozen=True)
class Answer:
    status: int
    tag: str
    body: dict

    @property
    def refused(self):
        return self.body.get("refused", "")


class Server:
    """One process: its rooms and who waits for them."""

    def __init__(self):
        self.passed = []
        self.app = Classes(self._beyond)

    async def _beyond(self, scope, receive, send):
        self.passed.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def ask(self, path, method="GET", body=b"", address="10.0.0.1", **headers):
        """Return the answer; headers by name, `x_class_key` for X-Class-Key."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        raw = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "headers": raw}
        scope |= {"client": (address, 4711), "query_string": b""}
        parts = []

        async def receive():
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message):
            parts.append(message)

        await self.app(scope, receive, send)
        start, content = parts[0], b"".join(part.get("body", b"") for part in parts[1:])
        found = dict(start["headers"])
        return Answer(
            start["status"], found.get(b"etag", b"").decode(), json.loads(content or b"{}")
        )


class Member:
    """Somebody in a room, at an address, known by a header."""

    def __init__(self, server, code, secret, address="10.0.0.1"):
        self.server, self.code, self.secret, self.address = server, code, secret, address

    async def news(self, tag=""):
        return await self._ask("", if_none_match=tag)

    async def _ask(self, act, *given, **headers):
        path, headers = f"/_class/{self.code}{act}", {self.header: self.secret} | headers
        return await self.server.ask(path, *given, address=self.address, **headers)


class Lecturer(Member):
    header, device = "x_class_key", ""

    async def say(self, **message):
        return await self._ask("/lead", "POST", message, x_class_device=self.device)


class Follower(Member):
    """One who has joined."""

    header = "x_class_token"

    async def answer(self, question, choice):
        return await self._ask("/answer", "POST", {"question": question, "choice": choice})


async def joined(server, code, address="10.0.0.1"):
    """A new follower."""
    answer = await server.ask(f"/_class/{code}/join", "POST", address=address)
    assert answer.status == 200, answer
    return Follower(server, code, answer.body["token"], address)


async def until(look, holds):
    """Return the result of `look` once it holds; the caller's test ends it in the end."""
    async with asyncio.timeout(patience.SECONDS):
        while not holds(found := await look()):
            await asyncio.sleep(0)
        return found
