"""The app's own real model and the one with MLA that is made of it, a press away."""

import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from mla_engine.figures.atlas import SHADES
from mla_engine.language_model.text_heads import KINDS
from tests.checkpoints.texts import folder_of
from tests.ui.controls import control
from tests.ui.pages.test_atlas import HEADS, REAL, TEXT, ids_of, maps_of, names_of, tiles_of
from ui.sources import Checkpoint, checkpoint, whole
from ui.sources.small_model import WITH_MLA

PAGE = "pages/attention_maps.py"
NAMES = WITH_MLA.names


@pytest.fixture
def with_mla(own_model, models, monkeypatch, tmp_path):
    """Put a small model of MLA where that one lies."""
    monkeypatch.setattr("ui.sources.small_model.WITH_MLA.names", NAMES)
    shutil.copytree(folder_of("youtu", tmp_path), models / NAMES[0])
    return NAMES[0]


def test_a_press_lets_it_read_the_same_text(opened, with_mla):
    app = opened(PAGE)
    before = dict(app.session_state["settings"])
    control(app, "reader").set_value("mla").run()
    assert not app.exception
    assert not app.error
    assert app.session_state["settings"]["source"] == with_mla
    assert app.session_state["settings"]["text"] == before["text"]
    assert [one for one in app.caption if "192 numbers" in one.value]
    assert control(app, "reader").value == "mla"
    control(app, "reader").set_value("made_up").run()
    control(app, "reader").set_value("mla").run()  # from there, too
    assert app.session_state["settings"]["source"] == with_mla
    control(app, "reader").set_value("real").run()
    assert dict(app.session_state["settings"]) == before


@pytest.mark.parametrize("page", [REAL, HEADS])
def test_all_its_heads_are_drawn_and_named(opened, with_mla, models, page):
    app, folder = opened(page, source=with_mla, text=TEXT), models / with_mla
    assert not app.error
    ids, names = ids_of(folder), names_of(folder)
    hues, shares = tiles_of(app, len(ids))
    by_row = maps_of(folder, ids).transpose(1, 0, 2, 3).reshape(-1, len(ids), len(ids))
    np.testing.assert_allclose(shares, by_row, atol=0.5 / SHADES + 1e-5)
    assert hues.tolist() == [["", *KINDS].index(name) for name in names.T.ravel()]


def test_where_it_is_not_there_nothing_is_offered(opened, own_model):
    assert list(control(opened(PAGE), "reader").options) == ["SmolLM2-135M", "made-up language"]


def test_its_layers_and_their_inputs_are_those_of_its_own_class(with_mla, models):
    loaded, folder = Checkpoint(with_mla, "", 1, "the cat and the moon"), models / with_mla
    assert whole.held(checkpoint.place(loaded).folder)
    theirs, entered = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), []
    norm = theirs.model.layers[1].input_layernorm
    norm.register_forward_hook(lambda _module, _args, h: entered.append(h))
    found = checkpoint.inputs(loaded)
    with torch.no_grad():
        theirs(torch.tensor([found.ids]))
    torch.testing.assert_close(found.h, entered[0], atol=1e-5, rtol=1e-5)
    heads = loaded.attention(checkpoint.plan(loaded).config, (1,), torch.float32)
    assert torch.equal(heads.W_UK[0], whole.model(whole.held(folder)).blocks[1].attention.W_UK[1])
