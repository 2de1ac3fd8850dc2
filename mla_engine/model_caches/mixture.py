"""Whether a model is a mixture of experts: a token is multiplied with few of its parameters."""

from collections.abc import Iterator, Mapping
from typing import Any


def is_mixture(config: Mapping[str, Any]) -> bool:
    """Whether a config.json says that layers choose among experts: n_routed_experts and the like.

    Some keys stand in an object of their own; a dense model has none, or 0, 1 or null.
    """
    inner = (value for value in config.values() if isinstance(value, Mapping))
    return any(most > 1 for part in (config, *inner) for most in _experts(part))


def _experts(config: Mapping[str, Any]) -> Iterator[int]:
    """Each number of experts that are chosen among; the most where layers differ."""
    for key, value in config.items():
        if str(key).endswith("experts") and "shared" not in str(key):
            given = value if isinstance(value, list) else [value]
            yield max((n for n in given if isinstance(n, int)), default=0)
