"""What the topic of formulas has to show, to the last cell and sentence."""

from collections.abc import Sequence

import pandas as pd

from mla_engine import costs
from tests.ui.pages.kv_cache.growth import growth
from tests.ui.pages.kv_cache.side import Side
from tests.ui.screen import Chart
from ui.words.numbers import count, size, times, times_in_percent

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


def drawn(charts: Sequence[Chart], one: Side, other: Side) -> str:
    (chart,) = charts
    held = [
        {
            f.short: [s.bytes_of(f.numbers(s.config), tokens) for tokens in s.contexts]
            for f in costs.formulas(s.config)
        }
        for s in (one, other)
    ]
    growth(chart, one, held[0], held[1], places=one.contexts, at=one.context)
    solid = [line["name"] for line in chart.traces if line["line"]["dash"] == "solid"]
    assert solid == [costs.formulas(one.config)[0].short]
    said = "; ".join(
        f"{f.written} {count(f.numbers(one.config))}" for f in costs.formulas(one.config)
    )
    return (
        f"Cache of {one.name} by formulas that calculators used, in numbers per token and layer: "
        f"{said}."
    )


def title(one: Side) -> str:
    right, *wrong = (f.numbers(one.config) for f in costs.formulas(one.config))
    return (
        f"{one.name} keeps {count(right)} numbers per token and layer; formulas in use give "
        f"{times(min(wrong) / right)} to {times(max(wrong) / right)} of that"
    )


def look(_: Side) -> str:
    return (
        "The solid line is right. Each dashed line is a formula that a calculator used for such "
        "models; its distance from the solid line is the memory it misjudges."
    )


def table(one: Side) -> pd.DataFrame:
    rows = {}
    for f in costs.formulas(one.config):
        n = f.numbers(one.config)
        ratio = n / costs.cache_elements(one.config)
        off = "right" if ratio == 1 else times_in_percent(ratio)
        rows[f"${f.written}$"] = (count(n), one.size(one.bytes_of(n, one.context)), off)
    columns = ["Numbers per token and layer", f"{count(one.context)} tokens", "Off by"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def said(one: Side) -> list[str]:
    held = one.held(one.config, one.context)
    known = WHY | (OF_SPARSE if one.is_dsa else OF_BLOCKS if one.is_blocks else {})
    why = [f"- ${f.written}$: {known[f.written]}" for f in costs.formulas(one.config)]
    return [
        "\n".join(why),
        f"The unit matters, too: the same bytes read {size(held)} or {size(held, binary=False)}. "
        "Whoever mixes up GB and GiB is off by 7.4 %.",
    ]


def data(one: Side) -> list[dict]:
    return [
        {
            "model": one.name,
            "formula": f.code,
            "written": f.written,
            "source": f.source,
            "numbers_per_token_and_layer": f.numbers(one.config),
            "over_the_right_one": f.numbers(one.config) / costs.cache_elements(one.config),
            "context_tokens": one.context,
            "bytes": one.bytes_of(f.numbers(one.config), one.context),
        }
        for f in costs.formulas(one.config)
    ]
