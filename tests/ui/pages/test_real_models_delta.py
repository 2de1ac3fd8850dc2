"""Real models, a layer that keeps a state: what is drawn follows from transformers' numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM
from transformers.models.bailing_hybrid import modeling_bailing_hybrid as ling
from transformers.models.kimi_linear import modeling_kimi_linear as kimi

from tests.ui.maps import numbers_of, sizes_of
from tests.ui.screen import chart_of, charts, clicked, csv, lead, prose, says, statement
from ui.pages.real_models import view

PAGE = "pages/real_models.py"
TEXT = "The cat sat on the mat and looked at the moon. The sea and the cat."
MODULES = {"kimi": kimi, "ling": ling}
LAYER, HEAD, QUERY, KEY = 1, 1, 9, 4
CLOSE = {"rtol": 1e-3, "atol": 1e-6}


@pytest.fixture(scope="module", params=MODULES)
def layer(request, hybrids):
    """A model's folder, the layer's module, and what enters its state: [t,h,k], g [t,h,k], [t,h].

    As the module of transformers hands them to its kernel in a run of the whole model.
    """
    modeling, folder, calls = MODULES[request.param], hybrids[request.param], []
    kernel = modeling.chunk_kimi_delta_attention

    def noting(query, key, value, *given, g, beta, **named):
        calls.append([x[0].double().numpy() for x in (query, key, value, g, beta)])
        return kernel(query, key, value, *given, g=g, beta=beta, **named)

    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = Tokenizer.from_file(f"{folder}/tokenizer.json").encode(TEXT).ids
    with pytest.MonkeyPatch.context() as patch, torch.inference_mode():
        patch.setattr(modeling, "chunk_kimi_delta_attention", noting)
        model(torch.tensor([ids]))
    names = ("query", "key", "value", "g", "beta")
    entered = dict(zip(names, calls[LAYER], strict=True))
    module = model.model.layers[LAYER].self_attn
    return SimpleNamespace(folder=folder, module=module, tokens=len(ids), **entered)


@pytest.fixture
def shown(opened, layer):
    cell = {"map_head": str(HEAD), "map_query": str(QUERY), "map_key": str(KEY)}
    link = {"source": layer.folder, "layer": str(LAYER), "text": TEXT} | cell
    return lambda **more: opened(PAGE, **(link | more))


def half_lives(layer):
    """Tokens until the product of the decays of this text is a half, at its own pace [h,k]."""
    decayed = layer.g.sum(0)  # the logarithm of what is left after the whole text
    return layer.tokens * math.log(0.5) / decayed


def middles(values):
    """The lower of the middle numbers of each row."""
    return np.sort(values, axis=-1)[:, (values.shape[-1] - 1) // 2]


def through_time(layer, head):
    """The states after each token [t,k,v], lengths put in and erased [t], by the recurrence."""
    keys, values = layer.key[:, head], layer.value[:, head]
    S, states, put, erased = np.zeros((keys.shape[1], values.shape[1])), [], [], []
    for t, (k, v) in enumerate(zip(keys, values, strict=True)):
        k, b = k / math.sqrt(k @ k + 1e-6), layer.beta[t, head]
        S = np.exp(layer.g[t, head])[:, None] * S
        held = k @ S
        S = S + b * np.outer(k, v - held)
        states.append(S)
        put.append(b * np.linalg.norm(v))
        erased.append(b * np.linalg.norm(held))
    return np.array(states), np.array(put), np.array(erased)


def ends(chart):
    """Least, middle and most of each bar."""
    (marks,) = chart.traces
    middle, reach = chart.values(0, "y"), marks["error_y"]
    up, down = (chart.values(reach, part) for part in ("array", "arrayminus"))
    return middle - down, middle, middle + up


def test_half_lives_follow_from_the_decays_of_transformers(shown, layer, downloads):
    wanted, app = half_lives(layer), shown()
    heads = len(wanted)
    chart = chart_of(app, f"Half-lives of {heads} heads")
    least, middle, most = ends(chart)
    np.testing.assert_allclose(middle, middles(wanted), **CLOSE)
    tenths = np.quantile(wanted, (0.1, 0.9), axis=-1)
    np.testing.assert_allclose((least, most), tenths, **CLOSE)
    assert (chart.axis("x"), chart.axis("y")) == ("head", "half-life, tokens")
    assert chart.layout["yaxis"]["type"] == "log"
    low, high = chart.layout["yaxis"]["range"]
    assert low <= math.log10(least.min())
    assert math.log10(most.max()) <= high
    (line,) = chart.layout["shapes"]
    assert line["y0"] == line["y1"] == layer.tokens
    assert any(says(one, "real_models.memory_look", tokens=layer.tokens) for one in prose(app))
    longest, shortest = int(middle.argmax()), int(middle.argmin())
    told = numbers_of(chart.alt)
    assert told[1::2] == [longest, shortest]
    assert told[2::2] == pytest.approx([middle[longest], middle[shortest]], rel=6e-3)
    table = csv(downloads["memory.csv"])
    assert list(table.columns[:3]) == ["layer", "head", "half-life, tokens"]
    assert table["layer"].eq(LAYER).all()
    np.testing.assert_allclose(table["half-life, tokens"], middles(wanted), **CLOSE)
    np.testing.assert_allclose(table.iloc[:, 3:], wanted, **CLOSE)


def test_the_title_tells_the_middle_head_and_both_ends(shown, layer):
    app, middle = shown(), middles(half_lives(layer))
    assert lead(app)[0].endswith(" tokens")
    assert numbers_of(lead(app)[0])[0] == pytest.approx(np.median(middle), rel=6e-3)
    assert says(statement(app), "real_models.line_state", heads=len(middle), layer=LAYER)
    told = numbers_of(statement(app))[-2:]
    assert told == pytest.approx([middle.min(), middle.max()], rel=6e-3)
    chinese = shown(lang="zh")
    assert says(statement(chinese), "real_models.line_state", "zh", layer=LAYER, heads=len(middle))
    assert numbers_of(statement(chinese))[-2:] == told


def test_strengths_and_what_is_put_in_and_erased(shown, layer, downloads):
    app, heads = shown(), layer.beta.shape[1]
    chart = chart_of(app, f"Strengths with which {heads} heads write")
    wanted = np.quantile(layer.beta, (0.1, 0.5, 0.9), axis=0)
    np.testing.assert_allclose(ends(chart), wanted, **CLOSE)
    assert chart.layout["yaxis"]["range"] == [0, 1]
    most = int(wanted[1].argmax())
    assert says(chart.alt, "real_models.alt_strength", most=most)
    assert numbers_of(chart.alt)[-1] == pytest.approx(wanted[1][most], rel=6e-3)
    table = csv(downloads["strength.csv"])
    assert list(table.columns) == ["layer", "head", "strength b", "put in", "erased"]
    np.testing.assert_allclose(table["strength b"], wanted[1], **CLOSE)
    lengths = np.array([[part.mean() for part in through_time(layer, h)[1:]] for h in range(heads)])
    np.testing.assert_allclose(table[["put in", "erased"]], lengths, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("head", [0, 2])
def test_the_chosen_head_is_told(shown, layer, head):
    app = shown(map_head=str(head))
    (said,) = (line for line in prose(app) if line.startswith(f"Head {head}: half of"))
    _, put, erased = through_time(layer, head)
    wanted = [middles(half_lives(layer))[head], np.median(layer.beta[:, head])]
    wanted += [put.mean(), erased.mean()]
    assert numbers_of(said)[1:] == pytest.approx(wanted, rel=6e-3)
    marks = chart_of(app, "Half-lives").traces[0]["marker"]
    assert int(np.argmax(marks["size"])) == head


def test_the_state_and_what_is_read_of_it(shown, layer):
    app = shown()
    states = through_time(layer, HEAD)[0]
    state = chart_of(app, f"The state of head {HEAD}")
    np.testing.assert_allclose(state.values(0, "z"), states[QUERY], rtol=1e-3, atol=1e-6)
    weights = np.nan_to_num(clicked(app, "weights").values(0, "z"))
    query = layer.query[:, HEAD]
    unit = query / np.sqrt((query**2).sum(-1, keepdims=True) + 1e-6)
    read = np.einsum("tkv,tk->tv", states, unit) / math.sqrt(query.shape[1])
    np.testing.assert_allclose(weights @ layer.value[:, HEAD], read, rtol=1e-3, atol=1e-6)
    decay = chart_of(app, "Share of each of").values(0, "z")
    np.testing.assert_allclose(decay, np.exp(layer.g[:, HEAD]), **CLOSE)
    assert not app.error


def matrices_of(module, heads, name):
    """One matrix a head, of the module of transformers, float64."""
    get = lambda path: module.get_parameter(f"{path}.weight").double().detach().numpy()  # noqa: E731
    if name == "W_O":
        return get("o_proj").reshape(-1, heads, get("o_proj").shape[1] // heads).swapaxes(0, 1)
    if name == "W_A":
        low = [key for key, _ in module.named_parameters() if key.startswith("f")]
        factors = [get(key.removesuffix(".weight")) for key in low if key.endswith("weight")]
        product = factors[0] if len(factors) == 1 else factors[1] @ factors[0]
    else:
        product = get(f"{name[-1].lower()}_proj")
    return product.reshape(heads, -1, product.shape[1])


@pytest.mark.parametrize("name", ["W_Q", "W_K", "W_V", "W_O", "W_A"])
def test_the_matrices_numbers_are_numpys(shown, layer, downloads, name):
    app = shown(real_matrix=name)
    heads = layer.beta.shape[1]
    matrices = matrices_of(layer.module, heads, name)
    every = np.linalg.svd(matrices, compute_uv=False)
    table = csv(downloads[f"{name}.csv"])
    values = every[:, : table.shape[1] - 5]
    assert np.abs(every[:, values.shape[1] :]).max(initial=0) < 1e-5 * every.max()
    np.testing.assert_allclose(table.iloc[:, 5:], values, rtol=1e-4, atol=1e-7)
    rounding = max(matrices.shape[1:]) * np.finfo(np.float32).eps
    ranks = [np.linalg.matrix_rank(matrix, rtol=rounding) for matrix in matrices]
    assert list(table["rank"]) == ranks
    chart = chart_of(app, f"Heatmap of the singular values of {name}: {heads} heads down")
    np.testing.assert_allclose(chart.values(0, "z"), values / values[:, :1], rtol=1e-4, atol=1e-6)


def test_what_a_cache_holds_is_counted_by_hand(shown, layer):
    (said,) = (line for line in prose(shown()) if line.startswith("What a cache holds"))
    heads, k, v = layer.beta.shape[1], layer.key.shape[2], layer.value.shape[2]
    tails = layer.module.conv_kernel_size - 1
    wanted = [4 * heads * k * v, 2 * heads * tails * (2 * k + v)]
    assert sizes_of(said) == pytest.approx(wanted, rel=5e-3)


def test_no_chart_of_logits_or_latents_stands_empty(shown):
    app = shown()
    headings = [one.value for one in app.subheader]
    assert headings == [
        "How long each head remembers",
        "How strongly each head writes",
        "What each word does to the state",
        "How many directions each head uses",
    ]
    assert any(says(line, "real_models.kept_state") for line in prose(app))
    assert not any("ogits" in chart.alt for chart in charts(app))
    (buttons,) = (one for one in app.button_group if one.key == "real_matrix")
    assert buttons.options == ["W_Q", "W_K", "W_V", "W_O", "W_A"]


def test_heads_read_in_blocks_are_the_same_as_at_once(shown, layer, downloads, monkeypatch):
    heads = layer.beta.shape[1]
    parts = [tuple(range(2)), tuple(range(2, heads))]
    monkeypatch.setattr(view, "blocks", lambda config, tokens: parts)
    app = shown(real_matrix="W_A")
    (_, middle, _) = ends(chart_of(app, f"Half-lives of {heads} heads"))
    np.testing.assert_allclose(middle, middles(half_lives(layer)), **CLOSE)
    table = csv(downloads["W_A.csv"])
    values = np.linalg.svd(matrices_of(layer.module, heads, "W_A"), compute_uv=False)
    np.testing.assert_allclose(table["largest"], values[:, 0], rtol=1e-4)


def test_a_head_that_forgets_nothing_is_told_as_such(opened, hybrids, monkeypatch):
    monkeypatch.setattr("ui.pages.real_models.delta.MOST", 1.0)
    link = {"source": hybrids["kimi"], "layer": "0", "text": "the cat and the sea"}
    app = opened(PAGE, **link)
    assert "over 1 tokens" in statement(app)
    assert max(ends(chart_of(app, "Half-lives"))[2]) == pytest.approx(1)
