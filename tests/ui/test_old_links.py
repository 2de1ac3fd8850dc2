"""Links out of old lectures and mails open as on the day when they were drawn.

`old_links.json` has 200 of them, drawn at random (with seeds) from the table of settings of the
flat `ui` folder, several for every page: valid, out of range, wrong and unknown, in both languages,
with presets, stops of the tour of then and lecture mode. Where the story, which took the tour's
place, has another page at that number, the page opens as it did, outside the story; and some pages
begin otherwise now: the worked example with two tokens, compression with a falling spectrum, the
cache page with the link's model where it names one, and with as many sequences as eight GPUs hold.
One statement more is decided, so the claims page counts otherwise (test_claims has its numbers).
The pages of values begin with a trained model, so here their links name the model of then.
A text may have more made-up words than the most of then, so a link to more has that many here.
A step of a layer with a window reads no more than that (compute: Gemma-2-9B and Mistral-7B).
No context goes beyond the length that a model was published for. Where a title says more or
something else (maps: what the heads look at; decode: that its numbers are float32), its numbers are
the new ones. DeepSeek-V3.2 opens as the sparse model that it is, A.X-K1 with its whole context, and
notation counts the symbols of what came after MLA. What was compression's title is a sentence
of the layer, below what a smaller cache costs. Beside each stands what that app made of it: the
settings that differ from the defaults, the parameters in the URL, the numbers of the title. Nothing
here imports a module of the app, so that the app can be rearranged while this file stays.
"""

import html
import json
import re
from pathlib import Path

import pytest

from tests.sampling import covering
from tests.ui.screen import lead, prose

OLD = json.loads(Path(__file__).with_name("old_links.json").read_text("utf-8"))
NOW = {
    "preset": "trained",
    "vs_view": "auto",
    "notation_of": "auto",
}  # defaults that are others now
MOST_WORDS = 1024  # made up, of then
UNKNOWN = "gpt-9"  # to this app and that one
OF_VALUES = "attention_maps", "absorption", "compression", "decode", "compare"
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")


def numbers(text: str) -> list[str]:
    """Return the numbers of a title, sorted, since better words may reorder them."""
    return sorted(NUMBER.findall(html.unescape(text)))


def in_chinese(found: list[str]) -> list[str]:
    """Return the first digits of numbers: then in thousands and millions, now in 万 and 亿."""
    return sorted(re.sub("[.,]", "", number).strip("0")[:3] for number in found)


def of_page(old: dict) -> str:
    return "app.py" if old["page"] == "overview" else f"pages/{old['page']}.py"


def given(old: dict) -> list[tuple[str, object]]:
    """Return its page, each setting that it names and whether its value is taken, its language."""
    names = [(name, name in old["settings"]) for name in old["link"]]
    return [("page", old["page"]), *names, ("lang", old["link"].get("lang"))]


@pytest.mark.parametrize("old", covering(OLD["links"], 82, given), ids=of_page)
def test_an_old_link_opens_as_it_did(opened, old):
    link = old["link"]
    if old["page"] in OF_VALUES and link.get("preset", UNKNOWN) == UNKNOWN:
        link = link | {"preset": OLD["defaults"]["preset"]}
    words = link.get("map_generated", "")
    if words.isdigit() and int(words) > MOST_WORDS:
        link = link | {"map_generated": str(MOST_WORDS)}
    at = opened(of_page(old), **link)
    settings = at.session_state["settings"]
    wanted, url = OLD["defaults"] | old["settings"], dict(old["url"])
    for name, default in NOW.items():
        if wanted[name] == link.get(name) == OLD["defaults"][name]:
            url[name] = link[name]
        elif name not in old["settings"]:
            wanted[name] = default
    assert {name: settings[name] for name in OLD["defaults"]} == wanted
    assert at.query_params == url
    if old["page"] != "claims":
        number, line = lead(at)  # which need not say the number again
        said = [line, f"{number} {line}"]
        said += prose(at) if old["page"] == "compression" else []
        written = in_chinese if re.search("[万亿]", said[1]) else sorted
        assert written(old["title"]) in [written(numbers(text)) for text in said]
