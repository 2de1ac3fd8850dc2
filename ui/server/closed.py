"""What strangers do not get: the metrics, and a place where all are taken."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ui.server.answer import answer
from ui.settings.server import server

METRICS = "/metrics"  # ours, and Streamlit's below /_stcore
TRY_LATER = 1013


class Closed:
    """Hides the metrics, and bounds how many visitors are connected."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._connected = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        settings = server()
        if scope["type"] == "http" and scope["path"].endswith(METRICS) and not settings.metrics:
            await answer(send, 404, "Not Found")
        elif scope["type"] != "websocket":
            await self._app(scope, receive, send)
        elif self._connected >= settings.share(settings.most_visitors):
            await send({"type": "websocket.close", "code": TRY_LATER})
        else:
            self._connected += 1
            try:
                await self._app(scope, receive, send)
            finally:
                self._connected -= 1
