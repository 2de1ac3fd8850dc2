"""One line about a link that asked for what cannot be."""

from dataclasses import replace

import streamlit as st

from ui.frame import share
from ui.settings import state
from ui.settings.address import ASKED
from ui.settings.page import Note
from ui.settings.rooms import SETTINGS
from ui.words.text import safe, t


def say(notes: list[Note]) -> None:
    """One line about everything in the link that could not be used, and what it has no room for."""
    lines = []
    first = {note.name: note for note in reversed(notes)}
    last = {note.name: note.used for note in notes}  # of a setting that was mended twice
    for note in (replace(first[name], used=used) for name, used in last.items()):
        if note.name == ASKED:
            lines.insert(0, t("common.unknown_page", page=safe(note.given[:40])))
            continue
        known = note.name in SETTINGS
        key = "common.changed_setting" if known else "common.unknown_setting"
        given = safe(note.given[:40])
        used = safe(str("" if note.used is None else note.used)) or t("common.the_original")
        lines.append(t(key, name=safe(note.name[:40]), given=given, used=used))
    if state.left_out():
        lines.append(share.left_out())
    if lines:
        st.warning(" ".join(lines), icon=":material/info:")
