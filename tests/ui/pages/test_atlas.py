"""All heads of a real model: maps, names, order and clicks, against transformers' own forward."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from mla_engine.figures.atlas import NONE, SHADES
from mla_engine.language_model.text_heads import KINDS, repeats
from tests.ui.screen import charts, clicked, csv, lead, plain, said, says, statement
from ui.parts import atlas

REAL, HEADS = "pages/real_models.py", "pages/trained_heads.py"
TEXT = "The cat and the moon. The cat and the sea."
LAYERS, OF_LAYER = 30, 8
LOOKS = {
    "previous": lambda q, k, ids: 0 < k == q - 1,
    "induction": lambda q, k, ids: 0 < k < q and ids[k - 1] == ids[q],
    "same": lambda q, k, ids: 0 < k < q and ids[k] == ids[q],
    "first": lambda q, k, ids: q > 0 and k == 0,
}


@pytest.fixture(scope="module")
def own_saved(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a small model as deep as the sentences need, some of whose heads have a name."""
    folder = tmp_path_factory.mktemp("atlas")
    config = LlamaConfig.from_pretrained(llama, num_hidden_layers=LAYERS)
    config.initializer_range = 0.2
    torch.manual_seed(6)
    model = LlamaForCausalLM(config)
    look_back(model, head=2)
    model.save_pretrained(folder)
    tokenizer = json.loads((Path(llama) / "tokenizer.json").read_text("utf-8"))
    tokenizer["post_processor"] = None  # which begins each text with a token of its own
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    return folder


@torch.no_grad()
def look_back(model: LlamaForCausalLM, head: int) -> None:
    """Let a head of layer 0 look at the token before: its scores depend on the distance alone."""
    attention, angles = model.model.layers[0].self_attn, model.model.rotary_emb.inv_freq
    model.model.embed_tokens.weight[:, 0] = 4  # the same of all tokens
    half = len(angles)
    query, key = (
        part.weight.unflatten(0, (-1, 2 * half)) for part in (attention.q_proj, attention.k_proj)
    )
    query[head], key[0] = 0, 0
    query[head, :half, 0] = 2
    key[0, :half, 0], key[0, half:, 0] = 2 * angles.cos(), 2 * angles.sin()


def changed(click, cell: dict, name: str = atlas.NAME) -> dict:
    """The settings that a click changes."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ui.settings.state.change", lambda **to: found.update(to))
        click({"chart": name, **cell})
    return found


def ids_of(folder: str, text: str = TEXT) -> list[int]:
    return PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")(text)["input_ids"]


def maps_of(folder: str, ids: list[int]) -> np.ndarray:
    """Every layer's maps [layers,h,t,s], by transformers."""
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    with torch.no_grad():
        run = model(torch.tensor([ids]), output_attentions=True)
    return torch.stack(run.attentions)[:, 0].double().numpy()


def scores(maps: np.ndarray, ids: list[int], kind: str) -> list[np.ndarray]:
    """The share of each query that sees a key of a kind, of all heads."""
    every = [[k for k in range(q + 1) if LOOKS[kind](q, k, ids)] for q in range(len(ids))]
    return [maps[:, :, q, keys].sum(-1) for q, keys in enumerate(every) if keys]


def names_of(folder: str) -> np.ndarray:
    """The kind of each head on random tokens said twice, "" for none."""
    words = AutoConfig.from_pretrained(folder).vocab_size
    texts = repeats(words).tolist()
    runs = [(maps_of(folder, ids), ids) for ids in texts]
    found = {kind: [row for run in runs for row in scores(*run, kind)] for kind in KINDS}
    shares = [np.mean(rows, axis=0) for rows in found.values()]
    best = np.argmax(shares, axis=0)
    return np.where(np.max(shares, axis=0) >= 0.5, np.array(KINDS)[best], "")


def tiles_of(app, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """The hue and the shares of every tile, row by row [n,t,s], as they are drawn."""
    chart = clicked(app, atlas.NAME)
    image = chart.traces[0]
    codes, pitch = chart.values(0, "z"), [round(1 / image[step]) for step in ("dy", "dx")]
    grid = codes.reshape(len(codes) // pitch[0], pitch[0], -1, pitch[1])
    tiles = grid.transpose(0, 2, 1, 3).reshape(-1, *pitch)[:, :tokens, :tokens].astype(int)
    seen = np.tri(tokens, dtype=bool)
    assert (tiles[:, ~seen] == NONE).all()
    hues, shades = np.divmod(tiles, SHADES + 1)
    assert (hues[:, seen] == hues[:, :1, 0]).all()
    return hues[:, 0, 0], np.where(seen, shades / SHADES, 0)


@pytest.mark.parametrize("page", [REAL, HEADS])
def test_every_head_is_drawn_in_the_colour_of_its_name(opened, own_model, downloads, page):
    app = opened(page, text=TEXT)
    ids, names = ids_of(own_model), names_of(own_model)
    hues, shares = tiles_of(app, len(ids))
    wanted = maps_of(own_model, ids)
    by_row = wanted.transpose(1, 0, 2, 3).reshape(-1, len(ids), len(ids))
    np.testing.assert_allclose(shares, by_row, atol=0.5 / SHADES + 1e-5)
    assert hues.tolist() == [["", *KINDS].index(name) for name in names.T.ravel()]
    assert (names != "").any()
    assert (names == "").any()
    table = csv(downloads["all_heads.csv"])
    assert table["name"].tolist() == names.ravel().tolist()
    for kind, look in (("previous", "the token before"), ("same", "the same token earlier")):
        expected = np.mean(scores(wanted, ids, kind), axis=0).ravel()
        np.testing.assert_allclose(table[look].astype(float), expected, atol=2e-5)


def test_the_page_of_heads_counts_those_with_a_name(opened, own_model):
    app, names = opened(HEADS), names_of(own_model)
    assert not app.error
    assert lead(app)[0] == f"{(names != '').sum()} of {names.size}"
    (told,) = (c.alt for c in charts(app) if c.clicks == atlas.NAME)
    for kind, look in zip(KINDS, ("the token before", "", "", "the first token"), strict=True):
        many = int((names == kind).sum())
        assert not look or (f"{look} ({many})" in told) == bool(many)


@pytest.mark.parametrize("page", [REAL, HEADS])
def test_best_first_a_click_opens_the_head_at_its_strongest_look(opened, own_model, page):
    app = opened(page, text=TEXT, real_kind="same", real_order="score")
    ids = ids_of(own_model)
    maps = maps_of(own_model, ids)
    expected = np.mean(scores(maps, ids, "same"), axis=0)
    _, shares = tiles_of(app, len(ids))
    order = np.argsort(-expected, axis=None, kind="stable")
    for tile in (0, 7, 100):
        layer, head = map(int, np.unravel_index(order[tile], expected.shape))
        np.testing.assert_allclose(shares[tile], maps[layer, head], atol=0.5 / SHADES + 1e-5)
        row, column = divmod(tile, LAYERS)
        found = changed(app.session_state["visit"].on_cell, {"x": column + 0.5, "y": row + 0.5})
        looks = np.tril(maps[layer, head], -1)
        looks[:, 0] = 0
        query, key = map(int, np.unravel_index(looks.argmax(), looks.shape))
        cell = {"map_query": query, "map_key": key}
        assert found == {"layer": layer, "map_head": head} | cell
    layer, head = np.unravel_index(order[0], expected.shape)
    assert any(f"comes from L{layer} H{head} (" in line for line in said(app))


def test_a_folder_of_another_shape_in_its_place_is_read(opened, own_model):
    opened(HEADS, text=TEXT)
    config = LlamaConfig.from_pretrained(own_model, num_attention_heads=4, num_hidden_layers=18)
    LlamaForCausalLM(config).save_pretrained(own_model)
    app = opened(HEADS, text=TEXT)
    ids = ids_of(own_model)
    by_row = maps_of(own_model, ids).transpose(1, 0, 2, 3).reshape(-1, len(ids), len(ids))
    np.testing.assert_allclose(tiles_of(app, len(ids))[1], by_row, atol=0.5 / SHADES + 1e-5)


def test_in_order_of_layers_a_click_opens_what_stands_there(opened, own_model):
    app = opened(REAL, text=TEXT)
    found = changed(app.session_state["visit"].on_cell, {"x": 11.5, "y": 3.5})
    assert (found["layer"], found["map_head"]) == (11, 3)
    assert not changed(app.session_state["visit"].on_cell, {"x": -0.5, "y": 3.5})


def test_on_a_phone_each_layer_is_a_row_of_its_heads(opened, own_model):
    app = opened(REAL, text=TEXT, layer="11", map_head="3")
    wide, narrow = (clicked(app, name) for name in (atlas.NAME, atlas.NARROW))
    grids = []
    for chart in (wide, narrow):
        image, codes = chart.traces[0], chart.values(0, "z")
        high, across = (round(1 / image[step]) for step in ("dy", "dx"))
        grids.append(codes.reshape(len(codes) // high, high, -1, across).transpose(0, 2, 1, 3))
    assert grids[1].shape[:2] == (LAYERS, OF_LAYER)
    np.testing.assert_array_equal(grids[1], grids[0].swapaxes(0, 1))
    assert (narrow.axis("x"), narrow.axis("y")) == (wide.axis("y"), wide.axis("x"))
    frame = narrow.layout["shapes"][0]
    assert (frame["x0"] + frame["x1"]) / 2 == pytest.approx(3.5, abs=0.1)
    click = app.session_state["visit"].on_cell
    found = changed(click, {"x": 3.5, "y": 11.5}, atlas.NARROW)
    assert (found["layer"], found["map_head"]) == (11, 3)
    assert not changed(click, {"x": 8.5, "y": 3.5}, atlas.NARROW)


def test_the_chosen_head_is_framed_and_drawn_large(opened, own_model):
    app = opened(HEADS, text=TEXT, layer="4", map_head="6")
    frame = clicked(app, atlas.NAME).layout["shapes"][0]
    assert (frame["x0"] + frame["x1"]) / 2 == pytest.approx(4.5, abs=0.1)
    assert (frame["y0"] + frame["y1"]) / 2 == pytest.approx(6.5, abs=0.1)
    ids = ids_of(own_model)
    values, seen = clicked(app, "large").values(0, "z"), np.tri(len(ids), dtype=bool)
    np.testing.assert_allclose(values[seen], maps_of(own_model, ids)[4, 6][seen], atol=2e-5)
    names = names_of(own_model)
    told = "is named after" if names[4, 6] else "has no name"
    assert any(f"Head L4 H6 {told}" in line.replace("*", "") for line in said(app))


def test_a_long_text_is_pooled_and_one_token_has_no_look(opened, own_model):
    app = opened(REAL, text="the cat and the moon " * 12)
    assert not app.error
    [note] = clicked(app, atlas.NAME).words
    assert says(note, "figures.pooled")
    for page in (REAL, HEADS):
        alone = opened(page, text="a")
        assert not alone.error
        assert any(says(line, "atlas.short") for line in said(alone))
        assert not [c for c in charts(alone) if c.clicks == atlas.NAME]


def test_beside_a_file_of_activations_all_heads_still_read_the_text(opened, own_model, models):
    without = clicked(opened(REAL, text=TEXT), atlas.NAME).values(0, "z")
    h = torch.randn(1, len(ids_of(own_model)), LlamaConfig.from_pretrained(own_model).hidden_size)
    save_file({"h": h}, models / "h.safetensors")
    app = opened(REAL, text=TEXT, activations="h.safetensors")
    np.testing.assert_array_equal(clicked(app, atlas.NAME).values(0, "z"), without)
    assert any(says(line, "pieces.text") for line in said(app))


def test_a_model_of_somebody_else_is_scored_when_it_is_asked_for(opened, llama):
    app = opened(REAL, source=llama, text=TEXT)
    assert not [c for c in charts(app) if c.clicks == atlas.NAME]
    next(one for one in app.button if one.label == "Score all heads").click().run()
    _, shares = tiles_of(app, len(ids_of(llama)))
    maps = maps_of(llama, ids_of(llama))
    np.testing.assert_allclose(shares[1], maps[1, 0], atol=0.5 / SHADES + 1e-5)
    assert any(says(line, "atlas.said_here") for line in said(app))
    app = opened(HEADS, source=llama, text=TEXT, real_layers="1")
    assert "on this text" in plain(statement(app))


def test_an_old_link_of_the_made_up_language_opens_with_it(opened, own_model):
    for link in ({"th_variant": "gqa"}, {"th_head": "1.0"}, {"made_up": "1"}):
        app = opened(HEADS, **link)
        assert says(app.title[0].value, "trained_heads.title"), link
    assert app.title[0].value != opened(HEADS).title[0].value


def test_number_and_picture_stand_before_the_text(opened, own_model):
    drawn = [getattr(e.proto, "component_name", e.type) for e in opened(HEADS).main]
    assert drawn.index("title") < drawn.index("chart") < drawn.index("text_area")
