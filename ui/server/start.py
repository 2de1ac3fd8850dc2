"""The checks before the server starts: a mistake ends it with one sentence.

This module imports little, so that a wrong setting is told at once, and a room that cannot be
opened too.
"""

import logging
import sys
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import NoReturn

import streamlit
from pydantic import ValidationError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None

from ui import ROOT, pages
from ui.settings.server import mistakes, server

STREAMLIT = "1.67.0"  # of requirements.txt, on whose insides `ui.streamlit_internals` relies
FILES_A_SESSION, OTHER_FILES = 4, 200  # as counted: of a session, and of the server itself
ENOUGH_FILES = 65_536  # containers allow a thousand million, which some programs then go through
PATIENCE_SECONDS = 3600.0  # for one page to be warmed
LOG = logging.getLogger(__name__)


def check() -> None:
    """Check Streamlit, the settings, every room and every text; warm all pages if that is set."""
    if streamlit.__version__ != STREAMLIT:
        end(
            f"Streamlit {streamlit.__version__} is installed, and the app relies on {STREAMLIT}: "
            f"pip install streamlit=={STREAMLIT}"
        )
    try:
        server()
    except ValidationError as error:
        end("; ".join(mistakes(error)))
    try:
        import_module("ui.server.logs").configure(server().log)
        allow_open_files()
        import_module("ui.frame")  # opens the rooms
        for module in walk_packages(pages.__path__, f"{pages.__name__}."):
            import_module(module.name)
        import_module("ui.words.text").catalogue()
    except Exception as error:  # whatever a room's code may raise
        end(f"{error}{_place(error)}")
    if server().warm:
        warm()


def end(reason: str) -> NoReturn:
    """End the process, and say why in one sentence."""
    sys.exit(why(reason))


def why(reason: str) -> str:
    """Return the sentence."""
    return f"MLA Explorer cannot run: {reason}"


def _place(error: Exception) -> str:
    """Return the line of the app's own code that raised what nobody foresaw.

    A refusal of a page names its file itself.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT / "ui")]
    if type(error).__name__ == "PageError" or not own:
        return ""
    file = Path(own[-1].filename).relative_to(ROOT).as_posix()
    return f" ({type(error).__name__}, {file}, line {own[-1].lineno})"


def allow_open_files() -> None:
    """Raise the limit of open files to the most that is allowed, and warn where that is too low.

    With a limit of 256, as some systems begin with, the 61st visitor was cut off:
    tests/load/test_descriptors.py.
    """
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(hard, ENOUGH_FILES)
    if 0 <= soft < most:  # unlimited is below 0
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    visitors = server().share(server().most_visitors)
    needed = FILES_A_SESSION * visitors + OTHER_FILES
    if most < needed:
        LOG.warning(
            "%d visitors need %d open files, and the limit is %d: "
            "raise it (ulimit -n), or lower MLA_MOST_VISITORS",
            visitors, needed, most,
        )  # fmt: skip


def warm() -> None:
    """Run every page once before anybody comes: the first visitors find all of it in the cache.

    As AppTest stands in for a server, this is done before there is one.
    """
    testing, found = import_module("streamlit.testing.v1"), import_module("ui.settings.page")
    visitor = testing.AppTest.from_file(ROOT / "app.py", default_timeout=PATIENCE_SECONDS)
    for page in found.PAGES.values():
        visitor.switch_page(page.file).run()
