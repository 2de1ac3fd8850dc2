"""The glossary as a table, with the pages that show each symbol's numbers."""

from collections.abc import Iterable
from urllib.parse import urlencode

import pandas as pd

from mla_engine.symbols import SYMBOLS
from ui.pages.notation.view import NONE, Entry, View
from ui.parts import links
from ui.settings.page import Link
from ui.words.text import t

COLUMNS = ("symbol", "meaning", "formula", "axes", "paper", "transformers", "deepseek", "seen")
BESIDE_MAPS = {  # pages that show a symbol, beside the maps
    "W_QK": Link("absorption", {"ab_matrix": "W_QK"}),
    "W_VO": Link("absorption", {"ab_matrix": "W_VO"}),
    "c_KV": Link("kv_cache"),
    "k_R": Link("rope", {"rope_topic": "merged"}),
    "q_R": Link("rope", {"rope_topic": "turning"}),
}


def markdown(here: View) -> str:
    """Return a Markdown table; on a phone each cell carries the name of its column."""
    heads = [t(f"notation.column_{name}") for name in COLUMNS]
    lines = [_row(heads), _row(["---"] * len(heads))]
    lines += [_row(map(_named, heads, _cells(entry, here))) for entry in here.entries]
    return "\n".join(lines)


def _cells(entry: Entry, here: View) -> list[str]:
    symbol = SYMBOLS[entry.code]
    name = f'<span class="tensor {symbol.role}">${symbol.latex}$</span><br>`{entry.code}`'
    if entry.cached:
        name += f'<br><span class="kept">{t("notation.cached")}</span>'
    formula = f"${entry.formula}$" if entry.formula else NONE
    code = [x if x == NONE else f"`{x}`" for x in (entry.transformers, entry.deepseek)]
    seen = [_linked(link, here) for link in _seen(entry.code, here)]
    return [name, entry.meaning, formula, entry.axes, entry.paper, *code, "<br>".join(seen) or NONE]


def _seen(code: str, here: View) -> list[Link]:
    """Return the pages that show a symbol, with what each is to open with."""
    maps = [_on_maps(code, here.homes[code])] if code in here.homes else []
    return maps + ([BESIDE_MAPS[code]] if code in BESIDE_MAPS else [])


def _on_maps(code: str, variant: str) -> Link:
    return Link("attention_maps", {"map_tensor": code, "variant": variant})


EVERY_LINK = (*BESIDE_MAPS.values(), _on_maps("c_KV", "mla"))


def _linked(link: Link, here: View) -> str:
    return f"[{links.name(link)}]({link.page}?{urlencode(here.link | link.values)})"


def _named(head: str, cell: str) -> str:
    return f'<span class="on-phone">{head}</span><span>{cell}</span>'


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def glossary(here: View) -> pd.DataFrame:
    """Return the symbols that are shown, one row each."""
    return pd.DataFrame([vars(entry) for entry in here.entries])
