"""The name of a rotation's scaling."""

from mla_engine import RopeConfig
from ui.words.text import t


def scaling(rope: RopeConfig) -> str:
    """The name of the scaling of its frequencies; empty where they are not scaled."""
    return t(f"rotation.{type(rope.scaling).__name__}") if rope.scaling else ""
