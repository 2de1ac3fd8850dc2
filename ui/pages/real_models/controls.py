"""The controls of the page: a matrix, a file of activations, the comparison of all layers."""

from functools import partial

import streamlit as st

from mla_engine.checkpoints import CheckpointError
from ui.engine import real_layer
from ui.pages.real_models import uploads
from ui.pages.real_models.settings import MATRICES
from ui.pages.real_models.view import View
from ui.parts import prose
from ui.parts.control import control
from ui.settings import state
from ui.settings.visit import visit
from ui.words.text import safe, t

FILE = "activations:file"  # the key of the box for a file


def matrix(view: View) -> None:
    """The matrix whose singular values are shown, of those that the layer's kind has."""
    control("real_matrix", shown=view.matrix, options=MATRICES[view.mechanism])


def activations() -> None:
    """A file of activations from the reader's own machine, where a real layer is chosen."""
    if real_layer.chosen() or visit().failed:
        st.file_uploader(
            t("real_models.upload"),
            type="safetensors",
            key=FILE,
            on_change=_keep,
            max_upload_size=uploads.MOST_MIB,
        )


def _keep() -> None:
    """Use the file that was given, if this server can keep it."""
    if (file := st.session_state[FILE]) is None:
        return
    try:
        state.change(activations=uploads.keep(file.getvalue()))
    except CheckpointError as refusal:
        prose.refused(refusal)
    except OSError as error:
        st.error(t("real_models.not_kept", reason=safe(str(error.strerror))))


def begin() -> None:
    """Compare the layers."""
    label, compare = t("real_models.layers_begin"), partial(state.change, real_layers=True)
    st.button(label, on_click=compare, icon=":material/layers:")


def stop() -> None:
    """End the comparison of the layers between two of them."""
    st.button(t("real_models.layers_stop"), on_click=partial(state.change, real_layers=False))
