"""Across a rotation no matrices can be merged; a decoupled rotary part leaves one that stays."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
import torch

from mla_engine import figures, rope
from mla_engine.studies import relative
from ui.engine import queue, shared_cache
from ui.pages.rope.head import HEIGHT, Head, Topic
from ui.parts import charts, prose
from ui.parts.charts import map_words, named
from ui.parts.control import control
from ui.parts.motion import Dial
from ui.parts.questions import Question, evenly
from ui.settings.page import Functions, Recipe
from ui.settings.parsers import Setting, whole
from ui.sources import layers, work
from ui.words.numbers import count, digits
from ui.words.text import t

FAR = 64  # the largest distance of the merged matrix
WINDOW = 24  # rows and columns of it that are shown
SETTINGS = {"rope_distance": Setting(3, whole(0, FAR), "slider", recorded=(0, 1, 3, 8))}


@dataclass(frozen=True, eq=False)
class Merged:
    """The matrix between a query's and a key's input, rotated in full and decoupled."""

    rotated: np.ndarray  # [l,c], a corner of it
    decoupled: np.ndarray  # the same corner
    change: np.ndarray  # of the whole matrix, at distance 0 ... FAR
    shape: tuple[int, int]  # of the whole matrix


@shared_cache.cached(anywhere=True)
def merge(head: Head, distance: int) -> Merged:
    """Merge W_UQ and W_UK across a rotation of all content dimensions, and without one.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    plain = replace(head.rope, scaling=None)  # a scaling is made for d_rope, not for d_head
    _require_merging(head)
    head.require()
    with queue.turn(), torch.inference_mode():
        layer = head.layer()
        W_UQ, W_UK = layer.W_UQ[0].cpu(), layer.W_UK[0].cpu()
        corner = W_UQ[:, :WINDOW], W_UK[:, :WINDOW]
        change = relative.change_with_distance(W_UQ, W_UK, plain, range(FAR + 1))
        return Merged(
            layers.to_numpy(relative.rotated_merge(*corner, plain, distance)),
            layers.to_numpy(corner[0].T @ corner[1]),
            layers.to_numpy(change),
            (W_UQ.shape[1], W_UK.shape[1]),
        )


def _require_merging(head: Head) -> None:
    """Refuse what takes too long: two products [k,k] a distance, after a Gram matrix of each."""
    config = head.config
    columns = (config.d_latent_q or config.d_model) + config.d_latent_kv
    products = 4 * (FAR + 1) * config.d_head**3 + 2 * config.d_head**2 * columns
    drawing = work.drawing(config, (head.head,), head.source)
    work.require(work.DOUBLE * products + drawing, work.SMALLER_LAYER)


class MergedTopic(Topic):
    """W_UQ and W_UK merged into one matrix, at a distance."""

    settings = ("rope_distance",)

    formulas = (
        r"\mathbf{c}^{Q\top}_t\,"
        r"\underbrace{{W^{UQ}}^{\top} R_{t-i}^{\top}\, W^{UK}}_{M(t-i)}\,\mathbf{c}^{KV}_i",
        r"\mathbf{c}^{Q\top}_t\,\underbrace{{W^{UQ}}^{\top} W^{UK}}_{M}\,\mathbf{c}^{KV}_i"
        r" + \mathbf{q}^{R}_t\cdot\mathbf{k}^{R}_i",
    )

    @property
    def found(self) -> Merged:
        """The numbers of the chosen head."""
        return merge(self.head, self.chosen.distance)

    @property
    def change(self) -> float:
        """The percentage by which the matrix has changed at the chosen distance."""
        return 100 * float(self.found.change[self.chosen.distance])

    def lead(self) -> tuple[str, str]:
        """Return the change at the chosen distance, and the sentence about it."""
        change = digits(self.change)
        line = t("rope.line_merged", distance=self.chosen.distance, change=change)
        return t("common.percent", value=change), line

    def explanation(self) -> str:
        """Return what the pictures mean."""
        (rows, columns), (top, left) = self.found.shape, self.found.decoupled.shape
        return t(
            "rope.explain_merged",
            rows=count(rows),
            columns=columns,
            top=top,
            left=left,
            cached=self.head.config.d_rope,
        )

    def question(self) -> Question | None:
        """Ask how far off the merged matrix is at the chosen distance."""
        if not self.chosen.distance:
            return None
        return evenly(
            "rope_merged",
            t("rope.guess_merged", distance=self.chosen.distance),
            self.change,
            200,
            say=lambda n: t("common.percent", value=count(n)),
            why=t("rope.guess_merged_why"),
            hides=("lead",),
        )

    def controls(self) -> None:
        """Draw the choice of the distance and the head."""
        control("rope_distance")
        super().controls()

    @staticmethod
    def dial() -> Dial:
        """Return what a clicker moves."""
        return Dial("rope_distance", t("rope.distance"), range(FAR + 1))

    def draw(self) -> None:
        """Draw the merged matrix across the rotation, the decoupled one, and the change."""
        found = self.found
        limit = figures.shared_limit(found.rotated, found.decoupled)
        matrices = {"rotated": found.rotated, "decoupled": found.decoupled}
        *sides, last = st.columns(3, gap="medium")
        for side, (name, matrix) in zip(sides, matrices.items(), strict=True):
            with side:
                self._matrix(name, matrix, limit)
        with last:
            self._changes()

    def _matrix(self, name: str, matrix: np.ndarray, limit: float) -> None:
        distance = self.chosen.distance
        self.caption(t(f"rope.{name}_caption", distance=distance))
        letter = "l" if self.head.config.d_latent_q else "d"
        axes = t("rope.input_axis", letter=letter), t("rope.latent_axis")
        options = {"limit": limit, "height": HEIGHT, "words": map_words()}
        figure = partial(figures.tensor_map, matrix, axes=axes, name="M", **options)
        alt = t(f"rope.{name}_alt", distance=distance)
        charts.show_map(figure, f"chart:rope_{name}", alt=alt)

    def _changes(self) -> None:
        change, distance = self.found.change, self.chosen.distance
        prose.say(t("rope.change_caption"))
        distances = range(len(change))
        lines = {t("rope.decoupled"): np.zeros(len(change)), t("rope.rotated"): change}
        titles = t("rope.distance_axis"), t("rope.change_axis")
        options = {"titles": titles, "at": distance, "height": HEIGHT}
        figure = partial(figures.curves, distances, lines, **options)
        alt = t("rope.change_alt", distance=distance, change=digits(self.change))
        data = partial(named, change[:, None], distances, ["change"])
        charts.show(figure, "chart:rope_change", alt=alt, data=data)

    def code(self) -> Functions:
        """Return the functions of the engine that say most about it."""
        return relative.rotated_merge, relative.change_with_distance, rope.rotate

    def snippet(self) -> Recipe:
        """Return the snippet that makes the headline's number."""
        return "merged", self.made() | {"distance": self.chosen.distance}
