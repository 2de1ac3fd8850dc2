"""The Streamlit side: what the pages draw, and the one seam to the engine."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "assets"
STATIC = Path(find_spec("streamlit").origin).parent / "static"  # the front end's files
SCRIPTS = STATIC / "static" / "js"  # whose names end in a hash of their contents


@cache
def asset(name: str) -> str:
    """A file of styles, scripts or pages, read once: they do not change while a server runs."""
    return (ASSETS / name).read_text("utf-8")


def css(key: str) -> str:
    """Return an element's key as Streamlit writes it into the element's class."""
    return re.sub(r"[^a-zA-Z0-9_-]", "-", key)
