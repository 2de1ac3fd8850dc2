"""Many messages to a browser that go through the server as one.

On its way each would be taken from thread to thread, looked at, put into bytes and waited for: ten
times what it takes to send it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps

from ui.streamlit_internals import (
    ForwardMsg,
    SessionClient,
    create_reference_msg,
    serialize_forward_msg,
    wrap_sending,
)

DRAWN = {"delta", "ref_hash"}
MOST = 100  # together: a browser that has not been sent 500 is taken to be gone


def is_drawn(message: ForwardMsg) -> bool:
    """Tell whether it is part of the picture, which is dropped where a newer one comes."""
    return message.WhichOneof("type") in DRAWN


class _Bytes(bytes):
    def SerializeToString(self) -> bytes:  # noqa: N802 - of protobuf
        return self


@dataclass(frozen=True)
class Sent:
    """A message in bytes; of a large one also its name, and the short one that says no more."""

    whole: _Bytes
    name: str = ""
    short: _Bytes | None = None

    @classmethod
    def of(cls, message: ForwardMsg) -> "Sent":
        """Return the digest of a message."""
        whole = _Bytes(serialize_forward_msg(message))
        if not message.metadata.cacheable:
            return cls(whole)
        short = create_reference_msg(message).SerializeToString()
        return cls(whole, message.hash, _Bytes(short))


class Bundle:
    """The messages of a picture, short where a browser knows them; to the server one message."""

    delta = None  # for it belongs to no fragment

    def __init__(self, messages: Iterable[Sent], known: frozenset[str]) -> None:
        self.parts = [one.short if one.name in known else one.whole for one in messages]

    def WhichOneof(self, _fields: str) -> str:  # noqa: N802 - of protobuf
        """Return the kind of a message of it."""
        return "delta"

    def HasField(self, _name: str) -> bool:  # noqa: N802 - of protobuf
        """Tell whether it can be put together with another, or is to outlive the picture."""
        return False


def install() -> None:
    """Let browsers be sent such messages."""
    wrap_sending(_or_bundle)


def _or_bundle(write: Callable[..., None]) -> Callable[..., None]:
    @wraps(write)
    def written(client: SessionClient, message: ForwardMsg | Bundle) -> None:
        parts = message.parts if isinstance(message, Bundle) else [message]
        for part in parts:
            write(client, part)

    return written
