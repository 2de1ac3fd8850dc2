"""Answers in the place of Streamlit's own."""

from starlette.types import Send


async def answer(send: Send, status: int, text: str, kind: str = "text/plain") -> None:
    """A short text; the request's body stays unread."""
    body = text.encode()
    headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-cache"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
