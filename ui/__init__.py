"""The Streamlit side: what the pages draw, and the one seam to the engine."""

from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "assets"


@cache
def asset(name: str) -> str:
    """A file of styles, scripts or pages, read once: they do not change while a server runs."""
    return (ASSETS / name).read_text("utf-8")
