"""The caches of both layers over the context, and what a decode step moves and computes."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from mla_engine import costs, figures
from mla_engine.costs import Cost, calls, held_bytes
from ui.pages.compare.flow import mark
from ui.pages.compare.side import BF16_BYTES, Side, most_tokens
from ui.pages.compare.topic import Topic
from ui.parts import charts, prose
from ui.parts.charts import growth_words
from ui.parts.control import control
from ui.settings.page import Functions
from ui.settings.parsers import Setting, power_of_two
from ui.settings.sizes import CONTEXTS, LENGTHS, longest
from ui.words.numbers import count, flop, heads, intensity, size, times
from ui.words.text import sentences, t

CONTEXT = 2**15
SETTINGS = {
    "vs_context": Setting(
        CONTEXT,
        power_of_two(2**10, 2**20),
        "select_slider",
        follows=partial(longest, most=CONTEXT),
    ),
}
BARS = 190  # pixels
ENTRY_WIDTH = 110  # of the legend: two entries a row fit a phone
MIB = 2**20
LOOKS = {"mla": "mla_each"}  # of a variant that is a way of decoding by another name
PART_LOOKS = {"read": 0, "made": 2, "weights": 1, "rest": 3}
PARTS = {
    "read": ("cache_read_bytes",),
    "made": ("up_projected_bytes",),
    "weights": ("weight_bytes",),
    "rest": ("cache_written_bytes", "activation_bytes"),
}
WRITTEN = {
    "bytes": size,
    "flops": flop,
    "intensity": intensity,
}  # by what an amount's name ends with


class CostsTopic(Topic):
    """The numbers that one layer of each keeps, moves and computes for one sequence."""

    name = "costs"
    settings = ("vs_context",)

    def draw(self) -> None:
        """Draw the growth of both caches, the parts of a decode step, and the table."""
        if small := [side.config for side in self.sides if side.trained]:
            width, n_heads = count(small[0].d_model), heads(small[0].n_heads)
            prose.say(t("compare.costs_small", width=width, heads=n_heads))
        growth, table = st.columns((5, 5), gap="large")
        with growth:
            self._growth()
        with table:
            control("vs_context", options=[n for n in LENGTHS if n <= most_tokens()])
            self._step_bars()
            st.table(self._table())
            notes = ["cost_note", *(["cost_state"] if self.linear else [])]
            prose.note(sentences(t(f"compare.{key}") for key in notes))
        charts.download(self._amounts, "compare_costs.csv")

    def _growth(self) -> None:
        context, configs = self.chosen.context, {side.letter: side.config for side in self.sides}
        held = {
            letter: np.array([held_bytes(config, n, BF16_BYTES) for n in CONTEXTS])
            for letter, config in configs.items()
        }
        options = {"at": context, "unit": "MiB", "words": growth_words()}
        options["roles"] = [LOOKS.get(side.variant, side.variant) for side in self.sides]
        figure = partial(figures.cache_growth, CONTEXTS, held, **options)
        a, b = (size(held_bytes(config, context, BF16_BYTES)) for config in configs.values())
        alt = t("compare.alt_growth", tokens=count(context), a=a, b=b)
        charts.show(figure, "compare:growth", alt=alt, follows="vs_context")

    def _step_bars(self) -> None:
        steps = [self._decoded(side) for side in self.sides]
        parts = {
            t(f"compare.part_{part}"): [sum(vars(step)[f] for f in fields) / MIB for step in steps]
            for part, fields in PARTS.items()
        }
        totals = [size(step.total_bytes) for step in steps]
        options = {"axis": t("compare.axis_step"), "totals": totals, "height": BARS}
        options |= {"roles": [PART_LOOKS[part] for part in PARTS], "entries": ENTRY_WIDTH}
        figure = partial(figures.bars, ["A", "B"], parts, **options)
        alt = t("compare.alt_step", a=totals[0], b=totals[1])
        charts.show(figure, "compare:step", alt=alt)

    def _decoded(self, side: Side) -> Cost:
        """Return the cost of one more token, with the cache of the side's form."""
        return costs.decode(side.config, self.chosen.context, side.form.name)

    def _table(self) -> pd.DataFrame:
        """Return the costs of both with their ratio, those that differ marked."""
        a, b = map(self._costs, self.sides)
        rows = {}
        for name in a:
            left, right, written = a[name], b[name], WRITTEN[name.split("_")[-1]]
            ratio = f"{mark(left, right)} {times(right / left)}".strip()
            rows[t(f"compare.cost_{name}")] = written(left), written(right), ratio
        columns = ["A", "B", t("compare.ratio")]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def _amounts(self) -> pd.DataFrame:
        """Return the costs of both as numbers."""
        numbers = {side.letter: self._costs(side) for side in self.sides}
        return pd.DataFrame(numbers).rename_axis("amount").reset_index()

    def _costs(self, side: Side) -> dict[str, float]:
        """Label key -> a cost of one layer and one sequence, in bytes, FLOPs or their ratio."""
        context, step = self.chosen.context, self._decoded(side)
        first = costs.prefill(side.config, context, side.form.name)
        return {
            "held_bytes": held_bytes(side.config, context, BF16_BYTES),
            "weight_bytes": step.weight_bytes,
            "read_bytes": step.total_bytes,
            "step_flops": step.total_flops,
            "step_intensity": step.flops_per_byte,
            "prefill_flops": first.total_flops,
            "prefill_intensity": first.flops_per_byte,
        }

    def code(self) -> Functions:
        """Return the functions of the engine that say most about it."""
        return costs.cache_elements, costs.decode, costs.prefill, calls.call_cost
