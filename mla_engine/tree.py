"""Traces and caches as trees of tensors: so a graph that torch exports takes and gives them."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass

from torch.utils._pytree import MappingKey, register_pytree_node

Parts = dict[str, object]


def register(
    kind: type, parts: Callable[..., tuple[Parts, object]], whole: Callable[[Parts, object], object]
) -> None:
    """Make torch see a class as its parts.

    Args:
        kind: the class.
        parts: instance -> its tensors by name, and all else about it, which can be compared.
        whole: what `parts` gave -> an instance.
    """

    def flat(value: object) -> tuple[list[object], tuple]:
        tensors, about = parts(value)
        return list(tensors.values()), (tuple(tensors), about)

    def with_keys(value: object) -> tuple[list[tuple[MappingKey, object]], tuple]:
        tensors, about = parts(value)
        return [(MappingKey(name), t) for name, t in tensors.items()], (tuple(tensors), about)

    def joined(values: list[object], said: tuple) -> object:
        names, about = said
        return whole(dict(zip(names, values, strict=True)), about)

    register_pytree_node(kind, flat, joined, flatten_with_keys_fn=with_keys)


def said(value: object) -> object:
    """Return a configuration as (type, values by name), all the way down; else the value itself.

    Of what stands beside tensors a graph that is traced can keep only numbers, words and types.
    """
    if not is_dataclass(value):
        return value
    return type(value), tuple([(one.name, said(getattr(value, one.name))) for one in fields(value)])


def unsaid(constant: object) -> object:
    """Return what `said` was given."""
    if not isinstance(constant, tuple) or not constant or not isinstance(constant[0], type):
        return constant
    kind, values = constant
    return kind(**{name: unsaid(value) for name, value in values})
