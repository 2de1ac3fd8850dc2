"""Have a small real model made once the server is up, behind all other work."""

import asyncio
import logging
import sys
from asyncio.subprocess import DEVNULL, PIPE

from mla_engine.checkpoints.real_model import BUSY
from ui import ROOT
from ui.engine import real_model
from ui.settings.server import server

LOG = logging.getLogger(__name__)
COMMAND = (sys.executable, "-m", "mla_engine.checkpoints.real_model", "--idle")


async def fetch(proved: asyncio.Event) -> None:
    """Fetch it if that is set and it is not there; why it cannot be is a line of the log, once."""
    if not server().real_model or real_model.folder().exists():
        return
    real_model.begin()
    failed = True
    try:
        await proved.wait()
        failed = await _made()
    finally:
        real_model.end(failed=failed)


async def _made() -> bool:
    """Run the command to its end, or end it with the server; returns whether it failed."""
    pipes = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": PIPE}
    folder = str(real_model.folder())
    process = await asyncio.create_subprocess_exec(*COMMAND, folder, cwd=ROOT, **pipes)
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
