"""What is served to a server that is attacked: repositories that mean harm."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

GROWING_RULES, DISTINCT_KEYS = 30, 40_000
LARGE = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32}


def plant(hub: Path, model: Path) -> None:
    """Repositories harm/<name> below the folder that a Hub serves, made from a good model."""
    for name, spoil in {"tokenizer": tokenizer, "json": doubled, "large": large}.items():
        folder = hub / "harm" / name
        shutil.copytree(model, folder)
        spoil(folder)


def tokenizer(folder: Path) -> None:
    """Rules of which each doubles the text."""
    rule = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    rules = {"type": "Sequence", "normalizers": [rule] * GROWING_RULES}
    _change(folder / "tokenizer.json", lambda found: found | {"normalizer": rules})


def doubled(folder: Path) -> None:
    """A config.json of many keys, of which one stands there twice."""
    keys = ",".join(f'"k{number}":0' for number in range(DISTINCT_KEYS))
    (folder / "config.json").write_text(f'{{{keys},"k{DISTINCT_KEYS - 1}":1}}')


def large(folder: Path) -> None:
    """A model of the Llama family with wide layers, all of them zeros that take no disk."""
    sizes = LARGE | {"head_dim": 128, "num_hidden_layers": 4, "vocab_size": 800}
    (folder / "config.json").write_text(
        json.dumps(sizes | {"model_type": "llama", "rms_norm_eps": 1e-6})
    )
    names = [f"model.layers.{i}.self_attn.{p}_proj.weight" for i in range(4) for p in "qkvo"]
    shapes = {key: [4096, 4096] for key in names} | {"model.embed_tokens.weight": [800, 4096]}
    shapes |= {f"model.layers.{i}.input_layernorm.weight": [4096] for i in range(4)}
    for shard in folder.glob("*.safetensors*"):
        shard.unlink()
    rows, stop = {}, 0
    for name, shape in shapes.items():
        start, stop = stop, stop + 2 * shape[0] * (shape[1:] or [1])[0]
        rows[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, stop]}
    header = json.dumps(rows).encode()
    file = folder / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header)
    os.truncate(file, 8 + len(header) + stop)


def _change(file: Path, change: Callable[[dict], dict]) -> None:
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
