"""A visitor among hundreds in one process: what a `Session` waits for, it awaits."""

import asyncio
from random import Random

from google.protobuf.message import Message
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.measuring import Reader, places
from tests.attacks.client import LARGEST_ANSWER, PROTOCOLS, StuckError, stream
from ui.settings.page import HOME

PATIENCE_SECONDS = 60.0
MOST_PLACES = 6  # of a slider, beside where it stands: a class looks at the same few
NEXT_PAGE, SAME_AGAIN = 0.2, 0.1  # shares of what a visitor does; the rest moves a slider


class LostError(StuckError):
    """Nobody answers, or the connection has gone."""


class Visitor(Reader):
    """Reads as a browser does, and comes back, with only its link, where a connection is lost."""

    def __init__(self, url: str, patience: float = PATIENCE_SECONDS) -> None:
        super().__init__()
        self.url, self.patience, self.page = url, patience, HOME
        self.connection: ClientConnection | None = None
        self._sent: asyncio.Future | None = None

    async def connect(self) -> None:
        """Come, or come again: as another tab, of which the server knows nothing.

        Raises:
            LostError: nobody answers.
        """
        try:
            self.connection = await connect(
                stream(self.url),
                origin=self.url,
                subprotocols=PROTOCOLS,
                open_timeout=self.patience,
                close_timeout=1,
                ping_interval=None,
                max_size=LARGEST_ANSWER,
                max_queue=None,
                compression=None,
                proxy=None,
            )
        except (OSError, WebSocketException) as error:
            raise LostError(f"not let in: {error!r:.200}") from error

    async def close(self) -> None:
        """Leave."""
        if self.connection:
            await self.connection.close()

    async def come(self, page: str, query: str = "") -> None:
        """Connect and open a page.

        Raises:
            StuckError: nobody answers, or not in time.
        """
        await self.connect()
        await self.go(page, query)

    async def go(self, page: str, query: str = "") -> None:
        """Open a page, as a link of the navigation does."""
        self.page = page
        await self.open("" if page == HOME else page, query)

    async def return_to(self, url: str) -> None:
        """Come back to where this visitor was, perhaps at another process, with only the link."""
        self.url, self.seen.session_id = url, ""
        self._kept.clear()
        await self.come(self.page, self.state.query_string)

    def send(self, message: Message | bytes) -> None:
        """Send a BackMsg, or bytes that are none; `finished` waits for it."""
        raw = message if isinstance(message, bytes) else message.SerializeToString()
        self._sent = asyncio.ensure_future(self.connection.send(raw))

    async def finished(self) -> object:
        """Return the screen as it is when the run has ended.

        Raises:
            StuckError: it has not ended in time, or (LostError) the connection has gone.
        """
        try:
            async with asyncio.timeout(self.patience):
                await self._sent
                while True:
                    message = ForwardMsg.FromString(await self.connection.recv())
                    self._take(message)
                    if self._is_last(message):
                        return self.seen
        except TimeoutError as error:
            raise StuckError(f"no end within {self.patience:g} s") from error
        except (OSError, WebSocketException) as error:
            raise LostError(f"connection lost: {error!r:.200}") from error

    async def act(self, draw: Random, pages: list[str]) -> None:
        """Do what a reader does next: move the slider, mostly, or turn to another page."""
        share, slider = draw.random(), self.slider()
        to = places(slider, MOST_PLACES) if slider else []
        if share < NEXT_PAGE and len(pages) > 1:
            await self.go(draw.choice(pages), self.state.query_string)
        elif share < NEXT_PAGE + SAME_AGAIN or not to:
            await self.rerun()
        else:
            await self.move(slider, draw.choice(to))
