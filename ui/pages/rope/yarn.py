"""YaRN stretches the rotation for longer texts, and raises the softmax scale."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import PRESETS, RopeConfig, YarnConfig, figures, rope
from ui.engine import shared_cache
from ui.pages.rope.head import HEIGHT, Topic
from ui.parts import charts, prose
from ui.parts.charts import named
from ui.parts.snippet import config as config_of
from ui.settings.page import Functions, Recipe
from ui.sources import checkpoint
from ui.words.numbers import count, digits, fixed, shortest
from ui.words.text import scaling_name, t

DECIMALS = {
    "width": "%d",
    "plain": "%.8f",
    "softmax_magnitude": "%.4f",
    "scale": "%.8f",
    "rotation_magnitude": "%.4f",
}


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Radians a position of each pair, before and after the scaling."""

    before: np.ndarray
    after: np.ndarray
    band: tuple[float, float] | None  # the pairs of YaRN's ramp


@shared_cache.cached
def frequencies(of: RopeConfig, width: int) -> Frequencies:
    """Return every pair's frequency without the scaling, and with it beyond the context."""
    scaling = of.scaling
    plain = rope.inverse_frequencies(replace(of, scaling=None), width)
    band = rope.yarn_bounds(of.theta, width, scaling) if isinstance(scaling, YarnConfig) else None
    scaled = rope.inverse_frequencies(of, width, _beyond(of))
    return Frequencies(plain.numpy(), scaled.numpy(), band)


def _beyond(of: RopeConfig) -> int:
    """Return the first length beyond the original context."""
    return of.original_context + 1


@shared_cache.cached
def scales() -> pd.DataFrame:
    """Return the softmax scale of every published model, and how it comes about."""
    rows = []
    for preset in PRESETS.values():
        config = preset.config
        scaling = config.rope.scaling if config.rope else None
        width = config.d_key
        rows.append(
            {
                "model": preset.name,
                "width": width,
                "plain": width**-0.5,
                "softmax_magnitude": config.scale * width**0.5,
                "scale": config.scale,
                "rotation_magnitude": scaling.rotation_magnitude if scaling else 1.0,
            }
        )
    return pd.DataFrame(rows)


class YarnTopic(Topic):
    """The frequencies of the chosen model, and the softmax scale of all."""

    formulas = (r"w_p = \theta^{-2p/d_R}", r"w'_p = \gamma_p\, w_p + (1 - \gamma_p)\, w_p / s")

    @property
    def found(self) -> Frequencies:
        """The numbers of the chosen head."""
        return frequencies(self.head.rope, self.head.config.d_rope)

    def _factors(self) -> dict[str, str]:
        """Return the softmax scale and what it is made of, by the keys of their labels."""
        config = self.head.config
        plain = config.d_key**-0.5
        factor = digits(config.scale / plain, 4)
        return {"plain": fixed(plain, 8), "factor": factor, "scale": fixed(config.scale, 8)}

    def lead(self) -> tuple[str, str]:
        """Return how much larger the softmax scale is, and the sentence about it."""
        factors, layer = self._factors(), self.model.checkpoint
        name = checkpoint.title(layer) if layer else self.model.name
        key = "line_plain" if factors["plain"] == factors["scale"] else "line_yarn"
        return f"{factors['factor']}×", t(f"rope.{key}", name=name, **factors)

    def explanation(self) -> str:
        """Return how this model scales its frequencies."""
        found, scaling = self.found, self.head.rope.scaling
        if scaling is None:
            return t("rope.explain_no_scaling", theta=count(self.head.rope.theta))
        if found.band is None:
            slower = digits(float(found.before[-1] / found.after[-1]), 4)
            kind = scaling_name(self.head.rope)
            return t("rope.explain_other_scaling", kind=kind, factor=slower)
        low, high = (shortest(edge, 4) for edge in found.band)
        return t(
            "rope.explain_yarn",
            low=low,
            high=high,
            factor=digits(scaling.factor, 4),
            original=count(scaling.original_max_position),
            mscale=scaling.mscale,
            all_dim=scaling.mscale_all_dim,
            rotation=digits(scaling.rotation_magnitude, 4),
        )

    def controls(self) -> None:
        """Show the softmax scale's factors: nothing can be changed here."""
        for name, figure in self._factors().items():
            st.metric(t(f"rope.metric_{name}"), figure)

    def draw(self) -> None:
        """Draw frequencies before and after the scaling, and the softmax scale of every model."""
        lines, table = st.columns(2, gap="medium")
        with lines:
            self._frequencies()
        with table:
            self._scales()

    def _frequencies(self) -> None:
        found, pairs = self.found, range(self.head.pairs)
        prose.say(t("rope.frequencies_caption"))
        lines = {t("rope.before"): found.before, t("rope.after"): found.after}
        titles = t("rope.pair_axis"), t("rope.frequency_axis")
        options = {"log": True, "band": found.band, "height": HEIGHT}
        figure = partial(figures.curves, pairs, lines, titles=titles, **options)
        before, after = (digits(float(of_pairs[-1])) for of_pairs in (found.before, found.after))
        alt = t("rope.frequencies_alt", before=before, after=after)
        numbers = np.stack((found.before, found.after), axis=1)
        data = partial(named, numbers, pairs, ["before", "after"])
        charts.show(figure, "chart:rope_frequencies", alt=alt, data=data)

    def _scales(self) -> None:
        prose.say(t("rope.scales_caption"))
        columns = {"model": st.column_config.TextColumn(t("rope.column_model"), pinned=True)}
        columns |= {
            name: st.column_config.NumberColumn(t(f"rope.column_{name}"), format=decimals)
            for name, decimals in DECIMALS.items()
        }
        st.dataframe(scales(), height=HEIGHT, hide_index=True, column_config=columns)
        charts.download(scales, "softmax_scales.csv")

    def code(self) -> Functions:
        """Return the functions of the engine that say most about it."""
        if not isinstance(self.head.rope.scaling, YarnConfig):
            return (rope.inverse_frequencies,)
        magnitudes = YarnConfig.magnitude, YarnConfig.softmax_magnitude.fget
        return rope.inverse_frequencies, rope.yarn_frequencies, *magnitudes

    def snippet(self) -> Recipe:
        """Return the snippet that makes the headline's number."""
        head = self.head
        values = {"config": config_of(head.config, self.model.preset)}
        return "yarn", values | {"length": _beyond(head.rope)}
