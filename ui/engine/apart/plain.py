"""Values as JSON and back: numbers, texts, tensors, refusals, and the engine's own few types.

Nothing else can come out of what a worker sends, whatever it sends.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import torch

from mla_engine import mechanisms, rope
from mla_engine.budget import MemoryBudgetError
from mla_engine.checkpoints import CheckpointError, HiddenBytes, HiddenStates, Plan
from mla_engine.refusals import Phrase, RefusedError, table

REFUSALS = {kind.__name__: kind for kind in (RefusedError, CheckpointError, MemoryBudgetError)}
ROTATIONS = ("RopeConfig", "YarnConfig", "LinearScaling", "Llama3Scaling", "LongRopeScaling")
LONGEST_VALUE = 2_000  # characters of a refusal's value
Clean = Callable[[str], str]


@cache
def _types() -> dict[str, type]:
    """The dataclasses that may cross, by their names."""
    types = (Plan, HiddenBytes, HiddenStates, *(getattr(rope, name) for name in ROTATIONS))
    return {kind.__name__: kind for kind in (*types, *(m.config_type for m in mechanisms.all()))}


def encoded(value: object, tensors: list[torch.Tensor]) -> object:
    """The value for JSON; its tensors are put into the list and stand as their places in it.

    Raises:
        TypeError: a value of another type.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, tuple):
        return [encoded(part, tensors) for part in value]
    if isinstance(value, list):
        return {"list": [encoded(part, tensors) for part in value]}
    if isinstance(value, Mapping):
        pairs = [[encoded(part, tensors) for part in pair] for pair in value.items()]
        return {"dict": pairs}
    if is_dataclass(value) and _types().get(type(value).__name__) is type(value):
        held = {field.name: encoded(getattr(value, field.name), tensors) for field in fields(value)}
        return {"type": type(value).__name__, "fields": held}
    raise TypeError(f"a {type(value).__name__} does not cross")


def decoded(sent: Any, tensors: list[torch.Tensor]) -> object:
    """The value that `encoded` made this of.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: it made no such thing.
    """
    if isinstance(sent, list):
        return tuple(decoded(part, tensors) for part in sent)
    if not isinstance(sent, dict):
        return sent
    if "tensor" in sent:
        return tensors[sent["tensor"]]
    if "list" in sent:
        return [decoded(part, tensors) for part in sent["list"]]
    if "dict" in sent:
        return {decoded(key, tensors): decoded(part, tensors) for key, part in sent["dict"]}
    held = {name: decoded(part, tensors) for name, part in sent["fields"].items()}
    return _types()[sent["type"]](**held)


def encoded_refusal(error: RefusedError | Phrase, clean: Clean) -> dict[str, object]:
    """A refusal or a phrase for JSON; `clean` takes out of its texts what nobody should read."""
    values = {name: _encoded_value(value, clean) for name, value in error.values.items()}
    kind = next((k.__name__ for k in type(error).__mro__ if k.__name__ in REFUSALS), "Phrase")
    return {"refusal": kind, "code": error.code, "values": values}


def _encoded_value(value: object, clean: Clean) -> object:
    if isinstance(value, RefusedError | Phrase):
        return encoded_refusal(value, clean)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return clean(value)[:LONGEST_VALUE]
    try:
        if len(repr(value)) <= LONGEST_VALUE:
            return encoded(value, [])
    except TypeError:
        pass
    return clean(str(value))[:LONGEST_VALUE]


def decoded_refusal(sent: dict[str, Any]) -> RefusedError | Phrase:
    """The refusal or the phrase that `encoded_refusal` made this of; errors as `decoded`."""
    kind = (REFUSALS | {"Phrase": Phrase})[sent["refusal"]]
    if sent["code"] not in table()[kind.section]:
        raise LookupError(sent["code"])
    values = {name: _decoded_value(value) for name, value in sent["values"].items()}
    return kind(sent["code"], **values)


def _decoded_value(sent: object) -> object:
    if isinstance(sent, dict) and "refusal" in sent:
        return decoded_refusal(sent)
    return decoded(sent, [])
