"""The page with the app's own real model: what it opens with, its links, its sentences."""

import shutil
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from tests.ui.controls import controls
from tests.ui.screen import charts, clicked, component, plain, said, statement
from ui.pages.real_models.sentences import EXAMPLES
from ui.sources import checkpoint
from ui.sources.small_model import AS_TRAINED

PAGE, OTHER = "pages/real_models.py", "pages/rope.py"
OPENED = EXAMPLES["induction"]
LAYER, HEAD = OPENED.shows["layer"], OPENED.shows["map_head"]
NAMES = AS_TRAINED.names
OWN, ELSEWHERE = NAMES


def maps_of(folder: str, text: str, layer: int) -> tuple[list[int], torch.Tensor]:
    """The tokens and a layer's maps [h,t,s], by transformers."""
    ids = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")(text)["input_ids"]
    model = LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        maps = model(torch.tensor([ids]), output_attentions=True).attentions[layer][0]
    return ids, maps.double()


def link_of(app) -> dict[str, str]:
    """Return the link that the button copies."""
    return dict(parse_qsl(urlsplit(component(app, "copy_link")["link"]).query))


def shows(app, folder: str, text: str, layer: int, head: int) -> None:
    chart, (_, maps) = clicked(app, "large"), maps_of(folder, text, layer)
    values = maps[head].numpy()
    seen = np.tril(np.ones_like(values, dtype=bool))
    assert chart.values(0, "z")[seen] == pytest.approx(values[seen], abs=2e-5)


def test_it_opens_with_the_apps_own_model(opened, own_model):
    app = opened(PAGE)
    assert "layer 17, head 5 of smollm2-135m-instruct (8 heads read" in plain(statement(app))
    shows(app, own_model, OPENED.text, 17, HEAD)
    assert not app.warning
    assert not app.query_params.keys() & {"source", "text", "map_head"}


def test_its_link_opens_the_same_for_somebody_else(opened, own_model):
    link = link_of(opened(PAGE, map_head="0"))
    assert (link["source"], link["text"], link["map_head"]) == (OWN, OPENED.text, "0")
    app = opened(PAGE, **link)
    assert "layer 17, head" in statement(app)
    shows(app, own_model, OPENED.text, 17, 0)
    shutil.rmtree(own_model)
    missing = opened(PAGE, **link)
    assert f"{OWN} cannot be shown" in plain(missing.error[0].value)
    assert not charts(missing)


def test_it_is_found_where_a_server_puts_it(opened, models, own_saved, monkeypatch):
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", NAMES)
    shutil.copytree(own_saved, AS_TRAINED.folder())
    try:
        app = opened(PAGE)
        assert "layer 17, head 5 of smollm2-135m-instruct (8 heads read" in plain(statement(app))
        assert link_of(app)["source"] == ELSEWHERE
    finally:
        shutil.rmtree(models / ELSEWHERE)


def test_a_text_for_which_a_link_has_no_room_is_left_out_of_it(opened, own_model):
    app = opened(PAGE, text="猫" * 400)
    assert "text" not in link_of(app)
    assert link_of(app)["source"] == OWN
    assert "“text”" in app.warning[0].value


def test_a_source_that_is_named_opens_as_without_it(opened, own_model, demo):
    app = opened(PAGE, source=demo)
    assert "In layer 0 of it's a demo" in statement(app)
    assert app.session_state["settings"]["text"] == ""
    app = opened(PAGE, source=OWN)
    assert "layer 0, head 0 of smollm2" in statement(app)


def test_it_stays_on_its_page(opened, own_model):
    app = opened(PAGE)
    app.query_params.clear()
    app.switch_page(OTHER).run()
    settings = app.session_state["settings"]
    assert (settings["source"], settings["layer"], settings["text"]) == ("", 0, "")
    assert settings["map_head"] == 0
    assert not app.error


def test_another_model_is_opened_at_its_first_layer(opened, own_model, demo):
    app = opened(PAGE)
    app.text_input(key="source").set_value(demo).run()
    assert "In layer 0 of it's a demo" in statement(app)
    app.text_input(key="source").set_value("").run()
    assert "layer 17, head" in statement(app)


@pytest.mark.parametrize("name", ["previous", "code"])
def test_an_example_brings_its_sentence_head_and_cell(opened, own_model, name):
    app, example = opened(PAGE), EXAMPLES[name]
    shown = SimpleNamespace(**example.shows)
    app.button(key=f"example_{name}").click().run()
    shows(app, own_model, example.text, shown.layer, shown.map_head)
    frame = clicked(app, "large").layout["shapes"][0]  # small cells: in pixels around its middle
    assert (frame["xanchor"], frame["yanchor"]) == (shown.map_key, shown.map_query)


def test_what_a_head_does_is_its_best_score_on_the_text(opened, own_model):
    ids, maps = maps_of(own_model, OPENED.text, LAYER)
    looks = {
        "what came next": lambda q, k: 0 < k < q and ids[k - 1] == ids[q],
        "the same token": lambda q, k: 0 < k < q and ids[k] == ids[q],
        "the token before": lambda q, k: 0 < k == q - 1,
        "the first token": lambda q, k: q > 0 and k == 0,
    }
    for head in (0, 5):  # of random weights: no look has more than half
        found = {}
        for look, is_one in looks.items():
            rows = [
                sum(float(maps[head, q, k]) for k in keys)
                for q in range(len(ids))
                if (keys := [k for k in range(q + 1) if is_one(q, k)])
            ]
            found[look] = sum(rows) / len(rows), len(rows)
        best = max(found, key=lambda look: found[look][0])
        share, queries = found[best]
        app = opened(PAGE, map_head=str(head))
        line = next(one for one in said(app) if one.startswith(f"Head {head} shows none"))
        assert best in line
        assert f"{100 * share:#.3g}" in line
        assert f"mean over {queries} tokens" in line


def test_in_a_lecture_the_source_rests(opened, own_model):
    assert [*controls(opened(PAGE, lecture="1"))][:2] == ["layer", "map_head"]


def test_a_layer_is_the_same_once_all_were_read(opened, own_model, monkeypatch):
    app = opened(PAGE)
    asked, ask = [], checkpoint.ask

    def noting(job: str, *given: object, **named: object) -> object:
        asked.append(job)
        return ask(job, *given, **named)

    monkeypatch.setattr("ui.sources.checkpoint.ask", noting)
    app.number_input(key="layer").set_value(12).run()
    shows(app, own_model, OPENED.text, 12, HEAD)
    assert "inputs" not in asked, "the layers before it did not run again"
    assert "Layer 12 (of 0 to 29)." in plain(app.caption[0].value)


def test_it_opens_in_full_when_it_has_come(opened, models, own_saved, monkeypatch):
    monkeypatch.setattr("ui.sources.small_model.AS_TRAINED.names", NAMES)
    app = opened(PAGE)
    assert not charts(app)
    shutil.copytree(own_saved, models / OWN)
    try:
        app.run()
        shows(app, str(models / OWN), OPENED.text, LAYER, HEAD)
        settings = app.session_state["settings"]
        assert OPENED.settings.items() <= settings.items()
        assert not app.query_params.keys() & OPENED.settings.keys()
    finally:
        shutil.rmtree(models / "models")
