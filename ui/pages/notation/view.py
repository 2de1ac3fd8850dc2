"""The glossary as a reader sees it: SYMBOLS with present sizes, names elsewhere and links."""

from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from mla_engine import GroupedConfig, GroupedQueryAttention, LatentConfig, MultiHeadLatentAttention
from mla_engine.names import DEEPSEEK, citation
from mla_engine.symbols import SIZES, SYMBOLS
from ui.engine import layers as compute
from ui.engine import model
from ui.parts import charts
from ui.settings import state
from ui.settings.shared import VARIANTS
from ui.words.numbers import count
from ui.words.text import t

FORMS = {"mla": "expanded", "mla_absorbed": "absorbed"}
COLUMNS = ("symbol", "meaning", "formula", "axes", "paper", "transformers", "deepseek", "seen")
ELSEWHERE = {
    "W_QK": ("absorption", {"ab_matrix": "W_QK"}),
    "W_VO": ("absorption", {"ab_matrix": "W_VO"}),
    "c_KV": ("kv_cache", {}),
    "k_R": ("rope", {"rope_topic": "merged"}),
    "q_R": ("rope", {"rope_topic": "turning"}),
}
QUERY_WEIGHTS = ("W_UQ", "W_QR", "W_QK")
NONE = "–"


@dataclass(frozen=True)
class Entry:
    """One symbol in plain text, in the form and at the sizes that are set."""

    code: str
    meaning: str
    formula: str  # LaTeX
    axes: str
    paper: str
    transformers: str
    deepseek: str
    cached: bool

    def has(self, text: str) -> bool:
        """Whether every word of the text is in the symbol's names or its meaning."""
        names = (self.code, self.meaning, self.transformers, self.deepseek, self.paper)
        here = " ".join([*names, SYMBOLS[self.code].meaning]).lower()
        return all(word in here for word in text.lower().split())


@st.cache_data(max_entries=64, show_spinner=False)
def present(config: GroupedConfig | LatentConfig, form: str) -> frozenset[str]:
    """The codes that a layer has: its weights, and the steps of its trace."""
    latent = isinstance(config, LatentConfig)
    kind = MultiHeadLatentAttention if latent else GroupedQueryAttention
    weights = dict(kind(config, device="meta").named_parameters())
    return frozenset([*weights, *compute.shapes(config, form, 1), "mask"])


def of_variant(variant: str) -> frozenset[str]:
    """The same of the present sizes in a variant.

    Raises:
        ValueError: sizes that no layer can have.
    """
    return present(model.config(variant), FORMS.get(variant, "grouped"))


def entries() -> list[Entry]:
    """Every symbol that the reader's choice and search leave."""
    s = state.settings()
    here = of_variant(s["variant"])
    kept = {
        "all": list(SYMBOLS),
        "present": [code for code in SYMBOLS if code in here],
        "cached": [code for code, symbol in SYMBOLS.items() if symbol.cached and code in here],
    }
    found = map(_entry, kept[s["notation_of"]])
    return [entry for entry in found if entry.has(s["notation_search"])]


def _entry(code: str) -> Entry:
    symbol, variant = SYMBOLS[code], state.settings()["variant"]
    form = FORMS.get(variant, "grouped")
    names = symbol.alias or NONE, DEEPSEEK.get(code, NONE)
    if _reads_h(code):
        names = tuple(name.replace("q_b_proj", "q_proj").replace("wq_b", "wq") for name in names)
    return Entry(
        code,
        t(f"symbols.{code}"),
        _formula(code, form),
        axes(code),
        _cited(citation(code, form)),
        *names,
        symbol.cached,
    )


def _reads_h(code: str) -> bool:
    """Whether a query's weight reads h itself, since nothing compresses the queries."""
    return code in QUERY_WEIGHTS and not getattr(model.config(), "d_latent_q", None)


def _formula(code: str, form: str) -> str:
    """LaTeX, with h in the place of a query latent that the configuration has not."""
    step = SYMBOLS[code].step(form)
    if any(map(_reads_h, step.inputs)):
        return step.formula.replace(SYMBOLS["c_Q"].latex, SYMBOLS["h"].latex)
    return step.formula


def axes(code: str) -> str:
    """The axes of a symbol, with the size of each that the present configuration fixes."""
    config, letters = model.config(), SYMBOLS[code].axes.split()
    if _reads_h(code):
        letters = ["d" if letter == "l" else letter for letter in letters]
    sizes = {letter: getattr(config, name, None) for letter, name in SIZES.items()}
    return " × ".join(f"{x}={count(sizes[x])}" if sizes.get(x) else x for x in letters)


def _cited(place: tuple[str, int | None] | None) -> str:
    if place is None:
        return NONE
    section, equation = place
    return f"§{section}" + (f" ({equation})" if equation else "")


def _homes() -> dict[str, str]:
    """Code -> a variant that has it at the present sizes, the present one first."""
    chosen, found = state.settings()["variant"], {}
    for variant in (chosen, *VARIANTS):
        with suppress(ValueError):  # sizes that this variant cannot have
            found = dict.fromkeys(of_variant(variant) - {"mask"}, variant) | found
    return found


def _seen(code: str, homes: dict[str, str]) -> str:
    """Links to where the symbol's numbers are, as Markdown."""
    places = []
    if code in homes:
        places.append(("attention_maps", {"map_tensor": code, "variant": homes[code]}))
    if code in ELSEWHERE:
        places.append(ELSEWHERE[code])
    return "<br>".join(_link(*place) for place in places) or NONE


def _link(name: str, values: dict[str, str]) -> str:
    return f"[{t(f'{name}.link')}]({name}?{urlencode(state.link() | values)})"


def markdown(shown: list[Entry]) -> str:
    """The glossary as a Markdown table; on a phone each cell carries the name of its column."""
    heads, homes = [t(f"notation.column_{name}") for name in COLUMNS], _homes()
    lines = [_row(heads), _row(["---"] * len(heads))]
    for entry in shown:
        cells = [*_cells(entry), _seen(entry.code, homes)]
        lines.append(_row(map(_named, heads, cells)))
    return "\n".join(lines)


def _cells(entry: Entry) -> list[str]:
    symbol = SYMBOLS[entry.code]
    name = f'<span class="tensor {symbol.role}">${symbol.latex}$</span><br>`{entry.code}`'
    if entry.cached:
        name += f'<br><span class="kept">{t("notation.cached")}</span>'
    formula = f"${entry.formula}$" if entry.formula else NONE
    code = [x if x == NONE else f"`{x}`" for x in (entry.transformers, entry.deepseek)]
    return [name, entry.meaning, formula, entry.axes, entry.paper, *code]


def _named(head: str, cell: str) -> str:
    return f'<span class="on-phone">{head}</span><span>{cell}</span>'


def _row(cells: object) -> str:
    return f"| {' | '.join(cells)} |"


def title() -> str:
    """How many symbols the present variant has, and which of them it caches."""
    variant = state.settings()["variant"]
    here = of_variant(variant)
    names = [code for code, symbol in SYMBOLS.items() if symbol.cached and code in here]
    facts = {"has": count(len(here)), "all": count(len(SYMBOLS))}
    cached = t("notation.and").join(names)
    return t("notation.title", variant=t(f"common.{variant}"), cached=cached, **facts)


def look() -> str:
    """One sentence on what to look at, each role's word in its colour."""
    roles = ("query", "key", "value", "latent", "rope", "output")
    words = {r: f'<span class="tensor {r}">{t(f"notation.role_{r}")}</span>' for r in roles}
    return t("notation.look", **{f"role_{role}": word for role, word in words.items()})


def table(shown: list[Entry]) -> pd.DataFrame:
    """The glossary as data."""
    return pd.DataFrame([vars(entry) for entry in shown])


def download(shown: list[Entry]) -> None:
    """The button for it."""
    data = table(shown)
    charts.download(lambda: data, "notation.csv")
