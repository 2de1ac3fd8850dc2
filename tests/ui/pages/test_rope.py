"""The page on rotations by link and by hand: its numbers against the engine and numpy."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS, MultiHeadLatentAttention
from mla_engine.studies.words import hidden_states, words_of
from tests.reference_rope import rotate
from ui.engine.model import SMALL_CONFIG
from ui.pages.rope import controls as rope_controls
from ui.pages.rope import view as rope
from ui.settings.sizes import SMALL_SIZES
from ui.words.text import catalogue

PAGE = "pages/rope.py"
SMALL = {"preset": "small"} | {name: str(size) for name, size in SMALL_SIZES.items()}
LITE = PRESETS["deepseek-v2-lite"].config
V3 = {
    "preset": "deepseek-v3", "d_model": "7168", "n_heads": "128", "d_latent_q": "1536",
}  # fmt: skip
WORDS = catalogue()["maps.example"]["en"].split()


def said(at: AppTest) -> str:
    return " ".join([at.title[0].value, *(m.value for m in at.markdown)])


def slider(at: AppTest, name: str):
    return next(w for w in at.slider if w.key == f"{name}:en")


def trace(config, head: int, words=tuple(WORDS)):
    h = torch.tensor(hidden_states(words, 0, config.d_model))[None]
    return MultiHeadLatentAttention(config, heads=[head])(h)


def score(config, head: int, t: int, i: int) -> float:
    """The rotary score of the second word's query at t and its key at i, by complex numbers."""
    run, turn = trace(config, head), config.rope
    q, k = run.q_R_pre[0, 1, 0].double().numpy(), run.k_R_pre[0, 1].double().numpy()
    return float(rotate(turn, q, t, 16) @ rotate(turn, k, i, 16))


def test_a_link_turns_a_head_of_deepseek_v2_lite(opened):
    at = opened(PAGE, rope_query="12", rope_key="2", rope_head="5", rope_pair="3")
    found = re.search(r"At distance (\d+) this query and key score (\S+),", at.title[0].value)
    assert int(found[1]) == 10
    assert float(found[2].replace("−", "-")) == pytest.approx(score(LITE, 5, 12, 2), rel=5e-3)
    angle = 10000 ** (-6 / 64)
    assert f"**Pair 3** turns by {angle:.3f} rad" in said(at)


def test_moving_both_positions_leaves_the_score(opened):
    at = opened(PAGE, **SMALL)
    before = at.title[0].value
    slider(at, "rope_query").set_value(14).run()
    assert at.title[0].value != before
    assert at.query_params["rope_query"] == "14"
    slider(at, "rope_key").set_value(9).run()
    assert at.title[0].value == before


@pytest.mark.parametrize(("sizes", "key"), [({}, "deepseek-v2-lite"), (V3, "deepseek-v3")])
def test_the_merged_matrix_moves_and_the_decoupled_one_stays(opened, sizes, key):
    at = opened(PAGE, rope_topic="merged", rope_distance="7", rope_head="2", **sizes)
    layer = MultiHeadLatentAttention(PRESETS[key].config, heads=[2])
    plain = replace(PRESETS[key].config.rope, scaling=None)
    W_UQ, W_UK = layer.W_UQ[0].double().numpy(), layer.W_UK[0].double().numpy()
    still = W_UQ.T @ W_UK
    R = np.stack([rotate(plain, e, 7, 8) for e in np.eye(128)], axis=1)
    moved = (R @ W_UQ).T @ W_UK
    change = 100 * np.linalg.norm(moved - still) / np.linalg.norm(still)
    assert f"At distance 7 the merged matrix has changed by {change:.1f} %" in at.title[0].value
    one = rope.Head(PRESETS[key].config, PRESETS[key].config.rope, 0, 2, tuple(WORDS), 0)
    shown = rope.merged(one, 7)
    np.testing.assert_allclose(shown.rotated, moved[:24, :24], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(shown.decoupled, still[:24, :24], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("reading", "start", "harmed", "places"),
    [
        ("both", 0, 55, "the diagonal, the first row"),
        ("keys", 0, 55, "the first column, the first row"),
        ("keys", 900, 66, "none"),
        ("layout", 0, 66, "none"),
        ("regrouped", 0, 0, "every cell"),
    ],
)
def test_every_wrong_pairing_says_what_it_spares(opened, reading, start, harmed, places):
    at = opened(PAGE, rope_topic="pairing", rope_pairing=reading, rope_start=str(start), **SMALL)
    wanted = f"{harmed} of 66 logits are wrong" if harmed else "All 66 logits are right"
    assert wanted in at.title[0].value
    assert f"all logits are unharmed: **{places}**" in said(at)
    assert f"rows of the attention map: **{1 if harmed else 11} of 11**" in said(at)


def test_a_wrong_scale_moves_shares_by_what_a_softmax_says(opened):
    at = opened(PAGE, rope_topic="scale", rope_head="1")
    run = trace(LITE, 1)
    logits = run.scores[0, 0].double()
    wrong = torch.softmax(logits / LITE.scale / 576**0.5, -1)
    right = torch.softmax(logits, -1)
    cell = (wrong - right).abs().flatten().argmax()
    shares = [float(x) for x in re.findall(r"([\d.]+) %", at.title[0].value)]
    assert shares == pytest.approx([100 * float(x.flatten()[cell]) for x in (right, wrong)], 5e-3)
    assert "stays that of 192: 0.114721, not 0.041667" in said(at)


SCALES_READ = [
    ("absorbed_width", 0),
    ("no_mscale", 0),
    ("rotation_alone", 0),
    ("rotation_alone", 3),
]


@pytest.mark.parametrize(("reading", "head"), SCALES_READ)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_said_of_the_order_of_keys_is_what_ranks_say(opened, reading, head, lang):
    link = {"rope_scale": reading, "rope_head": str(head), "lang": lang}
    at = opened(PAGE, rope_topic="scale", **link)
    run = trace(LITE, head, words_of(catalogue()["maps.example"][lang]))
    content, rotary = (s[0, 0].double().numpy() for s in (run.scores_C, run.scores_R))
    plain = 192**-0.5 / LITE.scale
    read = {
        "absorbed_width": (content + rotary) * 576**-0.5 / LITE.scale,
        "no_mscale": (content + rotary) * plain,
        "rotation_alone": content * plain + rotary,
    }[reading]
    logits = content + rotary
    rows = [np.argsort(x[t, : t + 1]).tolist() for x in (logits, read) for t in range(len(x))]
    changed = sum(a != b for a, b in zip(rows[: len(read)], rows[len(read) :], strict=True))
    assert bool(changed) == (reading == "rotation_alone")
    wanted = {
        "en": f"order of the keys changes in {changed} of {len(read)} rows",
        "zh": f"{len(read)} 行中有 {changed} 行的键次序改变",
    }
    kept = {"en": "keeps the order of the keys in every row", "zh": "每一行的键次序都不变"}
    assert (wanted if changed else kept)[lang] in said(at)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_scale_that_changes_nothing_is_not_said_to_move_shares(opened, lang):
    at = opened(PAGE, rope_topic="scale", rope_scale="no_mscale", lang=lang, **SMALL)
    assert {"en": "Both maps are equal", "zh": "两幅图完全相同"}[lang] in said(at)


def test_without_mscale_a_model_without_yarn_is_unharmed(opened):
    at = opened(PAGE, rope_topic="scale", rope_scale="no_mscale", **SMALL)
    assert "All 66 logits are right" in at.title[0].value


def test_yarn_shows_the_published_scales(opened):
    at = opened(PAGE, rope_topic="yarn")
    assert "0.07216878 becomes 0.11472139" in at.title[0].value
    assert "between pairs 10 and 23" in said(at)
    table = at.dataframe[0].value.set_index("model")["scale"]
    assert len(table) == len(PRESETS)
    known = {
        "DeepSeek-V2 (236B)": 0.11472139,
        "DeepSeek-V3 / R1 (671B)": 0.13523378,
        "Kimi-K2 (Instruct)": 0.13086080,
    }
    assert table[list(known)].to_dict() == pytest.approx(known, abs=5e-9)


@pytest.mark.parametrize("topic", rope.TOPICS)
def test_every_topic_has_alternative_texts_and_downloads_in_chinese(opened, topic):
    at = opened(PAGE, rope_topic=topic, lang="zh", **SMALL)
    charts = at.get("plotly_chart")
    alts = [chart.proto.alt for chart in charts]
    assert len(set(alts)) == len(charts) == {"turning": 2, "yarn": 1}.get(topic, 3)
    assert all(re.search("[\u4e00-\u9fff]", alt) for alt in alts)
    downloads = at.get("download_button")
    assert len(downloads) == len(charts) + (topic == "yarn")
    assert re.search("[\u4e00-\u9fff]|YaRN", at.title[0].value)


def test_models_without_a_latent_or_a_rotation_say_what_is_assumed(opened):
    at = opened(PAGE, preset="llama-3-8b", variant="gqa", n_heads="32", d_model="4096")
    assert any("has no latent" in caption.value for caption in at.caption)
    at = opened(PAGE, preset="kimi-k3", n_heads="96", rope_topic="yarn")
    assert any("θ = 10,000 is assumed" in caption.value for caption in at.caption)


def test_bad_values_are_refused_or_brought_near(opened):
    at = opened(PAGE, d_rope="0")
    assert "raise it in the sidebar" in at.error[0].value
    assert next(w for w in at.button_group if w.key == "rope_topic:en").value == "turning"
    at = opened(PAGE, rope_head="99", rope_pair="99", rope_distance="-4", rope_topic="sideways")
    assert slider(at, "rope_pair").value == 31
    assert next(w for w in at.number_input if w.key == "rope_head:en").value == 15
    assert "sideways" in at.warning[0].value


def test_too_little_memory_is_said_and_the_topics_stay(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.001")
    rope.compute.layer.clear()
    rope.turning.clear()
    at = opened(PAGE)
    assert "a run may hold" in at.error[0].value
    assert any(w.key == "rope_topic:en" for w in at.button_group)


def test_the_small_layer_is_the_one_that_is_run():
    one = rope.Head(SMALL_CONFIG, SMALL_CONFIG.rope, 0, 3, tuple(WORDS), 0)
    shown = rope.turning(one, 0)
    assert shown.scores[9, 4] == pytest.approx(score(SMALL_CONFIG, 3, 9, 4), rel=1e-5)
    shares = rope.reading(one, "scale", "no_mscale").right
    np.testing.assert_allclose(shares, trace(SMALL_CONFIG, 3).attention[0, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("topic", "setting", "last"), [("turning", "rope_query", 15), ("merged", "rope_distance", 64)]
)
def test_playing_turns_on_until_the_end_and_stops_for_a_hand(
    opened, monkeypatch, topic, setting, last
):
    at = opened(PAGE, **SMALL, rope_topic=topic, **{setting: str(last - 2)})

    def play():
        return next(b for b in at.button if b.key == f"{setting}_play")

    def due():  # every tick from now on
        at.session_state[f"{setting}:due"] = 0.0
        at.run()
        return at.session_state["settings"][setting]

    play().click().run()
    assert play().label == "Pause"
    assert at.session_state["settings"][setting] == last - 2
    monkeypatch.setattr(rope_controls, "ticking", lambda t: rope_controls.PLAYERS[t].tick())
    assert due() == last
    assert play().label == "Play", "it stops at the end"
    at.session_state[f"{setting}:due"] = float("inf")
    play().click().run()
    assert at.session_state["settings"][setting] == 0, "it begins anew"
    next(w for w in at.slider if w.key == f"{setting}:en").set_value(3).run()
    assert play().label == "Play", "a change by hand ends the play"
    assert due() == 3
