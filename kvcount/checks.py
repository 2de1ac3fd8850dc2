"""Checks that name the value they refuse and say what to write instead."""

from collections.abc import Iterable
from numbers import Integral, Real

from kvcount.refusals import RefusedError, either, instance_of


def whole(name: str, value: object, *, least: int = 1, most: int = 2**20) -> None:
    """Raise ValueError unless `value` is an int from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise RefusedError("whole", name=name, value=value, example=max(least, 8))
    if not least <= value <= most:
        raise RefusedError("range", name=name, value=value, least=least, most=most)


def positive(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a number from 1e-30 to 1e30, which float32 holds."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and 1e-30 <= value <= 1e30):
        raise RefusedError("positive", name=name, value=value)


def non_negative(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a finite number of at least 0."""
    if value != 0 or isinstance(value, bool):
        positive(name, value)


def flag(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a bool."""
    if not isinstance(value, bool):
        raise RefusedError("flag", name=name, value=value)


def choice(name: str, value: object, options: Iterable[object]) -> None:
    """Raise ValueError unless `value` is one of `options`."""
    options = tuple(options)
    if value not in options:
        listed = ", ".join(map(repr, options))
        raise RefusedError("choice", name=name, value=value, listed=listed)


def kind(
    name: str, value: object, types: type | tuple[type, ...], wanted: object | None = None
) -> None:
    """Raise ValueError unless `value` is an instance of `types`; `wanted` says it in words."""
    if not isinstance(value, types):
        wanted = wanted or instance_of(*(types if isinstance(types, tuple) else (types,)))
        raise RefusedError("kind", name=name, value=value, wanted=wanted)


def multiple(name: str, value: int, of_name: str, of: int) -> None:
    """Raise ValueError unless `value` is a multiple of `of`; the message lists the divisors."""
    if value % of:
        divisors = [str(d) for d in range(1, min(value, 4096) + 1) if value % d == 0]
        tries = either(*filter(None, [", ".join(divisors[:-1]), divisors[-1]]))
        raise RefusedError("multiple", name=name, value=value, of_name=of_name, of=of, tries=tries)
