"""Inputs of attentions that cannot be had, and what no checkpoint can make them do."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from mla_engine.checkpoints import (
    hidden_bytes,
    hidden_states,
    hidden_states_of_layers,
    open_checkpoint,
)
from tests.checkpoints.models import rewrite_config
from tests.checkpoints.texts import TEXT, fed, folder_of
from tests.engine.samples import refused, relative
from tests.refusals import refusing


def test_refuses_what_does_not_fit_before_it_reads(models_folder, monkeypatch):
    checkpoint = open_checkpoint(folder_of("deepseek_v3", models_folder))
    needed = hidden_bytes(checkpoint, TEXT, 1).memory_bytes
    monkeypatch.setenv("MLA_MEMORY_BUDGET_GIB", str(0.9 * needed / 2**30))
    monkeypatch.setattr(checkpoint, "read", None)
    with refusing("input_of_layer", layer=1) as refusal:
        hidden_states(checkpoint, TEXT, 1)
    assert refusal.value.needed_bytes == needed
    assert refusal.value.limit_bytes < needed


def test_can_be_stopped_while_it_reads(models_folder):
    def stop(done, total):
        raise KeyboardInterrupt

    for layer in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            hidden_states(folder_of("llama", models_folder), TEXT, layer, progress=stop)


def damaged(models_folder, tmp_path, rename=("", ""), **changes):
    """Llama in one file, tensors of these endings replaced; None leaves one out."""
    folder = shutil.copytree(folder_of("llama", models_folder), tmp_path / "damaged")
    (folder / "model.safetensors.index.json").unlink()
    weights = {}
    for file in folder.glob("*.safetensors"):
        weights |= load_file(file)
        file.unlink()
    for ending, value in changes.items():
        (found,) = [n for n in weights if n.endswith(ending.replace("__", "."))]
        weights.pop(found)
        weights |= {} if value is None else {found: value}
    weights = {name.replace(*rename, 1): weight for name, weight in weights.items()}
    save_file(weights, folder / "model.safetensors")
    return folder


def changed(models_folder, tmp_path, **entries):
    """A copy of llama with other entries in config.json."""
    folder = shutil.copytree(folder_of("llama", models_folder), tmp_path / "changed")
    return rewrite_config(folder, **entries)


NAN, EIGHT = torch.full((64, 48), torch.nan), torch.ones(64, 48).to(torch.float8_e4m3fn)


@pytest.mark.parametrize(
    ("layer", "changes", "words"),
    [
        (0, {"embed_tokens__weight": None}, ["no embedding", "embed_tokens"]),
        (0, {"embed_tokens__weight": NAN}, ["embed_tokens", "NaN"]),
        (1, {"embed_tokens__weight": NAN[:, :40].clone()}, [[64, 40], "[rows, 48]"]),
        (0, {"embed_tokens__weight": NAN[0, 0].clone()}, [[], "[rows, 48]"]),
        (0, {"embed_tokens__weight": NAN[:30]}, ["rows 0 to 29", 63]),
        (0, {"0__input_layernorm__weight": None}, ["no tensor", "0.input_layernorm"]),
        (0, {"0__input_layernorm__weight": NAN[0]}, ["input_layernorm", "NaN"]),
        (0, {"0__input_layernorm__weight": torch.ones(7)}, ["input_layernorm", [7], [48]]),
        (1, {"1__input_layernorm__weight": None}, ["no tensor", "1.input_layernorm"]),
        (1, {"0__mlp__up_proj__weight": None}, ["missing", "layers.0.mlp.up_proj"]),
        (1, {"0__mlp__up_proj__weight": torch.ones(3, 48)}, ["first 1 layers"]),
        (1, {"0__mlp__up_proj__weight": NAN[:32]}, ["input of layer 1", "NaN"]),
        (0, {"embed_tokens__weight": EIGHT}, ["embed_tokens", "F8_E4M3"]),
        (0, {"0__input_layernorm__weight": EIGHT[0].clone()}, ["input_layernorm", "F8_E4M3"]),
        (1, {"0__mlp__up_proj__weight": EIGHT[:32].clone()}, ["up_proj", "F8_E4M3", "factors"]),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_refuses_broken_tensors(layer, changes, words, models_folder, tmp_path):
    with refused(*words):
        hidden_states(damaged(models_folder, tmp_path, **changes), TEXT, layer)


def test_runs_no_code_that_config_json_names(models_folder, tmp_path):
    """transformers would fetch an attention of this name from the Hub."""
    keys = ("attn_implementation", "_attn_implementation", "experts_implementation")
    named = {"auto_map": {"AutoModel": "modeling_own.Own"}, "use_kernels": True}
    folder = changed(models_folder, tmp_path, **named, **dict.fromkeys(keys, "someone/kernel"))
    assert relative(hidden_states(folder, TEXT, 1).h, fed("llama")[1]) < 1e-6


@pytest.mark.parametrize(
    ("layer", "entries", "words"),
    [
        (0, {"rms_norm_eps": "1e-6"}, ["config.json", "input_norm_eps", "1e-6"]),
        (0, {"rms_norm_eps": float("nan")}, ["config.json", "input_norm_eps", "nan"]),
        (1, {"hidden_act": "some act"}, ["cannot build the first 1 layers", "some act"]),
        (1, {"num_key_value_heads": 6}, ["cannot", "the first 1 layers"]),
    ],
)
def test_refuses_entries_that_no_layer_can_run_with(layer, entries, words, models_folder, tmp_path):
    with refused(*words):
        hidden_states(changed(models_folder, tmp_path, **entries), TEXT, layer)


def test_says_what_the_run_asks_for_too_late(demo, tmp_path):
    folder = shutil.copytree(demo, tmp_path / "demo")
    with refused("cannot run the first 2 layers", "range"):
        hidden_states(rewrite_config(folder, num_experts_per_tok=9), TEXT, 2)
    rewrite_config(folder, num_experts_per_tok=2, return_dict=False)
    assert hidden_states(folder, TEXT, 2).h.isfinite().all()


def test_reads_the_language_model_of_a_larger_model(models_folder, tmp_path):
    folder = damaged(models_folder, tmp_path, rename=("model.", "language_model.model."))
    rewrite_config(folder, lambda own: {"model_type": "with_images", "text_config": own})
    for layer in (0, 1):
        assert relative(hidden_states(folder, TEXT, layer).h, fed("llama")[layer]) < 1e-6


def test_refuses_a_layer_that_there_is_not(models_folder):
    for layer in (-1, 2, "0"):
        with refused("layer", layer, "0 to 1"):
            hidden_states(folder_of("llama", models_folder), TEXT, layer)
    with refused("layers", "empty"):
        hidden_states_of_layers(folder_of("llama", models_folder), TEXT, [])
