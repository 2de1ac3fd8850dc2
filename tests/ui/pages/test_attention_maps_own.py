"""The page with the app's own real model: its opening, its sentences, a text of the reader's."""

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.ui.controls import control, controls, pressed
from tests.ui.screen import charts, clicked, lead, percent, plain, said, says
from ui.pages.attention_maps.sentences import EXAMPLES

PAGE = "pages/attention_maps.py"
OPENED, QUOTED = EXAMPLES["induction"], EXAMPLES["quotation"]
NINTH = "noun"  # whose head the small model has not


def maps_of(folder: str, text: str, layer: int) -> tuple[list[str], np.ndarray]:
    """The pieces without their spaces and a layer's maps [h,t,s], by transformers."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")
    ids = tokenizer(text)["input_ids"]
    model = LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        maps = model(torch.tensor([ids]), output_attentions=True).attentions[layer][0]
    return [tokenizer.decode([one]).strip() for one in ids], maps.double().numpy()


def chart(drawn) -> str:
    return drawn.clicks


def test_it_opens_at_a_head_and_says_what_the_cell_holds(opened, own_model):
    words, maps = maps_of(own_model, OPENED.text, 17)
    query, best = OPENED.shows["map_query"], int(maps[5, OPENED.shows["map_query"]].argmax())
    app = opened(PAGE, map_key=str(best))
    number, line = map(plain, lead(app))
    assert number == percent(maps[5, query, best])
    assert says(line, "attention_maps.look_most_of_layer", head="5", layer="17")
    assert f"\u2068{words[query]}\u2069" in line
    assert "seed" not in controls(app)
    assert {"heads", "large", "scores"} <= {chart(one) for one in charts(app)}


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {NINTH}))
def test_a_sentence_brings_its_head_and_cell(opened, own_model, name):
    app, shown = pressed(opened(PAGE), f"example_{name}"), EXAMPLES[name]
    settings = app.session_state["settings"]
    assert shown.settings.items() <= settings.items()
    _, maps = maps_of(own_model, shown.text, shown.shows["layer"])
    drawn = clicked(app, "large").values(0, "z")
    head, seen = shown.shows["map_head"], np.tril(np.ones_like(drawn, dtype=bool))
    assert drawn[seen] == pytest.approx(maps[head][seen], abs=2e-5)


def test_another_head_is_not_told_by_the_pairs_of_a_sentence(opened, own_model):
    values = {"text": QUOTED.text} | QUOTED.shows | {"map_head": 7, "source": ""}
    app = opened(PAGE, **{name: str(value) for name, value in values.items() if value != ""})
    assert not any(says(one, "examples.pairs_quotation") for one in said(app)), (
        "of the head of the example alone"
    )
    assert any(one.startswith(("Head 7 shows none", "On this text head 7")) for one in said(app))


def test_a_text_of_the_readers_own_is_seen_at_its_strongest_look(opened, own_model):
    app, text = opened(PAGE), "The cat sat on the mat, and the cat looked at the moon."
    control(app, "text").set_value(text).run()
    _, maps = maps_of(own_model, text, 17)
    earlier = np.tril(maps[5], -1)
    earlier[:, 0] = 0
    query, key = np.unravel_index(earlier.argmax(), earlier.shape)
    settings = app.session_state["settings"]
    assert (settings["map_query"], settings["map_key"]) == (query, key)
    assert plain(lead(app)[0]) == percent(maps[5, query, key])


def test_the_layer_stands_beside_the_head(opened, own_model):
    app = opened(PAGE)
    control(app, "layer_beside").set_value(3).run()
    assert app.session_state["settings"]["layer"] == 3
    assert "of layer 3" in plain(lead(app)[1])


def test_a_static_copy_offers_every_layer_and_head_by_name(opened, own_model, monkeypatch):
    monkeypatch.setenv("MLA_RECORDED", "1")
    app, sizes = opened(PAGE), LlamaConfig.from_pretrained(own_model)
    every = {"layer_beside": sizes.num_hidden_layers, "map_head": sizes.num_attention_heads}
    for name, count in every.items():
        offered = app.select_slider(key=f"{name}").options
        assert offered == [str(number) for number in range(count)]


@pytest.mark.parametrize("text", ["Hi", "🙂🙃🙂🙃", "北京是中国的首都。", "a " * 900])
def test_any_text_is_read_or_refused_and_stays(opened, own_model, text):
    app = opened(PAGE)
    control(app, "text").set_value(text).run()
    assert not app.exception
    assert app.session_state["settings"]["text"] == text
    assert control(app, "text").value == text
    refused = [plain(one.value) for one in app.error]
    assert bool(refused) == (len(text) > 1000)
    assert all("512" in one for one in refused), "the most that can be read"


def test_a_quotation_is_told_by_the_pairs_of_its_sentence(opened, own_model):
    app = pressed(opened(PAGE), "example_quotation")
    _, maps = maps_of(own_model, QUOTED.text, 10)
    line = next(one for one in map(plain, said(app)) if "from a closing quotation mark" in one)
    for query, key in QUOTED.pairs:
        given = maps[3, query, key]
        assert (percent(given) if given > 1e-5 else "less than 0.001 %") in line
