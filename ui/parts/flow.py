"""The data flow of one layer: its steps with their shapes, and which reads which."""

from dataclasses import dataclass

import pandas as pd

from mla_engine import SYMBOLS
from mla_engine.config import AttentionConfig
from mla_engine.figures import FlowNode, symbol_html
from mla_engine.symbols import sources
from ui.sources import layers
from ui.words.text import listed, t

TOKENS = 8  # shown in the data flow; every width is that of the whole layer


@dataclass(frozen=True)
class Overview:
    """One layer of `config`, run in `form`."""

    config: AttentionConfig
    form: str

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every step, by its code."""
        return layers.shapes(self.config, self.form, TOKENS)

    def nodes(self) -> list[FlowNode]:
        """Return a box for each step of the trace, with its real shape but the batch."""
        return [
            FlowNode(
                code=code,
                label=symbol_html(code),
                shape="×".join(map(str, shape[1:])),
                role=SYMBOLS[code].role,
                cached=SYMBOLS[code].cached,
                meaning=t(f"symbols.{code}"),
            )
            for code, shape in self.shapes.items()
        ]

    def edges(self) -> list[tuple[str, str]]:
        """Return the pairs of steps of which the second reads the first."""
        present = self.shapes
        return [(source, code) for code in present for source in sources(code, self.form, present)]

    def table(self) -> pd.DataFrame:
        """Return every step's symbol and shape, how it arises, and whether it is cached."""
        rows = [
            (code, list(shape), SYMBOLS[code].step(self.form).formula, SYMBOLS[code].cached)
            for code, shape in self.shapes.items()
        ]
        return pd.DataFrame(rows, columns=["symbol", "shape", "formula", "cached"])

    def alt(self) -> str:
        """Return the picture in words."""
        steps = listed(f"{code} {shape[1:]}" for code, shape in self.shapes.items())
        return t("flow.alt", steps=steps)
