"""The choice of keys at the sizes of a published model: closed forms of what a step reads."""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mla_engine import PRESETS, LatentConfig, costs, figures
from mla_engine.config import AttentionConfig
from mla_engine.lazy import LazyModule
from ui.pages.sparse.view import View
from ui.parts import charts, prose
from ui.parts.control import control
from ui.settings.parsers import Setting, power_of_two
from ui.words.numbers import count, size
from ui.words.text import t

pd = LazyModule("pandas")

CONTEXTS = tuple(2**n for n in range(8, 18))
SETTINGS = {
    "sp_context": Setting(2**17, power_of_two(2**8, 2**17), "select_slider", options=CONTEXTS)
}
READ = 380  # pixels high
READ_LOOKS = ("mla_absorbed", "dsa")
GIB = 2**30
KEY = "deepseek-v3.2-exp"
OF_DENSE = "deepseek-v3"  # the same layer without an indexer
WIDTH = 2  # bytes a number: bf16
MOST = 2**18  # tokens up to which a crossing is looked for


@dataclass(frozen=True)
class Published:
    """Both at a context of so many tokens, all layers together."""

    context: int

    @cached_property
    def indexed(self) -> AttentionConfig:
        """The layer with its indexer."""
        return PRESETS[KEY].config

    @cached_property
    def dense(self) -> LatentConfig:
        """The layer without one."""
        return PRESETS[OF_DENSE].config

    def read(self, config: AttentionConfig, context: int | None = None) -> float:
        """Bytes of the cache that a step reads."""
        context = self.context if context is None else context
        return PRESETS[KEY].n_layers * costs.decode(config, context).cache_read_bytes

    def stored(self, config: AttentionConfig) -> int:
        """Bytes of the cache that is kept."""
        each = WIDTH * costs.cache_elements(config)
        return PRESETS[KEY].n_layers * each * self.context

    @cached_property
    def cross(self) -> int:
        """The first context at which a step reads less with the indexer than without."""
        low, high = 1, MOST  # by halves, as the gain grows with the context
        while low < high:
            middle = (low + high) // 2
            if self.read(self.indexed, middle) < self.read(self.dense, middle):
                high = middle
            else:
                low = middle + 1
        return low


def draw(view: View) -> None:
    """Draw what a step reads at a published model's sizes, over the context."""
    shown = Published(view.context)
    control("sp_context")
    prose.say(_sentence(shown))
    read = {
        name: [shown.read(config, n) / GIB for n in CONTEXTS]
        for name, config in (("dense", shown.dense), ("indexed", shown.indexed))
    }
    fig = partial(
        figures.crossing,
        CONTEXTS,
        {t(f"sparse.line_{name}"): np.array(amounts) for name, amounts in read.items()},
        titles=(t("sparse.axis_context"), t("sparse.axis_read")),
        cross=(shown.cross, shown.read(shown.dense, shown.cross) / GIB),
        label=count(shown.cross),
        here=shown.context,
        roles=READ_LOOKS,
        height=READ,
    )
    frame = pd.DataFrame({"context": CONTEXTS} | {f"{name}_gib": read[name] for name in read})
    file = "sparse_read.csv"
    charts.show(fig, "sparse:read", alt=_alt(shown), data=lambda: frame, file=file)


def _sentence(shown: Published) -> str:
    """Return what is stored and read at a published model's sizes."""
    config = shown.indexed
    sizes = {
        "read": shown.read(config),
        "dense": shown.read(shown.dense),
        "stored": shown.stored(config),
        "before": shown.stored(shown.dense),
    }
    facts = {name: size(n_bytes) for name, n_bytes in sizes.items()}
    numbers = {
        "context": shown.context,
        "cross": shown.cross,
        "index": config.d_index,
        "latent": config.d_latent_kv + config.d_rope,
        "topk": config.index_topk,
        "layers": PRESETS[KEY].n_layers,
    }
    return t("sparse.published", **facts, **{name: count(n) for name, n in numbers.items()})


def _alt(shown: Published) -> str:
    """The bytes read in words."""
    facts = {"read": size(shown.read(shown.indexed)), "dense": size(shown.read(shown.dense))}
    return t("sparse.alt_read", context=count(shown.context), cross=count(shown.cross), **facts)
