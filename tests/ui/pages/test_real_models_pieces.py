"""Real models: files of activations, and work that is done in pieces."""

import html
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest

from kvcount.files import quota
from mla_engine import PRESETS
from mla_engine.checkpoints import build_demo, hidden_bytes, hidden_states, load_attention
from tests.ui.pages.test_real_models_input import (
    D_MODEL,
    HEADS,
    LAYERS,
    PAGE,
    WORDS,
    click,
    drawn,
    labels,
    said,
    ticks,
)
from tests.ui.screen import charts, says, statement
from ui.pages.real_models import layers, uploads, view


def balance(folder: str, layer: int, text: str = WORDS) -> list[float]:
    """The position part's share of both parts' variances in each head, entry by entry."""
    trace = load_attention(folder, layer)(hidden_states(folder, text, layer).h)
    shares = []
    for head in range(trace.scores_C.shape[1]):
        total = []
        for part in (trace.scores_C, trace.scores_R):
            rows = part[0, head].double().numpy()
            seen = [rows[t, : t + 1] for t in range(len(rows))]
            total.append(sum(((row - row.mean()) ** 2).sum() for row in seen))
        shares.append(total[1] / sum(total))
    return shares


def saved(path: Path, h: torch.Tensor, tokens: list[str], layer: int) -> str:
    save_file({"h": h.contiguous()}, path, {"layer": str(layer), "tokens": json.dumps(tokens)})
    return str(path)


def last_map(app: AppTest) -> np.ndarray:
    return charts(app)[-1].values(0, "z")


def test_layers_are_compared_on_request_and_kept(opened, demo, monkeypatch):
    app = opened(PAGE, source=demo, text=WORDS)
    before = len(charts(app))
    click(app, "Compare the layers")
    assert app.query_params["real_layers"] == "1"
    assert len(charts(app)) == before + 3  # all heads, too: for a wide screen, for a phone
    expected = [balance(demo, layer) for layer in range(LAYERS)]
    assert last_map(app) == pytest.approx(np.array(expected), abs=1e-5)
    assert app.dataframe[0].value.shape == (LAYERS * HEADS, 5)
    assert "Stop" not in labels(app), "there is nothing left to stop"
    monkeypatch.setattr(layers, "logit_shares", None)
    app.number_input(key="map_head").set_value(5).run()
    assert not app.exception, "each layer's result is kept"


def test_the_comparison_of_layers_can_be_stopped(opened, demo, monkeypatch):
    measured = layers.measured

    def interrupted(*given: object) -> Iterator[object]:
        import streamlit as st

        yield next(measured(*given))
        st.stop()  # as where a reader's click ends a run

    monkeypatch.setattr(layers, "measured", interrupted)
    app = opened(PAGE, source=demo, text="The sea and the moon.", real_layers="1")
    assert "Stop" in labels(app)
    assert says([bar.text for bar in app.progress], "real_models.layers_running")
    click(app, "Stop")
    assert "real_layers" not in app.query_params
    assert "Compare the layers" in labels(app)


def test_layers_beyond_the_memory_are_left_out_with_the_reason(opened, demo, monkeypatch):
    text = "The moon and the cat."
    needed = [hidden_bytes(demo, text, layer).memory_bytes for layer in range(LAYERS)]
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str((needed[1] + needed[2]) / 2 / 2**30))
    app = opened(PAGE, source=demo, text=text, real_layers="1")
    assert says(said(app), "pieces.left", first="2")
    assert f"{needed[2] / 2**20:.3g} MiB in memory" in said(app)
    assert last_map(app) == pytest.approx(
        np.array([balance(demo, 0, text), balance(demo, 1, text)]), abs=1e-5
    )


def test_a_layer_too_deep_offers_a_file_and_layer_0(opened, demo, monkeypatch):
    text = "The moon and the ships."
    needed = hidden_bytes(demo, text, 3).memory_bytes
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str((needed - 1) / 2**30))
    app = opened(PAGE, source=demo, text=text, layer="3")
    message = html.unescape(app.error[0].value)
    assert f"would hold {needed / 2**20:#.3g} MiB in memory" in message
    assert says(message, "checkpoint.too_deep")
    assert app.text_input(key="activations")
    assert app.get("file_uploader")
    assert app.number_input(key="layer").value == 3
    click(app, "Show layer 0")
    assert not app.error
    assert statement(app).startswith("In layer 0 of it's a demo")


def test_a_file_of_activations_stands_for_the_layers_before(opened, demo, models):
    found = hidden_states(demo, WORDS, 3)
    tokens = ["<b>x</b>", "$y$", *found.tokens[2:]]
    file = saved(models / "own.safetensors", found.h, tokens, 3)
    app = opened(PAGE, source=demo, layer="3", activations=file, map_query="1", map_key="0")
    shown, expected = drawn(app), load_attention(demo, 3)(found.h).attention[0, 0].detach().numpy()
    seen = ~np.isnan(shown)
    assert shown[seen] == pytest.approx(expected[seen], abs=2e-6)
    assert "from your file" in said(app)
    assert ticks(app)[0] == "&lt;b&gt;x&lt;/b&gt;"
    prose = [each.value for each in (*app.title, *app.markdown, *app.caption)]
    assert not any("<b>" in text or "$y$" in text for text in prose)
    other = opened(PAGE, source=demo, layer="1", activations=file)
    assert says(html.unescape(other.error[0].value), "file.other_layer", said="'3'", layer="1")


def test_an_uploaded_file_is_used(opened, demo, models):
    h = hidden_states(demo, WORDS, 2).h
    file = saved(models / "upload.safetensors", h, [f"<{n}>" for n in range(h.shape[1])], 2)
    app = opened(PAGE, source=demo, layer="2", text="The sea.")
    app.file_uploader[0].upload("h.safetensors", Path(file).read_bytes()).run()
    assert "from your file" in said(app)
    assert ticks(app)[:2] == ["&lt;0&gt;", "&lt;1&gt;"]
    assert (models / app.query_params["activations"]).read_bytes() == Path(file).read_bytes()
    app.number_input(key="layer").set_value(1).run()
    assert says(html.unescape(app.error[0].value), "file.other_layer", said="'2'", layer="1")


def test_of_uploaded_files_the_oldest_make_room(models, monkeypatch):
    for old in (models / "activations").glob("[!.]*"):
        old.unlink()
    monkeypatch.setattr(uploads, "quota_bytes", lambda: 2 * quota.BLOCK_BYTES)
    kept = []
    for n in range(3):
        kept.append(models / uploads.keep(100 * bytes([n])))
        os.utime(kept[-1], (n, n))
    assert [file.exists() for file in kept] == [False, True, True]
    assert models / uploads.keep(100 * bytes([2])) == kept[2], "the same file is kept once"
    assert sorted((models / "activations").glob("[!.]*")) == sorted(kept[1:]), "and nothing else"


def test_a_server_that_cannot_keep_a_file_says_so(opened, demo, models, monkeypatch):
    def full(data: bytes) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "keep", full)
    app = opened(PAGE, source=demo, text=WORDS)
    app.file_uploader[0].upload("h.safetensors", b"").run()
    assert says(said(app), "real_models.not_kept")
    assert "activations" not in app.query_params


def test_a_large_layer_is_read_in_few_blocks():
    config = PRESETS["deepseek-v3"].config
    blocks = view.blocks(config, 16)
    assert [head for block in blocks for head in block] == list(range(128))
    assert len(blocks) == 8
    assert len(view.blocks(PRESETS["deepseek-v2-lite"].config, 16)) == 1


def test_one_token_has_nothing_to_compare(opened, demo, models):
    file = saved(models / "one.safetensors", torch.ones(1, D_MODEL), ["<b>"], 0)
    app = opened(PAGE, source=demo, activations=file)
    assert says(statement(app), "real_models.line_one", layer="0", name="it's a demo", heads=HEADS)
    assert says(app.info[0].value, "real_models.one_token")
    assert drawn(app).tolist() == [[1.0]]


def test_a_model_without_rotary_part_looks_at_words_alone(opened, models):
    folder = build_demo(models / "no rotary part")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"qk_rope_head_dim": 0}))
    tensors = {}
    for shard in folder.glob("*.safetensors"):
        tensors |= load_file(shard)
        shard.unlink()
    (folder / "model.safetensors.index.json").unlink()
    for name, tensor in tensors.items():
        if "q_b_proj" in name:
            kept = tensor.unflatten(0, (HEADS, -1))[:, : config["qk_nope_head_dim"]]
            tensors[name] = kept.flatten(0, 1).contiguous()
        if "kv_a_proj" in name:
            tensors[name] = tensor[: config["kv_lora_rank"]].contiguous()
    save_file(tensors, folder / "model.safetensors")
    app = opened(PAGE, source=str(folder), text=WORDS, real_layers="1")
    assert not app.error
    assert says(statement(app), "real_models.line", heads=HEADS, positional="0")
    assert says(said(app), "real_models.kind_content", share="100 %")
    assert (last_map(app) == 0).all()
