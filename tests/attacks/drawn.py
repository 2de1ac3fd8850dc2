"""Links as nobody would write them: every page, every setting, several at once.

A value is one that the setting's parser takes, one at or beyond the end of its range, a text that
somebody means harm with, or noise. A parser tells its range by the variables that it encloses.
"""

import inspect
import math
from random import Random

import ui.frame.pages  # noqa: F401 - finds the pages
from mla_engine import PRESETS
from ui.pages.compare.side import comparable
from ui.settings.page import HOME, PAGES, SETTINGS
from ui.settings.parsers import Number, OneOf, Whole, flag, preset, published
from ui.settings.shared import SHARED

MOST_SETTINGS = 8  # that one link names
HOSTILE = (
    *("", " ", "0", "-1", "-0", "9" * 40, "9" * 5000, "1e309", "1e9", "NaN", "-inf", "0x10", "½"),
    *("None", "null", "undefined", "True", "１２", "1_000", "1,5", "+5", "5 ", "\t7", "-.", "+"),
    *("\x00", "a\x00b", "\x1b[2J", "\r\nSet-Cookie: a=b", "\ufffd", "\u202etxt", "\u2066"),
    *("e\u0301" * 50, "\U0001f9d1\u200d\U0001f680" * 20, "x" * 5000, "<script>alert(1)</script>"),
    *("{0}{name}", "%s%n", "%zz%00%", "${jndi:ldap://x}", "'; DROP TABLE x; --", "=1+1", "@SUM(1)"),
    *("[x](javascript:alert(1))", ":material/layers:", "$$\\frac{1}{0}$$", "`" * 9, "|" * 9),
    *("../../etc/passwd", "/etc/passwd", "/proc/self/mem", "/dev/zero", "~root", "~nosuchuser/x"),
    *(".", "..", "/", "//", "C:\\", "\\" * 9, "file:///etc/passwd", "http://127.0.0.1:1/x"),
    *("who/missing", "who/gated", "who/model", "who/model@x", "who", "a/b/c", "-/-"),
    *("models", "pages", "a" * 256, "a/" * 120, "\ud7ff"),
)
SENTENCES = (
    "",
    "one two three",
    "The cat sat on the mat.",
    "一 二 三 一",
    "<b>a</b> <b>a</b> 2024",
)
ALPHABET = "09aZ_-./ ~%&=?#<>\"'\\\n\t\x00é中😀\u202e\u0301"


def link(draw: Random):
    """Draw a page and parameters for it."""
    page = draw.choice([*PAGES, *PAGES, "nowhere"])
    own = list(PAGES[page].settings) if page in PAGES else []
    page = "" if page == HOME else page
    names = [*own, *own, *SHARED]
    chosen = dict.fromkeys(draw.choices(names, k=draw.randint(1, MOST_SETTINGS)))
    parameters = [(name, value(draw, name)) for name in chosen]
    if draw.random() < 0.1:  # a setting of another page, one that is unknown, one named twice
        parameters.append((draw.choice([*SETTINGS, noise(draw)]), draw.choice(HOSTILE)))
    return page, parameters


def value(draw: Random, name):
    """A text for a setting."""
    kind = draw.random()
    if kind < 0.5:
        return valid(draw, name)
    if kind < 0.7:
        return beyond(draw, name)
    return draw.choice(HOSTILE) if kind < 0.9 else noise(draw)


def valid(draw: Random, name):
    """A text that the setting's parser takes, as far as its range is known; else the default."""
    known = enclosed(SETTINGS[name].parse)
    if "options" in known:
        return draw.choice(known["options"])
    if "least" in known:
        return _between(draw, known["least"], known["most"])
    return draw.choice(SENTENCES) if "text" in name else str(SETTINGS[name].default)


def _between(draw: Random, least, most):
    """A number of the range, of each order of magnitude as often."""
    size = math.exp(draw.uniform(0, math.log1p(most - least))) - 1
    return str(least + (round(size) if isinstance(most, int) else round(size, 4)))


def beyond(draw: Random, name):
    """The ends of the setting's range, and what lies behind them."""
    known = enclosed(SETTINGS[name].parse)
    if "least" in known:
        least, most = known["least"], known["most"]
        ends = (least - 1, least, least + 1, most - 1, most, most + 1, most * 10, -most)
        return str(draw.choice(ends))
    if "most" in known:
        return draw.choice("aé中 ") * (known["most"] + draw.choice([-1, 0, 1, 1000]))
    return draw.choice(["1", "0", "2", "-1", "own", "all", "small", "deepseek-v3"])


def noise(draw: Random):
    """Characters of many kinds."""
    return "".join(draw.choices(ALPHABET, k=draw.choice([1, 3, 20, 200])))


def enclosed(parse):
    """Return what a parser was made with: `least` and `most`, `options`, or only `most`."""
    if parse is flag:
        return {"options": ("1", "0")}
    if parse in (preset, published, comparable):
        return {"options": tuple(PRESETS)}
    if isinstance(parse, Whole | Number | OneOf):
        return vars(parse)
    found = dict(inspect.getclosurevars(parse).nonlocals)
    inner = found.get("within", found.get("parse"))  # of a parser around another
    return enclosed(inner) if callable(inner) else found
