"""Terms explained where they stand, and random weights called so beside their pictures."""

import re
from collections.abc import Callable

import pytest

from ui.frame.pages import PAGES
from ui.parts import prose
from ui.settings.shared import LANGUAGES
from ui.settings.visit import Visit
from ui.words import glossary

MARK = prose.weights_mark  # before conftest takes it away
TERM = re.compile(r'<span class="term" tabindex="(-?\d)" aria-description="([^"]+)">([^<]+)</span>')


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.parts.prose.explained", glossary.explained)
    monkeypatch.setattr("ui.parts.prose.weights_mark", MARK)


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Explain a text as one page of its own shows it."""
    page = Visit(PAGES["overview"])
    monkeypatch.setattr(glossary, "visit", lambda: page)

    def of(text: str, lang: str = "en") -> str:
        monkeypatch.setattr(glossary, "settings", lambda: {"lang": lang})
        return glossary.explained(text)

    return of


def marked(text: str) -> list[str]:
    return [word for _, _, word in TERM.findall(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("MLA keeps one latent per token, and every token has heads.", "MLA latent token heads"),
        ("A KV cache has 8 KV heads; a head reads the cache.", "KV cache|KV heads|head"),
        (
            "CSA reads pooled entries and a sink, KDA one state.",
            "CSA|pooled entries|sink|KDA|one state",
        ),
        ("Multi-head Latent Attention in a headline, ahead of latency", ""),
        ("after “anna key ben” a model expects “key”, one token", "token"),
        ("`token` in code, $head$ in a formula, **MLA** in bold, [a token](x) in a link", ""),
        ('<span class="tensor latent" title="shared latent">c</span> is a latent', "latent"),
    ],
)
def test_the_first_of_each_term_is_marked_and_nothing_else(explained, text, words):
    found = explained(text)
    assert marked(found) == (words.split("|") if "|" in words else words.split())
    assert TERM.sub(r"\3", found) == text


def test_chinese_terms_are_found_within_their_sentence(explained):
    text = "MLA 的 16 个头为每个词元只存一个潜在向量，KV 缓存就小；开头与箭头不是头数。"
    found = explained(text, "zh")
    assert marked(found) == ["MLA", "头", "词元", "潜在向量", "KV 缓存"]
    assert TERM.sub(r"\3", found) == text


def test_keys_reach_a_term_once_a_page(explained):
    places = [TERM.findall(explained(text))[0][0] for text in ("a token", "one more token")]
    assert places == ["0", "-1"]


def test_every_term_has_its_meaning_in_every_language():
    for name, entry in glossary.terms().items():
        assert set(entry["means"]) == set(entry["written"]) == set(LANGUAGES), name
        assert len(set(entry["means"].values())) == len(LANGUAGES), name


@pytest.mark.usefixtures("marks")
def test_a_real_layers_weights_are_not_called_random(real):
    for page, link in (
        ("attention_maps", {}),
        ("absorption", {}),
        ("compare", {"vs_view": "maps"}),
    ):
        at = real(page, **link)
        marked_b = [written.value for written in at.markdown if "random weights" in written.value]
        assert all(value.startswith("**B: ") for value in marked_b)
        assert len(marked_b) == (page == "compare")  # as MHA they are not the model's own
