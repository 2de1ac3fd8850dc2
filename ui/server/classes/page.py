"""The HTML of a page in a class: Streamlit's front end, with a script that may follow.

The script (assets/follow.js) follows the lecturer by a socket of its own. In the lecturer's tab,
and in one that looks around on its own, it lets the front end go to the server as ever.
"""

import json
from urllib.parse import parse_qs

import streamlit as st
from starlette.responses import HTMLResponse
from starlette.types import Scope

from ui import STATIC, asset
from ui.server.answers import is_page, language
from ui.server.classes.following import OWN
from ui.server.plain.answers import is_plain, with_way
from ui.server.scripts import links
from ui.settings.page import HOME, PAGES
from ui.settings.parsers import room
from ui.settings.server import server
from ui.words.text import catalogue

SAYS = "joining", "lost"  # what the page may have to say before the class draws anything on it


def page(scope: Scope) -> HTMLResponse | None:
    """Return the answer to who opens a page of the app in a class; None of all else."""
    if not is_page(scope) or is_plain(scope) or not server().classes:
        return None
    base, _, name = scope["path"].rpartition("/")
    given = parse_qs(scope["query_string"].decode("latin-1")).get("room", [""])[-1]
    here = base.strip("/") == st.get_option("server.baseUrlPath").strip("/")
    if not here or name not in (PAGES.keys() - {HOME} | {""}):
        return None
    try:
        code = room(given)
    except ValueError:  # the app says so
        code = ""
    headers = {"link": links(scope["path"]), "cache-control": "no-cache"}
    return HTMLResponse(_document(code, scope), headers=headers) if code else None


def _document(code: str, scope: Scope) -> str:
    text = with_way((STATIC / "index.html").read_text("utf-8"), scope)
    says = {name: catalogue()[f"classroom.in_{name}"][language(scope)] for name in SAYS}
    told = json.dumps({"code": code, "own": OWN, "home": HOME, "says": says})
    ours = f'<script type="application/json" id="follow">{told}</script>\n'
    ours += f"<script>{asset('stand_in.js')}{asset('follow.js')}</script>\n"
    return text.replace('<script type="module"', f'{ours}<script type="module"', 1)
