"""The comparison by hand: controls, refusals, real weights and both languages."""

import html
import re
from pathlib import Path

from mla_engine import PRESETS
from tests.ui.controls import control
from tests.ui.pages.test_compare import LINK, PAGE
from tests.ui.screen import charts, says, statement, texts
from ui.engine import shared_cache

VARIANTS = ["MHA", "GQA", "MQA", "MLA, expanded", "MLA, absorbed", "DSA, absorbed"]
VARIANTS += ["CSA", "HCA", "KDA", "Block DSA"]


def test_the_choices_are_those_there_are(opened):
    at = opened(PAGE, **LINK)
    for letter, side in (("A", "vs_left"), ("B", "vs_right")):
        sizes, shown = control(at, side), control(at, f"{side}_as")
        assert (sizes.label[0], shown.label[0]) == (letter, letter)
        assert len(sizes.options) == 2 + len(PRESETS)
        assert shown.options == ["its own attention", *VARIANTS]
    control(at, "vs_view").set_value("costs").run()
    lengths = control(at, "vs_context").options
    assert lengths == [f"{2**n:,}" for n in range(10, 18)]  # V3's 163,840
    control(at, "vs_view").set_value("maps").run()
    assert (control(at, "vs_head").min, control(at, "vs_head").max) == (0, 5)


def test_a_side_that_cannot_be_built_is_refused_and_the_pickers_stay(opened, monkeypatch):
    def refuse(*_: object) -> None:
        raise ValueError("these sizes cannot be")

    monkeypatch.setattr("ui.sources.model.Model.config", refuse)
    lite = {"preset": "deepseek-v2-lite"}
    at = opened(PAGE, **lite, vs_left="kimi-k2", vs_right="kimi-k2")
    assert not at.error  # neither side has the sizes above
    at = opened(PAGE, **lite, vs_right="kimi-k2", code="source")
    assert statement(at) == ""
    assert [error.value for error in at.error] == ["This cannot run: these sizes cannot be"]
    assert not charts(at)
    assert any("no code" in info.value for info in at.info)
    assert len(opened(PAGE, **lite).error) == 2
    control(at, "vs_left").set_value("kimi-k2").run()
    assert not at.error
    assert "A: Kimi-K2" in statement(at)


def test_maps_beyond_the_memory_budget_are_refused(opened, monkeypatch):
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", "0.0001")
    shared_cache.clear()
    at = opened(PAGE, vs_view="maps", seed="4711")
    assert len(at.error) == 1
    assert not charts(at)
    assert control(at, "vs_head").value == 0


def test_what_is_not_computed_of_a_model_is_said_once(opened):
    at = opened(PAGE, **LINK | {"vs_left": "gpt-oss-20b", "vs_right": "gpt-oss-20b"})
    notes = [m.value for m in at.main.markdown if "sink logit" in m.value]
    assert len(notes) == 1
    assert PRESETS["gpt-oss-20b"].name in notes[0]
    assert not any("sink logit" in text for text in texts(opened(PAGE, **LINK)))


def test_whose_weights_the_maps_are_of(opened, demo, request):
    name = "*x*_y_`$1`|[a](b)#"
    link = Path(demo).with_name(name)
    link.symlink_to(demo)
    request.addfinalizer(link.unlink)
    given = {"source": str(link), "layer": "1", "text": "The cat sat.", "vs_view": "maps"}

    def said(**also: str) -> str:
        at = opened(PAGE, **given | also)
        assert not set("*_`$|[]") & set(statement(at))
        named = [chart.alt.split("MLA")[0].split(", queries")[0] for chart in charts(at)]
        assert name in named[0]
        weights = next(c.value for c in at.main.caption if "last head" in c.value)
        assert not set("*_`$|[]") & set(weights)
        return html.unescape(weights)

    both = said(vs_right_as="mla_absorbed")
    assert re.fullmatch(
        "Both sides have the weights of .*, and read its real inputs; .* last head.".replace(
            ", and", " and"
        ),
        both,
    )
    one = said(vs_right_as="mha")
    assert says(one, "compare.one_real", real=f"A: {name}, MLA, absorbed")
    assert says(one, "compare.one_real", drawn="B")
    other = said(vs_left_as="gqa", vs_right_as="own")
    assert other.startswith(f"B: {name}, MLA, absorbed has the weights")
    assert says(other, "compare.one_real", drawn="A")


def test_a_real_layer_is_compared_under_its_own_name(real, demo):
    at = real("compare", vs_right_as="gqa", vs_right="llama-3-8b")
    assert control(at, "vs_left").options[0] == Path(demo).name
    assert html.unescape(statement(at)).startswith(f"A: {Path(demo).name}, MLA, absorbed keeps")
    assert at.table[0].value.loc["Layers of the model", "A"] != "none"
