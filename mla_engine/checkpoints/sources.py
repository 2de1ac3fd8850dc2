"""Values of a config.json by their sources, as kvcount's data/modules.toml writes them."""

import math
from collections.abc import Callable
from typing import Any

from kvcount import checks
from kvcount.files.errors import CheckpointError
from kvcount.files.folder import CONFIG
from kvcount.reading.keys import Keys
from kvcount.refusals import linked


def value_of(keys: Keys, sources: list[Any]) -> Any:
    """Return the first of `sources` that config.json has.

    Raises:
        CheckpointError: it has none.
    """
    asked = []
    for source in sources:
        match source:
            case {"if": key, "then": then, **other}:
                if keys.get(key):
                    return value_of(keys, [then])
                if "else" in other and keys.get(key) is not None:
                    return value_of(keys, [other["else"]])
                asked += [keys.name(key)] * ("else" in other)
            case {"value": value}:
                return value
            case {"unset": _}:
                return None
            case {"ratio": of, **options}:
                return _ratio(keys, of, options.get("power", 1))
            case str():
                key = source.removesuffix("?")
                found = keys.get(key)
                if found is not None or (keys.name(key) in keys.config and key != source):
                    return found
                asked.append(keys.name(key))
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


def _ratio(keys: Keys, of: list[str], power: float) -> float:
    numbers = [checked(checks.positive, keys.name(key), value_of(keys, [key])) for key in of]
    over, under = numbers[0], math.prod(numbers[1:])
    if power != 1:
        return (over / under) ** power
    if over % under:
        raise CheckpointError(
            "ratio", key=keys.name(of[0]), over=over, of=[*map(keys.name, of[1:])]
        )
    return over // under
