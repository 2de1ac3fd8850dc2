"""Trained heads: two models beside each other, and the look that is framed."""

import html
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mla_engine.language_model.cuts import effect, without_heads
from mla_engine.language_model.texts import TASKS
from tests.ui.pages.test_trained_heads import PAGE, drawn, of_file, scored, trained
from tests.ui.screen import charts, lead, prose, says
from ui.pages.trained_heads import run

__all__ = ["trained"]


def test_another_model_stands_beside_with_the_same_cut(trained, opened, downloads):
    at = opened(PAGE, th_head="0.1", th_beside="mha")
    cut = {code: without_heads(of_file(trained, code), 0, [1]) for code in ("mla", "mha")}
    chart = drawn(at, "right answers, %")
    assert chart.names == ["MLA, whole", "MLA, cut", "MHA, whole", "MHA, cut"]
    for code, model in cut.items():
        changes = effect(of_file(trained, code), model, run.ASKED, run.SEED)
        for name, place in (("whole", 0), ("cut", 1)):
            wanted = [100 * changes[task][place] for task in TASKS]
            assert chart.values(f"{code.upper()}, {name}", "x") == pytest.approx(wanted)
    tables = [chart for chart in charts(at) if chart.axis("x") == "layer and head"]
    for table, code in zip(tables, cut, strict=True):
        wanted = scored(trained, code).table.numpy().reshape(4, -1).T
        np.testing.assert_allclose(table.values(0, "z"), wanted, rtol=1e-6)
        assert f"trained_heads_scores_{code}.csv" in downloads
    assert [trace["zmax"] for table in tables for trace in table.traces[:1]] == [1, 1]
    for code in ("MLA", "MHA"):
        assert f"{code}, without head 1 of layer 0. A head without a name" in " ".join(prose(at))


def test_what_the_other_model_has_not_is_not_cut_from_it(trained, opened):
    at = opened(PAGE, th_cut="rotary", th_beside="mha")
    chart = drawn(at, "right answers, %")
    assert chart.names == ["MLA, whole", "MLA, cut", "MHA, whole"]
    assert "MHA, left whole. MHA has no such part." in prose(at)


def test_beside_a_head_stands_the_one_that_has_most_of_its_score(trained, opened, monkeypatch):
    tables = {"mla": np.zeros((2, 2, 6)), "mha": np.zeros((2, 2, 6))}
    tables["mla"][1, 0, 1] = tables["mha"][0, 1, 1] = 0.75
    tables["mha"][0, 0, 1] = 0.6
    tables["mha"][1, 1, 1:4:2] = 0.8, 0.9  # has more of it, but is named after another
    found = scored(trained)
    made = {c: replace(found, table=found.table.new_tensor(one)) for c, one in tables.items()}
    monkeypatch.setattr(run, "scores", lambda model: made[Path(model.path).stem])
    said = " ".join(prose(opened(PAGE, th_head="1.0", th_beside="mha")))
    assert "MLA, without head 0 of layer 1." in said
    assert "MHA, without head 1 of layer 0." in said
    at = opened(PAGE, th_variant="mha", th_head="0.0", th_cut="namesakes")
    assert at.segmented_control(key="th_cut").value == "namesakes"
    assert says(lead(at)[1], "trained_heads.without_namesakes", head="0, 1", layer="0")


def test_one_model_stands_alone_by_default(trained, opened):
    at = opened(PAGE)
    assert drawn(at, "right answers, %").names == ["whole", "cut"]
    control = at.segmented_control(key="th_beside")
    assert (control.value, control.options[0]) == ("alone", "nothing")
    assert "MLA" not in control.options


@pytest.mark.parametrize(("kind", "wanted"), [("previous", "bound"), ("induction", "asked")])
def test_the_frame_stands_at_the_look_that_the_head_is_named_after(
    trained, opened, monkeypatch, kind, wanted
):
    table, found = np.zeros((2, 2, 6)), scored(trained)
    table[0, 1, found.kinds.index(kind)] = 0.75
    scores = replace(found, table=found.table.new_tensor(table))
    monkeypatch.setattr(run, "scores", lambda _model: scores)
    at = opened(PAGE, th_head="0.1")
    shown = run.example(run.of_step("mla", -1), "recall")
    words, (query, key) = shown.words, shown.asked[-1]
    assert words[key - 1] == words[query]
    framed = (key, key - 1) if wanted == "bound" else (query, key)
    assert framed in getattr(shown, wanted)
    said = next(text for text in prose(at) if text.startswith("In the frame"))
    assert f"“{words[framed[0]]}”" in said
    assert f"“{words[framed[1]]}”" in said


def test_a_broken_file_is_refused_and_the_page_lives(opened, monkeypatch, tmp_path):
    (tmp_path / "mla.safetensors").write_bytes(b"none")
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    at = opened(PAGE)
    assert "mla.safetensors is no model" in html.unescape(at.error[0].value)
