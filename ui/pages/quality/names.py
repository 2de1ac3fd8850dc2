"""What variants are called on this page, and how they look: sizes of MLA are one colour."""

from dataclasses import replace

from mla_engine.figures import Look, look
from ui.pages.quality.view import View
from ui.words.numbers import count
from ui.words.text import t

FAMILIES = ("MHA", "GQA", "MQA", "MLA")
OTHER_SIZES = {"mla_64": ("longdash", "circle-open"), "mla_16": ("dot", "circle-x-open")}
BY_CACHE = ("mha", "gqa", "mqa", "mla", "mla_64", "mla_16")  # of which the cache tells the size


def family(code: str) -> str:
    """MHA, GQA, MQA or MLA."""
    return code.partition("_")[0].upper()


def variant(view: View, code: str) -> str:
    """A variant with the numbers that it caches: "MLA 32"; else with what is special about it."""
    if code in BY_CACHE:
        return f"{family(code)} {count(view.cached(code))}"
    return t(f"quality.variant_{code}")


def its_look(code: str) -> Look:
    """The variant's fixed colour; other sizes of MLA have a dash and a mark of their own."""
    kind = code.partition("_")[0]
    found = look("mla_absorbed" if kind == "mla" else kind)
    if code not in OTHER_SIZES:
        return found
    dash, mark = OTHER_SIZES[code]
    return replace(found, dash=dash, mark=mark)
