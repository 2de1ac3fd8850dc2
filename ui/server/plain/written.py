"""A page's messages as HTML without scripts: its words and tables, no controls.

A picture is drawn by a script of the browser, so its place has the same in words. Markdown is
written by a library; HTML stands in it only where the page itself allows it.
"""

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from ui.parts import files
from ui.streamlit_internals import ForwardMsg

MAIN = (0,)  # where a page itself stands, beside its sidebar
APART = {"popover", "dialog"}  # opened by a press
FORMULA = re.compile(r"(\$\$?)([^$]+)\1")

Delta = Any  # of Streamlit's protocol: an element, or a block of them
Places = Mapping[tuple[int, ...], Delta]


def written(messages: Iterable[ForwardMsg]) -> str:
    """Return the page that these messages draw."""
    places = {
        tuple(one.metadata.delta_path): one.delta
        for one in messages
        if one.WhichOneof("type") == "delta"
    }
    return _inside(MAIN, places)


def _inside(place: tuple[int, ...], places: Places) -> str:
    own = sorted(path for path in places if path[:-1] == place)
    return "\n".join(filter(None, (_drawn(path, places) for path in own)))


def _drawn(path: tuple[int, ...], places: Places) -> str:
    delta = places[path]
    if delta.WhichOneof("type") == "add_block":
        kind, inside = delta.add_block.WhichOneof("type"), _inside(path, places)
        if kind in APART or not inside:
            return ""
        if kind == "expandable":
            place = delta.add_block.expandable
            opened = " open" if place.expanded else ""
            return f"<details{opened}><summary>{_text(place.label)}</summary>{inside}</details>"
        key = delta.add_block.id.split("-", 2)[-1]  # as the page names it, behind a name of its own
        return f'<div class="{html.escape(key)}">{inside}</div>'
    element = delta.new_element
    kind = element.WhichOneof("type")
    return ELEMENTS[kind](getattr(element, kind)) if kind in ELEMENTS else ""


def _markdown(allows_html: bool) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": allows_html}).enable("table")
    made.inline.ruler.before("escape", "formula", _formula)
    return made


def _formula(state: StateInline, silent: bool) -> bool:
    """Take a formula of LaTeX, which stands between dollars, for MathML."""
    found = FORMULA.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        display = "block" if found[1] == "$$" else "inline"
        state.push("html_inline", "", 0).content = convert(found[2], display=display)
    state.pos = found.end()
    return True


def _text(body: str) -> str:
    """Return a line of Markdown."""
    return MARKDOWN[False].renderInline(body)


def _table(element: Any) -> str:
    """Return a table of Arrow, as a page shows one or behind its picture."""
    return files.html(pa.ipc.open_stream(element.arrow_data.data).read_pandas())


def _picture(element: Any) -> str:
    """Return a picture in words, "" for a component that is none."""
    told = element.json or element.bytes.decode()
    data = json.loads(told) if told else None
    alt = data.get("alt", "") if isinstance(data, dict) else ""
    return f"<figure>{html.escape(alt)}</figure>" if alt else ""


MARKDOWN = {allows_html: _markdown(allows_html) for allows_html in (False, True)}
ELEMENTS: Mapping[str, Callable[[Any], str]] = {
    "heading": lambda one: f"<{one.tag}>{_text(one.body)}</{one.tag}>",
    "markdown": lambda one: MARKDOWN[one.allow_html].render(one.body),
    "alert": lambda one: f'<p role="note">{_text(one.body)}</p>',
    "html": lambda one: one.body,
    "metric": lambda one: f"<p>{_text(one.label)}: <b>{html.escape(one.body)}</b></p>",
    "code": lambda one: f"<pre>{html.escape(one.code_text)}</pre>",
    "table": _table,
    "dataframe": _table,
    "bidi_component": _picture,
}
