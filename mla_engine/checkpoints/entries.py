"""What config.json has under the keys that the table of families names."""

import math
from collections.abc import Mapping
from typing import Any

from mla_engine import checks
from mla_engine.checkpoints.errors import CheckpointError
from mla_engine.refusals import linked


def value_of(config: Mapping[str, Any], sources: list[Any]) -> Any:
    """The first of `sources` that config.json has; CheckpointError if it has none."""
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


def entry(config: Mapping[str, Any], key: str) -> Any:
    """What stands under a key, or under "table.key" in a table of config.json; None without it."""
    name, _, inner = key.partition(".")
    found = config.get(name)
    if not inner:
        return found
    return found.get(inner) if isinstance(found, Mapping) else None


def _ratio(config: Mapping[str, Any], keys: list[str], power: float) -> float:
    numbers = [value_of(config, [key]) for key in keys]
    for key, number in zip(keys, numbers, strict=True):
        try:
            checks.positive(key, number)
        except ValueError as error:
            raise CheckpointError("at", where="config.json", reason=error) from error
    over, under = numbers[0], math.prod(numbers[1:])
    if power != 1:
        return (over / under) ** power
    if over % under:
        raise CheckpointError("ratio", key=keys[0], over=over, of=keys[1:])
    return over // under
