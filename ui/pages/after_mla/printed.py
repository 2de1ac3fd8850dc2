"""Wrong formulas that are printed, and how far off they are."""

from functools import partial

import pandas as pd
import streamlit as st

from kvcount.mistakes import Mistake, mistakes
from mla_engine import figures
from ui.parts import charts, prose
from ui.words.numbers import count, size, times
from ui.words.sources import cited
from ui.words.text import named, parted, t, translated

PRINTED, LINE = 90, 22  # pixels of the picture, and more for each formula
LINES = 74  # of a row of their table; in lower ones text does not wrap


def draw() -> None:
    """Draw wrong formulas' results over the right one, from the least to the most, with a table."""
    found = sorted(mistakes().values(), key=lambda one: one.ratio)
    ratios = {translated(one.short): one.ratio for one in found}
    ends = {"low": times(found[0].ratio), "high": times(found[-1].ratio)}
    prose.say(t("after_mla.printed_words", n=count(len(found)), **ends))
    fig = partial(
        figures.ratio_bars,
        t("after_mla.printed_ratio"),
        ratios,
        [times(ratio) for ratio in ratios.values()],
        axis=t("after_mla.axis_printed"),
        height=PRINTED + LINE * len(found),
    )
    each = parted(named(name, times(ratio)) for name, ratio in ratios.items())
    alt, file = t("after_mla.alt_printed", each=each), "mla_printed_formulas.csv"
    data = partial(_in_bytes, found)
    charts.show(fig, "after_mla:printed", alt=alt, data=data, file=file)
    widths = {"forgets": "large", "context": "small", "ratio": "small"}
    columns = {
        t(f"after_mla.column_{name}"): st.column_config.TextColumn(width=width)
        for name, width in widths.items()
    }
    rows = pd.DataFrame([_said(one) for one in found])
    st.dataframe(rows, hide_index=True, row_height=LINES, column_config=columns)
    prose.say(t("after_mla.printed_note"))


def _said(one: Mistake) -> dict[str, str]:
    cells = {
        "mistake": translated(one.short),
        "forgets": translated(one.forgets),
        "model": one.published.name,
        "formula": one.formula,
        "printed": size(float(one.printed), binary=False),
        "true": size(float(one.right), binary=False),
        "ratio": times(one.ratio),
        "context": count(one.context) if one.context else "",
        "source": cited(one.source),
    }
    return {t(f"after_mla.column_{name}"): cell for name, cell in cells.items()}


def _in_bytes(found: list[Mistake]) -> pd.DataFrame:
    """Return the formulas with their numbers in bytes."""
    rows = [
        {
            "mistake": one.key,
            "model": one.published.name,
            "formula": one.formula,
            "context_tokens": one.context,
            "printed_bytes": float(one.printed),
            "true_bytes": float(one.right),
            "printed_over_true": one.ratio,
            "forgets": one.forgets["en"],
            "source": one.source,
        }
        for one in found
    ]
    return pd.DataFrame(rows)
