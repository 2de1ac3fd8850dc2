"""One line about a link that asked for what cannot be."""

from dataclasses import replace
from urllib.parse import urlsplit

import streamlit as st

from ui.frame import share
from ui.settings import state
from ui.settings.page import HOME, Note
from ui.settings.rooms import SETTINGS
from ui.words.text import safe, t


def say(notes: list[Note], page: str) -> None:
    """One line about everything in the link that could not be used, and what it has no room for."""
    lines = []
    path = urlsplit(st.context.url or "").path.rstrip("/").rsplit("/", 1)[-1]
    if page == HOME and path not in ("", HOME):
        lines.append(t("common.unknown_page", page=safe(path[:40])))
    first = {note.name: note for note in reversed(notes)}
    last = {note.name: note.used for note in notes}  # of a setting that was mended twice
    for note in (replace(first[name], used=used) for name, used in last.items()):
        known = note.name in SETTINGS
        key = "common.changed_setting" if known else "common.unknown_setting"
        given = safe(note.given[:40])
        used = safe(str("" if note.used is None else note.used)) or t("common.the_original")
        lines.append(t(key, name=safe(note.name[:40]), given=given, used=used))
    if state.left_out():
        lines.append(share.left_out())
    if lines:
        st.warning(" ".join(lines), icon=":material/info:")
