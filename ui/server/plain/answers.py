"""Leads a browser without scripts to a page in words, and answers there.

A page's HTML goes there by itself where scripts are off, or fail before they have drawn anything:
blocked on the way, or in a browser that is too old for them. The page is drawn as for a class
(`ui.server.classes.drawing`), by a session of nobody, with the settings of the address.
"""

import asyncio
import html
import json
import re
from collections.abc import Iterable
from string import Template
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from ui import asset
from ui.server.answers import HTML, answer, is_page, language
from ui.server.classes.drawing import Asked, draw
from ui.server.plain.written import written
from ui.server.scripts import Answer, brings_page, compressed, takes_gzip
from ui.server.styles import in_language, styled
from ui.settings.page import HOME, PAGES
from ui.settings.shared import TAGS
from ui.streamlit_internals import ForwardMsg
from ui.words.text import catalogue

PLAIN = "plain"  # in an address
OF_FILE = b"accept-encoding", b"if-none-match", b"if-modified-since"  # asked of Streamlit's file
AT_A_TIME = 2  # as many pages as are run for visitors
WAY = """<noscript><meta http-equiv="refresh" content="0; url={url}"></noscript>
<script>
  addEventListener("error", ({{ target }}) => {{
    const ours = target === window || target.tagName === "SCRIPT";
    if (ours && !document.querySelector("#root > *")) location.replace({text});
  }}, true);
</script>
"""


def with_way(text: str, scope: Scope) -> str:
    """Return the app's HTML in the reader's language, with its styles and the way to words."""
    url = "?" + urlencode([(PLAIN, "1"), *_query(scope)])
    told = json.dumps(url).replace("<", "\\u003c")
    text = re.sub(r"<noscript>.*?</noscript>", "", text, flags=re.DOTALL)
    way = WAY.format(url=html.escape(url), text=told) + f"<script>{asset('leading.js')}</script>\n"
    return in_language(styled(text), language(scope)).replace("<title>", f"{way}<title>", 1)


def is_plain(scope: Scope) -> bool:
    """Tell whether a page is asked for in words."""
    return is_page(scope) and PLAIN in dict(_given(scope))


def _query(scope: Scope) -> list[tuple[str, str]]:
    """Return the settings of the address that the page itself has."""
    return [pair for pair in _given(scope) if pair[0] not in (PLAIN, "room")]


def _given(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


class Plain:
    """Answers with a page in words, or hands on and adds the way there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns = asyncio.Semaphore(AT_A_TIME)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if not is_page(scope):
            await self._app(scope, receive, send)
            return
        came = Answer()
        if is_plain(scope):
            async with self._turns:
                await answer(came.take, 200, await _page(scope), content=HTML)
        else:
            whole = [pair for pair in scope["headers"] if pair[0] not in OF_FILE]
            await self._app(scope | {"headers": whole}, receive, came.take)
            if brings_page(came.start):
                text = with_way(b"".join(came.parts).decode(), scope).encode()
                headers = MutableHeaders(scope=came.start)
                headers["content-length"] = str(len(text))
                del headers["etag"], headers["last-modified"]  # those of Streamlit's file
                came.parts = [text]
        if brings_page(came.start) and takes_gzip(scope):
            came = compressed(came)
        await came.give(send)


async def _page(scope: Scope) -> str:
    lang, query, name = language(scope), _query(scope), scope["path"].rpartition("/")[2]
    name = name if name in PAGES else HOME

    def say(key: str) -> str:
        return html.escape(catalogue()[key][lang])

    def link(text: str, to: str, query: Iterable[tuple[str, str]]) -> str:
        place = f"./{'' if to == HOME else to}?{urlencode(query)}".rstrip("?")
        return f'<a href="{html.escape(place)}">{text}</a>'

    own = [] if lang == "en" else [("lang", lang)]
    told = {
        "lang": TAGS[lang],
        "title": say(f"{name}.link"),
        "why": say("plain.why").format(again=link(say("plain.again"), name, query)),
        "links": " · ".join(link(say(f"{one}.link"), one, own) for one in PAGES),
    }
    asked = Asked(name, tuple(query), lang, "", 0, plain=True)
    try:
        messages = [ForwardMsg.FromString(b"".join(one)) for one in (await draw(asked)).messages]
        body = await asyncio.to_thread(written, messages)
    except TimeoutError:
        body = f"<p>{say('plain.late')}</p>"
    return Template(asset("plain.html")).substitute(told, body=body)
