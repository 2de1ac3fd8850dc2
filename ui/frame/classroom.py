"""Class mode on the page: the door to a room, and what the browser needs to be in one."""

import json
from collections.abc import Callable
from typing import Any

import streamlit as st

from ui import asset
from ui.classroom import codes, questions, rooms
from ui.classroom.store import ClassError
from ui.frame import share
from ui.parts import prose
from ui.settings import address, state
from ui.settings.page import HOME, PAGES, Note
from ui.settings.parsers import ROOM_LENGTH, room
from ui.settings.server import server
from ui.settings.visit import visit
from ui.words.text import catalogue, t

KEY, FRAME, OFFER = "class_key", "classroom", "class_offer"
IN = "class_in"  # in the session: the code of the class that it is in
BROWSER = "classroom.in_"  # the texts that the browser shows
EXAMPLE = "7KQM-W3XD"


def button() -> None:
    """In the navigation: the way in."""
    if not server().classes or state.settings()["room"]:
        return
    if st.button(t("classroom.way"), icon=":material/groups:", key="class_door", width="stretch"):
        st.dialog(t("classroom.title"))(_door)()


def _door() -> None:
    """Join, open, or lead again."""
    with st.form("class_join", border=False):
        typed = st.text_input(t("classroom.code"), placeholder=EXAMPLE, max_chars=20)
        if st.form_submit_button(t("classroom.join"), type="primary", width="stretch"):
            _try(_join, typed)
    st.divider()
    st.markdown(t("classroom.open_says"))
    if st.button(t("classroom.open"), icon=":material/add:", width="stretch"):
        _try(_open)
    with st.expander(t("classroom.lead"), type="compact"), st.form("class_lead", border=False):
        key = st.text_input(t("classroom.key"), type="password", max_chars=codes.LONGEST)
        if st.form_submit_button(t("classroom.lead_again"), width="stretch"):
            _try(_lead, key.strip())


def _try(enter: Callable[..., None], *given: str) -> None:
    """Go in, or say why not; the page is drawn again, since the class stands around it."""
    try:
        enter(*given)
    except ClassError as refusal:
        prose.refused(refusal)
    else:
        st.rerun()


def _join(typed: str) -> None:
    try:
        code = room(typed)
    except ValueError:
        code = ""
    if not code:
        raise ClassError("no_code", length=ROOM_LENGTH, example=EXAMPLE)
    if rooms.store().look(code) is None:
        raise ClassError("no_room", code=codes.spaced(code))
    state.change(room=code)


def _open() -> None:
    _lead(rooms.open_new(st.context.ip_address))


def _lead(key: str) -> None:
    """Lead the room of a key; it is opened by the browser, if it is there no longer."""
    code = codes.code_of(key)
    if rooms.store().look(code) is None:
        raise ClassError("no_key")
    st.session_state[KEY], st.session_state[questions.LEADS] = key, code
    state.change(room=code)


def mend() -> list[Note]:
    """Keep the class that this session is in, where Back leads to an address from before it."""
    code = state.settings()["room"]
    st.session_state[IN] = kept = st.session_state.get(IN) or code
    if kept != code:
        state.change(room=kept)
    return []


def listen() -> None:
    """Be in the room that the address names, if it names one."""
    code = state.settings()["room"]
    if not code:
        return
    here = state.link()
    del here["lang"]
    data = {
        "code": code,
        "spaced": codes.spaced(code),
        "here": {"page": visit().page.name, "query": here},
        "pages": list(PAGES),
        "home": HOME,
        "lang": state.settings()["lang"],
        "texts": _texts(),
        "leads": questions.leading(),
    }
    if questions.leading():
        link = f"{address.known()}/?room={code}"
        data |= {"key": st.session_state.get(KEY, ""), "link": link}
        data["qr"] = share.code(link, t("share.alt"))
        data["local"] = t("classroom.local") if address.is_local(link) else ""
    made = st.components.v2.component(FRAME, js=_script())
    made(key=FRAME, data=data, on_left_change=_left, on_leads_change=_leads)


def _script() -> str:
    style = json.dumps(asset("classroom.css"))
    return f"const CSS = {style};\n{asset('cover.js')}{asset('classroom.js')}"


def _texts() -> dict[str, str]:
    """Return the browser's texts; it fills in the numbers itself."""
    lang = state.settings()["lang"]
    said = {key: entry for key, entry in catalogue().items() if key.startswith(BROWSER)}
    return {key.removeprefix(BROWSER): entry[lang] for key, entry in said.items()}


def _left() -> None:
    """The reader leaves the class, and stays on the page."""
    for name in (KEY, IN, questions.LEADS):
        st.session_state.pop(name, None)
    state.change(room="")


def _leads() -> None:
    """The browser has the key, as after a reload; the server asks for it where it matters."""
    st.session_state[questions.LEADS] = state.settings()["room"]


def offer() -> None:
    """Send what the drawn page has to ask to the lecturer's browser."""
    if questions.leading():
        text = visit().offered
        made: Callable[..., Any] = st.components.v2.component(OFFER, js=asset("class_offer.js"))
        made(key=OFFER, data={"offer": questions.sealed(text) if text else None})
