"""The reader's wish: a page and a stop on it, or a step of the story.

The browser (assets/wish.js) turns presses of a clicker and of buttons into a place. Each of its
messages names the latest place that is wished, not a press, and a run says which wish it shows:
until that is the latest, the browser sends it again. So a message may be lost, joined with another
or come twice. Nor does an older value of a widget in the same message undo a wish, which is granted
after the callbacks of widgets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import streamlit as st

from ui import asset
from ui.frame import lecture, story
from ui.settings import state
from ui.settings.page import PAGES, Note, Page, Stops
from ui.settings.server import server
from ui.settings.visit import is_plain

KEY = "wish"
STORY = ""  # in the place of a page: a step of the story, which has its own page
MOST = 2**53  # the largest number that a browser counts to
STOPS = 40  # of one wish


@dataclass
class Wish:
    """The latest wish of a session.

    Args:
        number: the browser's, larger with each wish.
        page: by name, or STORY.
        stops: what is done on the way, and last where to stand; empty is the page as it stands.
        due: whether the stops are still to be set.
        granted: the stop to which it led, once that is known.
        notes: on what could not be as it was wished.
    """

    number: int = 0
    page: str = STORY
    stops: tuple[str, ...] = ()
    due: bool = False
    granted: str | None = None
    notes: list[Note] = field(default_factory=list)


def turn() -> None:
    """Take the latest wish, and open its page or step where another one is shown."""
    if said := _new():
        st.session_state.wished = said
    wish = _wish()
    here, in_story = st.session_state.page, bool(story.number())
    if wish.page == STORY and wish.stops and (said or wish.stops == (str(story.number()),)):
        step = int(_nearest(wish, _steps()))
        wish.stops = (str(step),)
        if (step, here) != (story.number(), story.steps()[step - 1].page):
            story.go(step)  # also where a late message asks for the page before
            state.follow()
    elif not said:
        return
    elif wish.page in PAGES and not in_story:
        wish.due = True
        if wish.page != here:
            state.go(wish.page, **state.query())
            state.follow()
    else:  # a page that there is not, or one from before the reader entered the story
        if wish.page not in (STORY, *PAGES):
            wish.notes.append(Note(KEY, wish.page, here))
        wish.page, wish.stops = STORY if in_story else here, ()


def stop(page: Page) -> list[Note]:
    """Set the stops that are wished on this page; notes on what could not be as it was wished."""
    wish = _wish()
    if wish.due and wish.page == page.name:
        wish.due = False
        changed = _set(wish, page)
        wish.granted = _present(page) if wish.stops else None
        return changed + _told(wish)
    return _told(wish)


def _set(wish: Wish, page: Page) -> list[Note]:
    *passed, last = wish.stops or (None,)
    with state.past_widgets():
        for code in passed:
            if (found := _stops(page)) and code in found.codes:
                found.go(code)
        if last is not None and (found := _stops(page)):
            found.go(_nearest(wish, found))
        return page.mend() if wish.stops else []


def _told(wish: Wish) -> list[Note]:
    """Return what is to be told of a wish, once."""
    told, wish.notes = wish.notes, []
    return told


def listen(page: Page) -> None:
    """Let the browser send wishes, and say which one is shown."""
    if server().recorded or is_plain():
        return
    stops = _steps() if story.number() else _stops(page)
    pages = list(PAGES) if lecture.on() and not story.number() else []
    if not (stops or pages):
        return
    data = {
        "number": _wish().number,
        "shown": _shown(page),
        "page": STORY if story.number() else page.name,
        "stops": stops.codes if stops else [],
        "at": stops.at if stops else 0,
        "below": stops.below if stops else True,
        "pages": pages,
    }
    told = st.session_state.setdefault("told", Told(token_hex(4)))
    told.take(data)
    # The script stands in an element of its own: with a change only the data are sent.
    st.components.v2.component("wishes", js=asset("wish.js"))(key="wishes")
    component = st.components.v2.component(KEY, js=asset("wish_told.js"))
    component(key=KEY, data=data | vars(told), on_wish_change=_come)


@dataclass
class Told:
    """The numbering of what a session's browser was told.

    Args:
        session: a name, since another session counts anew.
        run: larger with each change.
    """

    session: str
    run: int = 0

    def take(self, data: Mapping[str, Any]) -> None:
        """Count a change of what is told."""
        before = st.session_state.get("told_data")
        self.run += data != before
        st.session_state.told_data = data


def end() -> None:
    """Tell the browser that the page is drawn to its end."""
    if told := st.session_state.get("told"):
        component = st.components.v2.component("drawn", js=asset("drawn_whole.js"))
        component(key="drawn", data=told.run)


def _come() -> None:
    """Leave a wish to the run that follows, after the callbacks of widgets."""


def _wish() -> Wish:
    return st.session_state.setdefault("wished", Wish())


def _shown(page: Page) -> int:
    """Return the number of the latest wish if it is what the page shows; else 0."""
    wish = _wish()
    if story.number():
        shows = wish.page == STORY and wish.stops in ((), (str(story.number()),))
    else:
        there = wish.page == page.name and not wish.due
        shows = there and wish.granted in (None, _present(page))
    return wish.number if shows else 0


def _present(page: Page) -> str | None:
    stops = _stops(page)
    return stops.codes[stops.at] if stops else None


def _stops(page: Page) -> Stops | None:
    """Return the stops of a page; none where it refuses what is set, as it says itself."""
    try:
        return page.stops()
    except ValueError:
        return None


def _steps() -> Stops:
    """Return the stops of the story."""
    codes = tuple(str(number) for number in range(1, len(story.steps()) + 1))
    return Stops(codes, story.number() - 1, lambda code: story.go(int(code)), below=False)


def _nearest(wish: Wish, stops: Stops) -> str:
    """Return the stop that is wished, or the nearest with a note."""
    given = wish.stops[-1]
    found = stops.nearest(given)
    if found != given:
        wish.notes.append(Note("stop" if wish.page == STORY else KEY, given, found))
    return found


def _new() -> Wish | None:
    """Return what the browser's latest message wishes; None where that was taken before."""
    said = (st.session_state.get(KEY) or {}).get(KEY)
    if not isinstance(said, Mapping):
        return None
    number, page, stops = (said.get(name) for name in ("number", "page", "stops"))
    if type(number) is not int or not _wish().number < number <= MOST:
        return None
    return Wish(number, page, tuple(stops)) if _is_place(page, stops) else None


def _is_place(page: Any, stops: Any) -> bool:
    """Tell whether a message names a place: it may hold anything."""
    if not isinstance(page, str) or not isinstance(stops, list) or len(stops) > STOPS:
        return False
    return all(isinstance(code, str) for code in stops)
