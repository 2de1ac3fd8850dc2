"""What strangers do not get: the metrics."""

from starlette.types import ASGIApp, Receive, Scope, Send

from ui.server.answer import answer
from ui.settings.server import server

METRICS = "/metrics"  # ours, and Streamlit's below /_stcore


class Closed:
    """Hides the metrics."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on to Streamlit."""
        asked = scope["type"] == "http" and scope["path"].endswith(METRICS)
        if asked and not server().metrics:
            await answer(send, 404, "Not Found")
        else:
            await self._app(scope, receive, send)
