"""Where a figure is from, in the reader's language.

A source is a list of names and titles, which stay as they are. What is said about them is said in a
few phrases: texts/sources.toml.
"""

from functools import lru_cache

from ui.words.text import catalogue, t

PART = "sources."


@lru_cache(maxsize=1)
def _phrases() -> tuple[tuple[str, str], ...]:
    """Return every phrase in English with the key of its text, the longest first."""
    keys = [key.removeprefix(PART) for key in catalogue() if key.startswith(PART)]
    found = {key: catalogue()[f"{PART}{key}"]["en"] for key in keys}
    return tuple(sorted(((text, key) for key, text in found.items()), key=lambda one: -len(one[0])))


def cited(text: str) -> str:
    """Return a source with what it says about its titles in the reader's language."""
    for phrase, key in _phrases():
        if phrase in text:
            text = text.replace(phrase, t(f"sources.{key}"))
    return t("common.between").join(text.split("; ")).replace(" （", "（").replace("）, ", "）、")
