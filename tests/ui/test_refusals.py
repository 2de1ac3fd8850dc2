"""Refusals of the engine on the screen, in the reader's language."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from mla_engine import GroupedConfig
from mla_engine.refusals import RefusedError, sentence
from tests.ui.screen import refusal
from ui.engine.folders import inside
from ui.engine.queue import Queue
from ui.words.text import catalogue

Opened = Callable[..., AppTest]
LANGUAGES = ("en", "zh")
SIZES = {"d_model": 128, "n_heads": 8, "n_kv_heads": 3, "d_head": 16}


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("zh", "n_heads（8）必须是 n_kv_heads（3）的整数倍：请试 1, 2, 4 或 8"),
        ("en", "n_heads (8) must be a multiple of n_kv_heads (3): try 1, 2, 4 or 8"),
    ],
)
def test_refused_sizes_are_said_in_the_readers_language(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, lang: str, words: str
) -> None:
    monkeypatch.setattr("ui.engine.model.built", lambda *_: GroupedConfig(**SIZES))
    assert refusal(opened(lang=lang)) == catalogue()["common.refused"][lang].format(reason=words)


@pytest.mark.parametrize(
    ("lang", "words"),
    [("zh", "16 张 GPU 要分摊 8 个头"), ("en", "ranks (16) split n_heads (8)")],
)
def test_a_refusal_beside_a_model_is_said_in_the_readers_language(
    opened: Opened, lang: str, words: str
) -> None:
    view = {"kv_view": "parallel", "kv_ranks": "16", "kv_left": "gemma-2b", "lang": lang}
    assert words in refusal(opened("pages/kv_cache.py", **view))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_why_a_real_layer_cannot_be_read_is_said_in_the_readers_language(
    opened: Opened, lang: str
) -> None:
    with pytest.raises(RefusedError) as refused:
        inside("../no such *model*")
    at = opened("pages/real_models.py", source="../no such *model*", lang=lang)
    assert sentence(refused.value, lang) in refusal(at)


def test_a_full_line_is_refused_by_its_length() -> None:
    with pytest.raises(RefusedError) as refused, Queue(-1, 1).turn():
        pass
    assert (refused.value.code, refused.value.values) == ("waiting", {"most": -1})


@pytest.mark.parametrize("lang", LANGUAGES)
def test_another_refusal_keeps_its_words(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("d_head (3) must be *even*")

    monkeypatch.setattr("ui.engine.model.built", refuse)
    assert "d_head (3) must be *even*" in refusal(opened(lang=lang))
