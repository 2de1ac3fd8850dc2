"""Starts MLA_PROCESSES processes of the app, and each that is killed again.

    python deploy/start.py

They listen on MLA_PORT and the ports that follow, at MLA_HOST. One that says why it cannot run ends
them all; a signal to end does too.
"""

import asyncio
import json
import os
import secrets
import signal
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
CANNOT_RUN = 1  # the status of an app that has said why
PAUSE_SECONDS = 1.0  # before the next try, so that one that ends at once does not fill the log
GRACE_SECONDS = 10.0
SHARED = "STREAMLIT_SERVER_COOKIE_SECRET"  # what one process has signed, the others can read


def ports() -> range:
    """Return the ports where the processes listen."""
    first = int(os.environ.get("MLA_PORT") or 8501)
    many = int(os.environ.get("MLA_PROCESSES") or 1)
    if many < 1:
        raise ValueError(many)
    return range(first, first + many)


def command(port: int) -> list[str]:
    """Return the command that starts one process."""
    host = os.environ.get("MLA_HOST") or "127.0.0.1"
    place = ["--server.port", str(port), "--server.address", host]
    return [sys.executable, "-m", "streamlit", "run", "app.py", *place]


async def keep(port: int) -> int:
    """Run one process, again and again; returns the status of one that cannot run."""
    while True:
        process = await asyncio.create_subprocess_exec(*command(port), cwd=ROOT)
        try:
            status = await process.wait()
        except asyncio.CancelledError:
            await end(process)
            raise
        if status == CANNOT_RUN:
            return status
        tell(port, status)
        await asyncio.sleep(PAUSE_SECONDS)


def tell(port: int, status: int) -> None:
    """A line of the log, as the app's own are."""
    said = f"the process on port {port} ended with {status}, and is started again"
    if os.environ.get("MLA_LOG") == "json":
        said = json.dumps({"level": "error", "logger": "start", "message": said})
    print(said, file=sys.stderr, flush=True)


async def end(process: asyncio.subprocess.Process) -> None:
    """End it, first asking."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), GRACE_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


async def keep_all() -> int:
    """Run them until one cannot, or a signal comes; returns the status to end with."""
    os.environ.setdefault(SHARED, secrets.token_hex(32))
    kept = [asyncio.create_task(keep(port)) for port in ports()]
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    told = asyncio.create_task(asked.wait())
    await asyncio.wait([*kept, told], return_when=asyncio.FIRST_COMPLETED)
    status = next((one.result() for one in kept if one.done()), 0)
    for one in [*kept, told]:
        one.cancel()
    await asyncio.gather(*kept, told, return_exceptions=True)
    return status


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(keep_all()))
    except ValueError as error:
        why = "MLA_PROCESSES and MLA_PORT are whole numbers above 0"
        sys.exit(f"MLA Explorer cannot run: {why} ({error})")
