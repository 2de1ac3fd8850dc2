"""Refusals of the engine in the reader's language, by their codes."""

import html
import tomllib
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import PRESETS
from mla_engine.checks import RefusedError
from mla_engine.costs import rank_cache_elements
from ui.engine.queue import Queue
from ui.words.text import catalogue, files

Opened = Callable[..., AppTest]


def full_queue() -> None:
    with Queue(-1, 1).turn():
        pass


REFUSED = {
    "ranks": lambda: rank_cache_elements(PRESETS["gemma-2b"].config, 16),
    "waiting": full_queue,
}


@pytest.mark.parametrize("code", REFUSED)
def test_the_english_sentence_is_the_engines(code: str) -> None:
    with pytest.raises(RefusedError) as refused:
        REFUSED[code]()
    error = refused.value
    assert error.code == code
    assert catalogue()[f"errors.{code}"]["en"].format(**error.values) == str(error)


def test_every_code_is_raised_here() -> None:
    assert set(tomllib.loads(files()["errors"].read_text("utf-8"))) == set(REFUSED)


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [("zh", "16 张 GPU 要分摊 8 个头"), ("en", "ranks (16) split n_heads (8)")],
)
def test_a_refusal_is_said_in_the_readers_language(
    opened: Opened, lang: str, sentence: str
) -> None:
    view = {"kv_view": "parallel", "kv_ranks": "16", "kv_left": "gemma-2b", "lang": lang}
    at = opened("pages/kv_cache.py", **view)
    assert sentence in html.unescape(at.error[0].value)


def test_another_refusal_keeps_the_engines_words(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("d_head (3) must be even")

    monkeypatch.setattr("ui.engine.model.built", refuse)
    at = opened(lang="zh")
    assert "d_head (3) must be even" in html.unescape(at.error[0].value)
