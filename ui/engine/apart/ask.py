"""The one way from a page's run to the workers."""

import atexit
import threading

from ui.engine import asker
from ui.engine.apart.access import Place
from ui.engine.apart.limits import Limits
from ui.engine.apart.pool import Pool
from ui.engine.apart.process import Job, Progress
from ui.settings.server import server
from ui.streamlit_internals import interruption, session_id

POOL = Pool(lambda: server().share(server().workers))
atexit.register(POOL.close)


def _nothing(*_: int) -> None:
    """Where nobody watches."""


def ask(
    name: str, place: Place, limits: Limits, progress: Progress = _nothing, **given: object
) -> object:
    """What a worker answers to the job of this name; a visitor who leaves ends it.

    Raises:
        CheckpointError: too many wait, the job passed a limit, or the worker broke off.
        RefusedError: as the job.
    """
    visitor = session_id() or threading.get_ident()
    check = interruption() or _nothing
    job = Job.of(name, place, limits, asker.browser(), **given)
    return POOL.call(job, visitor, progress, check)
