"""The input of attentions against what transformers feeds them, for every family."""

import copy
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, Mistral4ForCausalLM

from mla_engine.checkpoints import (
    hidden_bytes,
    hidden_states,
    hidden_states_of_layers,
    open_checkpoint,
)
from tests.checkpoints.models import MODELS, built, rewrite_config
from tests.checkpoints.reading import names_of
from tests.checkpoints.texts import (
    IDS,
    TEXT,
    add_tokenizer,
    as_exact_as_the_model,
    fed,
    folder_of,
    inputs_of,
    numbers,
)
from tests.engine.samples import relative


@pytest.mark.parametrize("name", MODELS)
def test_equals_what_the_first_attention_reads(name, models_folder):
    for published in (False, True):
        found = hidden_states(folder_of(name, models_folder, published), TEXT, 0)
        assert relative(found.h, fed(name)[0]) < 1e-6
    assert found.h.dtype == torch.float32
    assert (found.origin, list(found.ids)) == ("embedding", IDS)
    assert (list(found.tokens), found.positions) == (TEXT.split(), tuple(range(8)))


@pytest.mark.parametrize("name", MODELS)
def test_equals_what_deeper_attentions_read(name, models_folder):
    for published in (False, True):
        folder = folder_of(name, models_folder, published)
        for layer in numbers(name)[1:]:
            found = hidden_states(folder, TEXT, layer)
            assert found.origin == "prefix"
            assert as_exact_as_the_model(found.h, name, layer)


@pytest.mark.parametrize("name", ["longcat_flash", "gpt2", "falcon, one KV head", "gemma2"])
def test_gives_several_layers_by_one_run(name, models_folder):
    layers = list(numbers(name))[::-1]
    found = hidden_states_of_layers(folder_of(name, models_folder), TEXT, layers)
    assert list(found) == layers
    for layer in layers:
        assert as_exact_as_the_model(found[layer].h, name, layer)
        assert found[layer].origin == ("prefix" if layer else "embedding")


SPARSE = {"num_hidden_layers": 4, "n_routed_experts": 4, "num_experts_per_tok": 2}
SPARSE |= {"pad_token_id": 11}
KINDS = ["dense", "sparse", "sparse", "sparse"]


@pytest.mark.parametrize(
    ("name", "more"),
    {
        "deepseek_v3": {"first_k_dense_replace": 1},
        "glm4_moe_lite": {"mlp_layer_types": KINDS},
        "axk1": {"mlp_layer_types": KINDS},
        "mistral4": {"first_k_dense_replace": 0},
    }.items(),
)
def test_runs_layers_of_experts(name, more, tmp_path):
    """Most files hold each expert by itself, transformers all of a layer in one tensor."""
    config = CONFIG_MAPPING[name](**(MODELS[name].all_settings | SPARSE | more))
    make = Mistral4ForCausalLM if name == "mistral4" else AutoModelForCausalLM.from_config
    torch.manual_seed(5)
    model = make(config).eval()
    for parameter in model.parameters():
        parameter.data.normal_(0.2, 0.4)
    model.save_pretrained(tmp_path, max_shard_size="50KB")
    assert any("layers.2.mlp.experts." in found for found in names_of(tmp_path))
    attentions = [model.get_submodule(MODELS[name].path.format(n)) for n in range(4)]
    found = hidden_states(add_tokenizer(tmp_path), TEXT, 3)
    assert relative(found.h, inputs_of(model, attentions)[3]) < 1e-6


@pytest.mark.parametrize("name", ["deepseek_v2", "gemma2", "minicpm3", "gpt2"])
def test_computes_in_float32_whatever_is_stored(name, tmp_path):
    copy.deepcopy(built(name)).bfloat16().save_pretrained(tmp_path)
    add_tokenizer(tmp_path)
    for dtype, close in ((torch.float32, 1e-6), (torch.bfloat16, 0.03)):
        model = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=dtype)
        attentions = [MODELS[name].attention(model, layer) for layer in (0, 1)]
        for layer, wanted in enumerate(inputs_of(model, attentions)):
            found = hidden_states(tmp_path, TEXT, layer)
            assert found.h.dtype == torch.float32
            assert relative(found.h, wanted) < close


def test_dequantises_the_layers_before(demo, tmp_path):
    """Blocks of 128 x 128 with a factor each, against the products stored in full."""
    folders = [shutil.copytree(demo, tmp_path / n) for n in ("8", "32")]
    file = sorted(folders[0].glob("*.safetensors"))[0].name
    weights = load_file(folders[0] / file)
    for name in [n for n in weights if n.startswith("model.layers.0.") and "proj" in n]:
        eight, weight = weights[name].to(torch.float8_e4m3fn), weights[name]
        blocks = [-(-size // 128) for size in weight.shape]
        factors = 0.5 + torch.rand(blocks, generator=torch.Generator().manual_seed(2))
        spread = factors.repeat_interleave(128, 0).repeat_interleave(128, 1)
        in_full = eight.float() * spread[: weight.shape[0], : weight.shape[1]]
        save_file(load_file(folders[1] / file) | {name: in_full}, folders[1] / file)
        weights |= {name: eight, f"{name}_scale_inv": factors}
    save_file(weights, folders[0] / file)
    index = folders[0] / "model.safetensors.index.json"
    files = json.loads(index.read_text())["weight_map"] | dict.fromkeys(weights, file)
    index.write_text(json.dumps({"weight_map": files}))
    blocks = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    rewrite_config(folders[0], quantization_config=blocks)
    found, wanted = (hidden_states(folder, "The cat", 1).h for folder in folders)
    assert torch.equal(found, wanted)


def test_reads_rows_and_a_norm_alone_for_the_first_attention(models_folder):
    said = []
    folder = folder_of("gpt2", models_folder)
    hidden_states(folder, TEXT, 0, progress=lambda *bytes_: said.append(bytes_))
    needed = hidden_bytes(folder, TEXT, 0)
    assert needed.origin == "embedding"
    assert needed.read_bytes == 4 * 48 * (5 + 8 + 2)  # rows of both tables, weight and bias
    assert said[-1] == (4 * 48 * 5, 4 * 48 * 5)


def test_reads_the_layers_before_and_no_more(models_folder):
    """The second attention of LongCat's first layer needs none of its experts."""
    said = []
    folder = folder_of("longcat_flash", models_folder)
    checkpoint = open_checkpoint(folder)
    names = [
        name
        for name in names_of(folder)
        if name.startswith("model.layers.0.")
        and any(f"{part}.0." in name for part in ("self_attn", "layernorm", "mlps"))
    ]
    names.append("model.layers.0.input_layernorm.1.weight")
    wanted = checkpoint.bytes_of(names)
    hidden_states(checkpoint, TEXT, 1, progress=lambda *bytes_: said.append(bytes_))
    assert said[-1] == (wanted, wanted)
    needed = [hidden_bytes(checkpoint, TEXT, layer) for layer in (1, 2, 3)]
    assert needed[0].read_bytes == wanted + 4 * 48 * 5
    assert needed[0].memory_bytes < needed[1].memory_bytes < needed[2].memory_bytes
