"""Files of activations from the reader's own machine, kept below the first readable folder."""

import hashlib

from ui.engine.folders import APP, folders

MOST_FILES, MOST_MIB = 20, 64


def keep(data: bytes) -> str:
    """Write the file under the name of its content; the oldest make room. Returns its path.

    Raises:
        OSError: this server cannot write it.
    """
    folder = folders()[0] / "activations"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.safetensors"
    path.write_bytes(data)
    for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[:-MOST_FILES]:
        old.unlink()
    return str(path.relative_to(APP) if path.is_relative_to(APP) else path)
