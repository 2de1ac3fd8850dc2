"""What the page after_mla shows: a published model's cache in four factors, beside others."""

from dataclasses import dataclass
from functools import cached_property

from mla_engine.model_caches import MODELS, Model, Placing, Published, Storage, read_bytes
from mla_engine.model_caches.levers import Levers, levers
from mla_engine.refusals import RefusedError
from ui.settings import state

MILESTONES = (  # from the longest entries on, by what makes each cache small
    "llama-3.1-405b",
    "deepseek-v3",
    "deepseek-v3.2-exp",
    "glm-5.2",
    "kimi-k3",
    "deepseek-v4-flash",
)


@dataclass(frozen=True)
class Shown:
    """A published model and its cache at a context, in some type."""

    published: Published
    storage: Storage
    context: int

    @cached_property
    def model(self) -> Model:
        """What its layers keep."""
        return self.published.model()

    @cached_property
    def levers(self) -> Levers:
        """The factors of its cache.

        Raises:
            RefusedError: nothing in it grows with the context.
        """
        found = levers(self.model, self.storage)
        if found is None:
            raise RefusedError("no_growth", name=self.published.name)
        return found

    @property
    def stored(self) -> float:
        """Bytes of a sequence of so many tokens, windows and states included."""
        return float(Placing(model=self.model, storage=self.storage).held_bytes(self.context))

    @property
    def read(self) -> float:
        """Bytes that its next token reads."""
        of_layers = (read_bytes(layer, self.storage, self.context) for layer in self.model.layers)
        return float(sum(of_layers))


@dataclass(frozen=True)
class View:
    """The chosen model, the type of what it caches, and the context."""

    key: str
    kv: str
    context: int

    @cached_property
    def shown(self) -> Shown:
        """The chosen model."""
        return self.of(self.key)

    @cached_property
    def milestones(self) -> list[Shown]:
        """The models that are set side by side, the chosen one among them."""
        keys = MILESTONES if self.key in MILESTONES else (*MILESTONES, self.key)
        return [self.of(key) for key in keys if key in MODELS]

    @property
    def every(self) -> list[Shown]:
        """All published models."""
        return [self.of(key) for key in MODELS]

    def of(self, key: str) -> Shown:
        """A published model in the same type and at the same context."""
        return Shown(MODELS[key], Storage(self.kv), self.context)


def view() -> View:
    """What the present settings show.

    Raises:
        RefusedError: a model whose cache does not grow.
    """
    s = state.settings()
    found = View(s["am_model"], s["am_kv"], s["am_context"])
    _ = found.shown.levers
    return found
