"""JSON of strangers, read within bounds, and the entries of a config.json.

Time and memory grow with the length of the text. What Python's parser takes and the rest of the
package would stumble over is refused: a key that stands twice, more values or levels than any
model's file has, half characters.
"""

import json
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from kvcount import checks
from kvcount.files.errors import CheckpointError
from kvcount.files.folder import CONFIG, MOST_CONFIG_BYTES, Files
from kvcount.files.other_kinds import check_kind
from kvcount.refusals import linked

MOST_VALUES = 4_000_000  # ten a tensor, of the most tensors that a checkpoint may have
MOST_DEPTH = 32
BESIDE = "hf_quant_config.json"  # the types that ModelOpt has chosen
TEXT = ("text_config", "llm_config", "language_config", "thinker_config")  # of language models
SIZES = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
LEFT_OUT = {  # by files that transformers wrote inside another: sizes of its class, by model_type
    "llama": SIZES,
    "mistral": SIZES | {"num_key_value_heads": 8},
    "qwen2": SIZES | {"num_key_value_heads": 32},
}
OF_CLASS = {  # what the class of a type takes for a key that a file leaves out; null is none
    "cohere2_moe": {"head_dim": 128},
    "cwm": {"head_dim": 128},
    "ernie4_5": {"head_dim": 128},
    "gemma4_text": {"head_dim": 256},
    "internlm3": {"head_dim": 128, "num_key_value_heads": 2},
    "mellum": {"head_dim": 128},
    "mimo_v2_flash": {"head_dim": 192},
    "ministral3": {"head_dim": 128},
    "mistral": {"sliding_window": 4096},
    "muse_spark_text": {"head_dim": 64},
    "solar_open": {"head_dim": 128},
    "stablelm": {"num_key_value_heads": 32},
    "step3p5": {"head_dim": 128},
    "step3p7": {"head_dim": 128},
}
STRINGS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
STEPS = {"{": 1, "[": 1, "}": -1, "]": -1}


def config_of(files: Files) -> dict[str, Any]:
    """Return the config.json of a folder or a repository.

    Raises:
        CheckpointError: there is none, or as `parse_json`.
    """
    if (text := files.small_file(CONFIG, MOST_CONFIG_BYTES)) is None:
        raise CheckpointError("no_config", name=files.name, file=CONFIG)
    return parse_json(text, CONFIG)


def with_beside(config: dict[str, Any], files: Files) -> dict[str, Any]:
    """Return a config.json with what ModelOpt has written beside it, under that file's name.

    Raises:
        CheckpointError: as `parse_json`.
    """
    if (text := files.small_file(BESIDE, MOST_CONFIG_BYTES)) is None:
        return config
    return config | {BESIDE: parse_json(text, BESIDE)}


def parse_json(data: bytes, file: str) -> dict[str, Any]:
    """Return the JSON object in `data`: UTF-8, or UTF-16 with a mark before it.

    Raises:
        CheckpointError: a file of another kind, no object, a key twice, more values or levels than
            any model's file has.
    """
    check_kind(data, file)
    try:
        text = str(data, "utf-16" if data.startswith(UTF_16) else "utf-8-sig")
        if (most := sum(map(text.count, ",[{"))) > MOST_VALUES:  # signs within strings included
            raise CheckpointError("many_values", given=most, most=MOST_VALUES)
        value = json.loads(text, object_pairs_hook=_with_unique_keys)
    except CheckpointError as error:
        raise CheckpointError("at", where=file, reason=error) from None
    except (ValueError, RecursionError) as error:
        raise CheckpointError("no_json", file=file, reason=error) from None
    if not isinstance(value, dict):
        raise CheckpointError("no_object", file=file, kind=type(value).__name__)
    brackets = re.sub(r"[^][{}]+", "", STRINGS.sub("", text))
    if max(accumulate(map(STEPS.__getitem__, brackets))) > MOST_DEPTH:
        raise CheckpointError("deep_json", file=file, most=MOST_DEPTH)
    return value


def _with_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        twice = next(key for key, count in Counter(k for k, _ in pairs).items() if count > 1)
        raise CheckpointError("twice_in_json", key=twice)
    "".join(names).encode()  # no half characters, which no message could show
    return names


def text_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part that describes the language model, the innermost; all of a plain one.

    Where it does not say its model_type it has that of the whole; what it leaves out is what its
    class takes for it.
    """
    inner = next((config[key] for key in TEXT if isinstance(config.get(key), Mapping)), None)
    if inner is None:
        filled = OF_CLASS.get(str(config.get("model_type")), {})
        return {**filled, **config} if filled else config
    own = inner.get("model_type")
    left_out = LEFT_OUT.get(str(own), {})
    return text_of({**left_out, **inner, "model_type": own or config.get("model_type")})


def value_of(config: Mapping[str, Any], sources: list[Any]) -> Any:
    """Return the first of `sources` that config.json has, as data/model_types.toml writes them.

    Raises:
        CheckpointError: it has none.
    """
    asked = []
    for source in sources:
        match source:
            case {"if": key, "then": then, **other}:
                if entry(config, key):
                    return value_of(config, [then])
                if "else" in other and entry(config, key) is not None:
                    return value_of(config, [other["else"]])
                asked += [key] * ("else" in other)
            case {"value": value}:
                return value
            case {"unset": _}:
                return None
            case {"ratio": keys, **options}:
                return _ratio(config, keys, options.get("power", 1))
            case str():
                key = source.removesuffix("?")
                found = entry(config, key)
                if found is not None or (key in config and key != source):
                    return found
                asked.append(key)
            case _:
                return source
    raise CheckpointError("no_key", keys=linked("nor", *asked))


def checked(check: Callable[..., None], name: str, value: Any, **bounds: int) -> Any:
    """Return a value of config.json that passes a check of `checks`; else CheckpointError."""
    try:
        check(name, value, **bounds)
    except ValueError as error:
        raise CheckpointError("at", where=CONFIG, reason=error) from error
    return value


def entry(config: Mapping[str, Any], key: str) -> Any:
    """Return what stands under a key, or under "table.key" in a table; None without it."""
    name, _, inner = key.partition(".")
    found = config.get(name)
    if not inner:
        return found
    return found.get(inner) if isinstance(found, Mapping) else None


def _ratio(config: Mapping[str, Any], keys: list[str], power: float) -> float:
    numbers = [checked(checks.positive, key, value_of(config, [key])) for key in keys]
    over, under = numbers[0], math.prod(numbers[1:])
    if power != 1:
        return (over / under) ** power
    if over % under:
        raise CheckpointError("ratio", key=keys[0], over=over, of=keys[1:])
    return over // under
