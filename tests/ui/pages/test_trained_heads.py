"""Trained heads: what the page says is what the engine finds in the model's file."""

import ast
import html
import json
import os
import re
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import GroupedConfig, LatentConfig
from mla_engine.language_model import LanguageModel, ModelConfig, load_model, save_model
from mla_engine.language_model.cuts import (
    TopKeys,
    effect,
    without_content,
    without_heads,
    without_minor_directions,
    without_rotary_key,
)
from mla_engine.language_model.heads import head_scores
from mla_engine.language_model.texts import TASKS, WORDS
from tests.ui.screen import Chart, charts, csv, lead, prose, says
from ui.pages.trained_heads import run
from ui.settings import visit

PAGE = "pages/trained_heads.py"
MLA = LatentConfig(d_model=16, n_heads=2, d_head=8, d_latent_kv=6, d_rope=4, latent_norm=True)
ATTENTIONS = {
    "mla": MLA,
    "mla_nope": replace(MLA, d_rope=0),
    "mha": GroupedConfig(d_model=16, n_heads=2, n_kv_heads=2, d_head=8),
}
ALWAYS = ["this head", "all but top keys"]
STEPS, LOSSES = (0, 100, 350), (4.5, 1.25)


def small(attention: object, seed: int) -> LanguageModel:
    config = ModelConfig(words=WORDS, attention=attention, n_layers=2, d_mlp=8, max_context=64)
    return LanguageModel(config, seed=seed)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("trained")
    for seed, (code, attention) in enumerate(ATTENTIONS.items()):
        save_model(small(attention, seed), folder / f"{code}.safetensors", {})
    snapshots = folder / "snapshots" / "mla"
    snapshots.mkdir(parents=True)
    for step in STEPS:
        save_model(small(MLA, 50 + step), snapshots / f"{step:05}.safetensors", {})
    curve = [{"step": 0, "loss": None}]
    curve += [{"step": s, "loss": one} for s, one in zip(STEPS[1:], LOSSES, strict=True)]
    (folder / "study").mkdir()
    (folder / "study" / "mla-0.json").write_text(json.dumps({"curve": curve}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "FOLDER", folder)
        yield folder


def of_file(folder, name="mla") -> LanguageModel:
    return load_model(folder / f"{name}.safetensors")[0]


def drawn(at: AppTest, axis: str) -> Chart:
    """The chart whose x axis has this title."""
    return next(chart for chart in charts(at) if chart.axis("x") == axis)


def scored(folder, name="mla"):
    return head_scores(of_file(folder, name), run.ASKED, run.SEED)


def test_the_scores_of_every_head_are_drawn_and_can_be_taken_away(trained, opened, downloads):
    at = opened(PAGE, th_head="1.0")
    found = scored(trained)
    chart = drawn(at, "layer and head")
    wanted = found.table.numpy().reshape(4, -1).T
    np.testing.assert_allclose(chart.values(0, "z"), wanted, rtol=1e-6)
    assert chart.layout["xaxis"]["ticktext"] == ["L0 H0", "L0 H1", "L1 H0", "L1 H1"]
    frames = [one for one in chart.layout["shapes"] if one.get("name") == "frame"]
    middles = {((one["x0"] + one["x1"]) / 2, (one["y0"] + one["y1"]) / 2) for one in frames}
    assert middles == {(2, wanted[:, 2].argmax())}
    table = csv(downloads["trained_heads_scores.csv"])
    np.testing.assert_allclose(table[list(found.kinds)].to_numpy(), wanted.T, rtol=1e-6)


def test_named_heads_are_told_and_the_others_are_mixed(trained, opened, monkeypatch):
    at = opened(PAGE)
    assert says(prose(at), "trained_heads.unknown")
    assert "0 of 4" in at.markdown[2].value
    assert "A head without a name: it has no task of its own. " in " ".join(prose(at))
    table = np.zeros((2, 2, 6))
    table[1, 0, 1], table[0, 1, 0] = 0.75, 0.5
    found = scored(trained)
    scores = replace(found, table=found.table.new_tensor(table))
    monkeypatch.setattr(run, "scores", lambda _model: scores)
    at = opened(PAGE)
    assert "previous word: L0 H1; induction: L1 H0." in prose(at)
    assert at.selectbox(key="th_head").value == "0.1"  # the strongest look to a previous word
    assert "layer 1, head 0: induction" in at.selectbox(key="th_head").options


CUTS = {
    "head": (
        {"th_head": "0.1"}, lambda model: without_heads(model, 0, [1]), "without head 1 of layer 0",
    ),
    "content": ({}, without_content, "without the content part of the scores"),
    "rotary": ({}, without_rotary_key, "without the rotary key"),
    "rank": (
        {"th_rank": "2"}, lambda model: without_minor_directions(model, 2),
        "with 2 directions of each latent left",
    ),
    "keys": ({"th_keys": "3"}, lambda model: TopKeys(model, 3), "3 at most"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CUTS)
def test_a_cut_is_drawn_by_task_and_the_worst_hit_stands_on_top(trained, opened, kind):
    link, cut, said = CUTS[kind]
    at = opened(PAGE, th_cut=kind, **link)
    model = of_file(trained)
    changes = effect(model, cut(model), run.ASKED, run.SEED)
    chart = drawn(at, "right answers, %")
    for name, place in (("whole", 0), ("cut", 1)):
        wanted = [100 * changes[task][place] for task in TASKS]
        assert chart.values(name, "x") == pytest.approx(wanted)
    told = re.findall(r"(\d+)\s?% → (\d+)\s?%", chart.alt)
    assert told == [tuple(f"{100 * part:.0f}" for part in changes[task]) for task in TASKS]
    worst = min(changes.values(), key=lambda change: change.after - change.before)
    number, line = lead(at)
    assert number.replace("\xa0", " ") == f"{100 * worst.after:.0f} %"
    assert said in line
    assert f"{100 * worst.before:.0f}\xa0%" in line.replace(" %", "\xa0%")


@pytest.mark.parametrize(
    ("variant", "cuts"),
    [
        (
            "mla",
            ["this head", "all but top keys", "content part", "latent directions", "rotary key"],
        ),
        ("mla_nope", ["this head", "all but top keys", "content part", "latent directions"]),
        ("mha", ["this head", "all but top keys"]),
    ],
)
def test_each_model_offers_what_can_be_cut_from_it(trained, opened, variant, cuts):
    at = opened(PAGE, th_variant=variant, th_cut="rotary")
    control = at.segmented_control(key="th_cut")
    assert control.options == cuts
    assert control.value == ("rotary" if "rotary key" in cuts else "head")
    assert run.attention(run.of_step(variant, -1)) == ATTENTIONS[variant]


@pytest.mark.parametrize(
    ("link", "name", "given", "used"),
    [
        ({"th_variant": "gqa"}, "th_variant", "gqa", "mla"),
        ({"th_step": "201"}, "th_step", "201", "100"),
        ({"th_variant": "mha", "th_cut": "rank"}, "th_cut", "rank", "head"),
        ({"th_cut": "rank", "th_rank": "7"}, "th_rank", "7", "6"),
    ],
)
def test_a_link_to_what_is_not_there_says_what_is_shown(trained, opened, link, name, given, used):
    (said,) = opened(PAGE, **link).warning
    wanted = f"{name}: “{given}” in the link is not possible; {used} is used instead."
    assert html.unescape(said.value) == wanted


@pytest.mark.parametrize("task", TASKS)
def test_the_map_is_the_chosen_heads_and_its_words_stand_on_both_axes(trained, opened, task):
    at = opened(PAGE, th_head="0.1", th_text=task)
    chart = drawn(at, "key")
    shown = run.example(run.of_step("mla", -1), task)
    model = of_file(trained)
    tokens = model.W_E.new_tensor([model.config.tokens(" ".join(shown.words))]).long()
    attention = model(tokens).blocks[0].attention
    wanted = np.where(attention.mask, attention.attention[0, 1], np.nan)
    np.testing.assert_allclose(chart.values(0, "z"), wanted, rtol=1e-5)
    query, key = shown.asked[-1]
    said = next(text for text in prose(at) if text.startswith("In the frame"))
    assert f"from “{shown.words[query]}” to “{shown.words[key]}”" in said
    assert f"{100 * wanted[query, key]:.0f}" in said


STATES = [("trained_heads", {"th_cut": kind} | link) for kind, (link, *_) in CUTS.items()]


@pytest.mark.parametrize(("page", "link"), STATES, ids=list(CUTS))
def test_the_snippet_makes_the_numbers_on_top(trained, opened, capsys, page, link):
    at = opened(f"pages/{page}.py", code="snippet", **link)
    capsys.readouterr()
    exec(at.code[0].value, {})
    names, result = capsys.readouterr().out.splitlines()
    assert names == str(scored(trained).names())
    _, after, before = result.split()
    number, line = (said.replace("\xa0", " ") for said in lead(at))
    assert number == f"{float(after):.0f} %"
    assert line.endswith(f"{float(before):.0f} %")


def test_the_source_is_that_of_the_present_cut(trained, opened):
    scored = ["uncut", "scores_of", "deciding", "binding", "looks"]
    for kind, ran in (
        ("head", ["without"]),
        ("content", ["without_content", "right"]),
        ("keys", ["TopKeys", "right"]),
    ):
        at = opened(PAGE, th_cut=kind, code="source")
        shown = [ast.parse(textwrap.dedent(block.value)).body[0].name for block in at.code]
        assert shown == scored + ran


def test_the_training_is_drawn_step_by_step(trained, opened):
    at = opened(PAGE, th_step="100")
    induction, loss = (c for c in charts(at) if c.axis("x") == "step of the training")
    snapshots = [of_file(trained / "snapshots" / "mla", f"{step:05}") for step in STEPS]
    best = [
        head_scores(model, run.WATCHED, run.SEED, ["induction"]).table.max() for model in snapshots
    ]
    assert induction.values(0, "x").tolist() == list(STEPS)
    assert induction.values(0, "y") == pytest.approx(np.array(best))
    assert loss.values(0, "x").tolist() == list(STEPS[1:])
    assert loss.values(0, "y").tolist() == list(LOSSES)
    scores = head_scores(snapshots[1], run.ASKED, run.SEED).table.numpy()
    drawn_scores = drawn(at, "layer and head").values(0, "z")
    np.testing.assert_allclose(drawn_scores, scores.reshape(4, -1).T, rtol=1e-6)


def test_a_model_whose_training_was_not_watched_has_no_steps(trained, opened):
    at = opened(PAGE, th_variant="mha", th_step="100")
    assert not at.select_slider
    assert not says([one.value for one in at.subheader], "trained_heads.section_training")


def test_a_file_that_is_written_again_is_read_again(trained, opened):
    before = run.of_step("mha", -1)
    file = trained / "mha.safetensors"
    os.utime(file, ns=(1, before.written + 1))
    assert run.of_step("mha", -1) != before


@pytest.mark.parametrize(("lang", "said"), [("en", "make train"), ("zh", "训练好的模型")])
def test_without_a_model_the_page_lives_and_says_so(opened, monkeypatch, tmp_path, lang, said):
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    at = opened(PAGE, lang=lang)
    assert at.title
    assert said in at.info[0].value
    assert not charts(at)


def test_what_the_next_press_may_ask_for_is_there_already(opened, monkeypatch):
    link = {"th_variant": "mla", "th_head": "0.1"}
    monkeypatch.setattr(visit, "is_watched", lambda: True)
    opened(PAGE, **link)
    ran = []
    monkeypatch.setattr(run, "without", lambda *_: ran.append("head"))
    monkeypatch.setattr(run, "right", lambda *_: ran.append("model"))
    monkeypatch.setattr(run, "uncut", lambda *_: ran.append("scores"))
    monkeypatch.setattr(visit, "is_watched", lambda: False)
    presses = [{"th_head": "1.0"}, {"th_step": "100"}]
    presses += [{"th_cut": kind} for kind in ("content", "rotary", "rank", "keys")]
    for press in presses:
        assert not opened(PAGE, **(link | press)).exception
    assert not ran
