"""The view of the page: a published model's cache in four factors, beside others."""

import html
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

from kvcount import MODELS, Model, Placing, Published, Storage
from kvcount.drawn import drawn
from kvcount.levers import Levers, levers, read_per_token
from kvcount.refusals import RefusedError
from kvcount.sources import Found
from ui.parts import given
from ui.settings import state
from ui.words.numbers import TIED, count, digits
from ui.words.text import safe

STORY = {  # what came after GQA, in the order in which it came -> the model that it is told of
    "gqa": "llama-3.1-405b",
    "mla": "deepseek-v3",
    "dsa": "deepseek-v3.2-exp",
    "index_share": "glm-5.2",
    "kda": "kimi-k3",
    "pooled": "deepseek-v4-flash",
    "csa2": "deepseek-v4.1-flash",
}
PASTED = "am_config"  # the key in the session of a pasted config.json
SAME = 1.005  # a factor below it changes nothing that is seen
END = 30.0  # times the longest bar of a chart, for the text at its end
PAIR = (0, 3)  # the looks of what is stored and what is read


@dataclass(frozen=True)
class Shown:
    """A model and its cache at a context, in some type; `published` is None of the reader's own."""

    name: str
    model: Model
    storage: Storage
    context: int
    published: Published | None = None

    @property
    def said(self) -> str:
        """Its name as Markdown: the reader's own may hold anything."""
        return self.name if self.published else safe(self.name)

    @property
    def label(self) -> str:
        """Its name in a picture, whose texts are HTML."""
        return html.escape(drawn(self.name), quote=False)

    @cached_property
    def levers(self) -> Levers:
        """The factors of its cache.

        Raises:
            RefusedError: nothing in it grows with the context.
        """
        found = levers(self.model, self.storage)
        if found is None:
            raise RefusedError("no_growth", name=self.name)
        return found

    @property
    def read_per_token(self) -> float:
        """Bytes of the rows that grow that the next token reads, for each token before it."""
        return float(read_per_token(self.model, self.storage, self.context))

    @property
    def fixed(self) -> float:
        """Bytes of a sequence that do not grow with it: windows, states, tokens that wait."""
        return self.stored - float(self.levers.bytes_per_token) * self.context

    @property
    def stored(self) -> float:
        """Bytes of a sequence of so many tokens, windows and states included."""
        return float(self._placing.held_bytes(self.context))

    @property
    def read(self) -> float:
        """Bytes that its next token reads."""
        return float(self._placing.read_bytes(self.context))

    @property
    def _placing(self) -> Placing:
        return Placing(model=self.model, storage=self.storage)


@dataclass(frozen=True)
class View:
    """The page's own settings, and the reader's own model, which goes before the published one.

    Args:
        source: how the reader's own was given, as the engine's `find` takes it.
    """

    chosen: SimpleNamespace
    own: Found | None = None
    source: str = ""

    @cached_property
    def shown(self) -> Shown:
        """The model whose factors are told."""
        if self.own:
            return self._at(self.own.name, self.own.model)
        return self.of(self.chosen.model)

    @cached_property
    def milestones(self) -> list[Shown]:
        """The models that are set side by side, the chosen one among them."""
        found = [self.of(key) for key in STORY.values()]
        told = self.shown.name in {one.name for one in found}
        return found if told else [*found, self.shown]

    def of(self, key: str) -> Shown:
        """A published model in the same type and at the same context."""
        known = MODELS[key]
        return self._at(known.name, known.model(), known)

    def _at(self, name: str, model: Model, published: Published | None = None) -> Shown:
        return Shown(name, model, Storage(self.chosen.kv), self.chosen.context, published)


def view() -> View:
    """Return the view of the present settings.

    Raises:
        RefusedError: a model whose cache does not grow, one of the reader's that is not counted.
    """
    chosen = state.chosen("after_mla")
    own = given.counted(chosen.own, PASTED)
    found = View(chosen, own, given.source(chosen.own, PASTED))
    _ = found.shown.levers
    return found


def factor(ratio: float) -> str:
    """Return how many times less, "57"."""
    return digits(ratio, 3) if ratio < 10 else count(ratio)


def divided(amount: str, ratio: float, shape: str = "{} ({})") -> str:
    """Return an amount with what divides it, "7.22 kB (÷ 6.88)", where that is seen."""
    return shape.format(amount, f"÷{TIED}{factor(ratio)}") if ratio > SAME else amount
