"""The tokenizer in a GGUF file's metadata, as the tokenizer.json that transformers would read.

Byte-level BPE alone: how a text is cut before it is a name in `tokenizer.ggml.pre`, whose patterns
stand in `llama-vocab.cpp` of llama.cpp.
"""

import json
from collections import Counter
from typing import Any

from kvcount.files.errors import CheckpointError
from kvcount.lazy import LazyModule

np = LazyModule("numpy")

KEY = "tokenizer.ggml."
CONTROL, OF_USER = 3, 4  # types of tokens
WHOLE = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
BYTES = WHOLE | {"use_regex": False}
DIGITS = {"type": "Digits", "individual_digits": True}


WORDS = (  # Llama 3's, which keeps up to three digits together
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPLIT = {"type": "Split", "pattern": {"Regex": WORDS}, "behavior": "Isolated", "invert": False}
LLAMA = "gpt2/llama-bpe"
CUTS = {  # by the tokenizer's model and what goes before it
    "gpt2/gpt-2": WHOLE,
    "gpt2/smollm": {"type": "Sequence", "pretokenizers": [DIGITS, WHOLE]},
    LLAMA: {"type": "Sequence", "pretokenizers": [SPLIT, BYTES]},
}


def tokenizer_json(metadata: dict[str, Any], file: str) -> bytes | None:
    """Return tokenizer.json; None where the file has no tokenizer.

    Raises:
        CheckpointError: a tokenizer of another kind, or lists that contradict each other.
    """
    if (model := metadata.get(f"{KEY}model")) is None:
        return None
    if (kind := f"{model}/{metadata.get(f'{KEY}pre')}") not in CUTS:
        raise CheckpointError("gguf_tokenizer", file=file, kind=kind, known=", ".join(CUTS))
    words, merges = (_texts(metadata, name, file) for name in ("tokens", "merges"))
    types = np.asarray(metadata.get(f"{KEY}token_type", [1] * len(words)))
    if twice := [word for word, n in Counter(words).items() if n > 1]:
        raise CheckpointError("gguf_twice", file=file, name=twice[0])
    if types.shape != (len(words),):
        raise CheckpointError("gguf_value", file=file, key=f"{KEY}token_type", value=types.shape)
    added = [
        {"id": number, "content": word, "special": type_ == CONTROL, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for number, (word, type_) in enumerate(zip(words, types.tolist(), strict=True))
        if type_ in (CONTROL, OF_USER)
    ]
    rules = {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": CUTS[kind],
        "decoder": WHOLE,
        "post_processor": _before(metadata, words, kind, file),
        "model": {
            "type": "BPE",
            "vocab": {word: number for number, word in enumerate(words)},
            "merges": [merge.split(" ", 1) for merge in merges],
            "ignore_merges": kind == LLAMA,
        },
    }
    return json.dumps(rules).encode()


def _texts(metadata: dict[str, Any], name: str, file: str) -> list[str]:
    found = metadata.get(KEY + name)
    if not isinstance(found, list):
        raise CheckpointError("gguf_value", file=file, key=KEY + name, value=found)
    return found


def _before(
    metadata: dict[str, Any], words: list[str], kind: str, file: str
) -> dict[str, Any] | None:
    """Return what puts the first token before every text, where the file asks for it."""
    if metadata.get(f"{KEY}add_bos_token", kind == LLAMA) is not True:
        return None
    number = metadata.get(f"{KEY}bos_token_id")
    if type(number) is not int or number not in range(len(words)):
        raise CheckpointError("gguf_value", file=file, key=f"{KEY}bos_token_id", value=number)
    begin = {"SpecialToken": {"id": words[number], "type_id": 0}}
    known = {words[number]: {"id": words[number], "ids": [number], "tokens": [words[number]]}}
    text, other = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    both = {"single": [begin, text], "pair": [begin, text, other]}
    return {"type": "TemplateProcessing", **both, "special_tokens": known}
