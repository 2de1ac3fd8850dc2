"""The error for a model's files, and what turns others into it."""

from collections.abc import Iterator
from contextlib import contextmanager

from kvcount.refusals import Phrase, RefusedError


class CheckpointError(RefusedError):
    """The refusal of a checkpoint, in one sentence with the value found and what to do."""

    section = "file"


@contextmanager
def unreadable(what: object) -> Iterator[None]:
    """Turn the operating system's refusals into a CheckpointError that names `what`."""
    try:
        yield
    except OSError as error:
        raise CheckpointError("unreadable", where=what, reason=error.strerror or error) from error


@contextmanager
def usable(name: object) -> Iterator[None]:
    """Turn what Python says to a name that can be no file's into a CheckpointError.

    A zero byte, half a character, a user that there is not, links in a ring, no text at all.
    """
    try:
        yield
    except CheckpointError:
        raise
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or Phrase("no_path")
        raise CheckpointError("unreadable", where=f"{name!r:.120}", reason=reason) from error
