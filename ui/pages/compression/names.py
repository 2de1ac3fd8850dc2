"""The names of variants and of their answers on this page, and the looks of variants."""

from collections.abc import Iterable
from dataclasses import replace

from mla_engine.figures import Look, look
from mla_engine.language_model.study import Spread
from ui.pages.compression.quality import Quality
from ui.words.numbers import count, error_percent
from ui.words.text import listed, t

FAMILIES = ("MHA", "GQA", "MQA", "MLA")
OTHER_SIZES = {"mla_64": ("longdash", "circle-open"), "mla_16": ("dot", "circle-x-open")}
BY_CACHE = ("mha", "gqa", "mqa", "mla", "mla_64", "mla_16")  # of which the cache tells the size


def family(code: str) -> str:
    """Return MHA, GQA, MQA or MLA."""
    return code.partition("_")[0].upper()


def variant(view: Quality, code: str) -> str:
    """Name a variant with the numbers that it caches, "MLA 32", or by what is special about it."""
    if code in BY_CACHE:
        return f"{family(code)} {count(view.cached(code))}"
    return t(f"quality.variant_{code}")


def its_look(code: str) -> Look:
    """Return the family's colour; other sizes of MLA have a dash and a mark of their own."""
    kind = code.partition("_")[0]
    found = look("mla_absorbed" if kind == "mla" else kind)
    if code not in OTHER_SIZES:
        return found
    dash, mark = OTHER_SIZES[code]
    return replace(found, dash=dash, mark=mark)


def share(spread: Spread | None) -> str:
    """Write a mean as a percentage, or that it was not run."""
    return error_percent(spread.mean) if spread else t("quality.not_run")


def each(view: Quality, codes: Iterable[str]) -> str:
    """List variants with their right answers."""
    return listed(f"{variant(view, code)} {share(view.accuracy(code))}" for code in codes)


def from_to(least: str, most: str) -> str:
    """Write a range, or its one number."""
    return least if least == most else t("quality.range", least=least, most=most)


def spread(found: Spread) -> str:
    """Write the least and the most share of right answers over the seeds."""
    return from_to(error_percent(found.least), error_percent(found.most))
