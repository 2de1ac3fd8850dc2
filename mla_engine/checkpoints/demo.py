"""A small demonstration checkpoint: random weights in the format of a published model.

`python -m mla_engine.checkpoints.demo [FOLDER]`, models/demo by default. config.json, sharded
safetensors with an index, and a tokenizer.json as DeepSeek-V2 publishes them, in seconds and with
no network. The weights are drawn from a seed and say nothing about language; config.json's
mla_explorer_random tells so. Two things are chosen rather than drawn, so that heads differ: each
head's content and position part have gains of their own, and all embeddings share one direction.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor

from kvcount.files.errors import CheckpointError, usable

FOLDER = Path("models/demo")
MARK = "mla_explorer_random"
BEGIN, END = "<|begin_of_text|>", "<|end_of_text|>"
SENTENCES = (
    "The cat sat on the mat and looked at the moon.",
    "Every token keeps a small latent, and every head reads it in its own way.",
    "A query asks, a key answers, and a value is carried on.",
    "The cache grows with each token that the model writes.",
    "Where a word stands turns its query and its key by an angle.",
    "When the cat saw the moon, it thought of the sea and of the ships.",
    "天上的月亮照着海上的船。",
    "每个词元只保存一个小小的潜向量，每个注意力头用自己的方式读取它。",
    "查询提出问题，键作出回答，值被传递下去。",
    "模型每写出一个词元，缓存就增长一点。",
    "猫坐在垫子上，看着月亮，想着大海。",
)
README = """# A demonstration checkpoint with random weights

Made by `make demo-model`. The weights are random numbers: the format is that of a published
DeepSeek-V2 model, the attention is real attention, and what it attends to means nothing.
"""


def build_demo(folder: str | Path = FOLDER, seed: int = 0) -> Path:
    """Write the demonstration checkpoint, over an earlier one if there is one.

    Raises:
        CheckpointError: the folder holds something else, or cannot be made.
    """
    with usable(folder):
        folder = Path(folder)
        _check_own(folder)
        folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    ends = {
        "bos_token_id": tokenizer.token_to_id(BEGIN),
        "eos_token_id": tokenizer.token_to_id(END),
    }
    text = (files("mla_engine") / "data" / "demo_config.json").read_text("utf-8")
    config = json.loads(text) | ends | {"vocab_size": tokenizer.get_vocab_size()}
    names = {"bos_token": BEGIN, "eos_token": END, "tokenizer_class": "PreTrainedTokenizerFast"}
    _write(folder / "config.json", config)
    _write(folder / "tokenizer_config.json", names | {"model_max_length": 163840})
    (folder / "README.md").write_text(README, "utf-8")
    tokenizer.save(str(folder / "tokenizer.json"))
    _save(_weights(config, torch.Generator().manual_seed(seed)), folder)
    return folder


def _check_own(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        config = folder / "config.json"
        if not config.is_file() or f'"{MARK}"' not in config.read_text("utf-8", "replace"):
            raise CheckpointError("folder_in_use", folder=folder)


def _write(path: Path, values: dict) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", "utf-8")


def _tokenizer() -> Tokenizer:
    """Train byte-level BPE on a few sentences, which puts one token before every text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=800,
        special_tokens=[BEGIN, END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    first = tokenizer.token_to_id(BEGIN)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", special_tokens=[(BEGIN, first)]
    )
    return tokenizer


def _save(weights: dict[str, Tensor], folder: Path) -> None:
    """Write two shards of about the same number of tensors, and their index."""
    names, half = list(weights), len(weights) // 2
    files = {}
    for number, part in enumerate((names[:half], names[half:]), start=1):
        file = f"model-{number:05d}-of-00002.safetensors"
        save_file({name: weights[name] for name in part}, folder / file, {"format": "pt"})
        files |= dict.fromkeys(part, file)
    size = sum(weight.nbytes for weight in weights.values())
    index = {"metadata": {"total_size": size}, "weight_map": files}
    _write(folder / "model.safetensors.index.json", index)


def _weights(config: dict, generator: torch.Generator) -> dict[str, Tensor]:
    """Draw all tensors by published names, bfloat16: matrices of fan-in 1, norms around 1."""
    weights = {}
    for name, shape in _shapes(config).items():
        drawn = torch.randn(shape, generator=generator)
        weights[name] = drawn * shape[1] ** -0.5 if len(shape) == 2 else 1 + 0.1 * drawn
        if name.endswith("q_b_proj.weight"):
            weights[name] *= _gains(config, generator)
    embedding = torch.randn(config["vocab_size"], config["hidden_size"], generator=generator)
    common = torch.randn(config["hidden_size"], generator=generator)
    weights["model.embed_tokens.weight"] = embedding + common
    return {name: weight.bfloat16() for name, weight in weights.items()}


def _gains(config: dict, generator: torch.Generator) -> Tensor:
    """Draw 1/4 to 4 for each head's content rows and its rotary rows [h (k + r), 1]."""
    widths = torch.tensor([config["qk_nope_head_dim"], config["qk_rope_head_dim"]])
    n_heads = config["num_attention_heads"]
    gains = 4 ** (2 * torch.rand(2 * n_heads, generator=generator) - 1)
    return gains.repeat_interleave(widths.repeat(n_heads)).unsqueeze(-1)


def _shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Return the name and shape of every tensor, [out, in]."""
    d_model, vocabulary = config["hidden_size"], config["vocab_size"]
    shapes = {"model.embed_tokens.weight": (vocabulary, d_model)}
    for layer in range(config["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        shapes[f"{at}.input_layernorm.weight"] = (d_model,)
        shapes |= _attention_shapes(config, f"{at}.self_attn")
        shapes[f"{at}.post_attention_layernorm.weight"] = (d_model,)
        if layer < config["first_k_dense_replace"]:
            shapes |= _mlp_shapes(f"{at}.mlp", config["intermediate_size"], d_model)
            continue
        width, n_experts = config["moe_intermediate_size"], config["n_routed_experts"]
        shapes[f"{at}.mlp.gate.weight"] = (n_experts, d_model)
        for expert in range(n_experts):
            shapes |= _mlp_shapes(f"{at}.mlp.experts.{expert}", width, d_model)
        shared = width * config["n_shared_experts"]
        shapes |= _mlp_shapes(f"{at}.mlp.shared_experts", shared, d_model)
    return shapes | {"model.norm.weight": (d_model,), "lm_head.weight": (vocabulary, d_model)}


def _attention_shapes(config: dict, at: str) -> dict[str, tuple[int, ...]]:
    d_model, n_heads = config["hidden_size"], config["num_attention_heads"]
    d_latent_kv, d_latent_q = config["kv_lora_rank"], config["q_lora_rank"]
    d_head, d_rope = config["qk_nope_head_dim"], config["qk_rope_head_dim"]
    d_value = config["v_head_dim"]
    return {
        f"{at}.q_a_proj.weight": (d_latent_q, d_model),
        f"{at}.q_a_layernorm.weight": (d_latent_q,),
        f"{at}.q_b_proj.weight": (n_heads * (d_head + d_rope), d_latent_q),
        f"{at}.kv_a_proj_with_mqa.weight": (d_latent_kv + d_rope, d_model),
        f"{at}.kv_a_layernorm.weight": (d_latent_kv,),
        f"{at}.kv_b_proj.weight": (n_heads * (d_head + d_value), d_latent_kv),
        f"{at}.o_proj.weight": (d_model, n_heads * d_value),
    }


def _mlp_shapes(at: str, width: int, d_model: int) -> dict[str, tuple[int, int]]:
    up, down = (width, d_model), (d_model, width)
    shapes = {"gate_proj": up, "up_proj": up, "down_proj": down}
    return {f"{at}.{name}.weight": shape for name, shape in shapes.items()}


if __name__ == "__main__":
    sys.stdout.write(f"{build_demo(*sys.argv[1:2])}: a small checkpoint with random weights\n")
