"""The topic of formulas, to the last cell and sentence."""

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd

from kvcount.mistakes import mistakes
from mla_engine import costs
from tests.ui.pages.kv_cache import context
from tests.ui.pages.kv_cache.growth import growth
from tests.ui.pages.kv_cache.side import Side
from tests.ui.screen import Chart
from ui.words.numbers import amount, count, size, times, times_in_percent

FILE = "kv_cache_formula.csv"


WHY = {
    "d_c + d_R": "what the layer keeps (DeepSeek-V2, table 1)",
    "d_c": "leaves out the rotary key, which is cached beside the latent "
    "(rasbt/LLMs-from-scratch ch04/05_mla)",
    "2 d_c": "counts the latent as K and again as V, and leaves out the rotary key "
    "(LMCache/LMCache #694)",
    "d_c + n_h d_R": "counts the rotary key once for every head; all heads share one "
    "(deepseek-ai/DeepSeek-R1 #238)",
    "2 d / n_h": "takes one KV head of width $d / n_h$, as a file's metadata suggests "
    "(unslothai/unsloth #4757)",
    "2 n_h (d / n_h)": "uses MHA's formula with heads of width $d / n_h$: it knows neither the "
    "latent nor the true width (NVIDIA/TensorRT-LLM #16707)",
    "(d_h + d_I) / m": "what the layer keeps (DeepSeek-V4, section 2.3)",
    "n_h d_h d_v": "what the layer keeps (Kimi Linear, arXiv 2510.26692, section 3)",
    "2 g d_h": "what the layer keeps (Ainslie et al. 2023, GQA)",
    "2 g (d / n_h)": "assumes heads of width $d / n_h$, which fails where a model sets $d_h$ "
    "separately (LMCache/LMCache #688)",
    "2 n_h d_h": "counts a key and a value for every query head, though groups share them "
    "(hahnyuan/LLM-Viewer #12)",
    "2 d": "counts the model's width for K and for V, as if it were MHA (vllm-project/vllm #29736)",
}


OF_SPARSE = {
    "d_c + d_R + d_I": "what the layer keeps (deepseek-ai/DeepSeek-V3.2-Exp inference/model.py)",
    "d_c + d_R": "leaves out the indexer's own key, which is cached beside them "
    "(sgl-project/sglang #11309)",
}
OF_BLOCKS = OF_SPARSE | {
    "d_c + d_R + d_I / m": "what the layer keeps (transformers glm5_next, get_pooled_states)",
    "d_c + d_R + d_I": "keeps the index key of every token to pool them anew at each step; pooled "
    "once, a block needs only one (transformers glm5_next, the cache of its indexer)",
}


def formulas(one: Side) -> dict[str, tuple[costs.Formula, float, Callable[[int], float]]]:
    """Name of a line -> the formula, its numbers of a token, its bytes of so many tokens."""
    right, *wrong = costs.formulas(one.config)
    found = {right.short: (right, right.numbers(one.config), partial(one.held, one.config))}
    for f in wrong:
        n = by_hand(one, f) if one.is_uneven else f.numbers(one.config)
        found[f.named.get("en", f.short)] = f, n, partial(one.bytes_of, n)
    return found


def by_hand(one: Side, formula: costs.Formula) -> float:
    """Return the numbers of one layer whose config.json says to have one KV head, or one a head."""
    if not formula.forgets:  # it stands with the mechanism
        return formula.numbers(one.config)
    heads = one.config.n_heads if one.preset.kind == "KDA" else 1
    return {
        "2 L g d_h × 2 B": 2 * heads * one.config.d_head,
        "L (d_c + d_R) × 2 B": one.mla.d_latent_kv + one.mla.d_rope,
    }[formula.written]


def drawn(charts: Sequence[Chart], one: Side, other: Side) -> str:
    (chart,) = charts
    held = [
        {
            name: list(map(count_bytes, s.contexts))
            for name, (_, _, count_bytes) in formulas(s).items()
        }
        for s in (one, other)
    ]
    growth(chart, one, held[0], held[1], places=one.contexts, at=one.context)
    solid = [line["name"] for line in chart.traces if line["line"]["dash"] == "solid"]
    assert solid == [costs.formulas(one.config)[0].short]
    said = "; ".join(f"{f.written} {numbers(one, f, n)}" for f, n, _ in formulas(one).values())
    return (
        f"Cache of {one.name} by formulas that calculators used, in numbers per token and layer: "
        f"{said}."
    )


def numbers(one: Side, formula: costs.Formula, n: float) -> str:
    """Return what stands in a cell; of a model that keeps what does not grow the whole sum."""
    if one.is_uneven and formula.code == "right":
        return context.sum_of(one, one.config)
    return amount(n)


def off(one: Side) -> list[float]:
    """Return how far off the wrong ones are at the chosen length, in order."""
    (_, _, right), *wrong = formulas(one).values()
    return sorted(count_bytes(one.context) / right(one.context) for _, _, count_bytes in wrong)


def title(one: Side) -> str:
    first, *_, last = [times(ratio) for ratio in off(one) * 2]
    if not one.is_uneven:
        right = amount(costs.cache_elements(one.config))
        kept = f"{one.name} keeps {right} numbers per token and layer"
    else:
        kept = f"{one.name} keeps {one.size(one.held(one.config, one.context))} of "
        kept += f"{count(one.context)} tokens"
    if len(off(one)) == 1:
        return f"{kept}; a formula in use gives {first} of that"
    return f"{kept}; formulas in use give {first} to {last} of that"


def look(_: Side) -> str:
    return (
        "The solid line is right. Each dashed line is a formula that a calculator used for such "
        "models; its distance from the solid line is the memory it misjudges."
    )


def table(one: Side) -> pd.DataFrame:
    rows = {}
    right = one.held(one.config, one.context)
    for f, n, count_bytes in formulas(one).values():
        ratio = count_bytes(one.context) / right
        far = "right" if ratio == 1 else times_in_percent(ratio)
        rows[f"${f.written}$"] = numbers(one, f, n), one.size(count_bytes(one.context)), far
    columns = ["Numbers per token and layer", f"{count(one.context)} tokens", "Off by"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def said(one: Side) -> list[str]:
    held = one.held(one.config, one.context)
    known = WHY | (OF_SPARSE if one.is_dsa else OF_BLOCKS if one.is_blocks else {})
    why = [f"- {_why(f, known)}" for f, _, _ in formulas(one).values()]
    return [
        "\n".join(why),
        *[MISREAD] * (one.preset.kind in ("CSA", "HCA")),
        f"The unit matters, too: the same bytes read {size(held)} or {size(held, binary=False)}. "
        "Whoever mixes up GB and GiB is off by 7.4 %.",
    ]


def _why(formula: costs.Formula, known: dict[str, str]) -> str:
    if not formula.forgets:
        return f"${formula.written}$: {known[formula.written]}"
    published = mistakes()[formula.code]
    return (
        f"${published.formula}$, “{published.short['en']}”, published for "
        f"{published.published.name}. What it forgets: {published.forgets['en']} "
        f"({published.source})"
    )


MISREAD = (
    "What a step reads is miscounted, too: $h d_h E × 2 B$ gives 28.5× of it for DeepSeek-V4-Pro. "
    "What that forgets: That all heads read the same entry: 128 times too much traffic, less the "
    "index keys, which it leaves out. (ai-dynamo/aiconfigurator #1211)"
)


def data(one: Side) -> list[dict]:
    right = one.held(one.config, one.context)
    return [
        {
            "model": one.name,
            "formula": f.code,
            "written": f.written,
            "source": f.source,
            "numbers_per_token_and_layer": n,
            "over_the_right_one": count_bytes(one.context) / right,
            "context_tokens": one.context,
            "bytes": count_bytes(one.context),
        }
        for f, n, count_bytes in formulas(one).values()
    ]
