"""Have a small real model made once the server is up, behind all other work."""

import asyncio
import logging
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress

from mla_engine.checkpoints.real_model import BUSY
from ui import ROOT
from ui.settings.server import server
from ui.sources import whole
from ui.sources.small_model import AS_TRAINED, WITH_MLA

LOG = logging.getLogger(__name__)
COMMAND = (sys.executable, "-m", "mla_engine.checkpoints.real_model", "--idle")
OF_MLA = (sys.executable, "-m", "mla_engine.checkpoints.real_mla")


async def fetch(proved: asyncio.Event) -> None:
    """Fetch it if that is set and it is not there, name its heads, and make the one with MLA of it.

    Why one cannot be made is a line of the log, once.
    """
    if not server().real_model:
        return
    if not (folder := AS_TRAINED.folder()).exists():
        AS_TRAINED.begin()
        failed = True
        try:
            await proved.wait()
            failed = await _made(*COMMAND, str(folder))
        finally:
            AS_TRAINED.end(failed=failed)
    if folder.exists():
        await proved.wait()
        await asyncio.to_thread(_name_heads)
        if not (with_mla := WITH_MLA.folder()).exists():
            await _made(*OF_MLA, str(with_mla), str(folder))


def _name_heads() -> None:
    """Read it, and score its heads, before anybody asks; visitors' work goes first in the queue.

    Why it cannot be read is told where it is asked for.
    """
    with suppress(ValueError):
        if own := whole.key():
            whole.fresh_scores(own)


async def _made(*command: str) -> bool:
    """Run a command to its end, or end it with the server; returns whether it failed."""
    pipes = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": PIPE}
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, **pipes)
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if process.returncode not in (0, BUSY):
        lines = said.decode(errors="replace").strip().splitlines() or ["it says nothing"]
        LOG.warning("the small real model: %.500s", lines[-1])
        return True
    return False
