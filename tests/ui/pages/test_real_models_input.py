"""Real models: transformers' attention, what cannot be read, files, and work in pieces."""

import base64
import html
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM

from mla_engine import PRESETS
from mla_engine.checkpoints import build_demo, hidden_bytes, hidden_states, load_attention
from mla_engine.checkpoints.families import FAMILIES
from mla_engine.checkpoints.load import NOTES
from tests.checkpoints.models import built
from tests.checkpoints.texts import IDS, TEXT, folder_of
from tests.ui.screen import clicked
from tests.ui.test_prose import APART, BARE
from ui.pages.real_models import layers, run, uploads
from ui.parts import real_layer
from ui.words.text import catalogue

PAGE = "pages/real_models.py"
WORDS = "The cat sat on the mat."
HEADS, LAYERS, D_MODEL = 8, 4, 256
Opened = Callable[..., AppTest]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The only folder that the server reads."""
    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLA_MODEL_FOLDERS", str(folder))
        yield folder


@pytest.fixture(scope="module")
def demo(models: Path) -> str:
    return str(build_demo(models / "demo"))


@pytest.fixture(scope="module")
def attentions(demo: str) -> tuple[torch.Tensor, ...]:
    """Of every layer [1,h,t,s], by the model as transformers runs it."""
    model = AutoModelForCausalLM.from_pretrained(
        demo, dtype=torch.float32, attn_implementation="eager"
    )
    ids = torch.tensor([hidden_states(demo, WORDS, 0).ids])
    with torch.no_grad():
        return model(ids, output_attentions=True).attentions


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


def drawn(app: AppTest) -> np.ndarray:
    """The chosen head's map."""
    return clicked(app, "large").values(0, "z")


def ticks(app: AppTest) -> list[str]:
    """What stands beside its rows."""
    return clicked(app, "large").layout["yaxis"]["ticktext"]


def said(app: AppTest) -> str:
    """All prose of the page."""
    found = [*app.title, *app.markdown, *app.caption, *app.info, *app.error, *app.warning]
    return "\n".join(html.unescape(each.value) for each in found)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def click(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


@pytest.mark.parametrize("layer", [0, 2])
def test_a_link_shows_the_models_own_attention(opened, demo, attentions, layer):
    app = opened(PAGE, source=demo, text=WORDS, layer=str(layer), map_head="3")
    shown, expected = drawn(app), attentions[layer][0, 3].numpy()
    seen = np.tril(np.ones_like(expected, dtype=bool))
    assert shown[seen] == pytest.approx(expected[seen], abs=2e-6)
    assert np.isnan(shown[~seen]).all()
    assert ticks(app)[:3] == ["&lt;|begin_of_…", "The", "␣cat"]
    assert ("from the embedding" in said(app)) == (layer == 0)
    assert ("from the layers before it (2)" in said(app)) == (layer == 2)
    assert "random demonstration weights" in said(app)
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))


def test_without_a_model_the_page_says_what_can_be_read(opened, demo, monkeypatch):
    monkeypatch.setattr(real_layer, "DEMO", demo)
    app = opened(PAGE)
    assert not app.get("plotly_chart")
    assert "make demo-model" in said(app)
    assert all(f"`{family}`" in said(app) for family in FAMILIES)
    click(app, "Use the demonstration model")
    assert app.query_params["source"] == demo
    assert f"of {HEADS} heads look at places" in app.title[0].value


def test_a_demonstration_that_may_not_be_read_is_not_offered(opened, models, tmp_path, monkeypatch):
    monkeypatch.setattr(real_layer, "DEMO", str(build_demo(tmp_path / "demo")))
    assert "Use the demonstration model" not in labels(opened(PAGE))


@pytest.mark.parametrize(
    ("name", "statement", "note"),
    [
        ("llama", "6 heads read 2 KV heads", ""),
        ("gpt2", "6 heads read 6 KV heads", "Positions are learned"),
        ("qwen2", "6 heads read 2 KV heads", ""),
    ],
)
def test_a_grouped_model_shows_maps_and_says_what_is_left_out(
    opened, models, name, statement, note
):
    folder = str(folder_of(name, models))
    app = opened(PAGE, source=folder, text=TEXT, map_head="3")
    assert app.title[0].value.endswith(statement)
    assert "shown for MLA models only" in app.info[0].value
    assert note in said(app)
    with torch.no_grad():
        expected = built(name)(torch.tensor([IDS]), output_attentions=True).attentions[0][0, 3]
    shown = drawn(app)
    seen = ~np.isnan(shown)
    assert shown[seen] == pytest.approx(expected.numpy()[seen], abs=1e-5)
    assert len(app.get("plotly_chart")) == 4


def test_every_note_of_a_plan_has_its_sentence():
    assert {f"real_layer.note_{note.replace(' ', '_')}" for note in NOTES} <= set(catalogue())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent", "there is no folder"),
        ("../outside", "lies outside the folders that this server reads"),
        ("<b>bold</b>", "<b>bold</b>"),
        ("nobody/nothing", "the Hub cannot be reached"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_page_lives(opened, models, monkeypatch, name, reason):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens
    named = name if name == "nobody/nothing" else str(models / name)
    app = opened(PAGE, source=named)
    assert reason in html.unescape(app.error[0].value)
    assert "<b>" not in app.error[0].value
    assert "seeded" not in app.error[0].value, "nothing seeded follows here"
    assert app.query_params["source"] == named
    assert "make demo-model" in said(app)
    assert not app.get("plotly_chart")
    click(app, "Back to seeded weights")
    assert not app.error
    assert "source" not in app.query_params


def test_a_layer_beyond_the_last_comes_to_the_last(opened, demo):
    app = opened(PAGE, source=demo, text=WORDS, layer="27")
    assert app.query_params["layer"] == str(LAYERS - 1)
    assert "layer: “27” in the link is not possible; 3 is used" in said(app)
    assert app.title[0].value.startswith("In layer 3 of demo")


def test_a_text_over_the_limit_is_refused(opened, demo):
    app = opened(PAGE, source=demo, text="? ! " * 300)
    assert "512 can be drawn: shorten it" in html.unescape(app.error[0].value)
    app.text_area(key="text:en").set_value(WORDS).run()
    assert not app.error
    assert app.get("plotly_chart")


def test_layers_are_compared_on_request_and_kept(opened, demo, monkeypatch):
    app = opened(PAGE, source=demo, text=WORDS)
    before = len(app.get("plotly_chart"))
    click(app, "Compare the layers")
    assert app.query_params["real_layers"] == "1"
    assert len(app.get("plotly_chart")) == before + 1
    expected = [balance(demo, layer) for layer in range(LAYERS)]
    assert last_map(app, (LAYERS, HEADS)) == pytest.approx(np.array(expected), abs=1e-5)
    assert app.dataframe[0].value.shape == (LAYERS * HEADS, 5)
    assert "Stop" not in labels(app), "there is nothing left to stop"
    monkeypatch.setattr(run, "logit_shares", None)
    app.number_input(key="map_head:en").set_value(5).run()
    assert not app.exception, "each layer's result is kept"


def last_map(app: AppTest, shape: tuple[int, ...]) -> np.ndarray:
    figure = json.loads(app.get("plotly_chart")[-1].proto.spec)
    trace = next(trace for trace in figure["data"] if trace["type"] == "heatmap")
    return np.array(decoded(trace["z"])).reshape(shape)


def decoded(values: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])


def test_the_comparison_of_layers_can_be_stopped(opened, demo, monkeypatch):
    measured = layers.measured

    def interrupted(*given: object) -> Iterator[object]:
        import streamlit as st

        yield next(measured(*given))
        st.stop()  # as where a reader's click ends a run

    monkeypatch.setattr(layers, "measured", interrupted)
    app = opened(PAGE, source=demo, text="The sea and the moon.", real_layers="1")
    assert "Stop" in labels(app)
    assert "Computing one layer after the other" in [bar.text for bar in app.progress]
    click(app, "Stop")
    assert "real_layers" not in app.query_params
    assert "Compare the layers" in labels(app)


def test_layers_beyond_the_memory_are_left_out_with_the_reason(opened, demo, monkeypatch):
    text = "The moon and the cat."
    needed = [hidden_bytes(demo, text, layer).memory_bytes for layer in range(LAYERS)]
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str((needed[1] + needed[2]) / 2 / 2**30))
    app = opened(PAGE, source=demo, text=text, real_layers="1")
    assert "Only the first 2 layers" in said(app)
    assert f"{needed[2] / 2**20:.3g} MiB in memory" in said(app)
    assert last_map(app, (2, HEADS)) == pytest.approx(
        np.array([balance(demo, 0, text), balance(demo, 1, text)]), abs=1e-5
    )


def test_a_layer_too_deep_offers_a_file_and_layer_0(opened, demo, monkeypatch):
    text = "The moon and the ships."
    needed = hidden_bytes(demo, text, 3).memory_bytes
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str((needed - 1) / 2**30))
    app = opened(PAGE, source=demo, text=text, layer="3")
    message = html.unescape(app.error[0].value)
    assert f"would hold {needed / 2**20:#.3g} MiB in memory" in message
    assert "a file of activations" in message
    assert app.text_input(key="activations:en")
    assert app.get("file_uploader")
    assert app.number_input(key="layer:en").value == 3
    click(app, "Show layer 0")
    assert not app.error
    assert app.title[0].value.startswith("In layer 0 of demo")


def test_a_file_of_activations_stands_for_the_layers_before(opened, demo, models, attentions):
    found = hidden_states(demo, WORDS, 3)
    tokens = ["<b>x</b>", "$y$", *found.tokens[2:]]
    file = saved(models / "own.safetensors", found.h, tokens, 3)
    app = opened(PAGE, source=demo, layer="3", activations=file, map_query="1", map_key="0")
    shown, expected = drawn(app), attentions[3][0, 0].numpy()
    seen = ~np.isnan(shown)
    assert shown[seen] == pytest.approx(expected[seen], abs=2e-6)
    assert "from your file" in said(app)
    assert ticks(app)[0] == "&lt;b&gt;x&lt;/b&gt;"
    prose = [each.value for each in (*app.title, *app.markdown, *app.caption)]
    assert not any("<b>" in text or "$y$" in text for text in prose)
    other = opened(PAGE, source=demo, layer="1", activations=file)
    assert "was saved for layer '3', not for layer 1" in html.unescape(other.error[0].value)


def test_an_uploaded_file_is_used(opened, demo, models):
    h = hidden_states(demo, WORDS, 2).h
    file = saved(models / "upload.safetensors", h, [f"<{n}>" for n in range(h.shape[1])], 2)
    app = opened(PAGE, source=demo, layer="2", text="The sea.")
    app.file_uploader[0].upload("h.safetensors", Path(file).read_bytes()).run()
    assert "from your file" in said(app)
    assert ticks(app)[:2] == ["&lt;0&gt;", "&lt;1&gt;"]
    assert Path(app.query_params["activations"]).parent == models / "activations"
    app.number_input(key="layer:en").set_value(1).run()
    assert "was saved for layer '2', not for layer 1" in html.unescape(app.error[0].value)


def test_of_uploaded_files_the_oldest_make_room(models, monkeypatch):
    monkeypatch.setattr(uploads, "MOST_FILES", 2)
    kept = [Path(uploads.keep(bytes([n]))) for n in range(3)]
    assert [file.exists() for file in kept] == [False, True, True]
    assert uploads.keep(bytes([2])) == str(kept[2]), "the same file is kept once"


def test_a_server_that_cannot_keep_a_file_says_so(opened, demo, models, monkeypatch):
    def full(data: bytes) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(uploads, "keep", full)
    app = opened(PAGE, source=demo, text=WORDS)
    app.file_uploader[0].upload("h.safetensors", b"").run()
    assert "cannot be kept on this server: No space left" in said(app)
    assert "activations" not in app.query_params


def test_heads_read_in_blocks_are_the_same_as_at_once(opened, demo, monkeypatch):
    monkeypatch.setattr(run, "blocks", lambda config, tokens: [(0, 1, 2), (3, 4, 5), (6, 7)])
    app = opened(PAGE, source=demo, text=WORDS, layer="3", map_head="7")
    shares = balance(demo, 3)
    positional = sum(share > 0.5 for share in shares)
    assert app.title[0].value.startswith(f"In layer 3 of demo, {positional} of {HEADS} heads")
    share = shares[7] if shares[7] > 0.5 else 1 - shares[7]
    assert f"{100 * share:#.3g}" in said(app)


def test_a_large_layer_is_read_in_few_blocks():
    config = PRESETS["deepseek-v3"].config
    blocks = run.blocks(config, 16)
    assert [head for block in blocks for head in block] == list(range(128))
    assert len(blocks) == 8
    assert len(run.blocks(PRESETS["deepseek-v2-lite"].config, 16)) == 1


def test_a_models_name_is_never_markup(opened, models, demo):
    folder = shutil.copytree(demo, models / "a *b* _c_ <i>")
    app = opened(PAGE, source=str(folder), text=WORDS)
    assert app.title[0].value.startswith("In layer 0 of a &#42;b&#42; &#95;c&#95; &lt;i&gt;, ")


def test_one_token_has_nothing_to_compare(opened, demo, models):
    file = saved(models / "one.safetensors", torch.ones(1, D_MODEL), ["<b>"], 0)
    app = opened(PAGE, source=demo, activations=file)
    assert app.title[0].value == f"In layer 0 of demo, {HEADS} heads read one token"
    assert "A single token has no other to look at" in app.info[0].value
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
    assert f"0 of {HEADS} heads look at places" in app.title[0].value
    assert "content makes up 100 % of the variance" in said(app)
    assert (last_map(app, (LAYERS, HEADS)) == 0).all()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_symbol_stands_bare_in_prose(opened, demo, lang):
    app = opened(PAGE, source=demo, text=WORDS, real_layers="1", lang=lang)
    for written in (*app.markdown, *app.caption):
        assert not BARE.findall(APART.sub("", html.unescape(written.value))), written.value
        assert written.allow_html or "<span" not in written.value


def test_a_language_switch_keeps_everything(opened, demo):
    link = {"source": demo, "text": WORDS, "layer": "1", "map_head": "2", "real_matrix": "W_UV"}
    app = opened(PAGE, **link, lang="en")
    app.segmented_control(key="lang:en").set_value("zh").run()
    assert app.title[0].value.startswith("在 demo 第 1 层")
    app.number_input(key="map_head:zh").set_value(3).run()
    app.segmented_control(key="lang:zh").set_value("en").run()
    kept = {name: app.query_params[name] for name in link}
    assert kept == link | {"map_head": "3"}
