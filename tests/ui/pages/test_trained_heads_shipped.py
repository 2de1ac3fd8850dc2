"""Trained heads: what the page says of cuts is what is measured in the models that are shipped."""

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from mla_engine.language_model import load_model
from mla_engine.language_model.accuracy import accuracies
from mla_engine.language_model.cuts import without_heads
from mla_engine.language_model.heads import head_scores
from mla_engine.language_model.texts import TASKS
from tests.ui.screen import prose, says
from ui.pages.trained_heads import run

PAGE = "pages/trained_heads.py"
SHIPPED = {
    path.stem: path
    for path in sorted((Path(__file__).parents[3] / "assets" / "trained").glob("*.safetensors"))
    if path.stem in run.VARIANTS
}
TASK_OF = {"previous": "recall", "induction": "recall", "copying": "copy"}


def text_by_text(model) -> dict[str, float]:
    found = accuracies(model, run.ASKED, run.SEED)
    return {task: np.mean(list(loads.values())) for task, loads in found.items()}


def spoken(code: str) -> str:
    return {"back": "count back"}.get(code, code)


def is_true(said: str, before: dict, after: dict, task: str, others: int) -> None:
    """Check what the page says of heads against what was measured of them, text by text."""
    lost = {code: before[code] - after[code] for code in before}
    spared = [code for code in lost if lost[code] < 0.05]
    right = f"{100 * after[task]:.0f} %"
    if before[task] < 0.3:
        assert says(said, "trained_heads.verdict_unlearned")
    elif lost[task] < 0.3 and others:
        assert said.startswith(
            f"**Shared**: {others} more look there, and {right} of {spoken(task)}"
        )
    elif lost[task] < 0.3:
        assert said.startswith("**Not")
        assert f"still {right} of {spoken(task)} is right" in said
    elif spared:
        assert f"**{spoken(task)}**. Untouched" in said
        assert f"them: {', '.join(map(spoken, spared))}." in said.replace("without it", "them")
    else:
        assert f"**{spoken(task)}**, and everything else with it" in said
    worst = min(lost, key=lambda code: -lost[code])
    hardest = f"from {100 * before[worst]:.0f} % to {100 * after[worst]:.0f} %."
    assert ("Hit hardest" in said) == (worst != task and lost[worst] >= 0.05)
    assert "Hit hardest" not in said or said.endswith(hardest)


@pytest.mark.parametrize("code", SHIPPED)
def test_what_is_said_of_a_cut_is_what_is_measured_in_every_shipped_model(
    code, opened, monkeypatch
):
    monkeypatch.setattr(run, "FOLDER", SHIPPED[code].parent)
    model, _ = load_model(SHIPPED[code])
    before, found = text_by_text(model), head_scores(model, run.ASKED, run.SEED)
    at = opened(PAGE, th_variant=code)
    for layer, names in enumerate(found.names()):
        for head, name in enumerate(names):
            at.selectbox(key="th_head").set_value(f"{layer}.{head}").run()
            kinds = at.segmented_control(key="th_cut").options
            if name is None:
                assert says(said_of_cut(at), "trained_heads.verdict_unnamed")
                assert not says(kinds, "trained_heads.cut_namesakes")
                continue
            same = [i for i, other in enumerate(names) if other == name]
            assert (says(kinds, "trained_heads.cut_namesakes")) == (len(same) > 1)
            looks = found.table[:, :, found.kinds.index(name)] >= 0.5
            task = TASK_OF.get(name, name)
            after = text_by_text(without_heads(model, layer, [head]))
            is_true(said_of_cut(at), before, after, task, int(looks.sum()) - 1)
            if len(same) > 1 and head == same[0]:
                at.segmented_control(key="th_cut").set_value("namesakes").run()
                after = text_by_text(without_heads(model, layer, same))
                is_true(said_of_cut(at), before, after, task, int(looks.sum()) - len(same))
                at.segmented_control(key="th_cut").set_value("head").run()


def said_of_cut(at: AppTest) -> str:
    starts = ("A head", "Nothing", "**Shared", "**Not", "This head", "Together", "It br", "They br")
    (said,) = (text for text in prose(at) if text.startswith(starts))
    return said.replace("\xa0", " ")


@pytest.mark.parametrize("code", [code for code in SHIPPED if "nope" not in code])
def test_one_head_of_previous_words_carries_recall_and_another_task_is_spared(code):
    model, _ = load_model(SHIPPED[code])
    scores = head_scores(model, run.ASKED, run.SEED)
    layer, head = divmod(int(scores.table[..., scores.kinds.index("previous")].argmax()), 4)
    before = text_by_text(model)
    after = text_by_text(without_heads(model, layer, [head]))
    assert before["recall"] - after["recall"] >= 0.3
    assert min(before[task] - after[task] for task in TASKS) < 0.05
