"""Numbers that stand on several pages agree, over one link, with each other and with formulas.

What a page says is parsed from what it shows. The sizes are typed here from the models' published
configurations and counted by formulas written here: nothing of the engine is asked.
"""

import re
from dataclasses import dataclass

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.screen import lead, plain, said, statement

UNITS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "k": 1e3, "": 1}


@dataclass(frozen=True)
class Model:
    """A configuration by its link, and what follows from its sizes."""

    link: dict[str, str]
    d: int
    h: int
    k: int
    v: int
    c: int
    r: int
    l: int = 0  # noqa: E741 - the letter of the query latent
    g: int = 0  # KV heads of a grouped model, which has no latent
    layers: int = 0  # of a published model

    @property
    def cache(self) -> int:
        """Return the numbers cached per token and layer."""
        return self.g * (self.k + self.v) if self.g else self.c + self.r

    @property
    def mha(self) -> int:
        """Return the same of MHA with these heads: a key and a value of each."""
        return self.h * (self.k + self.v)

    @property
    def parameters(self) -> int:
        """Return the parameters of one layer."""
        if self.g:
            keys_and_values = self.g * (self.k + self.v)
            return self.d * (self.h * self.k + keys_and_values + self.h * self.v)
        wide = self.h * (self.k + self.r)
        query = self.d * self.l + self.l * wide if self.l else self.d * wide
        keys_and_values = self.c * self.h * (self.k + self.v)
        return query + self.d * (self.c + self.r) + keys_and_values + self.h * self.v * self.d


MODELS = {
    "v3": Model(
        {"preset": "deepseek-v3"}, d=7168, h=128, k=128, v=128, c=512, r=64, l=1536, layers=61
    ),
    "v2-lite": Model(
        {"preset": "deepseek-v2-lite"}, d=2048, h=16, k=128, v=128, c=512, r=64, layers=27
    ),
    "small": Model({"preset": "small"}, d=64, h=4, k=16, v=16, c=32, r=8, l=48),
    "grouped": Model(
        {"preset": "llama-3-8b"}, d=4096, h=32, k=128, v=128, c=512, r=64, g=8, layers=32
    ),
    "own sizes": Model(
        {"d_model": "1024", "n_heads": "8", "d_head": "64", "d_value": "96",
         "d_latent_kv": "192", "d_latent_q": "256", "d_rope": "32"},
        d=1024, h=8, k=64, v=96, c=192, r=32, l=256,
    ),
    "own groups": Model(
        {"preset": "llama-3-8b", "n_kv_heads": "4", "d_value": "64"},
        d=4096, h=32, k=128, v=64, c=512, r=64, g=4,
    ),
    "wide values": Model(
        {"preset": "glm-4.7-flash"}, d=2048, h=20, k=192, v=256, c=512, r=64, l=768, layers=47
    ),
}  # fmt: skip
PUBLISHED = [name for name, one in MODELS.items() if one.layers]


def amount(text: str) -> float:
    """Return the first number of a text with its unit: "1.12 KiB", "187 M", "32,768", "56.9x"."""
    for quarters, decimals in {"¼": ".25", "½": ".5", "¾": ".75"}.items():
        text = text.replace(quarters, decimals)
    found = re.search(r"([\d,]*\.?\d+)(?:\s?([KMGTk])?(iB|B)?\b)?", text.replace("\xa0", " "))
    number, unit, kind = float(found[1].replace(",", "")), found[2] or "", found[3]
    return number * (1024.0 ** " KMGT".index(unit) if kind == "iB" and unit else UNITS[unit])


def near(value: float, *, digits: int = 3) -> object:
    """Return a number to compare with one that was printed with so many digits."""
    return pytest.approx(value, rel=0.5001 * 10.0 ** (1 - digits))


def stating(at: AppTest, words: str) -> str:
    """Return the first text of the page with these words."""
    return next(text for text in said(at) if words in text)


def row(at: AppTest, name: str) -> list[str]:
    """Return the row of the first table that has one of this name."""
    return next(list(w.value.loc[name]) for w in at.table if name in w.value.index)


def metric(at: AppTest, label: str) -> float:
    return amount(next(w.value for w in at.metric if w.label == label))


@pytest.mark.parametrize("name", MODELS)
def test_cache_parameters_and_ratio(opened, name):
    """Overview, comparison, decode page and glossary."""
    one = MODELS[name]
    home = opened(**one.link)
    compare = opened("pages/compare.py", **one.link)
    decode = opened("pages/decode.py", **one.link, dec_heads="1")
    cached, mha = (amount(cell) for cell in row(compare, "Numbers cached per token and layer")[:2])
    assert metric(home, "Cache per token") == cached == one.cache
    assert amount(re.search(r"remembers ([\d,]+)", statement(home))[1]) == cached
    assert amount(stating(home, "MHA keeps")) == mha == one.mha
    assert amount(stating(home, "in bf16").split(",")[1]) == near(2 * cached)
    assert metric(home, "MHA / this") == near(mha / cached)
    assert amount(lead(compare)[0]) == metric(home, "MHA / this")
    assert metric(home, "Same memory as GQA with") == near(cached / (one.k + one.v))
    assert metric(home, "Parameters") == near(one.parameters)
    parameters = row(compare, "Attention parameters per layer")
    assert amount(parameters[0]) == metric(home, "Parameters")

    tokens = amount(re.search(r"(?:after|,) ([\d,]+) tokens", statement(decode))[1])
    kept = f"GQA, g = {one.g}" if one.g else "MLA, absorbed"
    assert amount(row(decode, kept)[0]) == near(4 * tokens * cached)  # float32
    assert amount(row(decode, "MHA")[0]) == near(4 * tokens * mha)
    assert amount(lead(decode)[0]) == near(4 * tokens * cached)


@pytest.mark.parametrize("name", PUBLISHED)
def test_bytes_of_the_whole_model(opened, name):
    """The cache page over the model's layers, and its other baselines."""
    one = MODELS[name]
    preset = one.link.get("preset", "deepseek-v2-lite")
    tokens = 2**17
    at = opened("pages/kv_cache.py", kv_left=preset, kv_context=str(tokens))
    numbers = [amount(text) for text in re.findall(r"[\d.,]+ [KMGT]iB", plain(statement(at)))]
    whole, mha = (2 * one.layers * tokens * n for n in (one.cache, one.mha))
    assert numbers == [near(whole), near(mha)]
    product = stating(at, "This model keeps")
    factors = [amount(n) for n in re.findall(r"[\d,]+(?= (?:numbers|caches|tokens))", product)]
    assert factors == [one.cache, one.layers, tokens]
    assert amount(re.search(r"\*\*(.*?)\*\*", product)[1]) == numbers[0]
    assert amount(row(at, "MHA")[0].split("=")[1]) == one.mha
    ratio = re.search(r"([\d.,]+)× as much", statement(at))[1]
    assert amount(ratio) == near(one.mha / one.cache)
    if not one.g:
        expanded = one.h * (one.k + one.r + one.v)
        found = re.search(r"= ([\d,]+) numbers, the ratio is ([\d.]+)×", stating(at, "own heads"))
        assert amount(found[1]) == expanded
        assert amount(found[2]) == near(expanded / one.cache)
        layouts = opened("pages/kv_cache.py", kv_left=preset, kv_view="layouts")
        said_there = plain(statement(layouts))
        assert f"{expanded:,}" in said_there
        assert f"{one.cache:,}" in said_there
