"""A model of the reader's own: by its name, or by a pasted config.json."""

import streamlit as st

from mla_engine.checkpoints.names import CONFIG
from mla_engine.model_caches.sources import Found, of_text
from ui.engine import model_cache
from ui.settings import state
from ui.words.text import t

MOST_LETTERS = 200_000
EXAMPLE = "deepseek-ai/DeepSeek-V3.2"


def ask(name: str, pasted: str) -> None:
    """The box for a name, which a link keeps, and the box for a text, which no link has room for.

    Args:
        name: the setting that holds the name.
        pasted: the key of the text in the session.
    """
    label, hint = t("own_model.name"), t("own_model.hint")
    state.control(st.text_input, label, name, placeholder=EXAMPLE, help=hint)
    most = {"max_chars": MOST_LETTERS, "height": 100}
    st.text_area(t("own_model.config"), key=pasted, placeholder='{"model_type": ...}', **most)


def found(name: str, pasted: str) -> Found | None:
    """The pasted model before the named one; None where neither is given.

    Raises:
        RefusedError: nothing of that name, or what is not counted, with the reason.
    """
    if text := st.session_state.get(pasted, "").strip():
        return of_text(text.encode(errors="replace"))
    return model_cache.found(name) if name else None


def given(name: str, pasted: str) -> str:
    """How it was given, as the engine's `find` takes it: a file, a name, "" for neither."""
    return CONFIG if st.session_state.get(pasted, "").strip() else name
