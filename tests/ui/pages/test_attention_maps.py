"""The attention maps: every picture, table and sentence is the engine's numbers."""

import json

import numpy as np
import pytest
import torch

from mla_engine import (
    GroupedConfig,
    GroupedQueryAttention,
    LatentConfig,
    MultiHeadLatentAttention,
    RopeConfig,
)
from mla_engine.figures import symbol_html
from mla_engine.studies.words import generated_words, hidden_states
from tests.ui.maps import check_map, check_tiles, hidden, written
from tests.ui.screen import cells, charts, clicked, percent, says, statement

PAGE = "pages/attention_maps.py"
SIZES = {"d_model": 48, "n_heads": 6, "d_head": 10, "d_value": 14}
LATENTS = {"d_latent_kv": 20, "d_latent_q": 12, "d_rope": 4}
LATENT = LatentConfig(**SIZES, **LATENTS, latent_norm=True)
GROUPED = GroupedConfig(**SIZES, n_kv_heads=3, rope=RopeConfig())
WORDS = ("the", "cat", "2024", "the", "<b>x</b>", "*y*", "_z_", "`q`", "$1$", "a|b")
LINK = {"preset": "small", "n_kv_heads": "3"} | {n: str(v) for n, v in (SIZES | LATENTS).items()}
CELL = {
    "map_text": " ".join(WORDS),
    "map_head": "4",
    "map_query": "7",
    "map_key": "2",
    "seed": "10",
}
SEEN = np.tril(np.ones((10, 10), dtype=bool))
NAMES = {"mla": "MLA, expanded", "mla_absorbed": "MLA, absorbed", "gqa": "GQA"}


def trace_of(variant: str, words=WORDS, seed: int = 10):
    """The engine at the sizes of the link."""
    h = torch.tensor(hidden_states(tuple(words), seed, 48))[None]
    if variant == "gqa":
        return GroupedQueryAttention(GROUPED, seed=seed)(h)
    layer = MultiHeadLatentAttention(LATENT, seed=seed)
    return layer(h) if variant == "mla" else layer.forward_absorbed(h)


def isolated(word: str) -> str:
    return f"\u2068{word}\u2069"


def markdown(app) -> list[str]:
    return [one.value for one in (*app.markdown, *app.caption)]


@pytest.mark.parametrize("variant", NAMES)
def test_every_picture_and_every_download_is_the_engines(seen, variant):
    app, downloads = seen(PAGE, **LINK, **CELL, variant=variant)
    trace = trace_of(variant)
    every = hidden(trace.attention[0].numpy(), SEEN)
    options = {"words": WORDS, "head": 4, "cell": (7, 2)}
    check_tiles(clicked(app, "heads"), every, WORDS, [*range(6)], 4)
    share = {"name": "attention", "limits": (0.0, 1.0)}
    check_map(clicked(app, "large"), every[4], **options, **share, numbers=True, height=560)
    panel = {"numbers": False, "height": 430}
    check_map(clicked(app, "attention"), every[4], **options, **share, **panel)
    rows = [f"{head} {word}" for head in range(6) for word in WORDS]
    assert cells(downloads["heads.csv"]) == written(every.reshape(60, 10), rows, [*WORDS])
    for file in ("large.csv", "attention.csv"):
        assert cells(downloads[file]) == written(every[4], [*WORDS], [*WORDS])

    logits = {"scores": trace.scores} if variant == "gqa" else {"scores_C": trace.scores_C}
    if variant != "gqa":
        logits |= {"scores_R": trace.scores_R, "scores": trace.scores_C + trace.scores_R}
    shown = {code: hidden(values[0, 4].numpy(), SEEN) for code, values in logits.items()}
    limit = max(np.nanmax(np.abs(values)) for values in shown.values())
    for code, values in shown.items():
        scale = {"name": symbol_html(code), "limits": (-limit, limit)}
        check_map(clicked(app, code), values, **options, **scale, **panel)
        assert cells(downloads[f"{code}.csv"]) == written(values, [*WORDS], [*WORDS])
    order = ["heads", "large", *shown, "attention"]
    assert [chart.clicks for chart in charts(app)[:-1]] == order


@pytest.mark.parametrize("variant", ["mla", "gqa"])
def test_titles_captions_and_alternative_texts_say_the_numbers(seen, variant):
    app = seen(PAGE, **LINK, **CELL, variant=variant).at
    share = percent(float(trace_of(variant).attention[0, 4, 7, 2]))
    query, key = (isolated(word) for word in ("&#96;q&#96;", "2024"))
    places = len({*trace_of(variant).attention[0, :, 7].argmax(-1).tolist()})
    assert places > 1
    assert statement(app) == (
        f"Asked by “{query}”, the 6 heads run here look most at {places} different places; the "
        "weights are random, so it matters that they differ, not what they choose"
    )
    said = markdown(app)
    assert any(line.startswith("All 6 heads, 10 tokens.") for line in said)
    note = f"“{query}” gives {share} to “{key}” (framed). Click a cell."
    assert f"Head 4: {note}" in said
    assert says([one.value for one in app.subheader], "attention_maps.origin_title", share=share)
    assert says(said, "attention_maps.origin_look", query=query, target=key, head=4)
    name = NAMES[variant]
    tiles = f"Attention of 6 of 6 heads of {name} over 10 tokens, one tile per head."
    assert clicked(app, "heads").alt == f"{tiles} Head 4 is chosen."
    alt = f"Attention map of head 4, {name}, 10 by 10 tokens. Query {isolated('`q`')}"
    assert clicked(app, "large").alt == f"{alt} gives {share} to key {isolated('2024')}."
    assert clicked(app, "attention").alt == clicked(app, "large").alt
    assert clicked(app, "scores").alt.startswith(f"Heatmap of head 4, {name}: ")
    assert clicked(app, "scores").alt.endswith(", 10 by 10 tokens.")


def test_temperature_and_mask_are_recomputed_from_the_logits(opened):
    app = opened(PAGE, **LINK, **CELL, map_causal="0", map_temperature="2")
    trace = trace_of("mla")
    logits = (trace.scores_C + trace.scores_R)[0]
    expected = torch.softmax(logits / 2, -1).numpy()
    large = clicked(app, "large").values(0, "z")
    np.testing.assert_allclose(large, expected[4], rtol=1e-5)
    np.testing.assert_array_equal(clicked(app, "scores").values(0, "z"), logits[4].numpy())
    assert any(percent(float(expected[4, 7, 2])) in line for line in markdown(app))
    assert "masked" not in json.dumps(clicked(app, "scores").spec)


def test_some_heads_alone_are_run_and_shown_by_their_numbers(opened):
    app = opened(PAGE, **LINK, **(CELL | {"map_head": "5"}), map_run="2")
    every = hidden(trace_of("mla").attention[0].numpy(), SEEN)
    tiles = clicked(app, "heads")
    assert tiles.words == ["4", "5"]
    assert says(markdown(app), "maps.run_some", first="4", last="5", heads="6", tokens="10")
    assert says(tiles.alt, "maps.alt_heads", run="2", heads="6")
    for chart in ("large", "attention"):
        np.testing.assert_allclose(clicked(app, chart).values(0, "z"), every[5], rtol=1e-5)
    trace = trace_of("mla")
    position = hidden(trace.scores_R[0, 5].numpy(), SEEN)
    np.testing.assert_allclose(clicked(app, "scores_R").values(0, "z"), position, rtol=1e-5)
    logits = hidden((trace.scores_C + trace.scores_R)[0, 5].numpy(), SEEN)
    sums = clicked(app, "scores").values(0, "z")
    np.testing.assert_allclose(sums, logits, rtol=1e-5, atol=1e-6)  # parts of size 1 may cancel
    alone = opened(PAGE, **LINK, **CELL, map_run="1")
    assert "Head 4 of 6 alone, 10 tokens." in markdown(alone)


def test_many_tokens_are_pooled_and_the_chosen_cell_is_exact(opened, downloads):
    app = opened(PAGE, **LINK, map_generated="300", map_query="299", map_key="298", map_head="1")
    trace = trace_of("mla", generated_words(300), seed=0)
    expected = trace.attention[0, 1].numpy()
    large = clicked(app, "large")
    blocks = expected.reshape(150, 2, 150, 2).max((1, 3))
    shown = large.values(0, "z")
    np.testing.assert_array_equal(shown[np.isfinite(shown)], blocks[np.tri(150, dtype=bool)])
    assert large.axis("x") == "key<br>each cell: largest of 2 × 2"
    assert any(percent(float(expected[299, 298])) in line for line in markdown(app))
    table = cells(downloads["large.csv"])
    assert table[300][299] == f"{expected[299, 298]:.9g}", "the download is never pooled"


TENSORS = {
    "q_C": (("t, query position", "k, content"), lambda trace: trace.q_C[0, :, 4]),
    "k_R": (("s, key position", "r, rotary"), lambda trace: trace.k_R[0]),
    "c_Q": (("t, query position", "l, query latent"), lambda trace: trace.c_Q[0]),
    "v_C": (("s, key position", "v, value"), lambda trace: trace.v_C[0, :, 4]),
    "scores_R": (("t, query position", "s, key position"), lambda trace: trace.scores_R[0, 4]),
}


@pytest.mark.parametrize("code", TENSORS)
def test_any_tensor_of_the_run_is_shown_with_its_axes(opened, downloads, code):
    axes, values_of = TENSORS[code]
    app = opened(PAGE, **LINK, **CELL, map_tensor=code)
    values = values_of(trace_of("mla")).numpy()
    chart = charts(app)[-1]
    np.testing.assert_array_equal(chart.values(0, "z"), values)
    assert (chart.axis("y"), chart.axis("x")) == axes
    limit = np.abs(values).max()
    assert (chart.traces[0]["zmin"], chart.traces[0]["zmax"]) == (-limit, limit)
    hover = f"{axes[0]} %{{y}}<br>{axes[1]} %{{x}}<br>{symbol_html(code)} %{{z:.6g}}"
    assert chart.traces[0]["hovertemplate"] == f"{hover}<extra></extra>"
    rows, columns = values.shape
    assert chart.alt.startswith(f"Heatmap of {code}, {rows} × {columns} numbers, ")
    shape = f"of head 4 where it has heads: {rows} × {columns} numbers."
    assert any(line.endswith(shape) for line in markdown(app))
    letter = axes[1][0]
    names = [*WORDS] if letter == "s" else [f"{letter}{place}" for place in range(columns)]
    assert cells(downloads[f"{code}.csv"]) == written(values, [*WORDS], names)


def test_a_weight_of_the_chosen_head_has_numbers_on_both_axes(opened, downloads):
    app = opened(PAGE, **LINK, **CELL, map_tensor="W_UK")
    values = MultiHeadLatentAttention(LATENT, seed=10).W_UK[4].detach().numpy()
    chart = charts(app)[-1]
    np.testing.assert_array_equal(chart.values(0, "z"), values)
    assert (chart.axis("y"), chart.axis("x")) == ("k, content", "c, KV latent")
    names = [f"k{place}" for place in range(10)], [f"c{place}" for place in range(20)]
    assert cells(downloads["W_UK.csv"]) == written(values, *names)
    assert app.latex[0].value.strip("$\n ") == "W^{UK}"
