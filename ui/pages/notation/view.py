"""The symbols that the glossary shows, at the present sizes, and what is said above them."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from mla_engine import mechanisms
from mla_engine.names import citation
from mla_engine.symbols import SIZES, SYMBOLS
from ui.engine import shared_cache
from ui.settings import parsers, state
from ui.settings.parsers import Setting, one_of
from ui.settings.shared import SHARED, VARIANTS
from ui.sources import layers
from ui.sources.model import Config, Model, present
from ui.words.numbers import count
from ui.words.text import listed, t, tensor

AUTO = "auto"  # all symbols, or those of another variant than MLA
CHOICES = ("all", "present", "cached")
SETTINGS = {
    "notation_search": Setting("", parsers.words(60), "text_input"),
    "notation_of": Setting(AUTO, one_of(AUTO, *CHOICES), "segmented_control", options=CHOICES),
}
ROLES = ("query", "key", "value", "latent", "rope", "output")
INDEXER = "indexer."  # no published one reads h: its names are those beside a query latent
QUERY_WEIGHTS = ("W_UQ", "W_QR", "W_QK", "W_IQ")
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
        """Return whether every word of the text is in the symbol's names or its meaning."""
        names = (self.code, self.meaning, self.transformers, self.deepseek, self.paper)
        here = " ".join([*names, SYMBOLS[self.code].meaning]).lower()
        return all(word in here for word in text.lower().split())


@dataclass(frozen=True)
class View:
    """The symbols that are shown, and the present variant.

    Args:
        model: what the shared settings choose.
        homes: code of each symbol that can be seen -> a variant that has it, the present one first.
        present: the codes of the symbols that the present variant has.
        of: of CHOICES, which symbols are shown.
        sought: the text that is searched for.
        entries: the symbols that choice and search leave.
        link: what every link to another page carries along.
    """

    model: Model
    homes: Mapping[str, str]
    present: frozenset[str]
    of: str
    sought: str
    entries: tuple[Entry, ...]
    link: Mapping[str, str]

    @property
    def cached(self) -> list[str]:
        """The codes of what the present variant caches."""
        return [code for code, one in SYMBOLS.items() if one.cached and code in self.present]


def view() -> View:
    """Return the present view.

    Raises:
        ValueError: sizes that no layer can have.
    """
    model, of, sought = present(), _chosen(), state.settings()["notation_search"]
    own = _of_variant(model, model.variant)
    choices = {
        "all": list(SYMBOLS),
        "present": [code for code in SYMBOLS if code in own],
        "cached": [code for code, one in SYMBOLS.items() if one.cached and code in own],
    }
    made = [_entry(code, model.config(), model.form) for code in choices[of]]
    entries = tuple(entry for entry in made if entry.has(sought))
    return View(model, _homes(model), own, of, sought, entries, state.link())


def _chosen() -> str:
    """Return which symbols are asked for: of another variant than MLA its own, unless sought."""
    s = state.settings()
    own = s["variant"] != SHARED["variant"].default and not s["notation_search"]
    return s["notation_of"] if s["notation_of"] != AUTO else "present" if own else "all"


def _homes(model: Model) -> dict[str, str]:
    """Return the code of each symbol that can be seen -> a variant that has it."""
    found = {}
    for variant in (model.variant, *VARIANTS):
        with suppress(ValueError):  # sizes that this variant cannot have
            found = dict.fromkeys(_of_variant(model, variant) - {"mask"}, variant) | found
    return found


def _of_variant(model: Model, variant: str) -> frozenset[str]:
    return _codes(model.config(variant), mechanisms.form_of(variant).symbols)


@shared_cache.cached
def _codes(config: Config, form: str) -> frozenset[str]:
    """Return the codes that a layer has: its weights, and the steps of its trace."""
    layer = mechanisms.of(config).layer(config, device="meta")
    return frozenset([*dict(layer.named_parameters()), *layers.shapes(config, form, 1), "mask"])


def _entry(code: str, config: Config, form: str) -> Entry:
    symbol = SYMBOLS[code]
    names = symbol.alias or NONE, symbol.deepseek or NONE
    if _reads_h(code, config) and not names[0].startswith(INDEXER):
        names = tuple(name.replace("q_b_proj", "q_proj").replace("wq_b", "wq") for name in names)
    return Entry(
        code,
        t(f"symbols.{code}"),
        _formula(code, config, form),
        _axes(code, config),
        _cited(citation(code, form)),
        *names,
        symbol.cached,
    )


def _reads_h(code: str, config: Config) -> bool:
    """Return whether a query's weight reads h itself, since nothing compresses the queries."""
    return code in QUERY_WEIGHTS and not config.d_latent_q


def _formula(code: str, config: Config, form: str) -> str:
    """Return LaTeX, with h in the place of a query latent that the configuration has not."""
    step = SYMBOLS[code].step(form)
    if any(_reads_h(one, config) for one in step.inputs):
        return step.formula.replace(SYMBOLS["c_Q"].latex, SYMBOLS["h"].latex)
    return step.formula


def _axes(code: str, config: Config) -> str:
    """Return the axes of a symbol, with the size of each that the configuration fixes."""
    letters = SYMBOLS[code].axes.split()
    if _reads_h(code, config):
        letters = ["d" if letter == "l" else letter for letter in letters]
    sizes = {letter: config.size(name) for letter, name in SIZES.items()}
    return " × ".join(f"{x}={count(sizes[x])}" if sizes.get(x) else x for x in letters)


def _cited(place: tuple[str, int | None] | None) -> str:
    if place is None:
        return NONE
    section, equation = place
    return f"§{section}" + (f" ({equation})" if equation else "")


def lead(here: View) -> tuple[str, str]:
    """Return how many symbols the present variant has, and which of them it caches."""
    line = t(
        "notation.line",
        variant=t(f"common.{here.model.variant}"),
        has=count(len(here.present)),
        all=count(len(SYMBOLS)),
        cached=listed(map(tensor, here.cached)),
    )
    return t("common.out_of", n=count(len(here.present)), all=count(len(SYMBOLS))), line


def look() -> str:
    """Return a sentence on what to look at, each role's word in its colour."""
    words = {r: f'<span class="tensor {r}">{t(f"notation.role_{r}")}</span>' for r in ROLES}
    return t("notation.look", **{f"role_{role}": word for role, word in words.items()})
