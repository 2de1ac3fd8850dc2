"""Sizes that cannot be: each page that builds a layer says why, and its controls stay."""

import pytest

from tests.ui.controls import controls
from tests.ui.screen import refusal, statement

LITE = {"preset": "deepseek-v2-lite"}
REASON = "d_rope (3) must be even: try *2* or 4"
PAGES = [
    *(("overview", {}), ("rope", {}), ("notation", {}), ("compute", {})),
    *(("absorption", LITE), ("attention_maps", LITE), ("decode", LITE)),
]


@pytest.mark.parametrize(("page", "link"), PAGES)
def test_sizes_that_cannot_be_are_refused_and_the_controls_stay(opened, monkeypatch, page, link):
    def refuse(*_: object) -> None:
        raise ValueError(REASON)

    script = "app.py" if page == "overview" else f"pages/{page}.py"
    usual = set(controls(opened(script, **link)))
    monkeypatch.setattr("ui.engine.model.built", refuse)
    at = opened(script, **link, code="snippet")
    assert refusal(at) == f"This cannot run: {REASON}"
    assert "*" not in at.error[0].value
    assert statement(at) == ""
    assert len(at.get("plotly_chart")) == 0
    assert len(set(controls(at)) & usual) >= 10
    assert not at.code
    assert "no code" in at.info[0].value
