"""Sizes that cannot be: each page that builds a layer says why, and its controls stay."""

import pytest

from tests.ui.controls import controls
from tests.ui.screen import charts, refusal, statement

REASON = "d_rope (3) must be even: try *2* or 4"
OF_PAGE = {  # some of its own controls
    "overview": ["d_model"],
    "rope": ["rope_topic"],
    "notation": ["d_model"],
    "compute": ["cost_gpu", "cost_phase"],
    "absorption": ["ab_side", "ab_context"],
    "attention_maps": ["map_text", "map_temperature"],
    "decode": ["dec_speed"],
}


@pytest.mark.parametrize("page", OF_PAGE)
def test_sizes_that_cannot_be_are_refused_and_the_controls_stay(opened, monkeypatch, page):
    def refuse(*_: object) -> None:
        raise ValueError(REASON)

    script = "app.py" if page == "overview" else f"pages/{page}.py"
    monkeypatch.setattr("ui.sources.model.built", refuse)
    at = opened(script, preset="deepseek-v2-lite", code="snippet")
    assert refusal(at) == f"This cannot run: {REASON}"
    assert "*" not in at.error[0].value
    assert statement(at) == ""
    assert len(charts(at)) == 0
    assert {*OF_PAGE[page], "preset"} <= set(controls(at))
    assert not at.code
    assert "no code" in at.info[0].value
