"""Files of activations from the reader's own machine."""

import hashlib

import streamlit as st

from ui.engine import real_layer as source
from ui.engine.folders import APP, folders
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import safe, t

MOST_UPLOADS, MOST_UPLOAD_MIB = 20, 64


def activations() -> None:
    """A file of activations from the reader's own machine, kept below the first readable folder."""

    def keep() -> None:
        file = st.session_state["source:file"]
        if file is None:
            return
        try:
            state.change(activations=_kept(file.getvalue()))
        except OSError as error:
            st.error(t("source.not_kept", reason=safe(str(error.strerror))))

    if source.chosen() or visit().failed:
        st.file_uploader(
            t("source.upload"),
            type="safetensors",
            key="source:file",
            on_change=keep,
            max_upload_size=MOST_UPLOAD_MIB,
        )


def _kept(data: bytes) -> str:
    """Write the file under the name of its content; the oldest make room."""
    folder = folders()[0] / "activations"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.safetensors"
    path.write_bytes(data)
    for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[:-MOST_UPLOADS]:
        old.unlink()
    return str(path.relative_to(APP) if path.is_relative_to(APP) else path)
