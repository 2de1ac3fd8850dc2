"""Files that people take for a model's: named for what they are."""

from kvcount.files.errors import CheckpointError
from kvcount.refusals import Phrase

KINDS = {  # first bytes in lower case -> the kind; of a safetensors file 8 are looked at
    b"version ": Phrase("git_lfs"),
    b"gguf": Phrase("gguf"),
    b"<html": Phrase("web_page"),
    b"<!doc": Phrase("web_page"),
    b"pk\x03\x04": Phrase("zip"),
}
MARK = b"\xef\xbb\xbf"  # that some editors put before a text


def check_kind(data: bytes, file: str) -> None:
    """Raise CheckpointError where the first bytes of a file are those of another kind."""
    start = data[:64].removeprefix(MARK).lstrip().lower()
    for signs, kind in KINDS.items():
        if start.startswith(signs):
            raise CheckpointError("other_kind", file=file, kind=kind)
