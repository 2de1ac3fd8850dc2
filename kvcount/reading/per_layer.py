"""Single layers in per_layer_config: the keys that they have otherwise, and what they skip."""

from collections.abc import Mapping
from typing import Any

from kvcount import checks
from kvcount.reading.keys import Keys, UncountedError

NAME = "per_layer_config"
SKIPPED = {"attention": True, "self_attn": True, "mlp": False, "moe": False}  # if it has a cache
MOST_DIGITS = 8


def told(keys: Keys) -> dict[int, Mapping[str, Any]]:
    """Return the keys of each layer that has some of its own, by its number.

    Raises:
        RefusedError: a layer that there is not, or twice, or one without keys.
    """
    if (given := keys.get(NAME)) is None:
        return {}
    checks.kind(NAME, given, Mapping)
    checks.whole(f"the number of entries of {NAME}", len(given), least=0, most=keys.n_layers)
    found: dict[int, Mapping[str, Any]] = {}
    for name, own in given.items():
        number = int(name) if str(name).isdecimal() and len(str(name)) < MOST_DIGITS else name
        checks.whole(f"a layer of {NAME}", number, least=0, most=keys.n_layers - 1)
        checks.kind(f"{NAME}.{number}", own, Mapping)
        if number in found:
            raise UncountedError("layer_twice", key=NAME, layer=number)
        if NAME in own:
            raise UncountedError("nested_layer", key=f"{NAME}.{number}.{NAME}")
        found[number] = own
    return found


def unskipped(kind: str, number: int, own: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the kind of a layer, "none" where it skips its attention, and its other keys."""
    if "skip" not in own:
        return kind, own
    name = f"{NAME}.{number}.skip"
    checks.kind(name, own["skip"], list)
    for part in own["skip"]:
        checks.choice(f"an entry of {name}", part, SKIPPED)
    others = {key: value for key, value in own.items() if key != "skip"}
    return ("none" if any(map(SKIPPED.get, own["skip"])) else kind), others
