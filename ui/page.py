"""The frame of every page: settings from the link, navigation, language, the row at the foot."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import streamlit as st

from mla_engine.budget import MemoryBudgetError
from mla_engine.checks import RefusedError
from ui import bridge, compute, lecture, model, share, state, tour
from ui import source as real
from ui.settings import SETTINGS
from ui.text import safe, size, t

PAGES = {  # in lecture order
    "overview": "app.py",
    "worked_example": "pages/worked_example.py",
    "attention_maps": "pages/attention_maps.py",
    "rope": "pages/rope.py",
    "absorption": "pages/absorption.py",
    "compression": "pages/compression.py",
    "kv_cache": "pages/kv_cache.py",
    "decode": "pages/decode.py",
    "compute": "pages/compute.py",
    "compare": "pages/compare.py",
    "real_models": "pages/real_models.py",
    "claims": "pages/claims.py",
    "quiz": "pages/quiz.py",
    "notation": "pages/notation.py",
}
LANGUAGE_NAMES = {"en": "English", "zh": "中文"}
ASSETS = Path(__file__).parent.parent / "assets"
STYLE, ICON = ASSETS / "style.css", ASSETS / "icon.png"


def setup(
    page: str,
    *,
    sizes: bool = True,
    source: str = "",
    mend: Callable[[], list[state.Note]] = list,
) -> None:
    """Begin a page; with `sizes` the sidebar has the preset picker and the size sliders.

    With `source`, "any" or "latent", a real model's layer can stand in for them. `mend` brings the
    page's own settings within what there is.
    """
    st.set_page_config(page_title="MLA Explorer", page_icon=str(ICON), layout="wide")
    state.follow()
    st.session_state.update(with_sizes=sizes, uses_source=source)
    notes = state.read(page) + model.mend() + tour.mend(page) + mend()
    st.html(STYLE)
    compute.warm_up()
    _bar(page)
    with st.sidebar:
        _navigation()
        if sizes:
            model.size_controls()
    _say(notes, page)
    real.failure()


def _bar(page: str) -> None:
    """What stands above the title: the bar of lecture mode, or that of the tour."""
    st.session_state.update(places={}, stepping=False)
    stop = state.settings()["stop"]
    if lecture.on():
        lecture.bar(page, stop, PAGES)
    elif stop:
        tour.bar(stop, PAGES)


def _navigation() -> None:
    st.markdown("**MLA Explorer**")
    state.control(
        st.segmented_control,
        t("common.language"),
        "lang",
        list(LANGUAGE_NAMES),
        format_func=LANGUAGE_NAMES.get,
        required=True,
        label_visibility="collapsed",
    )
    st.session_state.links = query = state.elsewhere()
    for name, file in PAGES.items():
        st.page_link(file, label=t(f"{name}.link"), query_params=query)
    tour.start_button(PAGES)
    lecture.button()


def _say(notes: list[state.Note], page: str) -> None:
    """One line about everything in the link that could not be used, and what it has no room for."""
    lines = []
    path = urlsplit(st.context.url or "").path.rstrip("/").rsplit("/", 1)[-1]
    if page == "overview" and path and path != "overview":
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


def title(text: str, look: str) -> None:
    """The page's title, a statement, and one sentence on what to look at."""
    st.title(text, anchor=False)
    prose(look)
    real.badge()


def prose(text: str) -> None:
    """Our own words as Markdown, tensors in their colours with their meaning as tooltip."""
    st.markdown(text, unsafe_allow_html=True)


def refused(error: ValueError) -> None:
    """One clear sentence where a configuration cannot run; the rest of the page goes on."""
    if isinstance(error, MemoryBudgetError):
        needed, limit = size(error.needed_bytes), size(error.limit_bytes)
        st.error(t("common.too_large", needed=needed, limit=limit), icon=":material/block:")
        return
    coded = isinstance(error, RefusedError)
    reason = t(f"errors.{error.code}", **error.values) if coded else str(error)
    st.error(t("common.refused", reason=safe(reason)), icon=":material/block:")


def download(table: Callable[[], pd.DataFrame], file: str) -> None:
    """A quiet button beside a picture: its data as CSV, made on click."""
    st.download_button(
        t("common.download_csv"),
        lambda: table().to_csv(index=False).encode("utf-8-sig"),
        file,
        "text/csv",
        key=f"download:{file}",
        on_click="ignore",
    )


def footer(page: str) -> None:
    """The row of quiet buttons: reset all, reset this page, copy link, QR code."""
    lecture.keys(PAGES)
    st.divider()
    everything, here, link, audience = st.columns(4)
    everything.button(t("common.reset_all"), on_click=state.reset, width="stretch")
    also = {"sizes": st.session_state.with_sizes, "source": bool(st.session_state.uses_source)}
    own = {"args": (page,), "kwargs": also, "width": "stretch"}
    here.button(t("common.reset_page"), on_click=state.reset, **own)
    with link:
        bridge.copy_link(share.link(), label=t("common.copy_link"), done=t("common.link_copied"))
    with audience:
        share.button(width="stretch")
    from ui import code  # knows the modules of every page, which know this one

    code.behind(page)
