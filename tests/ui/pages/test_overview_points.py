"""The overview of each variant that came after MLA: its own point, and no word of what it lacks."""

import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.screen import component, prose

Opened = Callable[..., AppTest]
LATER = "dsa", "csa", "hca", "kda"
ABSENT = {"c_KV": ("csa", "hca", "kda"), "k_C": LATER, "v_C": LATER}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("variant", LATER)
def test_each_has_a_title_and_sentences_of_its_own(opened: Opened, variant: str, lang: str) -> None:
    at, mla = opened(variant=variant, lang=lang), opened(lang=lang)
    (title,) = (element.value for element in at.title)
    assert title.startswith(variant.upper())
    assert len(title.split()) <= 10
    assert len(re.sub(r"[A-Za-z]+", "x", title)) <= 20 or lang == "en"
    own, of_mla = sentences(at), sentences(mla)
    assert not {text for text in own if len(text) > 100} & {*of_mla}
    blocks = {block["code"] for block in component(at, "scene")["blocks"]}
    for code, lacking in ABSENT.items():
        assert (variant in lacking) == (code not in blocks)
        assert variant not in lacking or code not in named(own)
    assert named(own)
    assert named(own) <= blocks


@pytest.mark.parametrize(
    ("variant", "sizes"), [("dsa", {"2,048"}), ("csa", {"4", "512", "128"}), ("hca", {"128"})]
)
def test_what_to_look_at_has_the_sizes_of_the_layer(
    opened: Opened, variant: str, sizes: set[str]
) -> None:
    (look,) = [
        text for text in sentences(opened(variant=variant)) if "A model reads tokens" in text
    ]
    assert set(re.findall(r"\d[\d,]*", look)) == sizes


def sentences(at: AppTest) -> list[str]:
    return list(prose(at))


def named(texts: list[str]) -> set[str]:
    """The symbols that a text names in their colours, by their codes."""
    spans = re.findall(r'<span class="tensor[^>]*>(.*?)</span>', " ".join(texts))
    parts = [re.sub(r"</su[bp]>", "", span) for span in spans]
    return {re.sub(r"<su[bp]>", "_", part) for part in parts}
