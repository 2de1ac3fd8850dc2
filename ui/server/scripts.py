"""Streamlit's own scripts and styles: sent compressed, and named in the header of each page.

Streamlit sends them as they lie on the disk, and its front end fetches what draws an element when
the first such element arrives: the browser has been idle by then, and Plotly, the largest, takes
half a second more. What both save: benchmarks/README.md, `first_load.py`.
"""

import asyncio
import gzip
import re
from dataclasses import dataclass, field
from functools import cache

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui import SCRIPTS, STATIC
from ui.settings.page import HOME, PAGES

FILE = re.compile(r"/static/(?:js|css|media)/[\w.-]+\.(?:js|css)$", re.ASCII)
LEVEL = 6  # of gzip: above it bytes hardly shrink
FRAME = "ButtonGroup", "PageLink", "BidiComponent", "Html", "rehype-raw"  # on every page
OF_PAGE = ("Metric", "DownloadButton"), ("Slider", "PlotlyChart")  # the overview's, the others'
IMPORT = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"', re.ASCII)


@dataclass
class Answer:
    """An answer of Streamlit, held until it is whole."""

    start: Message = field(default_factory=dict)
    parts: list[bytes] = field(default_factory=list)

    async def take(self, message: Message) -> None:
        """Stand in the place of `send`."""
        if message["type"] == "http.response.start":
            self.start = message
        else:
            self.parts.append(message.get("body", b""))

    async def give(self, send: Send) -> None:
        """Send it."""
        await send(self.start)
        await send({"type": "http.response.body", "body": b"".join(self.parts)})


class Compressed:
    """Sends a script or style compressed to who takes it so and asks for the whole file.

    Each is compressed once, when it is first asked for: there are few, and their names change with
    their contents.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._made: dict[str, Answer] = {}  # by the names of files that there are

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        name = _asked(scope)
        if not name:
            await self._app(scope, receive, send)
            return
        known = self._made.get(name)
        if not known or "if-none-match" in Headers(scope=scope):
            answer = Answer()
            await self._app(scope, receive, answer.take)
            if brings_page(answer.start) or answer.start["status"] != 200:
                await answer.give(send)
                return
            known = self._made[name] = await asyncio.to_thread(compressed, answer)
        await known.give(send)


def _asked(scope: Scope) -> str:
    """Return the file that is asked for; "" for whatever is not sent compressed."""
    found = FILE.search(scope["path"]) if scope.get("method") == "GET" else None
    if not found:
        return ""
    return found[0] if takes_gzip(scope) and "range" not in Headers(scope=scope) else ""


def takes_gzip(scope: Scope) -> bool:
    """Tell whether who asks takes an answer compressed."""
    return "gzip" in Headers(scope=scope).get("accept-encoding", "")


def brings_page(start: Message) -> bool:
    """Tell whether the app's page comes back: Streamlit sends it for a file that is not there."""
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and kind.startswith("text/html")


def compressed(answer: Answer) -> Answer:
    """Return an answer as it is sent to who takes it compressed."""
    body = gzip.compress(b"".join(answer.parts), LEVEL, mtime=0)
    start = answer.start | {"headers": list(answer.start["headers"])}
    headers = MutableHeaders(scope=start)
    headers["content-encoding"], headers["content-length"] = "gzip", str(len(body))
    headers.add_vary_header("accept-encoding")
    if "etag" in headers:  # the same contents, not the same bytes
        headers["etag"] = f"W/{headers['etag'].removeprefix('W/')}"
    return Answer(start, [body])


class Preloaded:
    """Names in a page's header the scripts that it will need, so that they come with it.

    Without it the first picture of a busy server took 4.4 s and not 4.0 on the overview, 33 s and
    not 27 on the cache page (medians of visits in turns, load 12): benchmarks/first_load.py.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and name them where a page comes back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_links(message: Message) -> None:
            if message["type"] == "http.response.start" and brings_page(message):
                MutableHeaders(scope=message).append("link", links(scope["path"]))
            await send(message)

        await self._app(scope, receive, with_links)


def links(path: str) -> str:
    """Return them as the header has them; relative, to be right wherever the app stands."""
    name = path.rstrip("/").rpartition("/")[2]
    parts = FRAME + OF_PAGE[name in PAGES and name != HOME]
    return ", ".join(f"<./static/js/{file}>; rel=modulepreload" for file in scripts(parts))


@cache
def scripts(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of these parts of the front end, with what they import.

    Left out is what the page names already, and a part that Streamlit no longer has.
    """
    page = (STATIC / "index.html").read_text("utf-8")
    found: dict[str, None] = {}
    left = [file.name for name in names for file in SCRIPTS.glob(f"{name}.*.js")]
    while left:
        file = left.pop(0)
        if file not in found and file not in page:
            found[file] = None
            left += IMPORT.findall((SCRIPTS / file).read_text("utf-8"))
    return tuple(found)
