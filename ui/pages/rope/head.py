"""The head whose rotation the page shows, with what its topics share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from types import SimpleNamespace

import streamlit as st
from torch import Tensor

from mla_engine import LatentConfig, MultiHeadLatentAttention, RopeConfig
from ui.parts import prose
from ui.parts.control import control
from ui.parts.motion import Dial
from ui.parts.questions import Question
from ui.parts.snippet import made
from ui.settings import state
from ui.settings.page import Functions, Note, Panel, Recipe
from ui.settings.parsers import Setting, whole
from ui.sources import Source, layers, work
from ui.sources.model import Model, present
from ui.words.numbers import count
from ui.words.text import t

SETTINGS = {"rope_head": Setting(0, whole(0, 127), "number_input")}
HEIGHT = 500  # pixels of every chart


@dataclass(frozen=True)
class Head:
    """One head of an MLA layer, and the words that it reads."""

    config: LatentConfig
    rope: RopeConfig  # the layer's rotation, or the one assumed where it has none
    source: Source
    head: int
    words: tuple[str, ...]
    start: int  # position of the first word

    @property
    def place(self) -> int:
        """The place of the word that is turned: the second, or the only one."""
        return min(1, len(self.words) - 1)

    @property
    def pairs(self) -> int:
        """The number of pairs in the rotary part."""
        return self.config.d_rope // 2

    def require(self) -> None:
        """See that the layer can be had and run; a real one is read then.

        Raises:
            ValueError, MemoryBudgetError: it cannot.
        """
        operations = work.running(self.config, "expanded", len(self.words), (self.head,))
        operations += work.drawing(self.config, (self.head,), self.source)
        work.require(operations, work.FEWER_WORDS)
        layers.bring(self.config, self.source, (self.head,))

    def layer(self) -> MultiHeadLatentAttention:
        """Return the layer with this head."""
        return layers.layer(self.config, self.source, (self.head,))

    def parts(self) -> dict[str, Tensor]:
        """Return its queries and keys before their rotation, float64, by their code [t,...]."""
        trace = self.layer()(self.source.hidden(self.words, self.config.d_model))
        parts = {
            "q_C": trace.q_C[0, :, 0],
            "k_C": trace.k_C[0, :, 0],
            "q_R_pre": trace.q_R_pre[0, :, 0],
            "k_R_pre": trace.k_R_pre[0],
        }
        return {code: part.double().cpu() for code, part in parts.items()}


class Topic(ABC):
    """One idea of the page, shown for the head and the settings that are chosen.

    Raises:
        ValueError: sizes that no layer can have, or no rotary part.
    """

    formulas: tuple[str, ...]
    settings: tuple[str, ...] = ()  # that it reads, beside the head

    def __init__(self) -> None:
        self.chosen, self.model = state.chosen("rope"), present()
        self.head = _head(self.model, self.chosen)

    @property
    @abstractmethod
    def found(self) -> object:
        """The numbers of the topic, computed once for all sessions."""

    @abstractmethod
    def lead(self) -> tuple[str, str]:
        """Return the page's number and the sentence about it."""

    def look(self) -> str:
        """Return the sentence on what to look at."""
        return t(f"rope.look_{self.chosen.topic}")

    @abstractmethod
    def explanation(self) -> str:
        """Return what the pictures mean, with the numbers of this head."""

    def question(self) -> Question | None:
        """Return what is asked before the picture shows."""
        return None

    def controls(self) -> None:
        """Draw the choice of the head, where there are several."""
        if (last := self.head.config.n_heads - 1) > 0:
            control("rope_head", label=t("rope.head", last=last), most=last)

    @staticmethod
    def dial() -> Dial | None:
        """Return what a clicker moves."""
        return None

    @abstractmethod
    def draw(self) -> None:
        """Draw the pictures."""

    @abstractmethod
    def code(self) -> Functions:
        """Return the functions of the engine that say most about it."""

    @abstractmethod
    def snippet(self) -> Recipe:
        """Return the snippet that makes the headline's number."""

    def made(self) -> dict[str, object]:
        """Return what a snippet needs to make the layer."""
        return made(self.model, self.head.config, [self.head.head])

    def caption(self, text: str) -> None:
        """Draw what stands above a picture, and what its weights are."""
        prose.say(text + prose.weights_mark(self.head.source))


def _head(model: Model, chosen: SimpleNamespace) -> Head:
    config = model.config("mla")
    if not config.d_rope:
        raise ValueError(t("rope.no_width"))
    if config.rope is None:
        config = replace(config, rope=RopeConfig())
    start = chosen.start if chosen.topic == "pairing" else 0
    return Head(config, config.rope, model.source_of(config), chosen.head, model.words, start)


def _draw(topic: Topic) -> None:
    """Draw a topic's pictures beside its controls; below them its formulas, and what they mean."""
    picture, beside = st.columns([5, 1], gap="medium")
    with beside:
        topic.controls()
    with picture:
        topic.draw()
    for column, formula in zip(st.columns(len(topic.formulas)), topic.formulas, strict=True):
        column.latex(formula)
    prose.say(topic.explanation())
    for note in notes(topic):
        prose.note(note)


def panel(name: str, kind: type[Topic]) -> Panel:
    """Return a topic as a panel; a view of the page is the topic that is chosen."""
    return Panel(
        name=name,
        settings=(*SETTINGS, *kind.settings),
        shown={"rope_topic": name},
        title=lambda _topic: t(f"rope.title_{name}"),
        lead=lambda topic: topic.lead(),
        look=lambda topic: topic.look(),
        draw=_draw,
        question=lambda topic: topic.question(),
        code=lambda topic: topic.code(),
        snippet=lambda topic: topic.snippet(),
    )


def nearest() -> list[Note]:
    """Bring head and pair to the nearest that there are."""
    sizes = present().sizes
    return state.at_most(rope_head=sizes["n_heads"] - 1, rope_pair=max(0, sizes["d_rope"] // 2 - 1))


def notes(topic: Topic) -> list[str]:
    """Return what is assumed where the chosen model has no such part."""
    assumed, config = [], topic.head.config
    own = topic.model.is_trained or topic.model.base.has_latent
    if not (own and topic.model.variant.startswith("mla")):
        sizes = {"latent": config.d_latent_kv, "rope": config.d_rope}
        assumed.append(t("rope.assumed_mla", **sizes))
    if topic.model.base.rope is None:
        assumed.append(t("rope.assumed_rotation", theta=count(topic.head.rope.theta)))
    return assumed
