"""A refusal of the engine is said on the screen in the reader's language."""

import re

import pytest

from kvcount.refusals import RefusedError, sentence
from mla_engine import budget
from mla_engine.budget import MemoryBudgetError
from tests.ui.screen import refusal
from ui.engine.folders import inside
from ui.parts import prose


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_why_a_real_layer_cannot_be_read_is_said_in_the_readers_language(opened, lang):
    with pytest.raises(RefusedError) as refused:
        inside("../no such *model*")
    at = opened("pages/real_models.py", source="../no such *model*", lang=lang)
    assert sentence(refused.value, lang) in refusal(at)


def test_a_section_that_is_refused_says_so_in_its_place_and_the_next_is_drawn(opened, monkeypatch):
    def refuse(_: object) -> None:
        raise RefusedError("no_claim", claim="*X7*", known="X8")

    monkeypatch.setattr("ui.pages.compute.after.products", refuse)
    at = opened("pages/compute.py")
    assert "*X7*" in refusal(at)
    assert "*X7*" not in at.error[0].value  # which Markdown would take for its own
    assert "try_again" not in [button.key for button in at.button]  # it would be refused again
    order = [one.value for one in at.main if one.type in ("subheader", "error")]
    place = next(n for n, text in enumerate(order) if "X7" in text)
    assert order[place - 1 : place + 2 : 2] == [
        "Which products take the FLOP", "Work over the context",
    ]  # fmt: skip


def test_a_run_that_is_too_large_says_what_it_needs_and_what_it_may_have(monkeypatch):
    monkeypatch.setattr("ui.words.text.settings", lambda: {"lang": "en"})
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "1")
    with pytest.raises(MemoryBudgetError) as refused:
        budget.require(3 * 2**30, "a run", "fewer heads")
    said = prose.reason(refused.value)
    assert re.findall(r"[\d.]+ GiB", said) == ["3.00 GiB", "1.00 GiB"]
