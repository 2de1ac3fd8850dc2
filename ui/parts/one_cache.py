"""One cache, what it still says: a real model's perplexity and words with a smaller cache.

Two pages show it, each with settings of its own. It reads what `make measure-real` wrote, so that
it is there without the model.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import figures
from mla_engine.figures import Band, look
from mla_engine.language_model import one_cache
from mla_engine.language_model.one_cache import OneCache, Row, Spread
from ui import ASSETS
from ui.engine import shared_cache
from ui.parts import charts, prose
from ui.parts.control import control
from ui.settings import state
from ui.settings.parsers import Setting, one_of, whole
from ui.words.numbers import count, digits
from ui.words.text import listed, safe, t

CODE = (OneCache.row, Row.perplexity, Row.times)
FILE = ASSETS / "one_cache.json"
BOTH, KINDS = "both", ("novels", "documentation")
WHOLE = "whole"
LOOKS = {"latent": 0, "absorbable": 3, "weights": 1, "averaged": 2}
WAYS = (WHOLE, *LOOKS)
FROM_WHOLE = ("latent", "weights")  # at their full size these are the model itself
SAME = 128  # numbers that heads averaged to one keep
TICKS = (32, 128, 256, 384)  # sizes whose numbers a phone has room for
HEIGHT = 460


def settings(page: str) -> dict[str, Setting]:
    """Return the section's settings on a page whose own begin with `page`."""
    return {
        f"{page}_kept": Setting(SAME, whole(1, 2**16), "select_slider", "one_cache.size"),
        f"{page}_kind": Setting(
            BOTH,
            one_of(BOTH, *KINDS),
            "segmented_control",
            "one_cache.kind",
            write=lambda kind: t(f"one_cache.kind_{kind}"),
        ),
    }


def section(page: str) -> None:
    """Draw the section with a page's settings.

    Raises:
        RefusedError: nothing was measured yet, or the file is damaged.
    """
    found, chosen = measured(), state.settings()
    size = min(found.sizes, key=lambda one: abs(one - chosen[f"{page}_kept"]))
    kinds = found.kinds if chosen[f"{page}_kind"] == BOTH else (chosen[f"{page}_kind"],)
    prose.say(t("one_cache.what", whole=count(found.sizes[-1])))
    picture, said = st.columns([7, 4], gap="large")
    with said:
        control(f"{page}_kind")
        control(f"{page}_kept", options=found.sizes, shown=size)
        for finding in _findings(found, size, kinds):
            prose.say(finding)
    with picture:
        _curves(found, size, kinds, page)
    _written(found, size, kinds)
    _other_text(found)
    prose.note(_about(found) + _weighings(found))


def measured() -> OneCache:
    """Return what has been measured, read once until the file changes.

    Raises:
        RefusedError: nothing was measured yet, or the file is damaged.
    """
    changed = FILE.stat() if FILE.exists() else None
    return _measured(changed and (changed.st_mtime_ns, changed.st_size))


@shared_cache.cached
def _measured(_changed: tuple[int, int] | None) -> OneCache:
    return one_cache.read(FILE)


def _line(found: OneCache, way: str) -> dict[int, Row]:
    """Return a way's rows by size; those that lose nothing at full size end at the model itself."""
    itself = found.line(WHOLE) if way in FROM_WHOLE else {}
    return found.line(way) | itself


def _curves(found: OneCache, size: int, kinds: Sequence[str], page: str) -> None:
    """Draw the perplexity of each way over the numbers cached."""
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
    about = {"data": table, "file": "mla_one_cache.csv", "follows": f"{page}_kept"}
    charts.show(figure, f"{page}:one_cache", alt=alt, **about)


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


def _findings(found: OneCache, size: int, kinds: Sequence[str]) -> list[str]:
    """Return what the rows show: how many times the perplexity of the model as it is."""
    (itself,) = found.line(WHOLE).values()
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


def _written(found: OneCache, size: int, kinds: Sequence[str]) -> None:
    """Draw what each way writes at a size, beside its perplexity."""
    rows = {}
    for way in WAYS:
        row = found.row(way, size) if way != WHOLE else next(iter(found.line(WHOLE).values()))
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
