"""A small random DeepSeek-V4, as transformers builds and saves it."""

import json
from functools import cache

import torch
from safetensors.torch import load_file, save_file
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

from tests.checkpoints.models import CONTEXT, SMALL, filled, rewrite_config, seen_by

WINDOW, CSA, HCA = (
    "sliding_attention",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
)
TYPES = [WINDOW, HCA, CSA, HCA, CSA]
SETTINGS = {k: v for k, v in SMALL.items() if k not in ("intermediate_size", "num_hidden_layers")}
SETTINGS |= {"num_hidden_layers": 5, "num_attention_heads": 6, "head_dim": 24, "q_lora_rank": 20}
SETTINGS |= {"o_lora_rank": 7, "o_groups": 3, "sliding_window": 6, "moe_intermediate_size": 8}
SETTINGS |= {"n_routed_experts": 2, "num_experts_per_tok": 1, "partial_rotary_factor": 1 / 3}
SETTINGS |= {"index_n_heads": 16, "index_head_dim": 12, "index_topk": 3, "layer_types": TYPES}
SETTINGS |= {"compress_rates": {CSA: 4, HCA: 10}, "num_hash_layers": 1}
YARN = {"rope_type": "yarn", "factor": 16.0, CONTEXT: 64}
SETTINGS |= {"rope_parameters": YARN, "max_position_embeddings": 1024}


def config():
    return CONFIG_MAPPING["deepseek_v4"](**SETTINGS)


@cache
def built():
    """The model with eager attention; norms, sinks and biases are random too."""
    return filled(AutoModelForCausalLM.from_config(config(), attn_implementation="eager"))


def own_config():
    """config.json as transformers writes it."""
    return json.loads(config().to_json_string())


def as_published(written):
    """With compress_ratios, one for a layer of drafts more, and one rotation as others have it."""
    ratios = {WINDOW: 0, CSA: 4, HCA: 128}
    gone = ("layer_types", "compress_rates", "rope_parameters", "partial_rotary_factor")
    yarn = {"type": "yarn", "factor": 16.0, CONTEXT: 64, "beta_fast": 32, "beta_slow": 1}
    published = {key: value for key, value in written.items() if key not in gone}
    published |= {"compress_ratios": [ratios[kind] for kind in written["layer_types"]] + [0]}
    return published | {"compress_rate_hca": 10, "rope_scaling": yarn}


def saved(folder, published):
    """The model's folder, sharded."""
    built().save_pretrained(folder, max_shard_size="60KB")
    return rewrite_config(folder, as_published) if published else folder


KEPT = ("compressor", "weights_proj", "norm", "sink")  # what V4 does not store in 8 bits


def stored_as_published(folder):
    """The attentions in 8 bits with factors that are powers of two, as V4's own files name them."""
    tensors = {}
    for file in folder.glob("*.safetensors"):
        tensors |= load_file(file)
        file.unlink()
    (folder / "model.safetensors.index.json").unlink(missing_ok=True)
    draw, written = torch.Generator().manual_seed(3), {}
    for name, tensor in tensors.items():
        name = name.replace(".attn.norm.", ".attn.kv_norm.")
        if ".attn." not in name or any(kept in name for kept in KEPT):
            written[name] = tensor
            continue
        blocks = [(size + 127) // 128 for size in tensor.shape]
        powers = 2.0 ** torch.randint(-9, -5, blocks, generator=draw)
        written[name] = (tensor * 100).to(torch.float8_e4m3fn)
        written[name.removesuffix(".weight") + ".scale"] = powers.to(torch.float8_e8m0fnu)
    save_file(written, folder / "model.safetensors")
    blocks = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
    rewrite_config(folder, quantization_config=blocks | {"scale_fmt": "ue8m0"})
    return written


def attended(tokens):
    """Record what enters each attention of the model as it runs, and what leaves it."""
    attentions = [layer.self_attn for layer in built().model.layers]
    return [(h, u) for h, u, *_ in seen_by(attentions, lambda: built()(tokens))]
