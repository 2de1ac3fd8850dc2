"""Files of activations from the reader's own machine, kept below the first readable folder.

All processes of a machine keep them there, and tell each other what is about to come.
"""

import hashlib
import os
import threading
from pathlib import Path

import streamlit as st

from kvcount.lazy import LazyModule
from mla_engine.checkpoints import CheckpointError
from ui.engine.folders import folders
from ui.parts import prose
from ui.settings import state
from ui.settings.server import server
from ui.settings.visit import visit
from ui.sources import checkpoint
from ui.words.text import safe, t

quota = LazyModule("kvcount.files.quota")

MOST_MIB = 64
PLACE = "activations"
FILE = "activations:file"  # the key of the box for a file
GIB, SHARE = 2**30, 4  # uploads may fill a quarter of the disk quota


def activations() -> None:
    """Draw the box for a file of the reader's own activations, where a real layer is chosen."""
    if server().recorded:
        return
    if checkpoint.chosen() or visit().failed:
        st.file_uploader(
            t("real_models.upload"),
            type="safetensors",
            key=FILE,
            on_change=_take,
            max_upload_size=MOST_MIB,
        )


def _take() -> None:
    """Use the file that was given, if this server can keep it."""
    if (file := st.session_state[FILE]) is None:
        return
    try:
        state.change(activations=keep(file.getvalue()))
    except CheckpointError as refusal:
        prose.refused(refusal)
    except OSError as error:
        st.error(t("real_models.not_kept", reason=safe(str(error.strerror))))


def keep(data: bytes) -> str:
    """Write the file under the name of its content; the oldest make room. Returns its path.

    Raises:
        OSError: this server cannot write it.
        CheckpointError: there is no room for it.
    """
    folder = _folder()
    path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.safetensors"
    partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    with quota.using(folder, {path: len(data), partial: 0}, quota_bytes()) as use:
        if not path.exists():
            use.reserve(len(data))
            _write(path, partial, data)
    return f"{PLACE}/{path.name}"


def _folder() -> Path:
    if not (every := folders()):
        raise OSError(None, "there is no folder for models")
    folder = every[0] / PLACE
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def quota_bytes() -> int:
    """Return how many bytes all uploads may take together."""
    return int(server().disk_quota_gib * GIB / SHARE)


def _write(path: Path, partial: Path, data: bytes) -> None:
    """Write the file whole or not at all, so that nobody reads half a file."""
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
