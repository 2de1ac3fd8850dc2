"""One real model at one cache: its perplexity, and what it writes, with each way to a smaller one.

It reads what `make measure-real` wrote, so that it is there without the model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Band, look
from mla_engine.language_model.one_cache import OneCache, Row, Spread
from ui import ASSETS
from ui.engine import shared_cache
from ui.parts import charts, prose
from ui.parts.control import control
from ui.parts.questions import Dot, Question, curves, decades
from ui.settings import state
from ui.settings.page import Recipe
from ui.settings.parsers import Setting, one_of, whole
from ui.words.numbers import count, digits
from ui.words.text import listed, safe, t

CODE = (OneCache.read, OneCache.row, Row.perplexity, Row.times)
FILE = ASSETS / "one_cache.json"
NAMED = "assets/one_cache.json"  # in a snippet, of the project's folder
BOTH, KINDS = "both", ("novels", "documentation")
WHOLE = "whole"
LOOKS = {"latent": 0, "absorbable": 3, "weights": 1, "averaged": 2}
WAYS = (WHOLE, *LOOKS)
FROM_WHOLE = ("latent", "weights")  # at their full size these are the model itself
SAME = 128  # numbers that heads averaged to one cache
TICKS = (32, 128, 256, 384)  # sizes whose numbers a phone has room for
HEIGHT = 430
CHART = "cmp:one_cache"
ASKED = 10.0, 1e5  # ends of the scale on which a class is asked for a perplexity
SETTINGS = {
    "cmp_kept": Setting(
        SAME, whole(1, 2**16), "select_slider", "one_cache.size", former=("quality_kept",)
    ),
    "cmp_kind": Setting(
        BOTH,
        one_of(BOTH, *KINDS),
        "segmented_control",
        "one_cache.kind",
        write=lambda kind: t(f"one_cache.kind_{kind}"),
        former=("quality_kind",),
    ),
}


@dataclass(frozen=True)
class Measured:
    """The measurements at the chosen size of the cache and kinds of text."""

    found: OneCache
    size: int
    kinds: tuple[str, ...]

    def perplexity(self, way: str, size: int) -> float | None:
        """Return the perplexity of a way at a size; None where it was not measured."""
        row = _line(self.found, way).get(size)
        return row.perplexity(self.kinds).mean if row else None

    @property
    def whole(self) -> Row:
        """The model as it is."""
        (row,) = self.found.line(WHOLE).values()
        return row

    @property
    def tells(self) -> bool:
        """True if the model as it is, a latent and averaged heads were measured at one size."""
        ways = (WHOLE, self.whole_size), ("latent", SAME), ("averaged", SAME)
        return all(self.found.row(way, size) for way, size in ways)

    @property
    def whole_size(self) -> int:
        """Numbers per token and layer that the model as it is caches."""
        return self.found.sizes[-1]


def present() -> Measured:
    """Return what was measured at the present settings.

    Raises:
        RefusedError: nothing was measured yet, or the file is damaged.
    """
    found, chosen = measured(), state.chosen("compression")
    size = min(found.sizes, key=lambda one: abs(one - chosen.kept))
    kinds = found.kinds if chosen.kind == BOTH else (chosen.kind,)
    return Measured(found, size, kinds)


def lead(shown: Measured) -> tuple[str, str, str]:
    """Return the perplexity with a latent of the chosen size, its line, and how to read both."""
    latents = _line(shown.found, "latent")
    size = min(latents, key=lambda one: abs(one - shown.size))
    whole, averaged = shown.perplexity(WHOLE, shown.whole_size), shown.perplexity("averaged", SAME)
    key = {SAME: "line_same", shown.whole_size: "line_whole"}.get(size, "line")
    line = t(
        f"one_cache.{key}",
        size=count(size),
        all=count(shown.whole_size),
        whole=digits(whole),
        same=count(SAME),
        averaged=digits(averaged),
        latent=digits(shown.perplexity("latent", SAME)),
    )
    return digits(shown.perplexity("latent", size)), line, t("one_cache.look")


def question(shown: Measured) -> Question:
    """Ask for the perplexity of both at the size that averaged heads cache."""
    true = {way: shown.perplexity(way, SAME) for way in ("averaged", "latent")}
    found = {f"{way}_found": digits(value) for way, value in true.items()}
    latents = list(_line(shown.found, "latent"))
    names = {way: t(f"one_cache.short_{way}") for way in true}
    whole = shown.perplexity(WHOLE, shown.whole_size)
    ends = t("one_cache.way_whole"), names["latent"], latents.index(shown.whole_size), whole
    lines = [
        [Dot(*ends, given=True),
         Dot(names["latent"], names["latent"], latents.index(SAME), true["latent"])],
        [Dot(names["averaged"], names["averaged"], 0, true["averaged"])],
    ]  # fmt: skip
    asked = {"same": count(SAME), "all": count(shown.whole_size), "whole": digits(whole)}
    why, hides = t("one_cache.guess_why"), ("lead", "one_cache_said", "one_cache_written")
    return curves(
        "one_cache",
        t("one_cache.guess", **asked),
        lines,
        true=t("one_cache.guess_true", **found),
        told=t("one_cache.drew", latent="{0}", averaged="{1}", **found),
        why=why,
        over=CHART,
        of_class=decades(
            "one_cache",
            t("one_cache.guess_averaged", **asked),
            true["averaged"],
            ASKED,
            say=digits,
            why=why,
            hides=(CHART, *hides),
        ),
        hides=hides,
        unit="",
    )


def draw(shown: Measured) -> None:
    """Draw the curves, and their controls beside them."""
    picture, choices = st.columns([7, 3], gap="large")
    with choices:
        control("cmp_kept", options=shown.found.sizes, shown=shown.size)
        control("cmp_kind")
    with picture:
        _picture(shown)


def details(shown: Measured) -> None:
    """Draw what each way writes and costs, and what was measured."""
    with st.container(key="one_cache_written"):
        _written(shown)
    with st.container(key="one_cache_said"):
        for finding in _findings(shown):
            prose.say(finding)
    with st.expander(t("one_cache.measured")):
        prose.say(t("one_cache.what", whole=count(shown.whole_size)))
        prose.note(_about(shown.found) + _weighings(shown.found))
        _other_text(shown.found)


def recipe(shown: Measured) -> Recipe:
    """Return the snippet that reads the perplexities of the page's headline."""
    return "one_cache", {"file": NAMED, "size": shown.size, "kinds": shown.kinds, "same": SAME}


def measured() -> OneCache:
    """Return what has been measured, read once until the file changes.

    Raises:
        RefusedError: nothing was measured yet, or the file is damaged.
    """
    changed = FILE.stat() if FILE.exists() else None
    return _measured(changed and (changed.st_mtime_ns, changed.st_size))


@shared_cache.cached
def _measured(_changed: tuple[int, int] | None) -> OneCache:
    return OneCache.read(FILE)


def _line(found: OneCache, way: str) -> dict[int, Row]:
    """Return a way's rows by size; those that lose nothing at full size end at the model itself."""
    itself = found.line(WHOLE) if way in FROM_WHOLE else {}
    return found.line(way) | itself


def _picture(shown: Measured) -> None:
    """Draw the perplexity of each way over the numbers cached."""
    found, size, kinds = shown.found, shown.size, shown.kinds
    lines = {way: _line(found, way) for way in LOOKS}
    names = {way: t(f"one_cache.short_{way}") for way, line in lines.items() if line}
    bands = {
        names[way]: _band([row.perplexity(kinds) for row in lines[way].values()], lines[way])
        for way in names
    }
    ends = [
        min(min(band.least) for band in bands.values()),
        max(max(b.most) for b in bands.values()),
    ]
    figure = partial(
        figures.band_lines,
        bands,
        looks={names[way]: look(LOOKS[way]) for way in names},
        titles=(t("one_cache.axis_size"), t("one_cache.axis_perplexity")),
        limits=(ends[0] / 1.3, ends[1] * 1.3),
        log=True,
        ticks=TICKS,
        at=size,
        height=HEIGHT,
    )
    each = listed(
        f"{t(f'one_cache.way_{way}')} {digits(row.perplexity(kinds).mean)}"
        for way in WAYS
        if (row := _line(found, way).get(size))
    )
    alt = t("one_cache.alt", size=count(size), each=each)
    table = partial(_table, found)
    about = {"data": table, "file": "mla_one_cache.csv", "follows": "cmp_kept"}
    charts.show(figure, CHART, alt=alt, **about)


def _band(spreads: Sequence[Spread], sizes: dict[int, Row]) -> Band:
    sides = zip(*((one.mean, one.least, one.most) for one in spreads), strict=True)
    return Band(list(sizes), *map(np.array, sides))


def _table(found: OneCache) -> pd.DataFrame:
    """Return every row with its perplexity on each kind of text and on both."""
    rows = []
    for row in found.rows:
        own = {"way": row.way, "cached": row.cached, "weighing": row.weighing}
        own |= {"fitted_to": " ".join(row.fitted_to), "pieces": len(row.loss[found.kinds[0]])}
        for name, kinds in [(kind, (kind,)) for kind in found.kinds] + [(BOTH, found.kinds)]:
            spread = vars(row.perplexity(kinds))
            own |= {f"{name}_{side}": value for side, value in spread.items()}
        rows.append(own | {"written": row.written})
    return pd.DataFrame(rows)


def _findings(shown: Measured) -> list[str]:
    """Return what the rows show: how many times the perplexity of the model as it is."""
    found, size, kinds, itself = shown.found, shown.size, shown.kinds, shown.whole
    facts = {"whole": digits(itself.perplexity(kinds).mean), "size": count(size)}

    def times(way: str, at: int) -> str:
        row = found.row(way, at)
        return digits(row.times(itself, kinds).mean) if row else ""

    said = [t("one_cache.found_whole", **facts)]
    averaged = {"same": count(SAME), "averaged": times("averaged", SAME)}
    if all(averaged.values()) and (latent := times("latent", SAME)):
        said.append(t("one_cache.found_averaged", **averaged, latent=latent))
    own = {way: times(way, size) for way in ("latent", "weights", "absorbable")}
    if own["latent"] and own["weights"]:
        said.append(t("one_cache.found_weights", **facts, **own))
    if own["latent"] and own["absorbable"]:
        more = found.row("absorbable", size).times(found.row("latent", size), kinds)
        name = "more" if more.least > 1 else "less" if more.most < 1 else "same"
        said.append(t(f"one_cache.found_absorbable_{name}", **facts, **own))
    return said


def _written(shown: Measured) -> None:
    """Draw what each way writes at a size, beside its perplexity."""
    found, size, kinds = shown.found, shown.size, shown.kinds
    rows = {}
    for way in WAYS:
        row = found.row(way, size) if way != WHOLE else shown.whole
        if row:
            name = t(f"one_cache.way_{way}")
            rows[name] = (
                count(row.cached),
                _range(row.perplexity(kinds)),
                safe(row.written.replace("\n", " ⏎ ")),
            )
    columns = [t("one_cache.column_cached"), t("one_cache.axis_perplexity")]
    columns.append(t("one_cache.column_written", prompt=safe(found.about["prompt"])))
    st.table(pd.DataFrame.from_dict(rows, orient="index", columns=columns))


def _range(spread: Spread) -> str:
    """Write a perplexity and its spread, in as many digits as the spread leaves."""
    return t("one_cache.range", **{side: digits(value) for side, value in vars(spread).items()})


def _other_text(found: OneCache) -> None:
    """Draw the perplexity on each kind of text of latents fitted to one of them, or to both."""
    fits = [(kind,) for kind in found.kinds] + [found.kinds]
    sizes = [n for n in found.sizes if all(found.row("latent", n, fit) for fit in fits)]
    if not sizes:
        return
    st.markdown(f"**{t('one_cache.other_text')}**")
    prose.say(t("one_cache.other_words"))
    rows = {}
    for size in reversed(sizes):
        for fit in fits:
            name = t("one_cache.fit", size=count(size), kinds=t(f"one_cache.kind_{_kind(fit)}"))
            row = found.row("latent", size, fit)
            rows[name] = [_range(row.perplexity((kind,))) for kind in found.kinds]
    columns = [t("one_cache.measured_on", kind=t(f"one_cache.kind_{kind}")) for kind in found.kinds]
    st.table(pd.DataFrame.from_dict(rows, orient="index", columns=columns))


def _weighings(found: OneCache) -> str:
    """Return what each weighing of the words gives that was tried, at one size."""
    tried = [row for row in found.rows if (row.way, row.cached) == ("latent", SAME)]
    tried = [row for row in tried if row.fitted_to == found.kinds]
    each = listed(
        f"{t(f'one_cache.weighing_{row.weighing}')} {digits(row.perplexity(found.kinds).mean)}"
        for row in tried
    )
    return t("one_cache.weighings", size=count(SAME), each=each) if len(tried) > 1 else ""


def _kind(fit: Sequence[str]) -> str:
    return fit[0] if len(fit) == 1 else BOTH


def _about(found: OneCache) -> str:
    """Return what was measured, on how much, when and with which versions."""
    about = found.about
    tokens = found.pieces * about["piece"]
    return t(
        "one_cache.about",
        model=about["model"],
        tokens=count(tokens),
        pieces=count(found.pieces),
        piece=count(about["piece"]),
        fitted=count(about["calibrated"] * about["piece"]),
        date=about["date"],
        **about["versions"],
    )
