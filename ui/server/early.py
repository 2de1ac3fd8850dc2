"""Scripts that every page needs are asked for with the page itself, not once it has been told so.

Streamlit's front end fetches what draws an element when the first such element arrives: by then the
browser has been idle, and the largest of them, Plotly, takes half a second more.
"""

import re
from functools import cache
from pathlib import Path

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.settings.page import HOME
from ui.settings.rooms import PAGES

FRAME = "ButtonGroup", "PageLink", "BidiComponent", "Html", "rehype-raw"  # on every page
OF_PAGE = ("Metric", "DownloadButton"), ("Slider", "PlotlyChart")  # the overview's, the others'
STATIC = Path(streamlit.__file__).parent / "static"
IMPORT = re.compile(r'(?:from|import)"\./([\w.-]+\.js)"', re.ASCII)


@cache
def scripts(names: tuple[str, ...]) -> tuple[str, ...]:
    """The files of these parts of the front end, with what they import.

    Left out is what the page names already, and a part that Streamlit no longer has.
    """
    folder, page = STATIC / "static" / "js", (STATIC / "index.html").read_text("utf-8")
    found: dict[str, None] = {}
    left = [file.name for name in names for file in folder.glob(f"{name}.*.js")]
    while left:
        file = left.pop(0)
        if file not in found and file not in page:
            found[file] = None
            left += IMPORT.findall((folder / file).read_text("utf-8"))
    return tuple(found)


class Early:
    """Names them in the header of a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and name them where a page comes back."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_links(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                MutableHeaders(scope=message).append("link", _links(scope["path"]))
            await send(message)

        await self._app(scope, receive, with_links)


def _is_page(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and kind.startswith("text/html")


def _links(path: str) -> str:
    """As the header has them; relative, so that they are right wherever the app stands."""
    name = path.rstrip("/").rpartition("/")[2]
    parts = FRAME + OF_PAGE[name in PAGES and name != HOME]
    return ", ".join(f"<./static/js/{file}>; rel=modulepreload" for file in scripts(parts))
