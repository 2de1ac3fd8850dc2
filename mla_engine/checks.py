"""Checks that name the value they refuse and say what to write instead."""

from collections.abc import Iterable
from numbers import Integral, Real


class RefusedError(ValueError):
    """A refusal that can be said in other languages: a sentence, its `code` and its `values`."""

    def __init__(self, code: str, sentence: str, **values: object) -> None:
        super().__init__(sentence)
        self.code, self.values = code, values


def whole(name: str, value: object, *, least: int = 1, most: int = 2**20) -> None:
    """Raise ValueError unless `value` is an int from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(
            f"{name} ({value!r:.60}) must be a whole number, for example {max(least, 8)}"
        )
    if not least <= value <= most:
        raise ValueError(f"{name} ({value}) must be at least {least} and at most {most:,}")


def positive(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a number from 1e-30 to 1e30, which float32 holds."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and 1e-30 <= value <= 1e30):
        raise ValueError(f"{name} ({value!r:.40}) must be a number above 0, from 1e-30 to 1e30")


def non_negative(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a finite number of at least 0."""
    if value != 0 or isinstance(value, bool):
        positive(name, value)


def flag(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a bool."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} ({value!r:.60}) must be True or False")


def choice(name: str, value: object, options: Iterable[object]) -> None:
    """Raise ValueError unless `value` is one of `options`."""
    options = tuple(options)
    if value not in options:
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{name} ({value!r:.60}) must be one of {listed}")


def kind(name: str, value: object, types: type | tuple[type, ...], wanted: str) -> None:
    """Raise ValueError unless `value` is an instance of `types`; `wanted` says it in words."""
    if not isinstance(value, types):
        raise ValueError(f"{name} ({value!r:.60}) must be {wanted}")


def multiple(name: str, value: int, of_name: str, of: int) -> None:
    """Raise ValueError unless `value` is a multiple of `of`; the message lists the divisors."""
    if value % of:
        divisors = [str(d) for d in range(1, min(value, 4096) + 1) if value % d == 0]
        tries = " or ".join(filter(None, [", ".join(divisors[:-1]), divisors[-1]]))
        raise ValueError(f"{name} ({value}) must be a multiple of {of_name} ({of}): try {tries}")
