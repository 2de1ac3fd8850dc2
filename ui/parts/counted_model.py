"""A model that is only counted: by its name, or by a config.json that is dropped or pasted."""

import streamlit as st

from mla_engine.checkpoints.files import CONFIG
from mla_engine.model_caches.sources import Found, of_text
from ui.engine import model_cache
from ui.parts import own_model
from ui.parts.control import control
from ui.words.text import t

EXAMPLE = "deepseek-ai/DeepSeek-V3.2"


def ask(name: str, pasted: str) -> None:
    """The box for a name, which a link keeps, and those for a file, which no link has room for.

    Args:
        name: the setting that holds the name.
        pasted: the key of the text in the session; the file's is beside it.
    """
    label, hint = t("counted_model.name"), t("counted_model.hint")
    control(name, widget="text_input", label=label, placeholder=EXAMPLE, help=hint)
    own_model.upload(t("own_model.file"), _file(pasted))
    most = {"max_chars": own_model.MOST_LETTERS, "height": own_model.HEIGHT}
    text = t("own_model.text")
    st.text_area(text, key=pasted, placeholder=own_model.PASTED, **most)


def data(pasted: str) -> bytes:
    """The config.json that was dropped, before one that was pasted; empty without either."""
    if dropped := st.session_state.get(_file(pasted)):
        return dropped.getvalue()
    return st.session_state.get(pasted, "").strip().encode(errors="replace")


def found(name: str, pasted: str) -> Found | None:
    """The dropped or pasted model before the named one; None where none is given.

    Raises:
        RefusedError: nothing of that name, or what is not counted, with the reason.
    """
    if given_as := data(pasted):
        return of_text(given_as)
    return model_cache.found(name) if name else None


def given(name: str, pasted: str) -> str:
    """How it was given, as the engine's `find` takes it: a file, a name, "" for neither."""
    return CONFIG if data(pasted) else name


def _file(pasted: str) -> str:
    return f"{pasted}:file"
