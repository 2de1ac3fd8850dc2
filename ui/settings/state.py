"""The reader's settings: a plain dict in the session, mirrored in the URL.

So a link, a reload and the Back button restore a page. `read` runs before any widget, `write` puts
what differs from the defaults into the URL; `ui.parts.control` draws widgets, and
`ui.settings.values` says what a link means.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import streamlit as st

from ui.settings import address, shared, values
from ui.settings.page import PAGES, SETTINGS, Note, Page, short, with_present_names
from ui.settings.parsers import as_text
from ui.settings.shared import CARRIED, SHARED
from ui.settings.values import Place, Values, usual_model
from ui.settings.visit import once_per_run, visit
from ui.streamlit_internals import is_history_navigation


class Kept(str):
    """A good text that stays in use while what was `typed` in its place is refused.

    It stands among the settings, so that whatever replaces it drops the refused one as well.
    """

    typed: str

    @classmethod
    def beside(cls, good: str, typed: str) -> "Kept":
        """The good text with what is refused."""
        kept = cls(good)
        kept.typed = typed
        return kept


def place() -> Place:
    """Return where the reader is: what defaults depend on, but for the settings."""
    session, language = st.session_state, (st.context.locale or "")[:2]
    return Place(session.get("page", ""), language, session.get("opens", {}))


def default(name: str) -> object:
    """Return the default of a setting beside the others that are chosen."""
    return defaults()[name]


def defaults() -> Values:
    """Return every default beside the settings that are chosen; read-only."""
    return place().defaults(settings())


def opened_with() -> Values:
    """Return what the page opens with, its source too; nothing where another model is named.

    It lies in the session, so that it changes only when a page is opened or the reader asks.
    """
    return place().opened_with(settings())


def opening() -> dict[str, object]:
    """Return the defaults of the page alone: what it opens with, but for the source itself."""
    return place().opening(settings())


def of_another_model() -> bool:
    """Tell whether the settings name another model than the page opens with."""
    return place().of_another_model(settings())


def source() -> str:
    """Return the real model that is named, or else the one that the page opens with."""
    return str(settings()["source"] or opened_with().get("source", ""))


@once_per_run  # every text asks, and Streamlit takes as long to find them as to write one
def settings() -> dict[str, Any]:
    """Every setting of this session."""
    if "settings" not in st.session_state:
        st.session_state.settings = values.first(place())
    return st.session_state.settings


def chosen(page: str) -> SimpleNamespace:
    """Return a page's own settings as they are now, by their names without the page's part."""
    s = settings()
    return SimpleNamespace(**{short(name): s[name] for name in PAGES[page].settings})


def left_out() -> set[str]:
    """The settings for which a link has no room: the longest texts."""
    return address.beyond(_told())


def query() -> dict[str, str]:
    """The settings that differ from their defaults, as far as the browser's address has room."""
    return _in_address(settings(), place())


def _in_address(of: Values, at: Place) -> dict[str, str]:
    differing = values.to_parameters(of, at)
    gone = address.beyond({"lang": of["lang"]} | differing, address.OWN)
    return {name: text for name, text in differing.items() if name not in gone}


def in_story() -> bool:
    """Tell whether the reader is in the story and came from elsewhere."""
    return bool(settings()["stop"]) and "return_point" in st.session_state


def link() -> dict[str, str]:
    """Return the parameters of a link for somebody else: with the language, nothing personal."""
    gone = left_out()
    told = {name: text for name, text in _told().items() if name not in gone}
    return {name: text for name, text in told.items() if not SETTINGS[name].personal}


def _told() -> dict[str, str]:
    """The language, what the page alone opens with, and the settings that differ, as texts."""
    s, at = settings(), place()
    own = {n: as_text(v if n == "source" else s[n]) for n, v in at.opened_with(s).items()}
    return {"lang": s["lang"]} | own | values.to_parameters(s, at)


def write() -> None:
    """Put the settings into the URL after a change.

    Who has left the model that the page opens with stays with another, also by settings that are
    usual: only `choose_reader` and a reset lead back.
    """
    if not (st.session_state.get("opening") or PAGES[st.session_state.page].empty) and opening():
        settings()["made_up"] = True
    _write()


def _write() -> None:
    session, s, at = st.session_state, settings(), place()
    s.update(values.moved_along(s, session.get("opening", {}), at))
    session.opening = at.opening(s)
    parameters = _in_address(s, at)
    # A browser may ask before it has heard of the address that was last written.
    if not parameters == st.query_params.to_dict() == session.get("address", parameters):
        st.query_params.from_dict(parameters)
    session.address = parameters
    session.written = True


def read(page: str) -> list[Note]:
    """Take over what the URL says if it is not what was last written; notes tell what changed.

    What a page opens with may come while it is shown: it is taken up at once only where nothing
    else is there to see.
    """
    session, url = st.session_state, st.query_params.to_dict()
    moved = session.get("page") not in (None, page)
    session.page = page
    known, leaves = "written" in session, moved or settings()["stop"]
    stays, opens = known and not moved and not is_history_navigation(), PAGES[page].opens()
    if not stays or PAGES[page].empty or not opens:
        session.opens = opens
    ours = known and leaves and url == session.get("links")  # of the navigation, drawn before
    if ours and not in_story():
        settings()["stop"] = 0  # a reader who goes elsewhere leaves the story
        session.address = url
        _write()  # a fragment changed a setting
        return []
    if stays:  # what was last written: the browser may not have heard of it when it asked
        if session.get("opening", {}) != opening():
            _write()
        return []
    visit().asked = frozenset(with_present_names(url))
    session.address = url
    several = {name: list(dict.fromkeys(st.query_params.get_all(name))) for name in url}
    twice = {name: texts for name, texts in several.items() if len(texts) > 1}
    found, notes = values.from_parameters(url, place(), twice)
    settings().update(found)
    session.opening = opening()
    _write()
    return notes


def nearest(**possible: object) -> list[Note]:
    """Bring settings to what is possible beside the others; notes on what a link had asked for."""
    s = settings()
    wrong = {name: value for name, value in possible.items() if s[name] != value}
    notes = [Note(name, as_text(s[name]), wrong[name]) for name in wrong if name in visit().asked]
    if wrong:
        change(**wrong)
    return notes


def at_most(**most: int) -> list[Note]:
    """Bring settings down to the most that there is; notes as `nearest`."""
    return nearest(**{name: min(settings()[name], top) for name, top in most.items()})


def key(name: str) -> str:
    """Return the key of the widget that shows a setting now.

    It changes where the setting is set past its widget while the browser may still show the old
    value: what a message says of that value is then said of a widget that is gone.
    """
    renewed = st.session_state.get("renewed", {}).get(name)
    return f"{name}:{renewed}" if renewed else name


@contextmanager
def past_widgets() -> Iterator[None]:
    """Give new widgets, of which the browser has said nothing yet, to all that is set meanwhile."""
    before = dict(settings())
    yield
    renewed, now = st.session_state.setdefault("renewed", {}), settings()
    changed = [name for name, value in before.items() if now[name] != value]
    renewed.update({name: renewed.get(name, 0) + 1 for name in changed})


def is_of(name: str, value: object) -> bool:
    """Tell whether a setting can have this value; a page itself checks the words of a text."""
    setting = SETTINGS[name]  # a browser's message may hold anything
    return isinstance(value, str) if setting.default == "" else setting.can_be(value)  # free text


def change(**changed: object) -> None:
    """Set several settings at once, for callbacks of buttons."""
    settings().update(changed)
    write()


def reset(page: Page | None = None) -> None:
    """Back to the defaults: what one page has, the sizes and real model too, or of all pages.

    Language, lecture mode and class stay, and so does a real model that the page cannot show.
    """
    if page is None:
        names = list(SETTINGS)
    else:
        names = list(page.settings)
        own = {shared.CHECKPOINT: page.checkpoints, shared.TRAINED_TEXT: page.trained}
        names += [n for n in SHARED if page.sizes and n not in sum(own, ())]
        names += [name for several, there in own.items() if there for name in several]
        names += [*page.opens(), "made_up"] if page.opens() else []
    _restore(names)


def choose_reader(*, made_up: bool) -> None:
    """Let the made-up language read, or the app's own real model: as the page begins with it."""
    page = PAGES[st.session_state.page]
    st.session_state.opens = page.opens()
    settings()["made_up"] = made_up
    _restore({*usual_model(), *shared.CHECKPOINT, *page.opens()} - {"made_up"})


def renew(page: Page) -> None:
    """Back to what a page begins with: its own settings, and all that every page has."""
    _restore([*SHARED, *page.settings])


def _restore(names: Iterable[str]) -> None:
    s, usual = settings(), defaults()
    following = [name for name, one in SETTINGS.items() if one.follows and s[name] == usual[name]]
    if "preset" in names:  # first: the others' defaults follow it
        s["preset"] = SETTINGS["preset"].default
    restored = {*names, *following} - {"lang", "panel", *CARRIED}
    s.update({name: value for name, value in usual_model().items() if name in restored})
    usual = defaults()
    s.update({name: usual[name] for name in restored})
    _write()


def go(page: str, **asked: object) -> None:
    """Open a page, by its name, with a state of its own; the frame does it at the next run.

    Lecture mode and the class go along.
    """
    asked |= {name: settings()[name] for name in CARRIED if settings()[name]}
    there = replace(place(), page=page, opens=PAGES[page].opens())
    texts = {name: as_text(value) for name, value in asked.items()}
    found, _ = values.from_parameters(texts, there)
    # As `write` will say it there, so that the browser's history gets nothing more.
    st.session_state.go = (PAGES[page].file, _in_address(found, there))


def follow() -> None:
    """Carry out `go`."""
    if "go" in st.session_state:
        file, parameters = st.session_state.pop("go")
        st.session_state.pop("written", None)  # what the page is to show stands in its address
        st.switch_page(file, query_params=parameters)
