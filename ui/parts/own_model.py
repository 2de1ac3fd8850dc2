"""A model of the reader's own: a repository's name, or a config.json that is dropped or pasted."""

import streamlit as st

from mla_engine import PRESETS
from ui.engine import model, own_model
from ui.parts import prose
from ui.settings.parsers import is_own, preset_of
from ui.words.numbers import count
from ui.words.text import safe, t

EXAMPLE, PASTED = "moonshotai/Kimi-K2-Instruct", '{"model_type": ...}'
MOST_MIB, MOST_LETTERS = 2, 200_000
HEIGHT = 100  # pixels


def draw(preset: str) -> None:
    """Which layer is shown, and the way to give another model."""
    if is_own(preset):
        st.caption(_shown(preset))
    with st.expander(t("own_model.title")):
        _form()


def _shown(preset: str) -> str:
    """Which layer of the model stands for it, and whose its weights are."""
    found = preset_of(preset)
    numbers = {"layer": count(found.layer), "layers": count(found.n_layers)}
    return t("own_model.shown", name=safe(found.name), **numbers)


def _form() -> None:
    """The three ways; the file goes before the text, and both before the name."""
    with st.form("own_model", border=False):
        name = st.text_input(t("own_model.name"), key="own_model:name", placeholder=EXAMPLE)
        file = upload(t("own_model.file"), "own_model:file")
        most = {"max_chars": MOST_LETTERS, "height": HEIGHT}
        text = st.text_area(t("own_model.text"), key="own_model:text", placeholder=PASTED, **most)
        st.caption(t("own_model.what"))
        said = st.container()  # above the button, where the reader looks
        if st.form_submit_button(t("own_model.take")):
            with said:
                _take(name.strip(), file or text.strip().encode(errors="replace"))


def upload(label: str, key: str) -> bytes:
    """A box for a config.json; empty until there is one."""
    file = st.file_uploader(label, type="json", key=key, max_upload_size=MOST_MIB)
    return file.getvalue() if file else b""


def button(name: str, data: bytes) -> None:
    """The way to show on every page a model that is counted here, where its sizes are known."""
    if (data or "/" in name or name in PRESETS) and st.button(
        t("own_model.everywhere"), icon=":material/tune:"
    ):
        _take(name, data)


def _take(name: str, data: bytes) -> None:
    """Show the model on every page; one that cannot be shown changes nothing."""
    if not (name or data):
        st.error(t("own_model.nothing"))
        return
    try:
        with st.spinner(t("own_model.reading")):
            key = own_model.key_of(name, data)
    except ValueError as error:
        prose.refused(error)
        return
    model.take(key)
    st.rerun()
