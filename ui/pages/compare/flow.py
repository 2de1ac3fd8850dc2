"""Both data flows, steps that differ marked, and the sizes and conventions beside them."""

from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from mla_engine import costs, figures
from ui.pages.compare.side import Side
from ui.pages.compare.topic import Topic
from ui.parts import charts, prose
from ui.parts.questions import Question, decades
from ui.settings.parsers import preset_of
from ui.sources import checkpoint, trained
from ui.words.numbers import amount, count, digits, in_millions, millions, size, times
from ui.words.text import listed, scaling_name, t, tensor

MOST_STEPS = 30  # whose boxes have their names within half of the room
DIFFERS = "≠"
WAYS = "only_a", "only_b", "shape"  # of differing
OPTIONAL = "n_index_heads", "d_index", "index_topk", "window", "pooling", "conv_width"
TOLD_OF_ONE = *OPTIONAL, "fixed"  # left out of the table where neither layer has it


class FlowTopic(Topic):
    """The steps of both layers, and their sizes."""

    name = "flow"

    @property
    def differing(self) -> dict[str, str]:
        """Code of a step -> its way of differing, empty where it does not."""
        a, b = (side.flow.shapes for side in self.sides)
        return {code: _way(a.get(code), b.get(code)) for code in dict.fromkeys((*a, *b))}

    def look(self) -> str:
        """Return the sentence on what to look at."""
        kept = any(side.fixed_bytes for side in self.sides)
        return t("compare.look_kept") if kept else super().look()

    def question(self) -> Question | None:
        """Ask for the ratio of the two caches, where both grow."""
        less, more = sorted(costs.cache_elements(side.config) for side in self.sides)
        if not less:
            return None
        return decades(
            "compare",
            t("compare.guess"),
            more / less,
            (1, 1000),
            say=times,
            why=t("compare.guess_why"),
            hides=() if self.trained else ("lead",),  # beside their maps it was seen before
        )

    def draw(self) -> None:
        """Draw both flows, the table of sizes, and the list of steps that differ."""
        marked = {code for code, way in self.differing.items() if way}
        if max(len(side.flow.shapes) for side in self.sides) > MOST_STEPS:  # one below the other
            with st.container(key="compare_long"):
                flows, table = st.columns((10, 4), gap="medium")
            places = flows, flows
        else:
            *places, table = st.columns((5, 5, 4), gap="medium")
        for place, side in zip(places, self.sides, strict=True):
            with place:
                prose.say(f"**{side.shown_name}**")
                _data_flow(side, marked)
        with table:
            sizes = self._sizes()
            st.table(sizes)
            charts.download(lambda: sizes.rename_axis("size").reset_index(), "compare_sizes.csv")
        prose.say(self._differences())
        charts.download(self._steps, "compare_steps.csv")

    def _sizes(self) -> pd.DataFrame:
        left, right = (_sizes(side) for side in self.sides)
        rows = {
            t(f"compare.size_{name}"): (left[name], right[name], mark(left[name], right[name]))
            for name in left
            if name not in TOLD_OF_ONE or {left[name], right[name]} != {t("compare.none")}
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=["A", "B", DIFFERS])

    def _differences(self) -> str:
        """Return the steps that differ, a line for each way of differing."""
        lines = []
        for way in WAYS:
            codes = [tensor(code) for code, found in self.differing.items() if found == way]
            if codes:
                lines.append(" ".join(("-", t(f"compare.differ_{way}"), listed(codes))))
        return "\n".join(lines) or t("compare.same")

    def _steps(self) -> pd.DataFrame:
        a, b = (side.flow.shapes for side in self.sides)
        rows = [
            (code, str(list(a.get(code, ()))), str(list(b.get(code, ()))), way)
            for code, way in self.differing.items()
        ]
        return pd.DataFrame(rows, columns=["step", "shape_a", "shape_b", "differs"])


def _way(a: tuple[int, ...] | None, b: tuple[int, ...] | None) -> str:
    """Return the way in which a step's shapes differ, None where a side has no such step."""
    if a == b:
        return ""
    if b is None:
        return "only_a"
    return "only_b" if a is None else "shape"


def mark(left: object, right: object) -> str:
    """Return the sign of a row whose two entries differ."""
    return DIFFERS if left != right else ""


def _data_flow(side: Side, marked: set[str]) -> None:
    nodes = [
        replace(node, label=f"{DIFFERS} {node.label}") if node.code in marked else node
        for node in side.flow.nodes()
    ]
    cached = t("compare.kept" if side.fixed_bytes else "figures.cached")
    figure = partial(figures.data_flow, nodes, side.flow.edges(), words={"cached": cached})
    alt = side.flow.alt()
    charts.show(figure, f"flow:{side.letter}", alt=alt, file=f"flow_{side.letter}")


def _sizes(side: Side) -> dict[str, str]:
    """Label key -> a size or convention of one side, as text."""
    config = side.config
    rope, none = config.rope, t("compare.none")
    return {
        "d_model": count(config.d_model),
        "n_heads": count(config.n_heads),
        "n_kv_heads": _count(config.n_kv_heads if config.in_full else None),
        "d_head": count(config.d_head),
        "d_rope": _count(config.d_rotated_key if rope else None),
        "d_value": count(config.d_value),
        "d_latent_kv": _count(config.d_latent_kv if config.has_latent else None),
        "d_latent_q": _count(config.d_latent_q),
        **{name: _count(config.size(name)) for name in OPTIONAL},
        "theta": count(rope.theta) if rope else none,
        "pairing": t(f"compare.pairing_{rope.pairing}") if rope else none,
        "scaling": scaling_name(rope) or none if rope else none,
        "scale": digits(config.scale, 4),
        "layers": _count(_n_layers(side)),
        "cache": amount(costs.cache_elements(config)),
        "fixed": size(side.fixed_bytes) if side.fixed_bytes else none,
        "parameters": (millions if side.trained else in_millions)(costs.parameters(config)),
    }


def _count(value: int | None) -> str:
    return t("compare.none") if value is None else count(value)


def _n_layers(side: Side) -> int | None:
    if side.trained:
        return trained.load(side.source.code).config.n_layers
    if side.loaded:
        return checkpoint.plan(side.loaded).n_layers
    return preset_of(side.preset).n_layers if side.preset else None
