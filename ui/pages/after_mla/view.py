"""The view of the page: a published model's cache in four factors, beside others."""

import html
from dataclasses import dataclass
from functools import cached_property

from mla_engine.drawn import drawn
from mla_engine.model_caches import MODELS, Model, Placing, Published, Storage
from mla_engine.model_caches.levers import Levers, levers, read_per_token
from mla_engine.model_caches.sources import Found
from mla_engine.refusals import RefusedError
from ui.pages.after_mla.settings import PASTED, STORY
from ui.parts import own_model
from ui.settings import state


@dataclass(frozen=True)
class Shown:
    """A model and its cache at a context, in some type; `published` is None of the reader's own."""

    name: str
    model: Model
    storage: Storage
    context: int
    published: Published | None = None

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
    """The chosen model or the reader's own, the type of what it caches, and the context.

    Args:
        key: of the published model; own: the reader's, before it.
        source: how the reader's own was given, as the engine's `find` takes it.
    """

    key: str
    kv: str
    context: int
    own: Found | None = None
    source: str = ""

    @cached_property
    def shown(self) -> Shown:
        """The model whose factors are told."""
        if self.own:
            return Shown(self.own.name, self.own.model, Storage(self.kv), self.context)
        return self.of(self.key)

    @cached_property
    def milestones(self) -> list[Shown]:
        """The models that are set side by side, the chosen one among them."""
        found = [self.of(key) for key in STORY.values()]
        told = self.shown.name in {one.name for one in found}
        return found if told else [*found, self.shown]

    @property
    def chapter(self) -> str:
        """The chapter of STORY that the shown model is told of, "" for none."""
        told = {model: code for code, model in STORY.items()}
        return "" if self.own else told.get(self.key, "")

    @property
    def every(self) -> list[Shown]:
        """All published models."""
        return [self.of(key) for key in MODELS]

    def of(self, key: str) -> Shown:
        """A published model in the same type and at the same context."""
        known = MODELS[key]
        return Shown(known.name, known.model(), Storage(self.kv), self.context, known)


def view() -> View:
    """Return the view of the present settings.

    Raises:
        RefusedError: a model whose cache does not grow, one of the reader's that is not counted.
    """
    s = state.settings()
    own = own_model.counted(s["am_own"], PASTED)
    source = own_model.source(s["am_own"], PASTED)
    found = View(s["am_model"], s["am_kv"], s["am_context"], own, source)
    _ = found.shown.levers
    return found
