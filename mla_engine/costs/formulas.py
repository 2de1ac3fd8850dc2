"""Cache formulas that calculators have used, beside the right one.

Each was found in a public thread, mostly in the words of whoever replaced it. `numbers` says what
it gives per token and layer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mla_engine.config import LatentConfig
from mla_engine.costs.sizes import Config, cache_elements


@dataclass(frozen=True)
class Formula:
    """One way of counting the numbers that are cached per token and layer.

    Attributes:
        code: what names it.
        written: LaTeX, in the paper's letters; d is the width of the model, g its KV heads.
        short: the same in Plotly's text.
        source: who used or replaced it.
        numbers: the count for a configuration.
    """

    code: str
    written: str
    short: str
    source: str
    numbers: Callable[[Config], float]

    def off(self, config: Config) -> float:
        """Its count over the right one: 1 is right, below 1 too little."""
        return self.numbers(config) / cache_elements(config)


LATENT = (
    Formula(
        "right", "d_c + d_R", "d<sub>c</sub>+d<sub>R</sub>", "DeepSeek-V2, table 1", cache_elements
    ),
    Formula(
        "latent_only",
        "d_c",
        "d<sub>c</sub>",
        "rasbt/LLMs-from-scratch ch04/05_mla",
        lambda c: c.d_latent_kv,
    ),
    Formula(
        "latent_twice",
        "2 d_c",
        "2d<sub>c</sub>",
        "LMCache/LMCache #694",
        lambda c: 2 * c.d_latent_kv,
    ),
    Formula(
        "rope_each_head",
        "d_c + n_h d_R",
        "d<sub>c</sub>+n<sub>h</sub>d<sub>R</sub>",
        "deepseek-ai/DeepSeek-R1 #238",
        lambda c: c.d_latent_kv + c.n_heads * c.d_rope,
    ),
    Formula(
        "one_head",
        "2 d / n_h",
        "2d/n<sub>h</sub>",
        "unslothai/unsloth #4757",
        lambda c: 2 * c.d_model / c.n_heads,
    ),
    Formula(
        "every_head",
        "2 n_h (d / n_h)",
        "2d",
        "NVIDIA/TensorRT-LLM #16707",
        lambda c: 2 * c.d_model,
    ),
)
GROUPED = (
    Formula("right", "2 g d_h", "2g d<sub>h</sub>", "Ainslie et al. 2023, GQA", cache_elements),
    Formula(
        "width_over_heads",
        "2 g (d / n_h)",
        "2g d/n<sub>h</sub>",
        "LMCache/LMCache #688",
        lambda c: 2 * c.n_kv_heads * c.d_model / c.n_heads,
    ),
    Formula(
        "all_query_heads",
        "2 n_h d_h",
        "2n<sub>h</sub>d<sub>h</sub>",
        "hahnyuan/LLM-Viewer #12",
        lambda c: 2 * c.n_heads * c.d_head,
    ),
    Formula(
        "model_width",
        "2 d",
        "2d",
        "vllm-project/vllm #29736",
        lambda c: 2 * c.d_model,
    ),
)


def formulas(config: Config) -> tuple[Formula, ...]:
    """The formulas in use for this kind of layer, the right one first."""
    return LATENT if isinstance(config, LatentConfig) else GROUPED
