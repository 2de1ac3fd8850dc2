"""Llama's architecture in GGUF: its names and metadata, as config.json and transformers have them.

llama.cpp turns neighbouring numbers of a head by one angle where transformers turns the two halves,
so its converter reorders the rows of W_Q and W_K; `order` has the way back.
"""

import re
from math import inf
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.files.gguf.header import Header
from kvcount.lazy import LazyModule

np = LazyModule("numpy")

ARCHITECTURE = "general.architecture"
FREQUENCIES = "rope_freqs.weight"  # no tensor of transformers: `llama3` says what it means
EMBEDDING, OUTPUT = "token_embd.weight", "output.weight"
NAMES = {
    EMBEDDING: "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    OUTPUT: "lm_head.weight",
}
OF_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
LAYER = re.compile("0|[1-9][0-9]{0,3}")  # one way to write a number, so that no two names meet
ENTRIES = {  # of config.json, by the metadata's keys behind "llama."
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "context_length": "max_position_embeddings",
}
KEY_LENGTH, TURNED, VOCABULARY = "attention.key_length", "rope.dimension_count", "vocab_size"
OTHERS = {"rope.freq_base", KEY_LENGTH, "attention.value_length", TURNED, VOCABULARY}
LAYOUT = "tensor_data_layout"  # of the file that was converted
ENDS = {
    "tokenizer.ggml.bos_token_id": "bos_token_id",
    "tokenizer.ggml.eos_token_id": "eos_token_id",
}


def config_of(header: Header, file: str) -> dict[str, Any]:
    """Return the config.json of the model in a file.

    Raises:
        CheckpointError: another architecture, a key that is missing or that changes the model in a
            way that is not known, a tensor that Llama has not.
    """
    given, found = header.metadata, {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    if (architecture := given.get(ARCHITECTURE)) is None:
        raise CheckpointError("gguf_value", file=file, key=ARCHITECTURE, value=None)
    if (architecture := str(architecture)) != "llama":
        raise CheckpointError("gguf_architecture", file=file, architecture=architecture)
    own = {k.removeprefix("llama."): v for k, v in given.items() if k.startswith("llama.")}
    for key, value in own.items():
        if key not in ENTRIES.keys() | OTHERS | {LAYOUT} and not _is_nothing(value):
            raise CheckpointError("gguf_value", file=file, key=f"llama.{key}", value=value)
    for key, entry in ENTRIES.items():
        found[entry] = _number(own, key, file)
    width = found["hidden_size"] // found["num_attention_heads"]
    width = _number({KEY_LENGTH: width} | own, KEY_LENGTH, file)
    for key in ("attention.value_length", TURNED):
        if _number({key: width} | own, key, file) != width:
            raise CheckpointError("gguf_value", file=file, key=f"llama.{key}", value=own[key])
    for name in header.tensors.keys() - {FREQUENCIES}:
        name_of(name, file)
    if EMBEDDING not in header.tensors:
        raise CheckpointError("no_tensor", name=file, missing=EMBEDDING, more="")
    rounded = {one.type.name for one in header.tensors.values() if one.type.decode}
    return found | {
        "head_dim": width,
        "rope_theta": _number({"rope.freq_base": 10_000.0} | own, "rope.freq_base", file),
        "vocab_size": header.tensors[EMBEDDING].shape[0],
        "tie_word_embeddings": OUTPUT not in header.tensors,
        **{entry: given[key] for key, entry in ENDS.items() if type(given.get(key)) is int},
        "mla_explorer_rounded": ", ".join(sorted(rounded)),
    }


def _number(own: dict[str, Any], key: str, file: str) -> int | float:
    """Return a number of the metadata; one of 32 bits by its shortest decimal, as 1e-05."""
    value = own.get(key, own.get("attention.head_count") if key.endswith("_kv") else None)
    if type(value) not in (int, float) or not 0 < value < inf:
        raise CheckpointError("gguf_value", file=file, key=f"llama.{key}", value=value)
    return float(str(np.float32(value))) if isinstance(value, float) else value


def _is_nothing(value: Any) -> bool:
    return isinstance(value, int | float | str) and value in (0, "", "none")


def name_of(name: str, file: str) -> str:
    """Return a tensor's name in transformers; CheckpointError for one that Llama has not."""
    match name.split("."):
        case ["blk", number, part, "weight"] if LAYER.fullmatch(number) and part in OF_BLOCK:
            return f"model.layers.{number}.{OF_BLOCK[part]}.weight"
    if name not in NAMES:
        raise CheckpointError("gguf_tensor", file=file, name=name)
    return NAMES[name]


def order(name: str, rows: int, config: dict[str, Any], file: str) -> "np.ndarray | None":
    """Return the row of the file for each row of a tensor; None where it is the same.

    Args:
        name: of the tensor, in transformers.
        rows: their number.
        config: as `config_of` makes it.
        file: for what is said.

    Raises:
        CheckpointError: the rows cannot be parted among the heads.
    """
    heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
    n_heads = config.get(heads.get(name.split(".")[-2]))
    if n_heads is None:
        return None
    if rows % (2 * n_heads):
        raise CheckpointError("gguf_heads", file=file, name=name, rows=rows, heads=n_heads)
    return np.arange(rows).reshape(n_heads, -1, 2).swapaxes(1, 2).reshape(-1)
