"""Charts of a cache that grows with the context."""

from ui.words.text import t

CONTEXTS = tuple(2**n for n in range(6, 21))  # tokens that are drawn
LENGTHS = CONTEXTS[4:]  # and those that can be chosen


def chart_words() -> dict[str, str]:
    """What the charts of caches say by themselves."""
    return {
        "context": t("growth.axis_context"),
        "cache": t("growth.axis_cache"),
        "measured": t("growth.measured"),
    }
