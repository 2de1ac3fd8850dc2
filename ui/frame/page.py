"""The frame of every page: settings from the link, navigation, the row above the title."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic

import streamlit as st

from mla_engine import SYMBOLS
from ui import ASSETS, asset
from ui.engine import job_owner, queue
from ui.frame import (
    classroom,
    code,
    fault,
    fetching,
    lecture,
    navigation,
    panels,
    share,
    story,
    wish,
)
from ui.parts import checkpoint, chip, waits
from ui.settings import state
from ui.settings import visit as visits
from ui.settings.address import ASKED
from ui.settings.page import SETTINGS, Note, Page
from ui.settings.shared import TAGS
from ui.sources import model
from ui.streamlit_internals import is_connected, session_id
from ui.words.text import safe, t

ICON = ASSETS / "icon.png"


@dataclass
class Frame:
    """The storyboard's message to the frame around it.

    Args:
        view: what the page shows; None where nothing could be shown.
    """

    view: object = None


@contextmanager
def frame(page: Page) -> Iterator[Frame]:
    """Draw what stands around a page: above and below it, and the ways to others.

    The block draws the page itself. A page that is opened comes from the top; on one that stands,
    the picture is sent first, and the ways to others, which rarely change, after it. A few pages
    are drawn at a time: the others wait here.
    """
    state.follow()
    stands = "visit" in st.session_state and visits.visit().page is page
    with waits.drawing_turn(page), _observed(page):
        ways = _above(page)
        if not stands:
            ways()
        shown = Frame()
        try:
            yield shown
        except Exception:
            if stands:
                ways()
            raise
        if stands:
            ways()
        _below(page, shown.view)


def show(page: Page, storyboard: Callable[[], object]) -> None:
    """Draw a page by its storyboard, which returns the view, or one of its panels alone."""
    with frame(page) as shown:
        panel = panels.alone(page)
        shown.view = panels.draw(page, panel) if panel else storyboard()


observers: list[Callable[[Page, str, float], None]] = []
"""Called at the end of each run of a page: the page, "done", "replaced" or "failed", seconds."""


@contextmanager
def _observed(page: Page) -> Iterator[None]:
    began, ended = monotonic(), "replaced"  # by a newer run, which ends this one by raising
    try:
        yield
        ended = "done"
    except Exception:
        ended = "failed"
        raise
    finally:
        for observer in observers:
            observer(page, ended, monotonic() - began)


def _above(page: Page) -> Callable[[], None]:
    """Draw what stands above the title; return what draws the ways to other pages and models."""
    visit = visits.begin(page)
    note_uploads(page)
    st.set_page_config(page_title="MLA Explorer", page_icon=str(ICON), layout="wide")
    panels.lead_to_page(page)
    changed = state.read(page.name)
    if panel := panels.alone(page):
        return _around(page, changed + model.mend() + panels.mend(page, panel) + page.mend())
    changed += classroom.mend()
    wish.turn()
    changed += model.mend() + story.mend(page.name) + page.mend()
    changed += wish.stop(page)
    queue.warm_up()
    _bar(page)
    wish.listen(page)
    row = st.container(key="page_row", horizontal=True, vertical_alignment="center")
    top = st.container()
    job_owner.show_places_by(waits.corner())
    with top:
        fault.tell()
    _tell(changed)
    checkpoint.failure()
    fetching.tell_damage(page)

    def ways() -> None:
        with st.sidebar:
            navigation.draw()
            _listen()
        with row:
            if page.sizes:
                chip.chip()
            navigation.menu(page)
        visit.top = top

    return ways


def _around(page: Page, changed: list[Note]) -> Callable[[], None]:
    """Draw what stands around a panel that is shown alone: nothing but what there is to say."""
    queue.warm_up()
    st.html(panels.STYLE)
    _script()
    visits.visit().top = top = st.container()
    with top:
        fault.tell()
    _tell(changed)
    checkpoint.failure()
    fetching.tell_damage(page)
    return lambda: None


def _listen() -> None:
    """Put the frame's own scripts on the page."""
    _script()
    classroom.listen()


def _script() -> None:
    said = {"language": TAGS[state.settings()["lang"]], "skip": t("navigation.skip")}
    st.components.v2.component("frame", js=asset("frame.js"))(key="frame", data=said)


def _bar(page: Page) -> None:
    """Draw the bar of lecture mode above the title, or that of the story."""
    step = story.present()
    if lecture.on():
        lecture.bar(page, step)
    elif step:
        story.bar(step)


def _below(page: Page, view: object) -> None:
    if panels.alone(page):
        _link_tensors()
        return
    classroom.offer()
    _link_tensors()
    navigation.menu_data(page)
    code.behind(page, view)
    fetching.tell()
    wish.end()


def _link_tensors() -> None:
    """Light all that names or draws a tensor when one place is pointed at, in the browser."""
    roles = {code: symbol.role for code, symbol in SYMBOLS.items()}
    st.components.v2.component("linked", js=asset("linked.js"))(key="linked", data=roles)


def _tell(notes: list[Note]) -> None:
    """Write one line on what of the link could not be used, and what it has no room for."""
    lines = []
    first = {note.name: note for note in reversed(notes)}
    last = {note.name: note.used for note in notes}  # of a setting that was mended twice
    for note in (replace(first[name], used=used) for name, used in last.items()):
        if note.name == ASKED:
            lines.insert(0, t("common.unknown_page", page=safe(note.given[:40])))
            continue
        keys = {True: "common.changed_setting", False: "common.unknown_setting"}
        key = "common.no_stop" if note.name == wish.KEY else keys[note.name in SETTINGS]
        key = note.key or key
        given = safe(note.given[:40])
        used = safe(str("" if note.used is None else note.used)) or t("common.the_original")
        lines.append(t(key, name=safe(note.name[:40]), given=given, used=used))
    if state.left_out():
        lines.append(share.left_out())
    if lines:
        st.warning(" ".join(lines), icon=":material/info:")


_takes_uploads: set[str] = set()  # sessions


def note_uploads(page: Page) -> None:
    """Let this session upload files from now on, if it shows a page that takes them."""
    session = session_id()
    if page.uploads or page.sizes:  # a config.json goes behind the model's chip
        _takes_uploads.intersection_update(filter(is_connected, tuple(_takes_uploads)))
        _takes_uploads.add(session)
    else:
        _takes_uploads.discard(session)


def takes_uploads(session: str) -> bool:
    """Tell whether a session shows a page that takes files."""
    return session in _takes_uploads
