"""What the overview shows of one configuration: its data flow and its four key figures."""

from dataclasses import dataclass

import pandas as pd

from mla_engine import SYMBOLS, GroupedConfig, LatentConfig, costs
from mla_engine.figures import FlowNode, symbol_html
from mla_engine.symbols import sources
from ui.engine import layers as compute
from ui.settings import state
from ui.words.numbers import count, digits, size, times
from ui.words.text import t

TOKENS = 8  # shown in the data flow; every width is that of the whole layer
FORMS = {"mla": "expanded", "mla_absorbed": "absorbed"}
BF16_BYTES = 2


@dataclass(frozen=True)
class Overview:
    """One layer of `config`, run in `form`."""

    config: GroupedConfig | LatentConfig
    form: str

    def nodes(self) -> list[FlowNode]:
        """A box for each step of the trace, with its real shape (the batch of 1 left out)."""
        return [
            FlowNode(
                code=code,
                label=symbol_html(code),
                shape="×".join(map(str, shape[1:])),
                role=SYMBOLS[code].role,
                cached=SYMBOLS[code].cached,
                meaning=t(f"symbols.{code}"),
            )
            for code, shape in self._shapes.items()
        ]

    def edges(self) -> list[tuple[str, str]]:
        """Which step reads which."""
        present = self._shapes
        return [(source, code) for code in present for source in sources(code, self.form, present)]

    def table(self) -> pd.DataFrame:
        """The same as a table: symbol, shape, how it arises, cached or not."""
        rows = [
            (code, list(shape), SYMBOLS[code].step(self.form).formula, SYMBOLS[code].cached)
            for code, shape in self._shapes.items()
        ]
        return pd.DataFrame(rows, columns=["symbol", "shape", "formula", "cached"])

    def figures(self) -> dict[str, tuple[str, str]]:
        """Label key -> the figure and what it is measured by."""
        elements, ratio = self._cache, self._times_less
        return {
            "cache": (count(elements), size(elements * BF16_BYTES)),
            "ratio": (times(ratio), count(costs.mha_cache_elements(self.config))),
            "parameters": (f"{digits(costs.parameters(self.config) / 1e6)} M", ""),
            "equivalent": (digits(costs.equivalent_kv_heads(self.config)), ""),
        }

    def title(self) -> str:
        """The statement on top."""
        n = self.config.n_heads
        variant = state.settings()["variant"].removesuffix("_absorbed").upper()
        values = {
            "variant": variant,
            "elements": count(self._cache),
            "mha": count(costs.mha_cache_elements(self.config)),
            "heads": t("overview.one_head" if n == 1 else "overview.some_heads", n=n),
        }
        return t("overview.title_mha" if variant == "MHA" else "overview.title", **values)

    def alt(self) -> str:
        """The picture in words."""
        steps = ", ".join(f"{n} {s[1:]}" for n, s in self._shapes.items())
        return t("overview.flow_alt", steps=steps)

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return compute.shapes(self.config, self.form, TOKENS)

    @property
    def _cache(self) -> int:
        return costs.cache_elements(self.config)

    @property
    def _times_less(self) -> float:
        return costs.mha_cache_elements(self.config) / self._cache


def of(config: GroupedConfig | LatentConfig) -> Overview:
    """The overview of the present variant."""
    return Overview(config, FORMS.get(state.settings()["variant"], "grouped"))


def problem() -> str:
    """What problem MLA solves, tensors in their colours."""
    return t("overview.problem")
