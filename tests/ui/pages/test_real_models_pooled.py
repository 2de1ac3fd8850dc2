"""Real models, a layer of DeepSeek-V4: what is drawn is what transformers and loops give."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from mla_engine.checkpoints import load_attention
from tests.checkpoints.pooled_model import built, saved
from tests.checkpoints.texts import IDS, TEXT, add_tokenizer
from tests.engine.samples import arrays
from tests.reference_pooled import pooled, slots
from tests.ui.maps import numbers_of, sizes_of
from tests.ui.screen import chart_of, charts, clicked, csv, lead, prose, says, statement

PAGE = "pages/real_models.py"
HEADS, WINDOW, TOKENS = 6, 6, 3 * len(IDS)
LAYERS = {0: ("SWA", 0), 1: ("HCA", 10), 2: ("CSA", 4)}  # number: kind, tokens an entry
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module")
def v4(models):
    return str(add_tokenizer(saved(models / "v4 on real models", published=False)))


@pytest.fixture(scope="module", params=LAYERS)
def layer(request, v4):
    """A layer's number, what entered it as the model ran, and its attention there [h,t,n]."""
    number, found = request.param, []
    attention = built().model.layers[number].self_attn
    keep = lambda _, given, __, out: found.append((given[0], out[1]))  # noqa: E731
    handle = attention.register_forward_hook(keep, with_kwargs=True)
    built()(torch.tensor([IDS * 3]))
    handle.remove()
    ((h, weights),) = found
    save_file({"h": h[0].contiguous()}, Path(v4) / f"h{number}.safetensors")
    return number, h, weights[0].numpy()


@pytest.fixture
def shown(opened, v4, layer):
    number = layer[0]
    text = {"text": " ".join([TEXT] * 3), "activations": f"{v4}/h{number}.safetensors"}
    return lambda **link: opened(PAGE, source=v4, layer=str(number), **text, **link)


def shares(layer):
    """Return each head's shares of window, entries and sink [h,3], by transformers' attention."""
    number, _, weights = layer
    pools = LAYERS[number][1]
    rows = weights[:, max(pools - 1, 0) :].astype(np.float64)  # those that have an entry to read
    window, entries = rows[..., :TOKENS].sum(-1), rows[..., TOKENS:].sum(-1)
    return np.stack((window, entries, 1 - window - entries), -1).mean(1), rows.shape[1]


def test_every_heads_shares_are_those_of_transformers(shown, layer, downloads):
    (wanted, queries), app, pools = shares(layer), shown(), LAYERS[layer[0]][1]
    names = ["window", "entries", "sink"] if pools else ["window", "sink"]
    parts = wanted.T if pools else wanted.T[[0, 2]]
    chart = chart_of(app, f"Vertical bars for {HEADS} heads")
    assert chart.names == names
    for name, part in zip(names, parts, strict=True):
        np.testing.assert_allclose(chart.values(name, "y"), part, **CLOSE)
    assert (chart.axis("x"), chart.axis("y")) == ("head", "attention")
    most = int(parts[-2].argmax())
    told = f"head {most} gives {'entries' if pools else 'its window'} the most, "
    assert told in chart.alt
    assert numbers_of(chart.alt)[-1] == pytest.approx(100 * parts[-2][most], rel=5e-3)
    table = csv(downloads["heads.csv"])
    assert list(table.columns) == ["layer", "head", *names]
    assert table["layer"].eq(layer[0]).all()
    assert list(table["head"]) == [*range(HEADS)]
    np.testing.assert_allclose(table[names], parts.T, **CLOSE)
    assert any(f"the mean over {queries} queries" in line for line in prose(app))


def test_the_title_counts_heads_that_read_entries_or_tells_what_the_sink_takes(shown, layer):
    wanted, _ = shares(layer)
    app, (kind, pools) = shown(), LAYERS[layer[0]]
    assert f"ayer {layer[0]} of v4 on real models ({kind})" in statement(app)
    if pools:
        far = int((wanted[:, 1] > wanted[:, 0]).sum())
        assert lead(app)[0] == f"{far} of {HEADS}"
        assert says(statement(app), "real_models.line_entries", heads=HEADS, far=far)
    else:
        taken = numbers_of(lead(app)[0])[0]
        assert taken == pytest.approx(100 * wanted[:, 2].mean(), rel=5e-3)
        assert "of the attention goes to the sink" in statement(app)
    assert f"window of {WINDOW} words" in statement(app)


@pytest.mark.parametrize("head", [0, 5])
def test_the_chosen_heads_shares_are_said(shown, layer, head):
    wanted, queries = shares(layer)
    lines = prose(shown(map_head=str(head)))
    (said,) = (line for line in lines if line.startswith(f"Head {head} gives"))
    numbers = numbers_of(said)
    parts = wanted[head] if LAYERS[layer[0]][1] else wanted[head][[0, 2]]
    assert numbers[1:-1] == pytest.approx([100 * part for part in parts], rel=5e-3)
    assert numbers[-1] == queries


def test_the_maps_are_those_of_transformers_and_the_first_cell_is_read(shown, layer):
    app, weights = shown(map_head="4"), layer[2]
    values = clicked(app, "large").values(0, "z")
    np.testing.assert_allclose(np.nan_to_num(values[:, :-1]), weights[4], atol=1e-5)
    column = int(app.query_params["map_key"])
    assert np.isfinite(values[8, column]), "the query reads it"
    assert (column >= TOKENS) == (8 >= LAYERS[layer[0]][1] - 1 > 0)
    (row,) = (line for line in prose(app) if line.startswith("Row "))
    assert numbers_of(row)[-1] == pytest.approx(100)
    assert not app.error


def test_what_is_kept_is_that_of_loops(shown, layer, v4, downloads):
    number, h, _ = layer
    pools, ours = LAYERS[number][1], load_attention(v4, number)
    x = pooled(ours.config, arrays(ours), h.double().numpy(), range(TOKENS))
    app = shown()
    kept = {"SWA": ["kv_T"], "HCA": ["kv_T", "kv_E"], "CSA": ["kv_T", "kv_E", "k_E"]}
    drawn = [chart.alt.split(":")[0].split()[-1] for chart in charts(app) if "across." in chart.alt]
    assert drawn == kept[LAYERS[number][0]]
    for code in drawn:
        what = "tokens" if code == "kv_T" else "entries"
        chart = chart_of(app, f"Heatmap of {code}: {len(x[code][0])} {what} down")
        np.testing.assert_allclose(chart.values(0, "z"), x[code][0], rtol=1e-3, atol=1e-4)
        assert chart.axis("y") == ("token" if code == "kv_T" else "entry")
        table = csv(downloads[f"{code}.csv"])
        words = TEXT.split() * 3
        last = words[-1] if code == "kv_T" else words[TOKENS // pools * pools - 1]
        assert list(table["token"])[-1].endswith(last), "an entry ends with its block"
        np.testing.assert_allclose(table.iloc[:, 1:], x[code][0], rtol=1e-3, atol=1e-4)


def test_the_bytes_that_a_cache_holds_are_counted_by_hand(shown, layer):
    (said,) = (line for line in prose(shown()) if line.startswith("After this text of 24 tokens"))
    kind, pools = LAYERS[layer[0]]
    width, index, series = 24, 12 if kind == "CSA" else 0, 2 if kind == "CSA" else 1
    window = WINDOW * width
    rest = TOKENS % pools if pools else 0
    ahead = pools if kind == "CSA" else 0  # the last block goes into the next entry, too
    waiting = 2 * (width + index) * (rest * series + ahead)
    wanted = [window] + ([TOKENS // pools * (width + index), waiting] if pools else [])
    assert sizes_of(said) == pytest.approx([2 * numbers for numbers in wanted], rel=5e-3)


def matrices_of(number, name):
    """One matrix a head, of the modules of transformers, float64."""
    ours = built().model.layers[number].self_attn
    groups, z = 3, 7
    size = HEADS // groups
    down = ours.o_a_proj.weight.double().numpy().reshape(groups, z, size, 24)
    up = ours.o_b_proj.weight.double().numpy().reshape(-1, groups, z)
    W_DO = [down[head // size, :, head % size] for head in range(HEADS)]
    return {
        "W_UQ": ours.q_b_proj.weight.double().numpy().reshape(HEADS, 24, -1),
        "W_DO": np.array(W_DO),
        "W_VO": np.array([up[:, head // size] @ W_DO[head] for head in range(HEADS)]),
    }[name]


@pytest.mark.parametrize("name", ["W_UQ", "W_DO", "W_VO"])
def test_the_matrices_numbers_are_numpys(shown, layer, downloads, name):
    app, matrices = shown(real_matrix=name), matrices_of(layer[0], name)
    every = np.linalg.svd(matrices, compute_uv=False)
    table = csv(downloads[f"{name}.csv"])
    values = every[:, : table.shape[1] - 5]
    assert np.abs(every[:, values.shape[1] :]).max(initial=0) < 1e-5 * every.max()
    np.testing.assert_allclose(table.iloc[:, 5:], values, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(table["norm"], np.linalg.norm(matrices, axis=(1, 2)), rtol=1e-5)
    energy = values**2 / (values**2).sum(1, keepdims=True)
    spread = [math.exp(-math.fsum(p * math.log(p) for p in row if p > 0)) for row in energy]
    np.testing.assert_allclose(table["effective rank"], spread, rtol=1e-4)
    chart = chart_of(app, f"Heatmap of the singular values of {name}: {HEADS} heads down")
    np.testing.assert_allclose(chart.values(0, "z"), values / values[:, :1], rtol=1e-4, atol=1e-6)
    (buttons,) = (one for one in app.button_group if one.key == "real_matrix")
    assert buttons.options == ["W_UQ", "W_DO", "W_VO"]


def test_a_matrix_of_another_kind_gives_way_to_the_first_of_this_one(shown):
    app = shown(real_matrix="W_QK")
    assert any(says(one.alt, "real_models.alt_spectra") for one in charts(app))
    assert any(says(line, "real_models.matrices_pooled") for line in prose(app))


def test_what_mla_has_and_this_has_not_is_said_and_not_drawn(shown, layer):
    app = shown()
    headings = [one.value for one in app.subheader]
    assert says(headings[0], "real_models.given_title")
    assert (says(headings, "maps.entries_title")) == bool(LAYERS[layer[0]][1])
    assert not any("content" in name for chart in charts(app) for name in chart.names)
    (said,) = (one.value for one in app.caption if "cannot be told apart here" in one.value)
    assert says(said, "real_models.no_split", rope="8")
    assert not [one for one in app.button if one.label == "Compare the layers"]


def test_a_text_without_a_whole_entry_says_so(opened, v4, layer):
    number, h, _ = layer
    pools = LAYERS[number][1]
    file = Path(v4) / f"short{number}.safetensors"
    save_file({"h": h[0, :3].contiguous()}, file, {"tokens": json.dumps(["a", "b", "c"])})
    app = opened(PAGE, source=v4, layer=str(number), activations=str(file), map_query="2")
    assert not app.error
    assert (says(statement(app), "real_models.line_no_entry")) == bool(pools)
    assert not any(one.alt.startswith("Gates") for one in charts(app))


def test_the_layers_are_named_by_their_kinds(shown, layer):
    (box,) = (box for box in shown().selectbox if box.key == "layer")
    assert box.options == ["0 · SWA", "1 · HCA", "2 · CSA", "3 · HCA", "4 · CSA"]
    assert box.value == layer[0]


def test_without_activations_nothing_is_lost(opened, v4):
    app = opened(PAGE, source=v4, layer="2", text=TEXT, map_head="3")
    assert "give its hidden states" in app.error[0].value
    assert app.query_params["map_head"] == "3"
    assert app.query_params["source"] == v4
    (box,) = (box for box in app.selectbox if box.key == "layer")
    assert box.value == 2
    assert app.get("file_uploader")


def test_in_chinese_too(shown, layer):
    app, wanted = shown(lang="zh"), shares(layer)[0]
    chart = chart_of(app, f"{HEADS} 个头的柱状图")
    assert chart.names[0] == "窗口"
    np.testing.assert_allclose(chart.values("窗口", "y"), wanted[:, 0], **CLOSE)
    assert f"第 {layer[0]} 层" in statement(app)


def test_an_entrys_gates_are_those_of_loops(shown, layer, v4):
    number, h, _ = layer
    (kind, pools), app = LAYERS[number], shown()
    drawn = [chart for chart in charts(app) if chart.alt.startswith("Gates of")]
    assert len(drawn) == bool(pools)
    assert any(one.alt.startswith("Index scores") for one in charts(app)) == (kind == "CSA")
    if not pools:
        return
    ours = load_attention(v4, number)
    x = pooled(ours.config, arrays(ours), h.double().numpy(), range(TOKENS))
    wanted = np.full((TOKENS // pools, TOKENS), np.nan)
    for e, p in np.ndindex(*x["gates"].shape[1:3]):
        token, _ = slots(ours.config, e)[p]
        if token is not None:
            wanted[e, token] = x["gates"][0, e, p].mean()
    np.testing.assert_allclose(drawn[0].values(0, "z"), wanted, **CLOSE)
