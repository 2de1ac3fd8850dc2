"""Answers in the place of Streamlit's own."""

from starlette.types import Send

PLAIN = "text/plain; charset=utf-8"


async def answer(
    send: Send, status: int, text: str, *, kind: str = "http.response", content: str = PLAIN
) -> None:
    """A short text; the request's body stays unread.

    Args:
        send: of ASGI.
        status: of the answer.
        text: its body.
        kind: of the messages; "websocket.http.response" refuses a websocket.
        content: what the body is.
    """
    body = text.encode()
    headers = [
        (b"content-type", content.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-cache"),
    ]
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body})
