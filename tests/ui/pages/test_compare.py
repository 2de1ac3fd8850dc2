"""The comparison: both layers' pictures, tables and sentences against the engine."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from mla_engine import (
    PRESETS,
    SYMBOLS,
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
    costs,
)
from mla_engine.figures import symbol_html
from mla_engine.studies import hidden_states, words_of
from tests.ui.chart_checks import check_bars, check_lines
from tests.ui.screen import array, cells, charts, csv, own, plain, prose, says, statement
from ui.words.numbers import count, digits, flop, intensity, signed, size, times

PAGE = "pages/compare.py"
SEED = 5
SIZES = {
    "d_model": 48, "n_heads": 6, "d_head": 10, "d_value": 6,
    "d_latent_kv": 20, "d_latent_q": 28, "d_rope": 6,
}  # fmt: skip
LINK = {"preset": "deepseek-v3", "n_kv_heads": "3", "seed": str(SEED), "vs_left_as": "mla_absorbed"}
LINK |= {name: str(size) for name, size in SIZES.items()}
CONFIG = replace(PRESETS["deepseek-v3"].config, **SIZES)
LLAMA = PRESETS["llama-3-8b"]
BESIDE_LLAMA = LINK | {"vs_right": "llama-3-8b", "vs_right_as": "own"}
A = f"A: {PRESETS['deepseek-v3'].name}, sizes changed, MLA, absorbed"
B = f"B: {LLAMA.name}, GQA"
TEXT = "cat <b>*x*_y_`$1`|~[a]# 7 7 &amp; cat"
WORDS = words_of(TEXT)


def steps() -> tuple[dict, dict]:
    """Shape of every step of A and of Llama's layer over eight tokens, by the engine."""
    latent = MultiHeadLatentAttention(CONFIG, device="meta")
    grouped = GroupedQueryAttention(LLAMA.config, device="meta")
    traces = (
        latent.forward_absorbed(torch.empty(1, 8, 48, device="meta")),
        grouped(torch.empty(1, 8, 4096, device="meta")),
    )
    return tuple(
        {step: tuple(getattr(trace, step).shape) for step in trace.steps} for trace in traces
    )


def name(code: str) -> str:
    """A symbol as a sentence has it, without its looks."""
    return code.replace("_", "")


def notes(at) -> list[str]:
    """The captions of the page, behind the one that calls drawn weights noise."""
    first, *others = (caption.value for caption in own(at, "caption", but="compare_below"))
    assert says(first, "reader.seeded")
    return others


def test_two_data_flows_with_what_differs_marked(seen):
    at, downloads = seen(PAGE, **BESIDE_LLAMA)
    left, right = steps()
    kept = costs.cache_elements(CONFIG), costs.cache_elements(LLAMA.config)
    assert says(statement(at), "compare.line", left=A, a=kept[0], right=B, b=f"{kept[1]:,}")
    look, *names, differences = prose(at)[:4]
    assert says(look, "compare.look_flow")
    assert names == [f"**{A}**", f"**{B}**"]
    for chart, here, there in zip(charts(at), (left, right), (right, left), strict=True):
        _, boxes, key = chart.traces
        assert boxes["customdata"] == list(here)
        assert boxes["text"] == [
            f"<b>{'▣ ' if SYMBOLS[code].cached else ''}"
            f"{'' if here[code] == there.get(code) else '≠ '}{symbol_html(code)}</b><br>"
            + "×".join(map(str, shape[1:]))
            for code, shape in here.items()
        ]
        assert boxes["hovertext"] == [SYMBOLS[code].meaning for code in here]
        assert key["text"] == ["<b>▣ </b>kept in the cache for every token"]
        told = ", ".join(f"{code} {shape[1:]}" for code, shape in here.items())
        assert says(chart.alt, "flow.alt", steps=told)
    sets = {
        "Only in A:": [code for code in left if code not in right],
        "Only in B:": [code for code in right if code not in left],
        "In both, with different shapes:": [
            code for code in left if code in right and left[code] != right[code]
        ],
    }
    assert all(sets.values())
    assert plain(differences).split("\n") == [
        f"- {said} {', '.join(map(name, codes))}" for said, codes in sets.items()
    ]
    table = csv(downloads["compare_steps.csv"])
    codes = list(dict.fromkeys((*left, *right)))
    assert list(table.step) == codes
    assert list(table.shape_a) == [str(list(left.get(code, ()))) for code in codes]
    assert list(table.shape_b) == [str(list(right.get(code, ()))) for code in codes]
    ways = dict(zip(sets, ("only_a", "only_b", "shape"), strict=True))
    how = {code: ways[said] for said, found in sets.items() for code in found}
    assert list(table.differs) == [how.get(code, "") for code in codes]


def test_every_size_of_both(seen):
    at, downloads = seen(PAGE, **BESIDE_LLAMA)
    llama = LLAMA.config
    parameters = [f"{digits(costs.parameters(c) / 1e6)} M" for c in (CONFIG, llama)]
    kept = [count(costs.cache_elements(c)) for c in (CONFIG, llama)]
    layers = PRESETS["deepseek-v3"].n_layers, LLAMA.n_layers
    expected = {
        "Model width d": (count(48), count(llama.d_model)),
        "Heads n_h": ("6", count(llama.n_heads)),
        "KV heads g": ("none", count(llama.n_kv_heads)),
        "Head width d_h": ("10", count(llama.d_head)),
        "Rotary width d_R": ("6", count(llama.d_head)),
        "Value width d_v": ("6", count(llama.d_value)),
        "KV latent d_c": ("20", "none"),
        "Query latent d_c′": ("28", "none"),
        "Rotation base": (count(CONFIG.rope.theta), count(llama.rope.theta)),
        "Rotated pairs": ("neighbours", "halves"),
        "Rotation scaling": ("YaRN", "none"),
        "Softmax scale": (digits(CONFIG.scale, 4), digits(llama.scale, 4)),
        "Layers of the model": tuple(map(count, layers)),
        "Numbers cached per token and layer": tuple(kept),
        "Attention parameters per layer": tuple(parameters),
    }
    shown = at.table[0].value
    assert list(shown.columns) == ["A", "B", "≠"]
    rows = {label: tuple(row) for label, row in zip(shown.index, shown.to_numpy(), strict=True)}
    assert rows == {label: (a, b, "≠" if a != b else "") for label, (a, b) in expected.items()}
    written = cells(downloads["compare_sizes.csv"])
    assert written == [["size", "A", "B", "≠"], *([label, *row] for label, row in rows.items())]


@pytest.mark.parametrize(
    ("link", "row", "shown"),
    [
        ({"vs_right": "llama-3.1-405b"}, "Rotation scaling", "Llama 3"),
        ({"vs_right": "minicpm3-4b"}, "Rotation scaling", "LongRoPE"),
        ({"vs_right": "gemma-3-27b"}, "Rotation scaling", "linear"),
        ({"vs_right": "gemma-3-27b", "vs_right_as": "mla"}, "Rotation scaling", "none"),
        ({"vs_right": "gpt-2"}, "Rotation base", "none"),
        ({"vs_right": "gpt-2"}, "Rotary width d_R", "none"),
        ({"vs_right": "small"}, "Layers of the model", "none"),
        ({"vs_right": "glm-5"}, "Index heads n_I", "32"),
        ({"vs_right": "deepseek-v3.2-exp"}, "Keys or entries chosen k", "2,048"),
        ({"vs_right": "deepseek-v3.2-exp"}, "Index width d_I", "128"),
    ],
)
def test_conventions_by_their_names(seen, link, row, shown):
    at = seen(PAGE, **LINK | {"vs_right_as": "own"} | link).at
    assert at.table[0].value.loc[row, "B"] == shown


def test_equal_layers_differ_in_nothing(opened):
    at = opened(PAGE, **LINK | {"vs_right_as": "mla_absorbed"})
    kept = costs.cache_elements(CONFIG)
    other = A.replace("A:", "B:")
    assert says(statement(at), "compare.line_equal", left=A, right=other, a=kept)
    assert prose(at)[3] == "No step differs."
    assert not any(at.table[0].value["≠"])
    assert not any("≠" in text for chart in charts(at) for text in chart.traces[1]["text"])


def test_cache_and_costs_of_both(opened, downloads):
    context = 8192
    at = opened(PAGE, **BESIDE_LLAMA, vs_view="costs", vs_context=str(context))
    called = ((CONFIG, "absorbed"), (LLAMA.config, "expanded"))
    decoding = [costs.decode(config, context, form) for config, form in called]
    prefill = [costs.prefill(config, context, form) for config, form in called]
    held = [2 * costs.cache_elements(config) for config, _ in called]  # bytes per token
    amounts = {
        "held_bytes": [n * context for n in held],
        "weight_bytes": [cost.weight_bytes for cost in decoding],
        "read_bytes": [cost.total_bytes for cost in decoding],
        "step_flops": [cost.total_flops for cost in decoding],
        "step_intensity": [cost.total_flops / cost.total_bytes for cost in decoding],
        "prefill_flops": [cost.total_flops for cost in prefill],
        "prefill_intensity": [cost.total_flops / cost.total_bytes for cost in prefill],
    }
    labels = {
        "Cache of the context": size, "Weights of the layer": size,
        "Bytes moved by a decode step": size, "FLOPs of a decode step": flop,
        "Intensity of a decode step": intensity, "FLOPs of the prefill": flop,
        "Intensity of the prefill": intensity,
    }  # fmt: skip
    shown = at.table[0].value
    assert list(shown.columns) == ["A", "B", "B to A"]
    assert list(shown.index) == list(labels)
    for row, (a, b), written in zip(
        shown.to_numpy(), amounts.values(), labels.values(), strict=True
    ):
        assert list(row) == [written(a), written(b), f"≠ {times(b / a)}"]
    table = csv(downloads["compare_costs.csv"])
    assert list(table.columns) == ["amount", "A", "B"]
    assert list(table.amount) == list(amounts)
    np.testing.assert_allclose(table[["A", "B"]].astype(float), list(amounts.values()), rtol=1e-12)

    growth, bars = charts(at)
    lengths = 2 ** np.arange(6, 21)
    lines = {letter: n * lengths / 2**20 for letter, n in zip("AB", held, strict=True)}
    check_lines(growth, lengths, lines, ("context length, tokens", "cache, MiB"))
    assert [(line["x0"], line["x1"]) for line in growth.layout["shapes"]] == [(context, context)]
    now = [size(n * context) for n in held]
    assert says(growth.alt, "compare.alt_growth", tokens="8,192", a=now[0], b=now[1])

    parts = {
        "cache read": [cost.cache_read_bytes for cost in decoding],
        "up-projected": [cost.up_projected_bytes for cost in decoding],
        "weights": [cost.weight_bytes for cost in decoding],
        "rest": [cost.cache_written_bytes + cost.activation_bytes for cost in decoding],
    }
    totals = [size(cost.total_bytes) for cost in decoding]
    mebibytes = {part: np.divide(moved, 2**20) for part, moved in parts.items()}
    check_bars(bars, mebibytes, ["A", "B"], "MiB moved by a decode step", totals)
    assert says(bars.alt, "compare.alt_step", a=totals[0], b=totals[1])
    assert says(notes(at)[0], "compare.cost_note")
    assert says(prose(at)[0], "compare.look_costs")


def test_up_projected_bytes_are_those_of_the_expanded_form(opened):
    link = BESIDE_LLAMA | {"vs_left_as": "mla", "vs_view": "costs", "vs_context": "2048"}
    bars = charts(opened(PAGE, **link))[1]
    made = costs.decode(CONFIG, 2048, "expanded").up_projected_bytes
    np.testing.assert_allclose(bars.values("up-projected", "x"), [made / 2**20, 0], rtol=1e-12)


SMALL_GQA = GroupedConfig(
    d_model=64, n_heads=4, n_kv_heads=2, d_head=16, d_value=16, rope=RopeConfig()
)
BESIDE_SMALL = LINK | {
    "vs_right": "small", "vs_right_as": "gqa", "vs_view": "maps", "vs_head": "5", "map_text": TEXT,
}  # fmt: skip
SEEN = np.tril(np.ones((len(WORDS), len(WORDS)), dtype=bool))


def logits() -> tuple[np.ndarray, np.ndarray]:
    """Head 5 of A and head 3 of B over the text, by the engine, [t,s]."""
    inputs = [
        torch.tensor(hidden_states(WORDS, SEED, config.d_model))[None]
        for config in (CONFIG, SMALL_GQA)
    ]
    latent = MultiHeadLatentAttention(CONFIG, seed=SEED, heads=[5]).forward_absorbed(inputs[0])
    grouped = GroupedQueryAttention(SMALL_GQA, seed=SEED, heads=[3])(inputs[1])
    a = latent.scores_C[0, 0] + latent.scores_R[0, 0]
    b = grouped.q[0, :, 0] @ grouped.k[0, :, 0].T * SMALL_GQA.scale
    return a.double().numpy(), b.double().numpy()


EXCHANGED = {
    "vs_left": "small", "vs_left_as": "gqa", "vs_right": "shared", "vs_right_as": "mla_absorbed",
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "exchanged"), [("attention", False), ("scores", False), ("scores", True)]
)
def test_one_head_of_each_over_the_same_words(opened, downloads, kind, exchanged):
    at = opened(PAGE, **BESIDE_SMALL | (EXCHANGED if exchanged else {}), vs_map=kind)
    order = slice(None, None, -1 if exchanged else 1)
    expected = [np.where(SEEN, values, -np.inf) for values in logits()][order]
    if kind == "attention":
        expected = [np.exp(x) / np.exp(x).sum(-1, keepdims=True) for x in expected]
    expected = [np.where(SEEN, values, np.nan) for values in expected]
    limit = max(np.nanmax(np.abs(values)) for values in expected)
    row, column = np.unravel_index(
        np.nanargmax(np.abs(expected[0] - expected[1])), expected[0].shape
    )
    models = [A[3:], "Small sizes of our own, GQA"][order]
    names = [f"{letter}: {model}" for letter, model in zip("AB", models, strict=True)]
    heads = (5, 3)[order]
    low, high = (0, 1) if kind == "attention" else (-limit, limit)
    unit = {"attention": "attention", "scores": "score"}[kind]
    for chart, values, head, side in zip(charts(at), expected, heads, names, strict=True):
        heat = chart.traces[0]
        np.testing.assert_allclose(chart.values(0, "z"), values, rtol=1e-5, atol=1e-5)
        assert (heat["zmin"], heat["zmax"]) == pytest.approx((low, high))
        assert np.array_equal(np.isnan(chart.values(1, "z")), SEEN)
        place = f"query %{{y}}<br>key %{{x}}<br>head {head}<br>"
        assert heat["hovertemplate"] == f"{place}{unit} %{{z:.6g}}<extra></extra>"
        assert chart.traces[1]["hovertemplate"] == f"{place}masked<extra></extra>"
        assert (chart.axis("x"), chart.axis("y")) == ("key", "query")
        frames = {tuple(shape[s] for s in ("x0", "x1", "y0", "y1"))
                  for shape in chart.layout["shapes"]}  # fmt: skip
        assert frames == {(column - 0.5, column + 0.5, row - 0.5, row + 0.5)}
        for axis in ("xaxis2", "yaxis2"):
            texts = chart.layout[axis]["ticktext"]
            assert [html.unescape(text) for text in texts] == [
                f"{word} ({n})" for n, word in enumerate(WORDS)
            ]
            assert not any(re.search("<|&(?!lt;|gt;|amp;)", text) for text in texts)
        told = {
            "attention": f"Attention of head {head} of {side}, queries downwards and keys to the "
            f"right, colours from 0 to 1; the largest is {digits(limit)}.",
            "scores": f"Logits of head {head} of {side}, queries downwards and keys to the right, "
            f"colours from −{digits(limit)} to {digits(limit)}.",
        }
        assert chart.alt == told[kind]
        table = cells(downloads[f"compare_{side[0]}.csv"])
        assert table[0] == ["", *WORDS]
        assert [line[0] for line in table[1:]] == list(WORDS)
        numbers = np.array([[float(cell or "nan") for cell in line[1:]] for line in table[1:]])
        np.testing.assert_allclose(numbers, values, rtol=1e-5, atol=1e-5)
    said = prose(at)
    assert said[1:3] == [f"**{side}**" for side in names]
    assert says(
        html.unescape(said[3]),
        "compare.apart",
        query=f"⁨{WORDS[row]}⁩",
        target=f"⁨{WORDS[column]}⁩",
        a=signed(expected[0][row, column]),
        b=signed(expected[1][row, column]),
    )
    assert says(notes(at)[1], f"compare.limits_{kind}", limit=digits(limit))


def test_the_cell_that_is_named_keeps_its_words_as_typed(opened):
    hostile = "<b>*x*_y_`$1`|~[a](b)#"
    at = opened(PAGE, **BESIDE_SMALL | {"map_text": f"{hostile} {hostile}"})
    said = prose(at)[3]
    first, second = re.findall("\u2068(.*?)\u2069", said)
    for named in (first, second):
        assert html.unescape(named) == hostile[:19] + "…"
        assert not set("<>*_`$|~[]()") & set(named)


def test_a_variant_of_a_model_keeps_its_sizes_and_the_sidebars_seed(opened):
    at = opened(PAGE, **LINK | {"vs_left": "llama-3-8b", "vs_left_as": "mla",
                                "vs_right": "deepseek-v3", "vs_right_as": "mqa"})  # fmt: skip
    shown = at.table[0].value
    llama, v3 = LLAMA.config, PRESETS["deepseek-v3"].config
    assert list(shown.loc["KV latent d_c"])[:2] == [str(4 * llama.d_head), "none"]
    assert list(shown.loc["Rotary width d_R"])[:2] == [str(llama.d_head // 2), str(v3.d_head)]
    assert list(shown.loc["KV heads g"])[:2] == ["none", "1"]
    assert list(shown.loc["Heads n_h"])[:2] == [str(llama.n_heads), str(v3.n_heads)]
    small = LatentConfig(d_model=64, n_heads=4, d_head=16, d_latent_kv=32, d_latent_q=48,
                         d_rope=8, latent_norm=True)  # fmt: skip
    at = opened(PAGE, **BESIDE_SMALL | {"vs_right_as": "own"})
    h = torch.tensor(hidden_states(WORDS, SEED, 64))[None]
    expected = MultiHeadLatentAttention(small, seed=SEED, heads=[3])(h).attention[0, 0].numpy()
    drawn = array(charts(at)[1].traces[0]["z"])
    np.testing.assert_allclose(drawn[SEEN], expected[SEEN], rtol=1e-5, atol=1e-5)
