"""A pair of the rotary part turns, and a score knows only the distance."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
import torch

from mla_engine import figures, rope
from mla_engine.studies import relative
from ui.engine import queue, shared_cache
from ui.pages.rope.head import HEIGHT, Head, Topic
from ui.pages.rope.yarn import frequencies
from ui.parts import charts, motion
from ui.parts.charts import map_words, named
from ui.parts.control import control
from ui.parts.motion import Dial
from ui.parts.questions import Question, decades, tokens
from ui.settings import state
from ui.settings.page import Functions, Recipe
from ui.settings.parsers import Setting, whole
from ui.sources import layers
from ui.words.numbers import count, digits, shortest, signed
from ui.words.text import safe, t

POSITIONS = 16  # at which one vector is shown
SETTINGS = {
    "rope_query": Setting(9, whole(0, POSITIONS - 1)),
    "rope_key": Setting(4, whole(0, POSITIONS - 1)),
    "rope_pair": Setting(0, whole(0, 127), "slider", recorded=range(4)),
}
CLICKABLE = "rope_scores"  # the map whose cells choose two positions
SECONDS = 1.0  # a position, while it plays
FILLED = ("t", "i", "distance", "score")  # by the browser, in the picture's sentences


@dataclass(frozen=True, eq=False)
class Turning:
    """One word's rotary query and key at every position."""

    query: np.ndarray  # [t,2], the chosen pair
    key: np.ndarray  # [s,2]
    scores: np.ndarray  # [t,s], of all pairs, unscaled
    spread: float  # between cells of one distance
    dimensions: tuple[int, int]
    angle: float  # radians a position


@shared_cache.cached(anywhere=True)
def turn(head: Head, pair: int) -> Turning:
    """Turn one word's query and key to every position.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    head.require()
    with queue.turn(), torch.inference_mode():
        parts = head.parts()
        rotary = parts["q_R_pre"][head.place], parts["k_R_pre"][head.place]
        q, k = (relative.turned(part, head.rope, torch.arange(POSITIONS)) for part in rotary)
        scores = q @ k.T
        spread = relative.diagonal_spread(scores)
    dimensions = relative.pair_dimensions(pair, head.config.d_rope, head.rope.pairing)
    angles = rope.inverse_frequencies(head.rope, head.config.d_rope, POSITIONS)
    return Turning(
        layers.to_numpy(q[:, dimensions]),
        layers.to_numpy(k[:, dimensions]),
        layers.to_numpy(scores),
        spread,
        dimensions,
        float(angles[pair]),
    )


def dials() -> list[Dial]:
    """Return the position of the query, which plays, and that of the key."""
    positions = range(POSITIONS)
    return [Dial(f"rope_{of}", t(f"rope.{of}_position"), positions) for of in ("query", "key")]


def clicked(cell: dict) -> None:
    """Choose both positions by a click on the scores."""
    if cell["chart"] == CLICKABLE:
        key, query = (min(POSITIONS - 1, max(0, round(cell[axis]))) for axis in "xy")
        state.change(rope_query=query, rope_key=key)


class TurningTopic(Topic):
    """A word's query and key, turned at every position."""

    settings = ("rope_query", "rope_key", "rope_pair")

    formulas = (r"(R_t\,\mathbf{q})\cdot(R_i\,\mathbf{k}) = (R_{t-i}\,\mathbf{q})\cdot\mathbf{k}",)

    @property
    def found(self) -> Turning:
        """The numbers of the chosen head."""
        return turn(self.head, self.chosen.pair)

    def lead(self) -> tuple[str, str]:
        """Return the score at the chosen distance, and the sentence about it."""
        query, key = self.chosen.query, self.chosen.key
        score = signed(float(self.found.scores[query, key]))
        return score, t("rope.line_turning", score=score, distance=query - key)

    def explanation(self) -> str:
        """Return what the pictures mean."""
        word = safe(self.head.words[self.head.place])
        return t("rope.explain_turning", spread=digits(self.found.spread, 2), word=word)

    def question(self) -> Question:
        """Ask after how many tokens the last pair has turned once."""
        angles = frequencies(self.head.rope, self.head.config.d_rope).after
        fastest, slowest = (2 * math.pi / float(angles[pair]) for pair in (0, -1))
        last = self.head.pairs - 1
        return decades(
            "rope_turning",
            t("rope.guess_turning", first=digits(fastest), last=last),
            slowest,
            (1, 10**6),
            say=lambda n: tokens(count(float(shortest(n, 3)))),
            why=t("rope.guess_turning_why"),
        )

    def controls(self) -> None:
        """Draw the choice of pair and head; the positions are moved in the picture."""
        if self.head.pairs > 1:
            control("rope_pair", most=self.head.pairs - 1)
        super().controls()

    @staticmethod
    def dial() -> Dial:
        """Return what a clicker moves."""
        return dials()[0]

    def draw(self) -> None:
        """Draw the chosen pair in its plane, and the scores at every two positions."""
        plane, scores = st.columns(2, gap="medium")
        with plane:
            self._plane()
        with scores:
            self._scores()

    def _plane(self) -> None:
        """Draw the pair as two arrows; the browser turns it and says each score."""
        found, words, pair = self.found, map_words(), self.chosen.pair
        self.caption(t("rope.plane_caption", pair=pair, angle=digits(found.angle)))
        places = {name: f"{{{name}}}" for name in FILLED}
        turns = {
            "query": found.query.tolist(),
            "key": found.key.tolist(),
            "scores": [[signed(float(score)) for score in row] for row in found.scores],
            "axes": [motion.parts(f"x_{dimension}") for dimension in found.dimensions],
            "words": {role: words[role] for role in ("query", "key")},
            "map": CLICKABLE,
            "says": t("rope.says", **places),
            "told": t("rope.plane_alt", pair=pair, **places),
        }
        numbers = np.concatenate((found.query, found.key), axis=1)
        columns = [f"{name}_{d}" for name in ("query", "key") for d in found.dimensions]
        table = partial(named, numbers, range(POSITIONS), columns)
        options = {"table": table, "file": "rope_plane.csv", "seconds": SECONDS}
        motion.show("turning", "chart:rope_plane", dials(), turns, **options)

    def _scores(self) -> None:
        scores, cell = self.found.scores, (self.chosen.query, self.chosen.key)
        self.caption(t("rope.scores_caption"))
        words = [str(position) for position in range(POSITIONS)]
        options = {"cell": cell, "height": HEIGHT, "words": map_words(), "name": t("rope.score")}
        figure = partial(figures.score_map, scores, words, words, **options)
        alt = t("rope.scores_alt", score=signed(float(scores[cell])), t=cell[0], i=cell[1])
        charts.show_map(figure, "chart:rope_scores", alt=alt, clicks=CLICKABLE)

    def code(self) -> Functions:
        """Return the functions of the engine that say most about it."""
        return relative.turned, rope.rotate, rope.rotation, relative.diagonal_spread

    def snippet(self) -> Recipe:
        """Return the snippet that makes the headline's number."""
        chosen = {"query": self.chosen.query, "key": self.chosen.key, "positions": POSITIONS}
        return "turning", self.made() | chosen
