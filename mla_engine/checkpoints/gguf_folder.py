"""Write the model of a GGUF file as a folder that transformers opens, in float16.

A few rows are held at a time, so that a model of any size takes little memory.
"""

import json
from pathlib import Path

from kvcount.files.errors import CheckpointError
from kvcount.files.folder import CONFIG
from kvcount.files.gguf.files import TOKENIZER, GgufFiles
from kvcount.files.safetensors_header import SINGLE, header_of
from kvcount.lazy import LazyModule

np = LazyModule("numpy")

TOKENIZER_CONFIG = "tokenizer_config.json"
NAMES = (CONFIG, TOKENIZER, TOKENIZER_CONFIG, SINGLE)


def write_folder(files: GgufFiles, folder: Path) -> None:
    """Write config.json, the tokenizer and model.safetensors into an empty folder.

    Raises:
        CheckpointError: no tokenizer that is read, numbers beyond float16.
    """
    tokenizer = files.tokenizer()
    _write(folder / CONFIG, files.config | {"torch_dtype": "float16"})
    (folder / TOKENIZER).write_bytes(tokenizer or b"{}")
    _write(folder / TOKENIZER_CONFIG, _tokenizer_config(files))
    header, _ = header_of({name: ("F16", one.shape) for name, one in files.tensors.items()})
    with (folder / SINGLE).open("wb") as file:
        file.write(header)
        for name in files.tensors:
            for numbers in files.floats(name):
                with np.errstate(over="ignore"):
                    half = numbers.astype("<f2")
                if not np.isfinite(half).all():
                    raise CheckpointError("gguf_half", file=files.name, name=name)
                file.write(half.data)


def _tokenizer_config(files: GgufFiles) -> dict[str, object]:
    given = files.header.metadata
    words = given.get("tokenizer.ggml.tokens", [])
    ends = {name: files.config.get(f"{name}_id") for name in ("bos_token", "eos_token")}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": files.config["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
        "chat_template": given.get("tokenizer.chat_template"),
        **{name: words[number] for name, number in ends.items() if number in range(len(words))},
    }


def _write(path: Path, values: dict[str, object]) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", "utf-8")
