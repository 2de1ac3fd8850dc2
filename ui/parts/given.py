"""A model of the reader's own: a repository's name, or a config.json that is dropped or pasted."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

import streamlit as st

from kvcount.files.folder import CONFIG
from kvcount.logs.engine_log import parse
from kvcount.sources import Found
from mla_engine import PRESETS
from ui.parts import prose
from ui.parts.control import control
from ui.settings.parsers import is_own, preset_of
from ui.settings.server import server
from ui.sources import given, model
from ui.words.numbers import count
from ui.words.text import safe, t

EXAMPLE, PASTED = "moonshotai/Kimi-K2-Instruct", '{"model_type": ...}'
COUNTED = "deepseek-ai/DeepSeek-V3.2"  # an example of a model that is only counted
MOST_MIB, MOST_LETTERS = 6, 200_000
HEIGHT = 100  # pixels

FENCES = re.compile(r"^\s*```.*$", re.MULTILINE)
Take = Callable[[str], object]  # what is done with the key of a model that can be shown


def draw(preset: str) -> None:
    """Say which layer is shown, and ask for another model."""
    if is_own(preset):
        st.caption(_shown(preset))
    if server().recorded:
        return
    with st.expander(t("given.title")):
        form("own_model", {t("given.take"): model.take})


def _shown(preset: str) -> str:
    """Say which layer of the model stands for it, and whose its weights are."""
    found = preset_of(preset)
    numbers = {"layer": count(found.layer), "layers": count(found.n_layers)}
    return t("given.shown", name=safe(found.name), **numbers)


def form(key: str, takers: Mapping[str, Take]) -> None:
    """Ask for a name, a file or a text; the file goes before the text, and both before the name.

    Args:
        key: of the form, and the beginning of its widgets' keys.
        takers: a button each, by its label: what takes the model that is given.
    """
    with st.form(key, border=False):
        name = st.text_input(t("given.name"), key=f"{key}:name", placeholder=EXAMPLE)
        file = upload(t("given.file"), f"{key}:file")
        text = paste(f"{key}:text", t("given.text"))
        st.caption(t("given.what"))
        said = st.container()  # above the buttons, where the reader looks
        with st.container(horizontal=True):
            pressed = [take for label, take in takers.items() if st.form_submit_button(label)]
        with said:
            for take in pressed:
                _give(name.strip(), file or text.strip().encode(errors="replace"), take)


def upload(label: str, key: str) -> bytes:
    """Draw a box for a config.json; return it, empty until there is one."""
    file = st.file_uploader(label, type="json", key=key, max_upload_size=MOST_MIB)
    return file.getvalue() if file else b""


def buttons(name: str, data: bytes, takers: Mapping[str, Take]) -> None:
    """Draw the ways to show a model that is counted here, where its sizes are known; as `form`."""
    if not (data or "/" in name or name in PRESETS):
        return
    said = st.container()
    with st.container(horizontal=True):
        pressed = [take for label, take in takers.items() if st.button(label)]
    with said:
        for take in pressed:
            _give(name, data, take)


def _give(name: str, data: bytes, take: Take) -> None:
    """Hand the model over to be shown; one that cannot be shown changes nothing."""
    if not (name or data):
        st.error(t("given.nothing"))
        return
    try:
        with st.spinner(t("given.reading")):
            key = given.key_of(name, data)
    except ValueError as error:
        prose.refused(error)
        return
    take(key)
    st.rerun()


def ask(name: str, pasted: str, *, text: bool = True) -> None:
    """Ask for a model that is only counted: for its name, its file, or the text of that.

    A link keeps the name; it has no room for files and texts.

    Args:
        name: the setting that holds the name.
        pasted: the key of the text in the session; the file's is made of it.
        text: whether to draw the box for the text; the page may have its own (`paste`).
    """
    if server().recorded:
        return
    label, hint = t("counted_model.name"), t("counted_model.hint")
    control(name, widget="text_input", label=label, placeholder=COUNTED, help=hint)
    upload(t("given.file"), _file(pasted))
    if text:
        paste(pasted, t("given.text"))


def paste(key: str, label: str, most: int = MOST_LETTERS, **said: str) -> str:
    """Draw a box for the text of a config.json, or for what else the label names; return it."""
    size = {"max_chars": most, "height": HEIGHT}
    return st.text_area(label, key=key, **({"placeholder": PASTED} | said), **size)


def given_config(pasted: str, *, logs: bool = False) -> bytes:
    """Return the config.json that was dropped, before one that was pasted; empty without either.

    Args:
        pasted: the key of the text in the session.
        logs: whether the box of the text takes a log as well, which is no config.json.
    """
    if dropped := st.session_state.get(_file(pasted)):
        return dropped.getvalue()
    if logs and given_log(pasted):
        return b""
    return _text(pasted).encode(errors="replace")


def given_log(pasted: str) -> str:
    """Return the text of a box for both, where it is an engine's log; "" where it is a config.json.

    A log can be lines of JSON, and a config.json be torn: what no reader understands is the latter
    where it begins as one.
    """
    text = _text(pasted)
    if not text.startswith("{") or parse(text).said:
        return "" if _is_object(text) else text
    return ""


def _is_object(text: str) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(json.loads(text), dict)
    return False


def is_given(pasted: str) -> bool:
    """Return whether there is a text or a file."""
    return bool(given_config(pasted))


def _text(pasted: str) -> str:
    """Return the text without the fences that it is quoted in."""
    return FENCES.sub("", st.session_state.get(pasted, "")).strip()


def counted(name: str, pasted: str, *, weighed: bool = False, logs: bool = False) -> Found | None:
    """Return the dropped or pasted model before the named one; None where none is given.

    Args:
        name: of the model.
        pasted: the key of the text in the session.
        weighed: whether the weights of a named folder are looked at, too.
        logs: as of `given_config`.

    Raises:
        RefusedError: nothing of that name, or what is not counted, with the reason.
    """
    if config := given_config(pasted, logs=logs):
        return given.counted_file(config)
    named = given.weighed if weighed else given.counted
    return named(name) if name else None


def source(name: str, pasted: str) -> str:
    """Return where the engine's `find` has it from: a file, a name, "" for neither."""
    return CONFIG if given_config(pasted) else name


def _file(pasted: str) -> str:
    return f"{pasted}:file"
