"""What is checked before the server starts: a mistake ends it with one sentence.

It imports little, so that a wrong setting is told at once, and a room that cannot be opened too.
"""

import logging
import sys
import traceback
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import NoReturn

from pydantic import ValidationError

from ui import ROOT, pages
from ui.server import descriptors
from ui.settings.server import mistakes, server

CACHES = "streamlit.runtime.caching.cache_data_api"


def check() -> None:
    """The settings, every room and every text: the first visitor waits for none of them."""
    try:
        server()
    except ValidationError as error:
        end("; ".join(mistakes(error)))
    descriptors.allow()
    logging.getLogger(CACHES).setLevel(logging.ERROR)  # they warn that no server runs yet
    try:
        import_module("ui.frame")  # opens the rooms
        for module in walk_packages(pages.__path__, f"{pages.__name__}."):
            import_module(module.name)
        import_module("ui.words.text").catalogue()
    except Exception as error:  # whatever a room's code may raise
        end(f"{error}{_place(error)}")


def end(reason: str) -> NoReturn:
    """End the process, and say why in one sentence."""
    sys.exit(why(reason))


def why(reason: str) -> str:
    """The sentence."""
    return f"MLA Explorer cannot run: {reason}"


def _place(error: Exception) -> str:
    """Which line of the app's own code raised what nobody foresaw; a refusal names its file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(ROOT / "ui")]
    if type(error).__name__ == "RoomError" or not own:
        return ""
    file = Path(own[-1].filename).relative_to(ROOT).as_posix()
    return f" ({type(error).__name__}, {file}, line {own[-1].lineno})"
