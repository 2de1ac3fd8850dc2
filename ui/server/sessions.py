"""Sessions of visitors who have left: their memory, files and sockets are given back in time.

Streamlit lets go of those whose time is over when the next visitor comes or leaves. After a class
nobody does.
"""

import asyncio

from streamlit import runtime

ROUND_SECONDS = 20.0


async def let_go() -> None:
    """Again and again, as long as the server runs."""
    while True:
        await asyncio.sleep(ROUND_SECONDS)
        kept = runtime.get_instance()._session_mgr._session_storage._cache  # nothing public expires
        for _, left in kept.expire():
            left.session.shutdown()
