"""The maps of pooled entries and of a state: each number is one that loops give."""

import math
from functools import cache

import numpy as np
import pytest
import torch

from mla_engine import DeltaAttention, PooledAttention, mechanisms
from mla_engine.studies.words import hidden_states, words_of
from tests.engine.samples import arrays
from tests.reference_delta import delta
from tests.reference_pooled import pooled, slots
from tests.ui.maps import dotted, left_out, numbers_of
from tests.ui.screen import cells, chart_of, charts, clicked, lead, said, says, statement
from ui.settings.sizes import SMALL_CONFIG, SMALL_SIZES

PAGE = "pages/attention_maps.py"
SMALL = {"preset": "small"}
WORDS = words_of("the cat sat on the mat because the cat was tired")
N = len(WORDS)
LAYERS = {"csa": PooledAttention, "hca": PooledAttention, "kda": DeltaAttention}
REFERENCES = {"csa": pooled, "hca": pooled, "kda": delta}
CLOSE = {"rtol": 1e-4, "atol": 1e-6}  # the page's float32


@cache
def looped(variant, *more):
    """The configuration of the page, and every field by loops in float64."""
    config = mechanisms.variants()[variant].config(SMALL_SIZES, SMALL_CONFIG)
    layer = LAYERS[variant](config, seed=0, dtype=torch.float64)
    h = hidden_states(WORDS, 0, config.d_model).astype(np.float64)[None]
    return config, REFERENCES[variant](config, arrays(layer), h, *more)


@pytest.fixture(scope="module", params=["csa", "hca"])
def entries(request):
    return request.param, *looped(request.param, range(N))


def test_one_map_has_words_entries_and_sink_and_each_row_adds_up_to_1(seen, entries):
    variant, config, x = entries
    app, downloads = seen(PAGE, **SMALL, variant=variant, map_head="2", map_query="10", map_key="3")
    large = clicked(app, "large")
    values = large.values(0, "z")
    count = N // config.pooling
    assert values.shape == (N, N + count + 1)
    whole = np.concatenate((x["attention"], x["attention_E"], x["sink_mass"][..., None]), -1)[0, 2]
    window = [[t - config.window < s <= t for s in range(N)] for t in range(N)]
    seen = np.concatenate((window, x["chosen_E"][0], np.ones((N, 1), bool)), -1)
    np.testing.assert_array_equal(np.isfinite(values), seen)
    np.testing.assert_allclose(values[seen], whole[seen], **CLOSE)
    np.testing.assert_allclose(np.nansum(values, -1), np.ones(N), rtol=1e-5)
    last = large.layout["xaxis2"]["ticktext"]
    first = " ".join(WORDS[: config.pooling])
    assert last[N] == f"{first} ({N})"
    ahead = "the cat|sat on" if variant == "csa" else "the mat because the"
    assert last[N + 1] == f"{ahead} ({N + 1})"
    assert last[-1] == f"sink ({N + count})"
    rows = cells(downloads["large.csv"])
    assert len(rows[0]) == 1 + N + count + 1
    assert rows[0][-1] == "sink"
    logits = clicked(app, "scores").values(0, "z")
    np.testing.assert_allclose(logits[:, :N][window], x["scores_T"][0, 2][window], **CLOSE)
    chosen = x["chosen_E"][0]
    np.testing.assert_allclose(logits[:, N:-1][chosen], x["scores_E"][0, 2][chosen], **CLOSE)


def test_what_is_left_out_is_told_apart_from_what_is_to_come(seen, entries):
    variant, config, x = entries
    large = clicked(seen(PAGE, **SMALL, variant=variant).at, "large")
    told = left_out(large)
    complete = np.array(
        [[(e + 1) * config.pooling <= t + 1 for e in range(N // config.pooling)] for t in range(N)]
    )
    later = np.triu(np.ones((N, N), bool), 1)
    masked = np.concatenate((later, ~complete, np.zeros((N, 1), bool)), -1)
    np.testing.assert_array_equal(told["masked"], masked)
    before = np.tril(np.ones((N, N), bool), -config.window)
    np.testing.assert_array_equal(told["outside the window"][:, :N], before)
    assert not told["outside the window"][:, N:].any()
    assert ("not chosen" in told) == (variant == "csa")
    if variant == "csa":
        left = complete & ~x["chosen_E"][0]
        assert left.any()
        np.testing.assert_array_equal(told["not chosen"][:, N:-1], left)
    shapes = [trace["fillpattern"]["shape"] for trace in large.traces if "fillpattern" in trace]
    assert shapes == ["/", *["."] * (len(told) - 1)]


def test_the_row_and_what_it_reads_are_said(opened, entries):
    variant, config, x = entries
    app = opened(PAGE, **SMALL, variant=variant, map_head="1", map_query="9", map_key="9")
    read = int(x["chosen_E"][0, 9].sum())
    assert lead(app)[0] == f"{config.window + read} instead of 10"
    key = f"attention_maps.line_{'chosen' if config.chooses else 'pooled'}"
    assert says(statement(app), key, words=config.window, read=read)
    (row,) = (line for line in said(app) if line.startswith("Row "))
    shares = [x[name][0, 1, 9].sum() for name in ("attention", "attention_E", "sink_mass")]
    numbers = numbers_of(row)
    complete = 10 // config.pooling
    assert [numbers[i] for i in (1, 3, 4)] == [config.window, read, complete]
    assert [numbers[i] for i in (0, 2, 5)] == pytest.approx([100 * s for s in shares], rel=5e-3)
    assert numbers[6] == pytest.approx(100)
    assert not any("Causal mask" in toggle.label for toggle in app.toggle)


def test_of_a_short_text_it_is_said_what_is_read_of_any(opened, entries):
    variant, config, _ = entries
    app = opened(PAGE, **SMALL, variant=variant, map_query="1", map_key="0")
    most = config.window + (config.index_topk or 0)
    said = {"csa": f"at most {most}", "hca": f"{config.pooling} words an entry"}
    assert lead(app)[0] == said[variant]


def test_an_entrys_gates_and_the_indexers_choice_are_drawn(opened):
    config, x = looped("csa", range(N))
    app = opened(PAGE, **SMALL, variant="csa", map_query="10")
    gates = chart_of(app, "Gates of 5 entries over 11 words").values(0, "z")
    wanted = np.full((5, N), np.nan)
    for e in range(5):
        for p, (s, _) in enumerate(slots(config, e)):
            if s is not None:
                wanted[e, s] = x["gates"][0, e, p].mean()
    np.testing.assert_allclose(gates, wanted, **CLOSE)
    index = chart_of(app, "Index scores of 11 words for 5 entries")
    values, complete = index.values(0, "z"), np.arange(1, 6) * 2 <= np.arange(1, N + 1)[:, None]
    np.testing.assert_array_equal(np.isfinite(values), complete)
    np.testing.assert_allclose(values[complete], x["index_E"][0][complete], **CLOSE)
    assert dotted(index) == set(zip(*np.nonzero(x["chosen_E"][0]), strict=True))


@pytest.mark.parametrize("column", [3, 9, N, N + 2, N + 5])
def test_a_columns_number_has_its_way_from_products_or_the_sink(seen, column):
    _, x = looped("csa", range(N))
    app = seen(PAGE, **SMALL, variant="csa", map_query="9", map_key=str(column)).at
    lines = said(app)
    whole = np.concatenate((x["attention"], x["attention_E"], x["sink_mass"][..., None]), -1)
    share = whole[0, 0, 9, column]
    if column == N + 5:
        assert any(says(line, "attention_maps.of_sink", logit="0.000") for line in lines)
    else:
        key = x["kv_T"][0, column] if column < N else x["kv_E"][0, column - N]
        (line,) = (line for line in lines if line.startswith("The sum"))
        dot = float(x["q"][0, 9, 0] @ key)
        assert numbers_of(line)[0] == pytest.approx(dot, rel=2e-3)
    ended = [line for line in lines if line.startswith("Softmax at") or "the share is" in line]
    assert numbers_of(ended[0])[-1] == pytest.approx(share, rel=2e-3)
    if column == 3:
        assert says(ended[0], "attention_maps.hidden_window", window="3")


def test_an_entry_says_why_it_is_hidden(seen):
    _, x = looped("csa", range(N))
    query, left = next(
        zip(*np.nonzero(~x["chosen_E"][0] & (np.arange(N)[:, None] >= 9)), strict=True)
    )
    app = seen(PAGE, **SMALL, variant="csa", map_query=str(query), map_key=str(N + left)).at
    assert any(says(line, "attention_maps.hidden_choice_entry", k="2") for line in said(app))
    early = seen(PAGE, **SMALL, variant="csa", map_query="4", map_key=str(N + 4)).at
    assert any(says(line, "attention_maps.hidden_entry") for line in said(early))


@pytest.mark.parametrize(
    ("variant", "text", "shape", "words"),
    [
        ("hca", "a b c", (3, 4), "no entry is complete yet"),
        ("block_dsa", "cat", (1, 1), "there is nothing to choose from"),
    ],
)
def test_a_text_shorter_than_a_block_has_no_entry(opened, variant, text, shape, words):
    app = opened(PAGE, **SMALL, variant=variant, map_text=text)
    assert clicked(app, "large").values(0, "z").shape == shape
    assert any(words in line for line in said(app))
    assert not any("Gates" in chart.alt for chart in charts(app))


@pytest.mark.parametrize("variant", ["csa", "kda", "block_dsa"])
def test_a_long_text_is_brought_to_the_longest_whole_map(opened, monkeypatch, variant):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00001")  # so that nothing is run
    app = opened(PAGE, **SMALL, variant=variant, map_generated="2048")
    assert app.error
    assert app.session_state["settings"]["map_generated"] == 1024
    assert len(app.warning) == 1


@pytest.mark.parametrize("code", ["gates", "c_E", "q_I", "scores_IE", "c_O", "sink_mass", "W_UO"])
def test_any_tensor_of_a_pooled_run_is_a_matrix(opened, code):
    _, x = looped("csa", range(N))
    app = opened(PAGE, **SMALL, variant="csa", map_tensor=code, map_head="2")
    values = charts(app)[-1].values(0, "z")
    places = {
        "gates": lambda: x["gates"][0, :, -1],
        "c_E": lambda: x["c_E"][0, :, -1],
        "q_I": lambda: x["q_I"][0, :, 2],
        "scores_IE": lambda: x["scores_IE"][0, 2],
        "c_O": lambda: x["c_O"][0, :, 0],
        "sink_mass": lambda: x["sink_mass"][0, [2]],
    }
    if code in places:
        np.testing.assert_allclose(values, places[code](), **CLOSE)
    cut = [line for line in said(app) if "Of its axis" in line]
    assert bool(cut) == (code != "sink_mass")


def weight(x, t, s, head):
    """Return how much of the value of s is in what t reads: the product written out."""
    row = x["b"][0, s, head] * x["k_D"][0, s, head]
    for u in range(s + 1, t + 1):
        row = x["a"][0, u, head] * row
        row = row - x["b"][0, u, head] * x["k_D"][0, u, head] * (x["k_D"][0, u, head] @ row)
    return float(row @ x["q_D"][0, t, head]) / math.sqrt(16)


def test_in_the_place_of_a_map_stand_the_weights_of_the_values(opened, downloads):
    _, x = looped("kda")
    app = opened(PAGE, **SMALL, variant="kda", map_head="3", map_query="7", map_key="5")
    values = clicked(app, "weights").values(0, "z")
    wanted = [[weight(x, t, s, 3) if s <= t else np.nan for s in range(N)] for t in range(N)]
    np.testing.assert_allclose(values, wanted, **CLOSE)
    (framed,) = (line for line in said(app) if "(framed)" in line)
    assert numbers_of(framed)[1] == pytest.approx(wanted[7][5], rel=5e-3)
    assert float(cells(downloads["weights.csv"])[8][6]) == pytest.approx(wanted[7][5], rel=1e-3)
    assert lead(app)[0] == "256 numbers"
    assert says(statement(app), "attention_maps.state_line", seen="8")
    assert not app.error


def test_the_state_after_each_word_is_drawn_on_one_scale(opened):
    _, x = looped("kda")
    states = x["states"][0, :, 3]
    limit = np.abs(states).max()
    for query in (0, 7):
        app = opened(PAGE, **SMALL, variant="kda", map_head="3", map_query=str(query))
        chart = chart_of(app, "The state of head 3")
        np.testing.assert_allclose(chart.values(0, "z"), states[query], **CLOSE)
        assert chart.traces[0]["zmax"] == pytest.approx(limit, rel=1e-4)


def test_decay_strength_and_what_is_put_in_and_erased_are_drawn(opened, downloads):
    _, x = looped("kda")
    app = opened(PAGE, **SMALL, variant="kda", map_head="1", map_query="6")
    decay = chart_of(app, "Share of each of 16 rows").values(0, "z")
    np.testing.assert_allclose(decay, x["a"][0, :, 1], **CLOSE)
    put, erased = [], []
    for t in range(N):
        b, k, v = (x[name][0, t, 1] for name in ("b", "k_D", "v_D"))
        before = x["states"][0, t - 1, 1] if t else np.zeros((16, 16))
        held = k @ (x["a"][0, t, 1][:, None] * before)
        put.append(b * math.sqrt(v @ v))
        erased.append(b * math.sqrt(held @ held))
    bars = chart_of(app, "What words 1 to 7 put into the state")
    np.testing.assert_allclose(bars.values("put in", "x"), put[:7], **CLOSE)
    np.testing.assert_allclose(bars.values("erased", "x"), erased[:7], **CLOSE)
    assert says(bars.axis("x"), "maps.state_length")
    rows = cells(downloads["writes.csv"])
    assert len(rows) == 1 + N
    assert [float(one) for one in rows[7][1:]] == pytest.approx(
        [x["b"][0, 6, 1], put[6], erased[6]], rel=1e-3
    )
    (exact,) = (line for line in said(app) if "are exact" in line)
    assert numbers_of(exact)[0] < 1e-6
