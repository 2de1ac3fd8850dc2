"""What a variant is called in a sentence, whatever the form that computes it."""

from mla_engine import mechanisms
from ui.words.text import catalogue, t


def kind(variant: str) -> str:
    """Its mechanism's own name: "MLA", "DSA", or where a language has another, that."""
    if f"kinds.{variant}" in catalogue():
        return t(f"kinds.{variant}")
    return mechanisms.variants()[variant].kind
