"""The words that figures have by themselves, in the reader's language."""

from collections.abc import Mapping

from ui.words.text import t

MAPS = ("query", "key", "head", "masked")


def map_words() -> Mapping[str, str]:
    """The words of maps and tiles."""
    pooled = t("figures.pooled", rows="{rows}", columns="{columns}")
    return {name: t(f"figures.{name}") for name in MAPS} | {"pooled": pooled}


def growth_words() -> Mapping[str, str]:
    """The words of a chart of caches that grow with the context."""
    names = {"context": "axis_context", "cache": "axis_cache", "measured": "measured"}
    return {name: t(f"figures.{key}") for name, key in names.items()}


def flow_words() -> Mapping[str, str]:
    """The words of the picture of the data flow."""
    return {"cached": t("figures.cached")}
