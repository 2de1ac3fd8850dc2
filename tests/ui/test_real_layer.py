"""A real layer on every page that can use one: the numbers of its weights and tokens."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from streamlit.testing.v1 import AppTest
from transformers import AutoModelForCausalLM

from mla_engine.checkpoints import attention_config, hidden_states
from tests.ui.conftest import CHECKPOINT as LAYER
from tests.ui.conftest import REAL_TEXT as TEXT
from tests.ui.controls import control
from tests.ui.screen import charts, component, plain, says, speech, statement
from ui.engine.folders import written
from ui.pages.decode import run as decode_run
from ui.parts.ways import Way
from ui.sources.checkpoint import Checkpoint as Loaded

WIDTHS = {"k": 32, "r": 16, "v": 32, "c": 64}


@pytest.fixture(scope="module")
def theirs(demo):
    """Return what transformers computes of the demonstration model and the text, layer by layer."""
    model = AutoModelForCausalLM.from_pretrained(
        demo, attn_implementation="eager", dtype=torch.float32
    )
    ids = torch.tensor([hidden_states(demo, TEXT, 0).ids])
    outputs = {}
    for number, block in enumerate(model.model.layers):
        block.self_attn.register_forward_hook(
            lambda module, args, found, number=number: outputs.update({number: found[0][0]})
        )
    with torch.no_grad():
        maps = model(ids, output_attentions=True).attentions
    return [layer[0].numpy() for layer in maps], outputs


@pytest.fixture(scope="module")
def weights(demo):
    """Return the tensors of one attention by their short names, float64."""
    files = [load_file(path) for path in sorted(Path(demo).glob("*.safetensors"))]
    path = f"model.layers.{LAYER}.self_attn."
    tensors = {name: tensor for file in files for name, tensor in file.items()}
    return {n[len(path) : -7]: t.double().numpy() for n, t in tensors.items() if path in n}


def title(at: AppTest) -> str:
    return plain(statement(at)).replace("−", "-")


def framed(at: AppTest) -> str:
    """Return the page's sentence about its chosen cell."""
    return next(m.value for m in at.markdown if "(framed)" in m.value).replace("\xa0", " ")


def normed(latent: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return latent / np.sqrt((latent**2).mean(-1, keepdims=True) + 1e-6) * weight


def up_projections(weights, head: int) -> tuple[np.ndarray, np.ndarray]:
    """Return W_UK [k,c] and W_UV [v,c] of a head."""
    rows = weights["kv_b_proj"].reshape(8, WIDTHS["k"] + WIDTHS["v"], WIDTHS["c"])[head]
    return rows[: WIDTHS["k"]], rows[WIDTHS["k"] :]


def test_compared_maps_are_those_of_transformers(real, theirs):
    at = real("compare", vs_view="maps", vs_head="3", vs_right="deepseek-v2-lite")
    expected = theirs[0][LAYER][3]
    seen = np.tril(np.ones_like(expected, dtype=bool))
    assert charts(at)[0].values(0, "z")[seen] == pytest.approx(expected[seen], abs=1e-5)
    assert "demo, MLA" in title(at)
    assert any(says(caption.value, "compare.one_real") for caption in at.caption)


def test_a_decoded_step_gives_the_output_of_transformers(real, theirs, demo):
    at = real("decode", dec_prompt="4", dec_step="5", dec_ways="all")
    config = attention_config(json.loads((Path(demo) / "config.json").read_text()), LAYER)
    loaded = Loaded(demo, "", LAYER, TEXT, written=written(demo))
    tokens = hidden_states(demo, TEXT, 0).tokens
    for cache, form in (("latent", "absorbed"), ("latent", "expanded"), ("kv", "expanded")):
        runner = decode_run.runner(Way(config, form, cache), 8, 4, tokens, loaded, loaded)
        assert set(runner.steps) == {5}, "the page did not run it"
        with torch.inference_mode():
            trace, _ = runner.layer.decode(runner.h[:, 8:9], runner.cache.rewind(8), form)
        np.testing.assert_allclose(trace.u[0, 0], theirs[1][LAYER][8], rtol=1e-3, atol=2e-5)
    assert says(speech(at), "decode.whose")


def test_the_keys_past_the_norm_by_hand(real, weights, demo):
    at = real("absorption", ab_head="6", ab_gain="4")
    h = 4 * hidden_states(demo, TEXT, LAYER).h[0, -1].double().numpy()
    W_UK, norm = up_projections(weights, 6)[0], weights["kv_a_layernorm"]
    W_DKV = weights["kv_a_proj_with_mqa"][: WIDTHS["c"]]
    right = np.linalg.norm(W_UK @ normed(W_DKV @ h, norm))
    merged = np.linalg.norm(W_UK @ (norm * (W_DKV @ h)))
    found = re.search(
        r"through the norm is ([\d.]+) long and the merged one ([\d.,]+)\.", speech(at)
    )
    assert float(found[1]) == pytest.approx(right, rel=5e-3)
    assert float(found[2].replace(",", "")) == pytest.approx(merged, rel=5e-3)


def test_the_merged_matrix_across_a_rotation_by_hand(real, weights):
    at = real("rope", rope_topic="merged", rope_distance="7", rope_head="2")
    width = WIDTHS["k"] + WIDTHS["r"]
    W_UQ = weights["q_b_proj"].reshape(8, width, -1)[2, : WIDTHS["k"]]
    W_UK = up_projections(weights, 2)[0]
    angles = 7 * 10000.0 ** (-np.arange(0, WIDTHS["k"], 2) / WIDTHS["k"])
    pairs = W_UQ.reshape(-1, 2, W_UQ.shape[1])
    turned = np.empty_like(pairs)
    turned[:, 0] = np.cos(angles)[:, None] * pairs[:, 0] - np.sin(angles)[:, None] * pairs[:, 1]
    turned[:, 1] = np.sin(angles)[:, None] * pairs[:, 0] + np.cos(angles)[:, None] * pairs[:, 1]
    still = W_UQ.T @ W_UK
    change = np.linalg.norm(turned.reshape(W_UQ.shape).T @ W_UK - still) / np.linalg.norm(still)
    assert f"has changed by {100 * change:.1f} %" in title(at)


def test_a_compressed_key_is_off_as_by_numpys_svd(real, weights, demo):
    at = real("compression", cmp_rank="20", cmp_heads="2")
    h = hidden_states(demo, TEXT, LAYER).h[0].double().numpy()
    down = weights["kv_a_layernorm"][:, None] * weights["kv_a_proj_with_mqa"][: WIDTHS["c"]]
    pairs = [up_projections(weights, head) for head in (0, 1)]
    keys, values = (np.concatenate(part) for part in zip(*pairs, strict=True))
    exact = np.concatenate([keys, values]) @ down
    left, singular, right = np.linalg.svd(exact, full_matrices=False)
    assert singular[WIDTHS["c"]] < 1e-10 * singular[0] < singular[WIDTHS["c"] - 1]
    cut = left[:, :20] * singular[:20] @ right[:20]
    off = np.linalg.norm(h @ (exact - cut)[:64].T) / np.linalg.norm(h @ exact[:64].T)
    assert says(speech(at), "compression.line", rank="20", full="128", k=f"{100 * off:.1f} %")
    assert "after 64 numbers" in speech(at)
    control(at, "cmp_weights").set_value("random").run()
    assert says(speech(at), "compression.words_random")
    assert f"off by **{100 * off:.1f} %**" not in speech(at)


def test_a_grouped_models_kv_heads_are_compressed(real, llama):
    at = real("compression", source=llama, cmp_rank="20")
    stored = load_file(Path(llama) / "model.safetensors")
    path = f"model.layers.{LAYER}.self_attn."
    exact = [stored[f"{path}{name}_proj.weight"].double().numpy() for name in "kv"]
    h = hidden_states(llama, TEXT, LAYER).h[0].double().numpy()
    left, singular, right = np.linalg.svd(np.concatenate(exact), full_matrices=False)
    cut = left[32:, :20] * singular[:20] @ right[:20]
    off = np.linalg.norm(h @ (exact[1] - cut).T) / np.linalg.norm(h @ exact[1].T)
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown["values v"].replace("\xa0", " ") == f"{100 * off:.1f} %"
    assert says(speech(at), "compression.line", full="64")
    assert says(speech(at), "compression.words_grouped", heads="8", groups="2")


def test_a_grouped_model_decodes_its_own_kind(real, llama):
    at = real("decode", source=llama)
    assert says(speech(at), "decode.whose", real="GQA, g = 2")
    assert all(float(cell) < 1e-5 for cell in at.table[0].value.iloc[:, 4])
    assert any("no MLA" in m.value for m in at.markdown)


def test_a_text_ends_the_decoding(real):
    at = real("decode", dec_prompt="256", dec_step="30")
    tokens = int(re.search(r"(\d+) tokens; the input", " ".join(c.value for c in at.caption))[1])
    assert "dec&#95;prompt" in at.warning[0].value
    assert "dec_prompt" not in at.query_params, "8 is the default"
    assert f"after {tokens} tokens" in title(at)
    assert component(at, "growing")["dials"][0]["count"] == tokens - 8, "there is no next step"
