"""Two trained models over the same sentence: what is drawn and said is their own traces."""

import re

import numpy as np
import pytest

from mla_engine import costs
from tests.ui.controls import control
from tests.ui.pages.test_attention_maps_trained import OWN, attention, nth, run
from tests.ui.screen import charts, own, prose, says, statement
from tests.ui.trained_models import CACHED, LAYERS, TRAINED_ON, VARIANTS, model
from ui.words.numbers import count, share

PAGE = "pages/compare.py"
SEEN = np.tril(np.ones((9, 9), dtype=bool))
A, B = "A: trained model, MLA, absorbed", "B: trained model, MHA"


def looks(variant: str, layer: int = 1, text: str = OWN) -> np.ndarray:
    """The attention of all heads of a model's layer [h,t,s]."""
    return attention(text, variant, layer).attention[0].numpy()


def likeliest(variant: str, text: str = OWN) -> str:
    return model(variant).config.words[int(run(text, variant).logits[0, -1].argmax())]


def bare(text: str) -> str:
    """Without marks of bold and of where a foreign word begins and ends."""
    return re.sub(r"[\u2066-\u2069*]", "", text)


def captions(at) -> list[str]:
    return [bare(caption.value) for caption in own(at, "caption")]


@pytest.mark.parametrize(("layer", "head"), [(1, 0), (0, 3)])
def test_the_page_begins_with_the_maps_of_both_models(seen, layer, head):
    at = seen(PAGE, **({"trained_layer": "0"} if layer == 0 else {}), vs_head=str(head)).at
    assert says(at.title[0].value, "compare.title_trained")
    assert control(at, "vs_view").value == "maps"
    assert "vs_view" not in at.query_params
    assert says(statement(at), "compare.line", left=A, a=CACHED["mla"], right=B, b=CACHED["mha"])
    both = looks("mla_absorbed", layer), looks("mha", layer)
    for chart, maps in zip(charts(at), both, strict=True):
        expected = np.where(SEEN, maps[head], np.nan)
        np.testing.assert_allclose(chart.values(0, "z"), expected, rtol=1e-5, atol=1e-6)
        frame = chart.layout["shapes"][0]
        assert (frame["x0"], frame["y0"]) == (0.5, 7.5), "from anna to what followed her"
        assert chart.layout["height"] == 400
    said = [bare(line) for line in prose(at)]
    anna, lamp = bare(nth(OWN, 8)), bare(nth(OWN, 1))
    a, b = (share(float(maps[head, 8, 1])) for maps in both)
    next_a, next_b = likeliest("mla"), likeliest("mha")
    after = f"Both expect “{next_a}” next." if next_a == next_b else None
    after = after or f"A expects “{next_a}” next, B “{next_b}”."
    gives = f"head {head} of A gives {lamp} {a}, head {head} of B {b}."
    assert f"From {anna}, {gives} {after}" in said
    assert not any(line.startswith("They differ most") for line in said)
    notes = [note for note in captions(at) if "the heads look most" in note]
    for letter, maps, told in zip("AB", both, notes, strict=True):
        each = (
            f"{number}: {bare(nth(OWN, int(row.argmax())))} {share(float(row.max()))}"
            for number, row in enumerate(maps[:, 8])
        )
        assert told.startswith(f"{letter}: ")
        assert says(told, "compare.heads_look", query=anna, each=", ".join(each))
    assert any(says(c, "compare.both_trained", layer=layer) for c in captions(at))


def test_where_the_words_leave_it_open_the_maps_differ_most_somewhere(opened):
    at = opened(PAGE, sentence="anna lamp ben")
    a, b = (looks(variant, 1, "anna lamp ben")[0] for variant in ("mla_absorbed", "mha"))
    apart = np.where(SEEN[:3, :3], np.abs(a - b), -1)
    row, column = np.unravel_index(apart.argmax(), apart.shape)
    frame = charts(at)[0].layout["shapes"][0]
    assert (frame["x0"], frame["y0"]) == (column - 0.5, row - 0.5)
    assert any(says(line, "compare.apart") for line in prose(at))


def test_logits_are_the_models_own(opened):
    at = opened(PAGE, vs_map="scores", vs_left_as="gqa", vs_right_as="mla", vs_head="2")
    grouped, latent = attention(OWN, "gqa"), attention(OWN, "mla")
    a = (grouped.scores[0, 2]).numpy()
    b = (latent.scores_C + latent.scores_R)[0, 2].numpy()
    for chart, values in zip(charts(at), (a, b), strict=True):
        drawn = chart.values(0, "z")
        np.testing.assert_allclose(drawn[SEEN], values[SEEN], rtol=1e-5, atol=1e-5)


def test_one_model_in_two_forms_is_called_so(seen):
    at = seen(PAGE, vs_right_as="mla").at
    assert says(at.title[0].value, "compare.title")
    assert any(says(c, "compare.one_model") for c in captions(at))
    a, b = (chart.values(0, "z") for chart in charts(at))
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_published_model_beside_a_trained_one_is_called_noise(opened):
    at = opened(PAGE, vs_right="llama-3-8b", vs_right_as="own")
    assert says(at.title[0].value, "compare.title")
    assert control(at, "vs_view").value == "flow", "its maps are noise"
    maps = opened(PAGE, vs_right="small", vs_right_as="own", vs_view="maps")
    said = next(c for c in captions(maps) if "noise" in c)
    assert says(said, "compare.one_trained", real="A", layer="1", drawn="B")
    drawn = charts(maps)[0].values(0, "z")
    np.testing.assert_allclose(drawn[SEEN], looks("mla_absorbed")[0][SEEN], rtol=1e-5, atol=1e-6)
    assert any(line.startswith("They differ most") for line in prose(maps))


def test_sizes_and_costs_are_those_of_the_small_models(opened):
    table = opened(PAGE, vs_view="flow").table[0].value
    assert list(table.loc["Layers of the model"])[:2] == [count(LAYERS)] * 2
    parameters = [count(costs.parameters(VARIANTS[code])) for code in ("mla", "mha")]
    assert list(table.loc["Attention parameters per layer"])[:2] == parameters
    at = opened(PAGE, vs_view="costs")
    said = "A trained model is counted at its own small size (width 24, 4 heads)."
    assert any(line.startswith(said) for line in prose(at))
    lite = opened(PAGE, vs_view="costs", preset="deepseek-v2-lite")
    assert not any(line.startswith("A trained model") for line in prose(lite))
    steps = [costs.decode(VARIANTS["mla"], 32768, "absorbed"), costs.decode(VARIANTS["mha"], 32768)]
    moved = charts(at)[1].values("cache read", "x")
    np.testing.assert_allclose(moved, [step.cache_read_bytes / 2**20 for step in steps])


def test_the_sentence_the_layer_and_an_example_are_chosen_below_the_maps(opened):
    at = opened(PAGE)
    control(at, "trained_layer_beside").set_value(0).run()
    drawn = charts(at)[1].values(0, "z")
    np.testing.assert_allclose(drawn[SEEN], looks("mha", 0)[0][SEEN], rtol=1e-5, atol=1e-6)
    at.button(key="example_back").click().run()
    text = control(at, "sentence").value
    words = tuple(text.split())
    assert words[-1] in ("one", "two", "three", "four")
    drawn = charts(at)[0].values(0, "z")
    expected = np.where(np.isfinite(drawn), looks("mla_absorbed", 0, text)[0], np.nan)
    np.testing.assert_allclose(drawn, expected, rtol=1e-5, atol=1e-6)
    control(at, "sentence").set_value(" ".join(["fig"] * (TRAINED_ON + 1))).run()
    assert any(says(line, "maps.beyond", words=TRAINED_ON + 1) for line in prose(at))
