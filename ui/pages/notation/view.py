"""The glossary at the present sizes: which symbols are shown, and where else they are seen."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from mla_engine import mechanisms
from mla_engine.names import DEEPSEEK, citation
from mla_engine.symbols import SIZES, SYMBOLS
from ui.engine import layers, model, shared_cache
from ui.engine.model import Config, Model
from ui.pages.notation.settings import AUTO
from ui.settings import state
from ui.settings.shared import SHARED, VARIANTS
from ui.words.numbers import count
from ui.words.text import t

CHOICES = ("all", "present", "cached")
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
        """Whether every word of the text is in the symbol's names or its meaning."""
        names = (self.code, self.meaning, self.transformers, self.deepseek, self.paper)
        here = " ".join([*names, SYMBOLS[self.code].meaning]).lower()
        return all(word in here for word in text.lower().split())


@dataclass(frozen=True)
class View:
    """What the page shows.

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
    def form(self) -> str:
        """The form in which the present variant is computed."""
        return form_of(self.model.variant)

    @property
    def cached(self) -> list[str]:
        """The codes of what the present variant caches."""
        return [code for code, one in SYMBOLS.items() if one.cached and code in self.present]


def view() -> View:
    """The present view.

    Raises:
        ValueError: sizes that no layer can have.
    """
    s, chosen = state.settings(), model.present()
    present = _of_variant(chosen, chosen.variant)
    kept = {
        "all": list(SYMBOLS),
        "present": [code for code in SYMBOLS if code in present],
        "cached": [code for code, one in SYMBOLS.items() if one.cached and code in present],
    }[of := _chosen()]
    made = (_entry(code, chosen.config(), form_of(chosen.variant)) for code in kept)
    entries = tuple(entry for entry in made if entry.has(s["notation_search"]))
    return View(chosen, _homes(chosen), present, of, s["notation_search"], entries, state.link())


def _chosen() -> str:
    """Which symbols are asked for; of another variant than MLA its own, but sought among all."""
    s = state.settings()
    own = s["variant"] != SHARED["variant"].default and not s["notation_search"]
    return s["notation_of"] if s["notation_of"] != AUTO else "present" if own else "all"


def form_of(variant: str) -> str:
    """The form in which a variant is computed."""
    return mechanisms.form_of(variant).symbols


def _homes(chosen: Model) -> dict[str, str]:
    found = {}
    for variant in (chosen.variant, *VARIANTS):
        with suppress(ValueError):  # sizes that this variant cannot have
            found = dict.fromkeys(_of_variant(chosen, variant) - {"mask"}, variant) | found
    return found


def _of_variant(chosen: Model, variant: str) -> frozenset[str]:
    return _codes(chosen.config(variant), form_of(variant))


@shared_cache.cached
def _codes(config: Config, form: str) -> frozenset[str]:
    """The codes that a layer has: its weights, and the steps of its trace."""
    layer = mechanisms.of(config).layer(config, device="meta")
    return frozenset([*dict(layer.named_parameters()), *layers.shapes(config, form, 1), "mask"])


def _entry(code: str, config: Config, form: str) -> Entry:
    symbol = SYMBOLS[code]
    names = symbol.alias or NONE, DEEPSEEK.get(code, NONE)
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
    """Whether a query's weight reads h itself, since nothing compresses the queries."""
    return code in QUERY_WEIGHTS and not getattr(config, "d_latent_q", None)


def _formula(code: str, config: Config, form: str) -> str:
    """LaTeX, with h in the place of a query latent that the configuration has not."""
    step = SYMBOLS[code].step(form)
    if any(_reads_h(one, config) for one in step.inputs):
        return step.formula.replace(SYMBOLS["c_Q"].latex, SYMBOLS["h"].latex)
    return step.formula


def _axes(code: str, config: Config) -> str:
    """The axes of a symbol, with the size of each that the configuration fixes."""
    letters = SYMBOLS[code].axes.split()
    if _reads_h(code, config):
        letters = ["d" if letter == "l" else letter for letter in letters]
    sizes = {letter: getattr(config, name, None) for letter, name in SIZES.items()}
    return " × ".join(f"{x}={count(sizes[x])}" if sizes.get(x) else x for x in letters)


def _cited(place: tuple[str, int | None] | None) -> str:
    if place is None:
        return NONE
    section, equation = place
    return f"§{section}" + (f" ({equation})" if equation else "")
