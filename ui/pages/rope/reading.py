"""A head's map read by a wrong convention: of the pairing, or of the softmax scale."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
import torch
from torch import Tensor

from mla_engine import figures
from mla_engine.studies import conventions
from ui.engine import queue, shared_cache
from ui.pages.rope.head import HEIGHT, Head, Topic
from ui.parts import charts, prose
from ui.parts.charts import map_words
from ui.parts.control import control
from ui.settings.page import Functions, Recipe
from ui.settings.parsers import Setting, one_of, whole
from ui.sources import layers
from ui.words.numbers import digits, fixed
from ui.words.text import t

PAIRINGS, SCALES = conventions.PAIRING_READINGS[1:], conventions.SCALE_READINGS[1:]
SETTINGS = {
    "rope_pairing": Setting(
        "both", one_of(*PAIRINGS), "radio", "rope.pairing_mistake", recorded=True
    ),
    "rope_scale": Setting(
        "absorbed_width", one_of(*SCALES), "radio", "rope.scale_mistake", recorded=True
    ),
    "rope_start": Setting(0, whole(0, 100_000), "number_input"),  # position of the first word
}

FORMULAS = {
    "pairing": (
        r"\text{interleaved: } (x_{2p},\, x_{2p+1})",
        r"\text{half: } (x_p,\, x_{p+d_R/2})",
    ),
    "scale": (
        r"\mathrm{scale} = m^2 / \sqrt{d_h + d_R}",
        r"m = 0.1\,\mathrm{mscale}\,\ln s + 1",
    ),
}


@dataclass(frozen=True, eq=False)
class Reading:
    """A head's map as it is and as a wrong convention makes it."""

    right: np.ndarray  # attention [t,s]
    read: np.ndarray
    difference: np.ndarray  # of the logits
    limit: float  # the largest right logit, the end of the difference's scale
    mask: np.ndarray  # bool
    unharmed: np.ndarray  # bool, of the logits
    unharmed_attention: np.ndarray  # bool
    places: tuple[str, ...]  # unharmed as a whole
    reordered: int  # rows in which the keys' order changes

    @property
    def visible(self) -> int:
        """The number of logits that are not masked."""
        return int(self.mask.sum())

    @property
    def harmed(self) -> int:
        """The number of logits that are wrong."""
        return self.visible - int(self.unharmed.sum())


@shared_cache.cached(anywhere=True)
def read(head: Head, pairing: str, scale: str) -> Reading:
    """Run the head over the words, right and with this reading of its pairing and scale.

    Raises:
        ValueError, MemoryBudgetError: in the engine's words.
    """
    head.require()
    with queue.turn(), torch.inference_mode():
        parts = head.parts()
        right, wrong = _logits(head, parts, "own", "own"), _logits(head, parts, pairing, scale)
        mask = torch.ones_like(right, dtype=torch.bool).tril()
        maps = [conventions.masked_attention(logits, mask) for logits in (right, wrong)]
        unharmed = conventions.unharmed(right, wrong, mask)
        return Reading(
            *map(layers.to_numpy, maps),
            layers.to_numpy(wrong - right),
            float(right[mask].abs().max()),
            mask.numpy(),
            unharmed.numpy(),
            conventions.unharmed(*maps, mask).numpy(),
            conventions.whole_places(unharmed, mask),
            int(conventions.reordered(right, wrong, mask).sum()),
        )


def _logits(head: Head, parts: dict[str, Tensor], pairing: str, scale: str) -> Tensor:
    positions = torch.arange(head.start, head.start + len(head.words))
    rotary = parts["q_R_pre"], parts["k_R_pre"]
    content = parts["q_C"] @ parts["k_C"].T
    position = conventions.position_logits(*rotary, head.rope, positions, pairing)
    return conventions.scaled_logits(content, position, head.config, scale)


class ReadingTopic(Topic):
    """A map read with one mistake in its pairing, or in its scale."""

    settings = ("rope_pairing", "rope_scale", "rope_start")

    def __init__(self) -> None:
        super().__init__()
        self.kind = self.chosen.topic
        self.mistake = getattr(self.chosen, self.kind)
        self.readings = {"pairing": "own", "scale": "own", self.kind: self.mistake}
        self.formulas = FORMULAS[self.kind]

    @property
    def found(self) -> Reading:
        """The numbers of the chosen head."""
        return read(self.head, **self.readings)

    def lead(self) -> tuple[str, str]:
        """Return how much is wrong, and the sentence about it."""
        found = self.found
        wrong = t("common.out_of", n=found.harmed, all=found.visible)
        if not found.harmed:
            return wrong, t("rope.line_unharmed", visible=found.visible)
        if self.kind == "scale":
            cell = np.unravel_index(np.abs(found.read - found.right).argmax(), found.right.shape)
            maps = {"right": found.right, "read": found.read}
            shares = {name: digits(100 * float(values[cell])) for name, values in maps.items()}
            return t("rope.from_to", **shares), t("rope.line_scale", **shares)
        return wrong, t("rope.line_harmed", harmed=found.harmed, visible=found.visible)

    def look(self) -> str:
        """Return the sentence on what to look at."""
        found = self.found
        if self.kind == "pairing":
            return t("rope.look_pairing")
        if not found.harmed:
            return t("rope.look_scale_equal")
        if not found.reordered:
            return t("rope.look_scale_kept")
        return t("rope.look_scale_reordered", rows=found.reordered, of=len(self.head.words))

    def explanation(self) -> str:
        """Return what the mistake does, and which places it leaves unharmed."""
        config, found = self.head.config, self.found
        width, absorbed = config.d_head + config.d_rope, config.d_latent_kv + config.d_rope
        reason = t(
            f"rope.explain_{self.kind}_{self.mistake}",
            scale=fixed(config.scale, 6),
            plain=fixed(width**-0.5, 6),
            wrong=fixed(absorbed**-0.5, 6),
            width=width,
            absorbed=absorbed,
            factor=digits(config.scale * width**0.5, 4),
            pairing=t(f"rope.is_{self.head.rope.pairing}"),
        )
        places = t("rope.comma").join(t(f"rope.place_{place}") for place in found.places)
        whole_rows = found.unharmed_attention.sum(axis=1) == found.mask.sum(axis=1)
        rows = {"rows": int(whole_rows.sum()), "of": len(self.head.words)}
        unharmed = t("rope.explain_unharmed", places=places or t("rope.place_none"), **rows)
        return f"{reason}\n\n{unharmed}"

    def controls(self) -> None:
        """Draw the choice of the mistake and the head."""
        control(f"rope_{self.kind}")
        if self.kind == "pairing":
            control("rope_start")
        super().controls()

    def draw(self) -> None:
        """Draw the right map, the map by a wrong convention, and where the logits differ."""
        right, wrong, difference = st.columns(3, gap="medium")
        with right:
            self._attention("right", self.found.right)
        with wrong:
            self._attention("read", self.found.read)
        with difference:
            self._difference()

    def _attention(self, name: str, attention: np.ndarray) -> None:
        words, options = self.head.words, {"mask": self.found.mask, "name": t("rope.attention")}
        self.caption(t(f"rope.{name}_caption"))
        options |= {"height": HEIGHT, "words": map_words(), "numbers": False}
        figure = partial(figures.attention_map, attention, words, words, **options)
        mistake = t(f"rope.{self.kind}_{self.mistake}")
        charts.show_map(figure, f"chart:rope_{name}", alt=t(f"rope.{name}_alt", reading=mistake))

    def _difference(self) -> None:
        words, found = self.head.words, self.found
        prose.say(t("rope.difference_caption"))
        figure = partial(
            figures.score_map,
            found.difference,
            words,
            words,
            mask=found.mask,
            limit=found.limit,
            name=t("rope.difference"),
            height=HEIGHT,
            numbers=False,
            words=map_words(),
            marked=(found.unharmed, t("rope.unharmed")),
        )
        alt = t("rope.difference_alt", kept=found.visible - found.harmed, visible=found.visible)
        charts.show_map(figure, "chart:rope_difference", alt=alt)

    def code(self) -> Functions:
        """Return the functions of the engine that say most about it."""
        moved = self.mistake in ("regrouped", "layout")
        return (
            conventions.position_logits,
            *((conventions.stored_for,) if moved else ()),
            conventions.scaled_logits,
            conventions.unharmed,
            conventions.whole_places,
        )

    def snippet(self) -> Recipe:
        """Return the snippet that makes the headline's number."""
        if self.kind == "scale" and self.found.harmed:
            return "scale", self.made() | {"scale": self.mistake}
        return "reading", self.made() | self.readings | {"start": self.head.start}
