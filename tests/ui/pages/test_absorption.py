"""The absorption page: all that is drawn and said, against the engine's numbers."""

import html
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mla_engine import PRESETS, LatentConfig, MultiHeadLatentAttention, costs
from mla_engine.figures.looks import look
from mla_engine.studies.agreement import agreement_of
from mla_engine.studies.merging import heads_in_one, past_the_norm
from mla_engine.studies.words import hidden_states
from tests.ui.chart_checks import check_bars
from tests.ui.controls import control, pressed
from tests.ui.screen import component, csv, drawn, said, says, speech, statement
from ui.pages.absorption.merged import n_entries
from ui.words.numbers import digits, entries, off_by, prefixed_count, size, times

PAGE = "pages/absorption.py"
SIZES = {"d_model": 48, "n_heads": 6, "d_head": 8, "d_value": 10}
SIZES |= {"d_latent_kv": 20, "d_latent_q": 28, "d_rope": 4}
CONFIG = LatentConfig(**SIZES, latent_norm=True)
SEED, HEAD, PAIR = 3, 5, (4, 5)  # blocks of at most four heads are run: 0 to 3, then 4 and 5
LINK = {"preset": "small", "seed": str(SEED), "ab_head": str(HEAD), "ab_gain": "4"}
LINK |= {"ab_queries": "4", "ab_context": "32"} | {n: str(size) for n, size in SIZES.items()}
NO_QUERY_LATENT = {"d_latent_q": "0"}
WORDS = ("the", "cat", "sat", "on", "the", "mat", "because", "the", "cat", "was", "tired")
DRAWN = ("adds", "bytes", "merged", "spectrum", "u_expanded", "u_absorbed")
DRAWN += ("u_difference", "rounding", "map_0", "map_1", "map_2", "norm")

LENGTHS = {"t": 4, "s": 36, "k": 8, "v": 10, "c": 20, "h": 6}
FACTORS = {  # rows and columns, one to a head where h stands
    "scores": {"q_C": "tkh", "W_UK": "kch", "c_KV": "cs"},
    "output": {"attention": "tsh", "c_KV": "sc", "W_UV": "cvh"},
}
MADE = {
    ("scores", "absorbed"): ("q_C_absorbed", "tch", "tkch", "tcsh"),
    ("scores", "expanded"): ("k_C", "ksh", "kcsh", "tksh"),
    ("output", "absorbed"): ("o_latent", "tch", "tsch", "tcvh"),
    ("output", "expanded"): ("v_C", "svh", "scvh", "tsvh"),
}
RESULT = {"scores": ("scores_C", "tsh"), "output": ("o", "tvh")}
LABELS = {"q_C": "q<sup>C</sup>", "W_UK": "W<sup>UK</sup>", "c_KV": "c<sup>KV</sup>"}
LABELS |= {"attention": "a", "W_UV": "W<sup>UV</sup>", "k_C": "k<sup>C</sup>", "o": "o"}
LABELS |= {"q_C_absorbed": "q<sup>C</sup><sub>absorbed</sub>", "v_C": "v<sup>C</sup>"}
LABELS |= {"o_latent": "o<sub>latent</sub>", "scores_C": "scores<sup>C</sup>"}
ROWS = {
    "scores": ["(q<sup>C</sup> W<sup>UK</sup>) c<sup>KV</sup>",
               "q<sup>C</sup> (W<sup>UK</sup> c<sup>KV</sup>)"],
    "output": ["(a c<sup>KV</sup>) W<sup>UV</sup>", "a (c<sup>KV</sup> W<sup>UV</sup>)"],
}  # fmt: skip


def product(letters: str) -> int:
    """Return how many numbers a factor with these letters has."""
    return int(np.prod([LENGTHS[letter] for letter in letters]))


def label(box: dict) -> str:
    """The name in a box, as HTML."""
    head, raised, lowered = box["label"].values()
    return head + f"<sup>{raised}</sup>" * bool(raised) + f"<sub>{lowered}</sub>" * bool(lowered)


def shape(letters: str) -> str:
    return " × ".join(str(LENGTHS[letter]) for letter in letters[:2])


def layer(config: LatentConfig = CONFIG, heads: tuple[int, ...] = PAIR, **made: object):
    return MultiHeadLatentAttention(config, seed=SEED, heads=heads, **made)


def hidden(gain: float = 1) -> torch.Tensor:
    h = torch.tensor(hidden_states(WORDS, SEED, CONFIG.d_model))[None]
    h[:, -1] *= gain
    return h


@pytest.mark.parametrize(("side", "form"), MADE)
def test_the_product_and_what_it_costs(opened, downloads, side, form):
    at = opened(PAGE, **LINK, ab_side=side, ab_order=form)
    adds, moved = (drawn(at, DRAWN)[name] for name in DRAWN[:2])
    codes, letters = list(FACTORS[side]), list(FACTORS[side].values())
    inner = MADE[side, form][:2]
    result = RESULT[side]
    costs = {each: [product(n) for n in MADE[side, each][2:]] for each in ("absorbed", "expanded")}
    work = {each: sum(costs[each]) for each in costs}
    picture = component(at, "bracket")
    chosen = picture["at"][0]
    assert chosen == list(costs).index(form)
    for each, one in zip(costs, picture["forms"], strict=True):
        boxes = [*one["factors"], one["inner"], one["result"]]
        wanted = [*zip(codes, letters, strict=True), MADE[side, each][:2], result]
        assert [(label(box), box["size"]) for box in boxes] == [
            (LABELS[code], shape(of)) for code, of in wanted
        ]
        assert [(box["rows"], box["columns"]) for box in boxes] == [
            tuple(LENGTHS[letter] for letter in of[:2]) for _, of in wanted
        ]
        assert one["steps"] == [f"{prefixed_count(n)} multiply-adds, 6 heads" for n in costs[each]]
    first, then = map(prefixed_count, costs[form])
    given = [f"{code} {shape(of)}" for code, of in (*zip(codes, letters, strict=True), inner)]
    assert says(
        picture["told"][chosen],
        "absorption.alt_brackets",
        left=given[0],
        middle=given[1],
        right=given[2],
        inner=given[3],
        first=first,
        then=then,
    )
    (dial,) = picture["dials"]
    named = zip(("left", "right"), ROWS[side], strict=True)
    assert (dial["label"], dial["choices"]) == ("Bracket", [" ".join(pair) for pair in named])
    assert picture["texts"] == {}, "it does not play"

    read = 2 * sum(map(product, letters))
    traffic = {
        each: [read, 4 * product(MADE[side, each][1]), 2 * product(result[1])] for each in costs
    }
    totals = [sum(traffic[each]) for each in traffic]
    sizes = [size(n) for n in totals]
    assert all(text.endswith(" KiB") for text in sizes)
    kibibytes = {each: [n / 1024 for n in of] for each, of in traffic.items()}
    amounts = [prefixed_count(n) for n in work.values()]
    parts = ("in the bracket", "after it"), ("factors", "bracket, twice", "result")
    shown = (adds, parts[0], costs, "multiply-adds", amounts), (
        moved, parts[1], kibibytes, "KiB moved", sizes,
    )  # fmt: skip
    for chart, names, rows, axis, totals in shown:
        made = dict(zip(names, zip(*rows.values(), strict=True), strict=True))
        check_bars(chart, made, ROWS[side], axis, totals)
        for role, part in enumerate(names):
            colours = chart.trace(part)["marker"]["color"]
            clear = [place for place, one in enumerate(colours) if one == look(role).colour]
            assert clear == [chosen]
    ends = "bracket on the left {}, on the right {}."
    assert adds.alt == f"Multiply-adds: {ends.format(*amounts)}"
    assert moved.alt == f"Bytes moved: {ends.format(*sizes)}"

    less, more = sorted(work, key=work.get)
    assert says(
        statement(at),
        "absorption.line",
        less=prefixed_count(work[less]),
        less_form=less,
        more=prefixed_count(work[more]),
        more_form=more,
    )
    values = {"queries": 4, "context": 32, "ratio": times(work[more] / work[less])}
    assert says(said(at), f"absorption.less_{less}", **values)
    assert f"the {'queries qC go' if side == 'scores' else 'attention a mixes'}" in speech(at)

    table = csv(downloads["mla_brackets.csv"])
    assert table.to_dict("list") == {
        "product": [side] * 2,
        "order": list(costs),
        "new_tokens": [4] * 2,
        "cached_tokens": [32] * 2,
        "heads": [6] * 2,
        "bracket_makes": [MADE[side, each][0] for each in costs],
        "bracket_elements": [product(MADE[side, each][1]) for each in costs],
        "bracket_multiply_adds": [n for n, _ in costs.values()],
        "then_multiply_adds": [n for _, n in costs.values()],
        "factor_bytes": [n for n, _, _ in traffic.values()],
        "bracket_bytes": [n for _, n, _ in traffic.values()],
        "result_bytes": [n for _, _, n in traffic.values()],
    }


@pytest.mark.parametrize(
    ("link", "rows"), [({}, "l, query latent"), (NO_QUERY_LATENT, "d, model")], ids=str
)
@pytest.mark.parametrize("name", ["W_QK", "W_VO"])
def test_a_merged_matrix_and_its_singular_values(opened, downloads, name, link, rows):
    config = replace(CONFIG, d_latent_q=int(link.get("d_latent_q", 28)) or None)
    at = opened(PAGE, **LINK | link, ab_matrix=name)
    own = layer(config, (HEAD,), dtype=torch.float64)
    query_to_latent = (own.W_UQ[0].T @ own.W_UK[0]).numpy()
    latent_to_output = (own.W_O[:, 0] @ own.W_UV[0]).numpy()
    wanted = query_to_latent if name == "W_QK" else latent_to_output
    rank = 8 if name == "W_QK" else 10
    symbol = f"W<sup>{name[2:]}</sup>"
    rows = rows if name == "W_QK" else "d, model"

    picture = drawn(at, DRAWN)["merged"]
    assert_allclose(picture.values(0, "z"), wanted, atol=1e-6)
    assert (picture.axis("y"), picture.axis("x")) == (rows, "c, KV latent")
    assert picture.traces[0]["hovertemplate"] == (
        f"{rows} %{{y}}<br>c, KV latent %{{x}}<br>{symbol} %{{z:.6g}}<extra></extra>"
    )
    assert says(
        picture.alt, "absorption.alt_merged", name=name, head="5", rows=len(wanted), columns="20"
    )
    table = csv(downloads[f"{name}.csv"])
    assert list(table) == [str(column) for column in range(20)]
    assert_array_equal(table.to_numpy(np.float32), picture.values(0, "z"))

    falling = np.linalg.svd(wanted, compute_uv=False)
    spectrum = drawn(at, DRAWN)["spectrum"]
    assert spectrum.names == [symbol]
    assert_array_equal(spectrum.values(0, "x"), range(1, 21))
    assert_allclose(spectrum.values(0, "y"), falling, atol=1e-6)
    assert (spectrum.axis("x"), spectrum.axis("y")) == ("singular value number", "singular value")
    assert (spectrum.words, spectrum.layout["shapes"][0]["x0"]) == ([f"rank {rank}"], rank)
    assert spectrum.traces[0]["hovertemplate"].startswith(f"{symbol}<br>singular value number %{{x")
    assert says(spectrum.alt, "absorption.alt_spectrum", name=name, head="5", rank=rank, most="20")
    table = csv(downloads[f"{name}_singular_values.csv"])
    assert list(table) == ["singular_value"]
    assert_allclose(table["singular_value"], spectrum.values(0, "y"), rtol=1e-6)

    assert says(
        said(at),
        "absorption.merged_look",
        name=f"W{name[2:]}",
        head="5",
        rows=len(wanted),
        columns="20",
        rank=rank,
        most="20",
        width=rank,
    )
    assert says(said(at), "absorption.entries", heads="6")
    pairs = (query_to_latent, (own.W_UQ, own.W_UK)), (latent_to_output, (own.W_O, own.W_UV))
    counts = [(6 * matrix.size, 6 * sum(f.numel() for f in of)) for matrix, of in pairs]
    shown = at.table[0].value
    assert list(shown.index) == ["W_QK: W_UQ, W_UK", "W_VO: W_O, W_UV"]
    assert list(shown.columns) == ["merged", "factors", "ratio"]
    assert shown.to_numpy().tolist() == [
        [entries(merged), entries(parts), times(merged / parts)] for merged, parts in counts
    ]


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_both_forms_and_their_rounding(opened, downloads, name):
    at = opened(PAGE, **LINK, ab_type=name)
    found = agreement_of(partial(MultiHeadLatentAttention, CONFIG, SEED, PAIR), hidden())
    chosen = found[getattr(torch, name)]
    wanted = {"expanded": chosen.expanded, "absorbed": chosen.absorbed}
    wanted["difference"] = chosen.absorbed - chosen.expanded
    labels = {"expanded": "Naive (expanded) output u", "absorbed": "Absorbed output u"}
    labels["difference"] = "Difference, on a scale of its own"
    most = max(float(wanted[form].abs().max()) for form in ("expanded", "absorbed"))
    for form, u in wanted.items():
        chart, largest = drawn(at, DRAWN)[f"u_{form}"], float(u.abs().max())
        assert_array_equal(chart.values(0, "z"), u[0].numpy().astype(np.float32))
        assert (chart.axis("y"), chart.axis("x")) == ("t, query position", "d, model")
        limit = largest if form == "difference" else most
        assert (-chart.traces[0]["zmin"], chart.traces[0]["zmax"]) == pytest.approx((limit, limit))
        names = [f"{word} ({place})" for place, word in enumerate(WORDS)]
        assert chart.layout["yaxis2"]["ticktext"] == names
        assert chart.layout["xaxis2"]["ticktext"] == [str(column) for column in range(48)]
        assert chart.traces[0]["hovertemplate"].endswith("<br>u %{z:.6g}<extra></extra>")
        assert says(chart.alt, "absorption.alt_u", name=labels[form], largest=f"{largest:.2e}")
        assert labels[form] in [text.replace("**", "") for text in said(at)]
        table = csv(downloads[f"u_{form}.csv"])
        assert table["word"].tolist() == list(WORDS)
        assert_array_equal(table.iloc[:, 1:].to_numpy(np.float32), chart.values(0, "z"))

    rows = {str(dtype)[6:]: (one.between, *one.errors) for dtype, one in found.items()}
    parts = ["between the forms", "naive, against float64", "absorbed, against float64"]
    chart = drawn(at, DRAWN)["rounding"]
    assert chart.names == parts
    for part, amounts in zip(parts, zip(*rows.values(), strict=True), strict=True):
        reached = chart.values(part, "x") + chart.trace(part)["base"]
        assert_allclose(reached, [amount or 1e-17 for amount in amounts])
        assert chart.trace(part)["customdata"] == list(rows)
        hovers = np.atleast_1d(chart.trace(part)["hovertemplate"])
        assert all(one.startswith(f"%{{customdata}}<br>{part}<br>") for one in hovers)
    zero = chart.trace(parts[1])["text"]  # float64 against itself: it hides none of the others
    assert ([text.strip() for text in zero], chart.layout["barmode"]) == (["0", "", ""], "group")
    assert chart.axis("x") == "relative RMS difference"
    assert (chart.layout["xaxis"]["type"], chart.layout["xaxis"]["range"]) == ("log", [-17, 0])
    assert chart.layout["yaxis"]["ticktext"] == list(rows)
    each = ", ".join(f"{n} {row[0]:.1e}" for n, row in rows.items())
    assert says(chart.alt, "absorption.alt_rounding", each=each)
    shown = at.table[1].value
    assert (list(shown.index), list(shown.columns)) == (list(rows), parts)
    assert shown.to_numpy().tolist() == [[f"{x:.1e}" for x in row] for row in rows.values()]
    table = csv(downloads["mla_forms_rounding.csv"])
    assert list(table) == ["type", "between", "expanded_error", "absorbed_error"]
    assert table["type"].tolist() == list(rows)
    assert_allclose(table.iloc[:, 1:].to_numpy(float), list(rows.values()))
    assert says(
        said(at),
        "absorption.rounding_look",
        heads="2",
        words="11",
        type=name,
        between=f"{chosen.between:.1e}",
    )


def test_one_matrix_for_all_heads(seen):
    at, downloads = seen(PAGE, **LINK)
    found = heads_in_one(layer(), hidden())
    panels = {
        "Content scores of **head 5**": found.scores[0, 1],
        "Content scores of **head 4**": found.scores[0, 0],
        "**One matrix** for 2 heads: their sum": found.scores_one[0],
    }
    most = max(float(scores.abs().max()) for scores in panels.values())
    names = [f"{word} ({place})" for place, word in enumerate(WORDS)]
    for n, (label, scores) in enumerate(panels.items()):
        chart = drawn(at, DRAWN)[f"map_{n}"]
        assert_allclose(chart.values(0, "z"), scores, rtol=1e-4, atol=1e-5)
        assert (chart.axis("y"), chart.axis("x")) == ("query", "key")
        assert [chart.layout[f"{axis}axis2"]["ticktext"] for axis in "xy"] == [names, names]
        assert (-chart.traces[0]["zmin"], chart.traces[0]["zmax"]) == pytest.approx((most, most))
        aloud = label.replace("**", "")
        assert says(chart.alt, "absorption.alt_map", label=aloud)
        assert label in said(at)
        table = csv(downloads[f"scores_{n}.csv"])
        assert [column.partition(".")[0] for column in table] == list(WORDS)
        assert_array_equal(table.to_numpy(np.float32), chart.values(0, "z"))
    assert says(
        said(at),
        "absorption.one_words",
        heads="2",
        sum=off_by(found.sum_error),
        scores=off_by(found.scores_error),
        output=off_by(min(found.u_errors)),
    )


@pytest.mark.parametrize("claim", ["P4", "C2"])
def test_what_is_published_of_it_stands_on_claims_alone(opened, claim):
    at = opened(PAGE, **LINK)
    assert claim not in speech(at)
    pressed(at, f"absorption:{claim}")
    assert at.session_state["page"] == "claims"
    assert at.query_params == {"claims_text": claim}


@pytest.mark.parametrize(("link", "place"), [({}, 1), (NO_QUERY_LATENT | {"ab_head": "4"}, 0)])
def test_merging_past_the_norm(seen, link, place):
    config = replace(CONFIG, d_latent_q=int(link.get("d_latent_q", 28)) or None)
    at, downloads = seen(PAGE, **LINK | link)
    normed = past_the_norm(layer(config), hidden(4))
    without = past_the_norm(layer(replace(config, latent_norm=False)), hidden(4))
    right, merged = (k[0, :, place].norm(dim=-1) for k in (normed.keys, normed.keys_merged))
    chart = drawn(at, DRAWN)["norm"]
    names = [f"{n} {word}" for n, word in enumerate(WORDS)]
    for name, lengths in (("key, through the norm", right), ("key, from W_UK W_DKV", merged)):
        assert_allclose(chart.values(name, "x"), lengths, rtol=1e-5)
        assert chart.trace(name)["customdata"] == names
        assert chart.trace(name)["hovertemplate"].startswith(f"%{{customdata}}<br>{name}<br>%{{x")
    assert (chart.axis("x"), chart.layout["yaxis"]["ticktext"]) == ("length of the key", names)
    ends = digits(float(right[-1])), digits(float(merged[-1]))
    assert says(chart.alt, "absorption.alt_norm", gain="4", right=ends[0], merged=ends[1])
    table = csv(downloads["keys_past_the_norm.csv"])
    assert (list(table), table["word"].tolist()) == (["word", "right", "merged"], list(WORDS))
    assert_allclose(table[["right", "merged"]].to_numpy(float).T, [right, merged], rtol=1e-5)

    (sentence,) = [text for text in said(at) if text.startswith("When h is")]
    assert says(sentence, "absorption.norm_words", right=ends[0], merged=ends[1])
    assert says(sentence, "absorption.norm_words", gain="4")
    (sentence,) = [text for text in said(at) if text.startswith("Over all words")]
    assert off_by(normed.key_error) in sentence
    rounding = [float(found) for found in re.findall(r"by (\de-\d+)", sentence)]
    assert rounding[0] == pytest.approx(without.key_error, rel=0.6)  # one digit of rounding
    if config.d_latent_q:
        assert says(sentence, "absorption.norm_errors", queries=off_by(normed.query_error))
        assert rounding[1] == pytest.approx(without.query_error, rel=0.6)
    else:
        assert says(sentence, "absorption.norm_errors_keys")


HOSTILE = "The cat sat on the mat and looked at *x*_y_ [a](b) $1$ ~~z~~ 12 12 | <b> & `"
MARKUP = re.compile(r"[\\`*_{}\[\]()+\-.!|~$:<>]")


def test_a_readers_words_stay_words(opened, demo):
    at = opened(PAGE, source=demo, layer="1", text=HOSTILE, ab_head="6")
    tokens = [html.unescape(name.rpartition(" (")[0])
              for name in drawn(at, DRAWN)["u_expanded"].layout["yaxis2"]["ticktext"]]  # fmt: skip
    assert "".join(tokens).replace(" ", "").endswith("`")
    assert {"<", "*", "$", "|"} <= set("".join(tokens))
    label = control(at, "ab_gain").label
    word = re.search("“(.*)”", label)[1]
    assert html.unescape(word) == tokens[-1]
    assert not MARKUP.search(re.sub(r"&#?\w+;", "", word))
    names = drawn(at, DRAWN)["norm"].layout["yaxis"]["ticktext"]
    last = list(enumerate(tokens))[-12:]
    assert names == [f"{n} {html.escape(token, quote=False)}" for n, token in last]
    assert {"<", "&"} <= {c for _, token in last for c in token}
    for chart in drawn(at, DRAWN).values():
        for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
            texts = chart.layout.get(axis, {}).get("ticktext", [])
            ours = [text for rows in ROWS.values() for text in rows]
            assert not [text for text in texts if text not in ours and re.search("[<>]", text)]
        for trace in chart.traces:
            assert "<b>" not in str(trace.get("customdata")) + str(trace.get("hovertemplate"))


def test_a_grouped_preset_and_values_out_of_range(opened):
    at = opened(PAGE, **LINK | {"preset": "llama-3-8b", "ab_queries": "5", "ab_head": "99"})
    assert control(at, "ab_queries").value == 4
    assert control(at, "ab_head").value == 5
    assert says(
        speech(at),
        "absorption.merged_look",
        name="WQK",
        head="5",
        rows="28",
        columns="20",
        rank="8",
        most="20",
    )
    assert not at.error


def test_a_refusal_leaves_the_controls_alive(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.00001")
    at = opened(PAGE, **LINK | {"seed": "77"})
    assert len(at.error) == 4
    assert all("memory" in error.value for error in at.error)
    assert "multiply-adds absorbed" in statement(at)
    assert control(at, "ab_context").value == 32


PLAIN = [k for k, p in PRESETS.items() if p.kind == "MLA" and not p.config.output_gate]


@pytest.mark.parametrize("key", PLAIN)
def test_merged_matrices_are_larger_in_every_model(key):
    """But those with a gate between the matrices that are merged."""
    config = PRESETS[key].config
    sizes = costs.weight_elements(config)
    found = n_entries(config)
    source = config.d_latent_q or config.d_model
    for name, parts, rows in (
        ("W_QK", ("W_UQ", "W_UK"), source),
        ("W_VO", ("W_UV", "W_O"), config.d_model),
    ):
        merged, factors = found[name]
        assert factors == sum(sizes[part] for part in parts)
        assert factors < merged == config.n_heads * rows * config.d_latent_kv
