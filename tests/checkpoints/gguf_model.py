"""A small Llama in a GGUF file, written by llama.cpp's own package, with every type of numbers."""

import json
from functools import cache
from itertools import cycle

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from kvcount.files.gguf.blocks import TYPES
from mla_engine.checkpoints.demo import SENTENCES

gguf = pytest.importorskip("gguf", reason="gguf of requirements-dev.txt is not installed")
Type = gguf.GGMLQuantizationType
SIZES = {"hidden": 256, "inner": 512, "heads": 4, "kv_heads": 2, "layers": 6}
FACTORS = {"Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}  # places of float16 in a block
END = "<|end|>"
KINDS = [one.name for one in TYPES.values()]


def blocks(kind: str, rows: int, columns: int, draw: np.random.Generator) -> np.ndarray:
    """Random numbers as a type stores them [rows, bytes]; of K types, that nobody quantises in
    Python, random blocks with factors of a usual size."""
    numbers, n_bytes = gguf.GGML_QUANT_SIZES[Type[kind]]
    if kind not in FACTORS:
        weights = draw.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)
        return gguf.quantize(weights, Type[kind])
    made = draw.integers(0, 256, (rows * columns // numbers, n_bytes), np.uint8)
    for at in FACTORS[kind]:
        factors = draw.uniform(1e-5, 2e-5, len(made)).astype("<f2")
        made[:, at : at + 2] = factors[:, None].view(np.uint8)
    return made.reshape(rows, -1)


@cache
def tokenizer() -> Tokenizer:
    """Byte-level BPE of a few sentences, whose digits stand alone."""
    made = Tokenizer(models.BPE())
    bytes_alone = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), bytes_alone])
    made.decoder = decoders.ByteLevel()
    kept = {"special_tokens": [END], "initial_alphabet": pre_tokenizers.ByteLevel.alphabet()}
    made.train_from_iterator(
        [*SENTENCES, "2024 1234 20 24 12", "  two   spaces"] * 2,
        trainers.BpeTrainer(vocab_size=600, show_progress=False, **kept),
    )
    return made


def write(path, change=lambda writer: None, kinds=KINDS):
    """The file at `path`, its matrices of one kind after the other; `change` may add to it."""
    draw, kinds = np.random.default_rng(5), cycle(kinds)
    writer = gguf.GGUFWriter(str(path), "llama")
    _say(writer)
    change(writer)
    hidden, inner = SIZES["hidden"], SIZES["inner"]
    of_keys = hidden // SIZES["heads"] * SIZES["kv_heads"]
    shapes = {"attn_q": (hidden, hidden), "attn_k": (of_keys, hidden), "attn_v": (of_keys, hidden)}
    shapes |= {"attn_output": (hidden, hidden), "ffn_down": (hidden, inner)}
    shapes |= dict.fromkeys(("ffn_gate", "ffn_up"), (inner, hidden))
    names = {
        f"blk.{layer}.{name}": shape
        for layer in range(SIZES["layers"])
        for name, shape in shapes.items()
    }
    for name, shape in ({"token_embd": (len(_words()), hidden)} | names).items():
        kind = next(kinds)
        writer.add_tensor(f"{name}.weight", blocks(kind, *shape, draw), raw_dtype=Type[kind])
    norms = [
        f"blk.{n}.{name}" for n in range(SIZES["layers"]) for name in ("attn_norm", "ffn_norm")
    ]
    for name in ("output_norm", *norms):
        writer.add_tensor(f"{name}.weight", draw.normal(1, 0.3, hidden).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _words() -> list[str]:
    vocabulary = tokenizer().get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _say(writer) -> None:
    writer.add_embedding_length(SIZES["hidden"])
    writer.add_feed_forward_length(SIZES["inner"])
    writer.add_block_count(SIZES["layers"])
    writer.add_context_length(512)
    writer.add_head_count(SIZES["heads"])
    writer.add_head_count_kv(SIZES["kv_heads"])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(5e4)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(_words())
    writer.add_token_types([3 if word == END else 1 for word in _words()])
    merges = json.loads(tokenizer().to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
