"""Real models: every picture, table and sentence is the layer's, by the engine, numpy and loops."""

import html
from collections.abc import Callable

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine.checkpoints import hidden_states, load_attention
from mla_engine.figures import symbol_html
from tests.ui.maps import check_map, check_tiles, hidden, named, written
from tests.ui.screen import cells, chart_of, charts, clicked, csv, says, statement

PAGE = "pages/real_models.py"
TEXT = "The cat sat on the mat."
HEADS, LAYERS = 8, 4
Shown = Callable[..., AppTest]


@pytest.fixture
def shown(opened: Shown, demo: str) -> Shown:
    """Layer 2, head 5, query 4, key 1."""
    cell = {"layer": "2", "text": TEXT, "map_head": "5", "map_query": "4", "map_key": "1"}
    return lambda **link: opened(PAGE, source=demo, **(cell | link))


@pytest.fixture(scope="module")
def layers(demo: str) -> list:
    """Every layer's trace, by the engine."""
    with torch.inference_mode():
        inputs = [hidden_states(demo, TEXT, layer).h for layer in range(LAYERS)]
        return [load_attention(demo, layer)(h) for layer, h in enumerate(inputs)]


def words(demo: str) -> tuple[str, ...]:
    return hidden_states(demo, TEXT, 2).tokens


def variances(trace: object) -> np.ndarray:
    """var(C), var(R) and 2 cov(C, R) of each head [h,3] over what each query sees, by loops."""
    found = []
    for content, position in zip(trace.scores_C[0], trace.scores_R[0], strict=True):
        total = np.zeros(3)
        for row in range(len(content)):
            C, R = (part[row, : row + 1].double().numpy() for part in (content, position))
            C, R = C - C.mean(), R - R.mean()
            total += ((C * C).sum(), (R * R).sum(), 2 * (C * R).sum())
        found.append(total)
    return np.array(found)


def shares(trace: object) -> np.ndarray:
    """These as parts of their sum."""
    found = variances(trace)
    return found / found.sum(1, keepdims=True)


def balance(trace: object) -> np.ndarray:
    content, position, _ = variances(trace).T
    return position / (content + position)


def said(app: AppTest) -> list[str]:
    return [one.value for one in (*app.markdown, *app.caption, *app.info)]


def test_the_maps_are_those_of_the_layer(shown, layers, demo, downloads):
    app, trace, tokens = shown(), layers[2], words(demo)
    seen = np.tri(len(tokens), dtype=bool)
    every = hidden(trace.attention[0].numpy(), seen)
    check_tiles(clicked(app, "heads"), every, tokens, [*range(HEADS)], 5)
    options = {"words": tokens, "head": 5, "cell": (4, 1)}
    share = {"name": "attention", "limits": (0.0, 1.0)}
    check_map(clicked(app, "large"), every[5], **options, **share, numbers=True, height=560)
    check_map(clicked(app, "attention"), every[5], **options, **share, numbers=False, height=430)
    assert cells(downloads["large.csv"]) == written(every[5], [*tokens], [*tokens])
    parts = {"scores_C": trace.scores_C, "scores_R": trace.scores_R}
    parts |= {"scores": trace.scores_C + trace.scores_R}
    shown_parts = {code: hidden(part[0, 5].numpy(), seen) for code, part in parts.items()}
    limit = max(np.nanmax(np.abs(values)) for values in shown_parts.values())
    for code, values in shown_parts.items():
        scale = {"name": symbol_html(code), "limits": (-limit, limit)}
        check_map(clicked(app, code), values, **options, **scale, numbers=False, height=430)
        assert cells(downloads[f"{code}.csv"]) == written(values, [*tokens], [*tokens])
    count = len(tokens)
    assert says(said(app), "maps.run_all", heads="8", tokens=count)
    assert any(line.startswith("Head 5: “") for line in said(app))


def test_the_shares_of_the_variance_are_sums_over_what_each_query_sees(shown, layers, downloads):
    app, expected = shown(), shares(layers[2])
    chart = chart_of(app, "Vertical bars for 8 heads")
    names = ["content", "position", "twice the covariance"]
    assert chart.names == names
    for name, part in zip(names, expected.T, strict=True):
        np.testing.assert_allclose(chart.values(name, "y"), part, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(chart.values(name, "x"), range(HEADS))
        hover = f"head %{{customdata}}<br>{name} %{{y:.3f}}<extra></extra>"
        assert chart.trace(name)["hovertemplate"] == hover
    assert (chart.axis("x"), chart.axis("y")) == ("head", "share of variance")
    parts = balance(layers[2])
    most = int(parts.argmax())
    told = f"head {most} has the most position, {parts[most]:#.2g} of the two variances."
    assert chart.alt.endswith(told)
    table = csv(downloads["heads.csv"])
    assert list(table.columns) == ["layer", "head", *names]
    assert table["layer"].eq(2).all()
    assert list(table["head"]) == [*range(HEADS)]
    np.testing.assert_allclose(table[names], expected, rtol=1e-4, atol=1e-6)


def test_the_title_and_the_chosen_heads_kind(shown, layers):
    parts = balance(layers[2])
    positional = int((parts > 0.5).sum())
    assert 0 < positional < HEADS
    most, least = int(parts.argmax()), int(parts.argmin())
    app = shown(map_head=str(most))
    named = f"In layer 2 of it's a demo, {positional} of 8 heads look at places more than at words"
    assert statement(app) == named
    kind = f"Head {most} looks mostly at places: position makes up {100 * parts[most]:#.3g} %"
    assert f"{kind} of the variance of its two parts." in said(app)
    app.number_input(key="map_head").set_value(least).run()
    kind = f"Head {least} looks mostly at words: content makes up {100 - 100 * parts[least]:#.3g} %"
    assert f"{kind} of the variance of its two parts." in said(app)
    chinese = shown(map_head=str(most), lang="zh")
    title = f"在 it's a demo 第 2 层，8 个头中有 {positional} 个更看重位置而不是词"
    assert statement(chinese) == title
    kind = f"第 {most} 头主要看位置：两个部分的方差中 {100 * parts[most]:#.3g}% 来自位置。"
    assert kind in said(chinese)


@pytest.mark.parametrize(
    ("code", "across", "norm"),
    [("c_KV", "c, KV latent", "after its norm"), ("k_R", "r, rotary", "after its rotation")],
)
def test_the_latents_are_what_is_cached(shown, layers, demo, downloads, code, across, norm):
    app, tokens = shown(), words(demo)
    values = getattr(layers[2], code)[0].numpy()
    chart = chart_of(app, f"Heatmap of {code}: {len(tokens)} tokens down, its numbers across.")
    np.testing.assert_array_equal(chart.values(0, "z"), values)
    assert (chart.axis("y"), chart.axis("x")) == ("token", across)
    assert chart.layout["yaxis2"]["ticktext"] == named(tokens)
    hover = f"token %{{y}}<br>{across} %{{x}}<br>{symbol_html(code)} %{{z:.6g}}<extra></extra>"
    assert chart.traces[0]["hovertemplate"] == hover
    assert any(f", {values.shape[1]} numbers, {norm}" in line for line in said(app))
    table = csv(downloads[f"{code}.csv"])
    assert list(table["token"]) == [*tokens]
    assert list(table.columns[1:]) == [str(place) for place in range(values.shape[1])]
    np.testing.assert_allclose(table.iloc[:, 1:], values, rtol=1e-6)


def matrices_of(layer: object, name: str) -> np.ndarray:
    """One matrix a head, float64."""
    if name == "W_QK":
        return np.einsum("hkl,hkc->hlc", *(w.double().numpy() for w in (layer.W_UQ, layer.W_UK)))
    return {"W_UK": layer.W_UK, "W_UV": layer.W_UV}[name].double().numpy()


@pytest.mark.parametrize("name", ["W_QK", "W_UK", "W_UV"])
def test_the_matrices_numbers_are_numpys(shown, demo, downloads, name):
    app = shown(real_matrix=name)
    with torch.inference_mode():
        weights = matrices_of(load_attention(demo, 2), name)
    every = np.linalg.svd(weights, compute_uv=False)
    table = csv(downloads[f"{name}.csv"])
    values = every[:, : table.shape[1] - 5]
    assert np.abs(every[:, values.shape[1] :]).max(initial=0) < 1e-9 * every.max()
    energy = values**2 / (values**2).sum(1, keepdims=True)
    entropy = -(energy * np.log(np.where(energy > 0, energy, 1))).sum(1)
    summary = {
        "norm": np.linalg.norm(weights, axis=(1, 2)),
        "largest": values[:, 0],
        "effective rank": np.exp(entropy),
    }
    assert list(table.columns[:5]) == ["head", *summary, "rank"]
    assert list(table["head"]) == [*range(HEADS)]
    rounding = max(weights.shape[1:]) * np.finfo(np.float32).eps
    ranks = [np.linalg.matrix_rank(matrix, rtol=rounding) for matrix in weights]
    assert list(table["rank"]) == ranks
    for column, expected in summary.items():
        np.testing.assert_allclose(table[column], expected, rtol=1e-5)
    np.testing.assert_allclose(table.iloc[:, 5:], values, rtol=1e-4, atol=1e-7)
    shown_table = app.table[0].value
    assert list(shown_table.columns) == [*summary, "rank"]
    assert shown_table.index.name == "head"
    assert list(shown_table.index) == [str(head) for head in range(HEADS)]
    for head in range(HEADS):
        expected = [f"{column[head]:#,.3g}".rstrip(".") for column in summary.values()]
        assert list(shown_table.iloc[head]) == [*expected, str(ranks[head])]
    chart = chart_of(app, f"Heatmap of the singular values of {name}: 8 heads down")
    relative = values / values[:, :1]
    np.testing.assert_allclose(chart.values(0, "z"), relative, rtol=1e-4, atol=1e-6)
    assert (chart.axis("y"), chart.axis("x")) == ("head", "place in falling order, from 0")
    hover = "head %{y}<br>place in falling order, from 0 %{x}<br>of the largest %{z:.6g}"
    assert chart.traces[0]["hovertemplate"] == f"{hover}<extra></extra>"
    assert (chart.traces[0]["zmin"], chart.traces[0]["zmax"]) == (0, 1)


def test_all_layers_are_compared_with_their_own_inputs(shown, layers, downloads):
    app = shown(real_layers="1")
    expected = np.array([balance(trace) for trace in layers])
    chart = charts(app)[-1]
    np.testing.assert_allclose(chart.values(0, "z"), expected, rtol=1e-4, atol=1e-6)
    assert (chart.axis("y"), chart.axis("x")) == ("layer", "head")
    hover = "layer %{y}<br>head %{x}<br>position %{z:.6g}<extra></extra>"
    assert chart.traces[0]["hovertemplate"] == hover
    most = expected.mean(1).argmax()
    assert says(chart.alt, "real_models.alt_layers", layers=4, heads=8, most=most)
    parts = np.concatenate([shares(trace) for trace in layers])
    for table in (app.dataframe[0].value, csv(downloads["layers.csv"])):
        assert list(table["layer"]) == [layer for layer in range(LAYERS) for _ in range(HEADS)]
        assert list(table["head"]) == [*range(HEADS)] * LAYERS
        names = ["content", "position", "twice the covariance"]
        np.testing.assert_allclose(table[names], parts, rtol=1e-4, atol=1e-6)
    assert any(says(line, "real_models.layers_look", layers="4") for line in said(app))


def test_headings_controls_and_the_badge_are_in_the_readers_language(shown, demo, layers):
    english, chinese = shown(), shown(lang="zh")
    headings = [
        "Which heads look at words, and which at places",
        "All heads of the model on this text",
        "From logits to attention",
        "What is cached for each token",
        "How many directions each head uses",
        "Content and position, layer by layer",
    ]
    assert [one.value for one in english.subheader] == headings
    assert not {one.value for one in chinese.subheader} & set(headings)
    badge = f"Weights and words: {html.escape(demo, quote=False)}"
    found = html.unescape(english.caption[0].value)
    assert found.startswith(badge)
    assert found.endswith(
        f", layer 2 (random demonstration weights), deepseek_v2, {len(words(demo))} tokens; "
        "the input comes from the layers before it (2), run here"
    )
    labels = {one.label for kind in (english.number_input, english.selectbox) for one in kind}
    assert {"Head, 0 to 7", "Layer, 0 to 3", "Query (row)", "Key (column)"} <= labels
    uploads = [one.label for one in english.file_uploader]
    assert uploads == ["Activations of your own (.safetensors with h)"]
    assert {one.key for one in english.button_group} >= {"real_matrix"}
    for mine, theirs in zip(charts(english), charts(chinese), strict=True):
        assert mine.alt != theirs.alt
        part = "y" if mine.traces[0]["type"] == "bar" else "z"
        np.testing.assert_array_equal(mine.values(0, part), theirs.values(0, part))


def test_the_matrix_and_the_cell_are_chosen_by_their_controls(shown):
    app = shown()
    changes = {"map_query": 3, "map_key": 2}
    for name, value in changes.items():
        app.selectbox(key=f"{name}").set_value(value).run()
        assert app.query_params[name] == str(value)
    next(one for one in app.button_group if one.key == "real_matrix").set_value("W_UV").run()
    assert app.query_params["real_matrix"] == "W_UV"
    assert says(charts(app)[-1].alt, "real_models.alt_spectra")
    frame = clicked(app, "large").layout["shapes"][0]
    assert (frame["x0"], frame["y0"]) == (1.5, 2.5)
