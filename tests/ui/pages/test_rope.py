"""The page on rotations: what is drawn and said against the engine's layer and the oracle."""

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from mla_engine import PRESETS, MultiHeadLatentAttention
from mla_engine.rope import yarn_bounds
from mla_engine.studies import hidden_states, relative, words_of
from tests.reference_rope import frequency, rotate, stretch
from tests.ui.screen import charts, component, csv, prose, says, statement
from ui.words.numbers import count, digits, shortest, signed
from ui.words.text import catalogue

PAGE = "pages/rope.py"
SEED, HEAD = 5, 2
SIZES = {
    "d_model": 48, "n_heads": 3, "d_head": 10, "d_value": 6,
    "d_latent_kv": 20, "d_latent_q": 28, "d_rope": 6,
}  # fmt: skip
LINK = {"preset": "deepseek-v3", "seed": str(SEED), "rope_head": str(HEAD), "n_kv_heads": "3"}
LINK |= {name: str(size) for name, size in SIZES.items()}
CONFIG = replace(PRESETS["deepseek-v3"].config, **SIZES)
WORDS = words_of(catalogue()["maps.example"]["en"])
HOSTILE = "cat <b>*x*_y_`$1`|~[a](b)# 7 7 &amp; <b>*x*_y_`$1`|~[a](b)#"
POSITIONS = range(16)


def said(at) -> list[str]:
    """Title, sentences and captions, without those of the frame."""
    return [statement(at), *prose(at), *(c.value for c in at.caption)]


def plain(text: str) -> str:
    return re.sub("<[^>]*>", "", text)


def layer(config=CONFIG) -> MultiHeadLatentAttention:
    return MultiHeadLatentAttention(config, seed=SEED, heads=[HEAD])


def trace(config=CONFIG, words=WORDS):
    return layer(config)(torch.tensor(hidden_states(words, SEED, config.d_model))[None])


def rotary(config=CONFIG) -> tuple[np.ndarray, np.ndarray]:
    """The head's rotary queries and keys of all words before their rotation, by the engine."""
    run = trace(config)
    return run.q_R_pre[0, :, 0].double().numpy(), run.k_R_pre[0].double().numpy()


def close(drawn, expected, tolerance=1e-5) -> None:
    np.testing.assert_allclose(np.asarray(drawn, float), expected, rtol=tolerance, atol=tolerance)


def table(downloads, file: str) -> tuple[list[str], list[str], np.ndarray]:
    """Names of rows, names of columns and numbers of a file; empty cells are NaN."""
    found = csv(downloads[file])
    cells = found.iloc[:, 1:].replace("", np.nan).to_numpy(float)
    return list(map(str, found.iloc[:, 0])), list(found.columns[1:]), cells


MINICPM = {"preset": "minicpm3-4b", "d_rope": "32", "rope_pair": "5"}  # half pairing


@pytest.mark.parametrize(("link", "dimensions"), [({"rope_pair": "1"}, (2, 3)), (MINICPM, (5, 21))])
def test_a_pair_turns_in_its_plane(opened, downloads, link, dimensions):
    at = opened(PAGE, **LINK | {"rope_query": "11", "rope_key": "4"} | link)
    sizes = SIZES | ({"d_rope": 32} if link == MINICPM else {})
    config = replace(PRESETS[(LINK | link)["preset"]].config, **sizes)
    query, key = (
        np.array([rotate(config.rope, x[1], p, 16) for p in POSITIONS]) for x in rotary(config)
    )
    pair, scores = int(link["rope_pair"]), query @ key.T
    plane, (cells,) = component(at, "turning"), charts(at)

    close(plane["query"], query[:, dimensions])
    close(plane["key"], key[:, dimensions])
    assert plane["scores"] == [[signed(score) for score in row] for row in scores]
    assert plane["axes"] == [{"head": "x", "raised": "", "lowered": str(d)} for d in dimensions]
    assert plane["words"] == {"query": "query", "key": "key"}
    assert all(name in plane["told"] for name in (f"Pair {pair} ", "{t}", "{i}"))
    assert says(plane["says"], "rope.says", distance="{distance}", score="{score}")
    assert plane["map"] == cells.clicks
    assert plane["at"] == [11, 4]
    dials = [(dial["label"], dial["first"], dial["count"]) for dial in plane["dials"]]
    assert dials == [("Query position t", 0, 16), ("Key position i", 0, 16)]

    close(cells.values(0, "z"), scores)
    assert cells.traces[0]["zmax"] == -cells.traces[0]["zmin"] == pytest.approx(abs(scores).max())
    assert (cells.axis("x"), cells.axis("y")) == ("key", "query")
    assert {tuple(shape[side] for side in ("x0", "x1", "y0", "y1")) for shape in
            cells.layout["shapes"]} == {(3.5, 4.5, 10.5, 11.5)}  # fmt: skip
    score = signed(scores[11, 4])
    assert says(cells.alt, "rope.scores_alt", t="11", score=score, i="4")

    positions = [str(p) for p in POSITIONS]
    rows, columns, numbers = table(downloads, "rope_plane.csv")
    named = [f"{name}_{d}" for name in ("query", "key") for d in dimensions]
    assert (rows, columns) == (positions, named)
    close(numbers, np.hstack((query[:, dimensions], key[:, dimensions])))
    rows, columns, numbers = table(downloads, "rope_scores.csv")
    assert (rows, columns) == (positions, positions)
    close(numbers, scores)

    title, _, plane_caption, _, explanation, *_ = said(at)
    assert says(title, "rope.line_turning", distance="7", score=score)
    angle = digits(frequency(config.rope, config.d_rope, pair))
    assert says(plane_caption, "rope.plane_caption", pair=pair, angle=angle)
    q, k = (relative.turned(torch.tensor(x[1]), config.rope, torch.arange(16))
            for x in rotary(config))  # fmt: skip
    spread = relative.diagonal_spread(q @ k.T)
    assert 0 < spread < 1e-14 * abs(scores).max()
    assert says(explanation, "rope.explain_turning", spread=f"{spread:.1e}", word=WORDS[1])


@pytest.mark.parametrize(("d_latent_q", "letter"), [(28, "l"), (None, "d")])
def test_the_merged_matrix_moves_and_the_decoupled_one_stays(opened, downloads, d_latent_q, letter):
    config = replace(CONFIG, d_latent_q=d_latent_q)
    link = {"rope_topic": "merged", "rope_distance": "7", "d_latent_q": str(d_latent_q or 0)}
    at = opened(PAGE, **LINK | link)
    turn, weights = replace(config.rope, scaling=None), layer(config)
    W_UQ, W_UK = weights.W_UQ[0].double().numpy(), weights.W_UK[0].double().numpy()
    still = W_UQ.T @ W_UK

    def matrix(distance: int) -> np.ndarray:
        R = np.stack([rotate(turn, unit, distance) for unit in np.eye(config.d_head)], axis=1)
        return (R @ W_UQ).T @ W_UK

    change = [np.linalg.norm(matrix(n) - still) / np.linalg.norm(still) for n in range(65)]
    rotated, decoupled, over = charts(at)
    shown = {"rotated": matrix(7)[:24, :24], "decoupled": still[:24, :24]}
    limit = max(abs(corner).max() for corner in shown.values())
    for chart, (name, corner) in zip((rotated, decoupled), shown.items(), strict=True):
        close(chart.values(0, "z"), corner)
        assert chart.traces[0]["zmax"] == -chart.traces[0]["zmin"] == pytest.approx(limit)
        axes = (chart.axis("y"), chart.axis("x"))
        assert axes == (f"query's input {letter}", "latent of keys and values c")
        rows, columns, numbers = table(downloads, f"rope_{name}.csv")
        assert rows == [str(n) for n in range(24)]
        assert columns == [str(n) for n in range(20)]
        close(numbers, corner)
    assert says(rotated.alt, "rope.rotated_alt", distance="7")
    assert says(decoupled.alt, "rope.decoupled_alt", distance="7")

    assert over.names == ["decoupled", "rotated in full"]
    close(over.values("rotated in full", "x"), range(65))
    close(over.values("rotated in full", "y"), change)
    close(over.values("decoupled", "y"), np.zeros(65))
    assert over.axis("x") == "distance t − i"
    assert over.axis("y") == "|M(t−i) − M(0)| / |M(0)|"
    assert [(line["x0"], line["x1"]) for line in over.layout["shapes"]] == [(7, 7)]
    percent = digits(100 * change[7])
    assert says(over.alt, "rope.change_alt", distance="7", change=percent)
    rows, columns, numbers = table(downloads, "rope_change.csv")
    assert (rows, columns) == ([str(n) for n in range(65)], ["change"])
    close(numbers[:, 0], change)

    title, _, first, second, _, explanation, *_ = map(plain, said(at))
    assert says(title, "rope.line_merged", distance="7", change=percent)
    assert says(first, "rope.rotated_caption", distance="7")
    assert says(second, "rope.decoupled_caption")
    assert says(
        explanation,
        "rope.explain_merged",
        rows=still.shape[0],
        columns=still.shape[1],
        top="24",
        left="20",
    )
    assert says(explanation, "rope.explain_merged", cached="6")


def logits(reading: str, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Right and misread logits over the words by the oracle, [t,s]."""
    run, (q, k) = trace(), rotary()
    content = run.q_C[0, :, 0].double().numpy() @ run.k_C[0, :, 0].double().numpy().T
    other = replace(CONFIG.rope, pairing="half")

    def turned(x: np.ndarray, rope) -> np.ndarray:
        return np.array([rotate(rope, x[n], start + n) for n in range(len(x))])

    own = turned(q, CONFIG.rope), turned(k, CONFIG.rope)
    scale, plain_scale = CONFIG.scale, (CONFIG.d_head + CONFIG.d_rope) ** -0.5
    absorbed = (CONFIG.d_latent_kv + CONFIG.d_rope) ** -0.5
    position = own[0] @ own[1].T
    misread = {
        "regrouped": lambda: (content + position) * scale,
        "both": lambda: (content + turned(q, other) @ turned(k, other).T) * scale,
        "keys": lambda: (content + own[0] @ turned(k, other).T) * scale,
        "layout": lambda: (content + own[0] @ own[1][:, [0, 2, 4, 1, 3, 5]].T) * scale,
        "absorbed_width": lambda: (content + position) * absorbed,
        "no_mscale": lambda: (content + position) * plain_scale,
        "rotation_alone": lambda: content * plain_scale + position * scale,
    }[reading]()
    return (content + position) * scale, misread


def softmax(x: np.ndarray) -> np.ndarray:
    shares = np.exp(np.where(SEEN, x, -np.inf))
    return shares / shares.sum(-1, keepdims=True)


SEEN = np.tril(np.ones((len(WORDS), len(WORDS)), dtype=bool))
OWN = "This model's own pairing is interleaved. "
NAMES = {
    "regrouped": "other pairing, queries and keys moved to match",
    "both": "other pairing, nothing moved",
    "keys": "other pairing for the keys alone",
    "layout": "keys moved, queries not",
    "absorbed_width": "1/√ of an absorbed query's width",
    "no_mscale": "without mscale",
    "rotation_alone": "mscale on the rotary part alone",
}
REASONS = {
    "regrouped": f"{OWN}Moving queries and keys to where",
    "both": f"{OWN}With the other one on both sides",
    "keys": f"{OWN}A key at position 0 is not turned",
    "layout": f"{OWN}Queries and keys now have their dimensions",
    "absorbed_width": f"The absorbed query is 26 wide, but its scale stays that of 16: "
    f"{CONFIG.scale:.6f}, not {26**-0.5:.6f}.",
    "no_mscale": f"The right scale is {CONFIG.scale:.6f} = {16**-0.5:.6f} × "
    f"{digits(CONFIG.scale * 4, 4)}; without mscale it is {16**-0.5:.6f}.",
    "rotation_alone": f"The factor {digits(CONFIG.scale * 4, 4)} belongs to all logits: "
    f"{CONFIG.scale:.6f} in place of {16**-0.5:.6f}.",
}
PLACES = {
    ("both", 0): "the diagonal, the first row",
    ("keys", 0): "the first column, the first row",
    ("regrouped", 900): "every cell",
}
READINGS = [
    *[("pairing", reading, start) for reading, start in PLACES],
    ("pairing", "keys", 900),
    ("pairing", "layout", 0),
    *[("scale", reading, 0) for reading in ("absorbed_width", "no_mscale", "rotation_alone")],
]


@pytest.mark.parametrize(("topic", "reading", "start"), READINGS)
def test_a_misread_convention_is_drawn_beside_the_right_one(
    opened, downloads, topic, reading, start
):
    link = {"rope_topic": topic, f"rope_{topic}": reading, "rope_start": str(start)}
    at = opened(PAGE, **LINK | link)
    own, misread = logits(reading, start)
    kept = SEEN & (abs(own - misread) < 1e-9 * abs(own[SEEN]).max())
    shown = {
        "right": (softmax(own), "attention", (0, 1)),
        "read": (softmax(misread), "attention", (0, 1)),
        "difference": (misread - own, "difference", (-abs(own[SEEN]).max(), abs(own[SEEN]).max())),
    }
    alts = {
        "right": f"The head's correct attention; beside it stands: {NAMES[reading]}.",
        "read": f"The head's attention in this reading: {NAMES[reading]}.",
        "difference": f"Difference of the logits; {kept.sum()} of {SEEN.sum()} visible cells are "
        "unharmed.",
    }
    for chart, (name, (values, unit, limits)) in zip(charts(at), shown.items(), strict=True):
        visible = np.where(SEEN, values, np.nan)
        close(chart.values(0, "z"), visible)
        assert (chart.traces[0]["zmin"], chart.traces[0]["zmax"]) == pytest.approx(limits)
        assert np.array_equal(np.isnan(chart.values(1, "z")), SEEN)
        assert f"<br>{unit} %{{z" in chart.traces[0]["hovertemplate"]
        assert (chart.axis("x"), chart.axis("y")) == ("key", "query")
        labels = [f"{word} ({n})" for n, word in enumerate(WORDS)]
        assert chart.layout["xaxis2"]["ticktext"] == chart.layout["yaxis2"]["ticktext"] == labels
        assert chart.alt == alts[name]
        rows, columns, numbers = table(downloads, f"rope_{name}.csv")
        assert rows == list(WORDS)
        assert [column.split(".")[0] for column in columns] == list(WORDS)
        close(numbers, visible)
    dots = chart.trace("unharmed")
    rows, columns = np.nonzero(kept)
    assert np.array_equal(chart.values(dots, "y"), rows)
    assert np.array_equal(chart.values(dots, "x"), columns)

    title, look, *captions, explanation = said(at)[:6]
    assert title == title_of(topic, own, misread, kept)
    assert look.startswith(look_of(topic, reading, own, misread))
    assert captions == [
        "**Attention**, by the model's own convention.",
        "**Attention**, read the other way.",
        "**Logit difference**; dots: unharmed cells.",
    ]
    reason, unharmed = explanation.split("\n\n")
    assert reason.startswith(REASONS[reading])
    whole = (abs(softmax(own) - softmax(misread)) < 1e-9).all(-1).sum()
    assert says(
        unharmed,
        "rope.explain_unharmed",
        places=PLACES.get((reading, start), "none"),
        rows=whole,
        of=len(WORDS),
    )


def title_of(topic: str, own: np.ndarray, misread: np.ndarray, kept: np.ndarray) -> str:
    if kept.sum() == SEEN.sum():
        return f"All {SEEN.sum()} logits are right: this reading changes nothing"
    if topic == "pairing":
        return f"{(SEEN & ~kept).sum()} of {SEEN.sum()} logits are wrong, and no error appears"
    right, read = softmax(own), softmax(misread)
    cell = np.unravel_index(abs(right - read).argmax(), right.shape)
    return (
        f"The wrong scale turns an attention share of {digits(100 * right[cell])} % into "
        f"{digits(100 * read[cell])} %, and no error appears"
    )


def look_of(topic: str, reading: str, own: np.ndarray, misread: np.ndarray) -> str:
    if topic == "pairing":
        return "Compare the first two maps, then look at the dots on the third"
    orders = [[np.argsort(x[n, : n + 1]).tolist() for n in range(len(x))] for x in (own, misread)]
    changed = sum(a != b for a, b in zip(*orders, strict=True))
    assert bool(changed) == (reading == "rotation_alone")
    if not changed:
        return (
            "Compare how sharply each row picks its keys: this wrong scale keeps the order of the "
            "keys in every row and moves their shares"
        )
    return (
        "Compare which keys each row picks: scaling one part of the logits alone moves the shares, "
        f"and the order of the keys changes in {changed} of {len(WORDS)} rows"
    )


def test_a_scale_that_comes_out_right_is_not_said_to_move_shares(opened):
    small = {"preset": "small", "rope_topic": "scale", "rope_scale": "no_mscale"}
    at = opened(PAGE, **LINK | small)
    assert says(said(at)[0], "rope.line_unharmed", visible=SEEN.sum())
    assert says(said(at)[1], "rope.look_scale_equal")


def test_a_readers_words_stay_words(opened, monkeypatch):
    monkeypatch.setitem(catalogue()["maps.example"], "en", HOSTILE)
    words = words_of(HOSTILE)
    at = opened(PAGE, **LINK)
    named = re.search("“(.*)”", prose(at)[3])[1]
    assert html.unescape(named) == words[1]
    assert not re.search(r"[<>*_`$|~\[\]()]", named)
    at = opened(PAGE, **LINK | {"rope_topic": "pairing"})
    for chart in charts(at):
        for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
            texts = chart.layout[axis]["ticktext"]
            assert len(texts) == len(words)
            assert not any(re.search("<|&(?!lt;|gt;|amp;)", text) for text in texts)


FREQUENCIES = [
    ({"d_rope": "24"}, "deepseek-v3", 24),
    ({"preset": "minicpm3-4b", "d_rope": "32"}, "minicpm3-4b", 32),
    ({"preset": "deepseek-v2-lite", "d_rope": "6"}, "deepseek-v2-lite", 6),
]


@pytest.mark.parametrize(("link", "preset", "width"), FREQUENCIES)
def test_frequencies_before_and_after_the_scaling(opened, downloads, link, preset, width):
    at = opened(PAGE, **LINK | link | {"rope_topic": "yarn"})
    rope = PRESETS[preset].config.rope
    beyond, pairs = rope.scaling.original_max_position + 1, range(width // 2)
    before = [frequency(replace(rope, scaling=None), width, pair) for pair in pairs]
    after = [frequency(rope, width, pair, beyond) for pair in pairs]
    (chart,) = charts(at)
    assert chart.names == ["before", "after"]
    close(chart.values("before", "x"), pairs)
    np.testing.assert_allclose(chart.values("before", "y"), before, rtol=1e-12)
    np.testing.assert_allclose(chart.values("after", "y"), after, rtol=1e-12)
    assert (chart.axis("x"), chart.axis("y")) == ("pair p", "radians per position")
    assert chart.layout["yaxis"]["type"] == "log"
    yarn = hasattr(rope.scaling, "mscale")
    band = yarn_bounds(rope.theta, width, rope.scaling) if yarn else None
    assert [(shape["x0"], shape["x1"]) for shape in chart.layout.get("shapes", [])] == (
        [band] if band else []
    )
    assert says(
        chart.alt, "rope.frequencies_alt", before=digits(before[-1]), after=digits(after[-1])
    )
    rows, columns, numbers = table(downloads, "rope_frequencies.csv")
    assert (rows, columns) == ([str(pair) for pair in pairs], ["before", "after"])
    close(numbers, np.transpose([before, after]), 1e-8)
    explanation = prose(at)[3]
    if not yarn:
        slower = digits(before[-1] / after[-1], 4)
        assert says(explanation, "rope.explain_other_scaling", kind="LongRoPE", factor=slower)
        return
    low, high = (shortest(edge, 4) for edge in band)
    assert says(
        explanation,
        "rope.explain_yarn",
        low=low,
        high=high,
        factor=digits(rope.scaling.factor, 4),
        original=count(rope.scaling.original_max_position),
        mscale=rope.scaling.mscale,
        all_dim=rope.scaling.mscale_all_dim,
        rotation=digits(stretch(rope), 4),
    )


def test_the_softmax_scale_of_every_model(opened, downloads):
    at = opened(PAGE, **LINK | {"rope_topic": "yarn"})
    plain_scale = (CONFIG.d_head + CONFIG.d_rope) ** -0.5
    factor = digits(CONFIG.scale / plain_scale, 4)
    before, after = f"{plain_scale:.8f}", f"{CONFIG.scale:.8f}"
    name = PRESETS["deepseek-v3"].name
    assert says(
        statement(at), "rope.line_yarn", name=name, factor=factor, plain=before, scale=after
    )
    assert [(metric.label, metric.value) for metric in at.metric] == [
        ("1/√(d_h + d_R)", before), ("Times m²", factor), ("Softmax scale", after),
    ]  # fmt: skip
    known = {  # published
        "DeepSeek-V2 (236B)": 0.11472139,
        "DeepSeek-V3 / R1 (671B)": 0.13523378,
        "Kimi-K2 (Instruct)": 0.13086080,
    }
    columns = json.loads(at.dataframe[0].proto.columns)
    assert {name: (column["label"], column["type_config"].get("format"))
            for name, column in columns.items() if name != "_index"} == {
        "model": ("Model", None), "width": ("Width", "%d"), "plain": ("1/√width", "%.8f"),
        "softmax_magnitude": ("Times", "%.4f"), "scale": ("Scale", "%.8f"),
        "rotation_magnitude": ("On cos, sin", "%.4f"),
    }  # fmt: skip
    shown = at.dataframe[0].value
    assert csv(downloads["softmax_scales.csv"]).round(12).equals(shown.round(12))
    rows = shown.set_index("model")
    assert rows.loc[list(known), "scale"].to_dict() == pytest.approx(known, abs=5e-9)
    assert list(rows.index) == [preset.name for preset in PRESETS.values()]
    for preset in PRESETS.values():
        config, row = preset.config, rows.loc[preset.name]
        apart = "d_latent_kv" in vars(config)  # else the rotated part is one of the head's
        width = config.d_head + config.d_rope if apart else config.d_head
        assert row.width == width
        assert row.plain == pytest.approx(width**-0.5)
        assert row.scale == pytest.approx(config.scale)
        assert row.softmax_magnitude == pytest.approx(config.scale * width**0.5)
        assert row.rotation_magnitude == pytest.approx(stretch(config.rope) if config.rope else 1)


def test_a_model_without_scaling_says_so(opened):
    at = opened(PAGE, **LINK | {"preset": "small", "rope_topic": "yarn"})
    assert says(statement(at), "rope.line_plain", scale=f"{16**-0.5:.8f}")
    assert says(prose(at)[3], "rope.explain_no_scaling", theta="10,000")
    (chart,) = charts(at)
    assert np.array_equal(chart.values("before", "y"), chart.values("after", "y"))
    assert not chart.layout.get("shapes")


def test_what_a_model_has_not_is_said_to_be_assumed(opened):
    latent = LINK | {"preset": "llama-3-8b", "variant": "gqa"}
    notes = [caption.value for caption in opened(PAGE, **latent).caption]
    assert says(notes, "rope.assumed_mla", latent="20", rope="6")
    notes = [c.value for c in opened(PAGE, **LINK | {"preset": "kimi-k3"}).caption]
    assert says(notes, "rope.assumed_rotation", theta="10,000")
    notes = [caption.value for caption in opened(PAGE, **LINK).caption]
    assert not any("assumed" in note or "no latent" in note for note in notes)
