"""A request's line and headers are bounded, as uvicorn bounds them with h11 but not with httptools.

A stranger could send headers without end, all of which it would keep.
"""

from typing import Any

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
except ImportError:  # then uvicorn takes h11, which bounds them itself
    Protocol = None

MOST_BYTES = 2**16  # as h11 takes by itself
ANSWER = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class _TooLongError(Exception):
    """Ends the reading of a request."""


def bound() -> None:
    """Answer 431 to a request whose head is longer, and hang up."""
    if Protocol is None or hasattr(Protocol, "head_bytes"):
        return
    begin, complete = Protocol.on_message_begin, Protocol.on_headers_complete
    read, invalid = Protocol.data_received, Protocol.send_400_response

    def on_message_begin(self: Any) -> None:
        self.head_bytes = 1
        begin(self)

    def on_headers_complete(self: Any) -> None:
        self.head_bytes = 0  # the body is bounded where it is taken
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MOST_BYTES:
            _refuse(self.transport)
            raise _TooLongError
        complete(self)

    def data_received(self: Any, data: bytes) -> None:
        read(self, data)
        if self.head_bytes:  # it has not come to its end
            self.head_bytes += len(data)
            if self.head_bytes > MOST_BYTES:
                _refuse(self.transport)

    def send_400_response(self: Any, msg: str) -> None:
        if not self.transport.is_closing():
            invalid(self, msg)

    Protocol.head_bytes = 0
    Protocol.on_message_begin, Protocol.on_headers_complete = on_message_begin, on_headers_complete
    Protocol.data_received, Protocol.send_400_response = data_received, send_400_response


def _refuse(transport: Any) -> None:
    if not transport.is_closing():
        transport.write(ANSWER)
        transport.close()
