"""The registry of attention mechanisms: every package of mla_engine with a module `mechanism`.

Costs, presets, the glossary and the app's pages ask here instead of knowing any configuration's
type, so that a new mechanism needs its own package and nothing else of the engine.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from kvcount import checks
from kvcount.refusals import RefusedError, instance_of
from kvcount.tables import read_table
from mla_engine.config import AttentionConfig
from mla_engine.mechanism import COMMON_SIZES, Form, Mechanism, Variant, Way


@lru_cache(maxsize=1)
def all() -> tuple[Mechanism, ...]:
    """Return every mechanism that there is, in order.

    Raises:
        ValueError: a package that declares none, or two that claim one name.
    """
    folders = sorted(folder.name for folder in resources.files("mla_engine").iterdir())
    found = [_declared(name) for name in folders if _declaration(name).is_file()]
    found.sort(key=attrgetter("order"))
    _refuse_twins("variant", [(one.key, [v.code for v in one.variants]) for one in found])
    _refuse_twins("way", [(one.key, [way.code for way in one.ways]) for one in found])
    return tuple(found)


def of(config: AttentionConfig) -> Mechanism:
    """Return the mechanism of a configuration.

    Raises:
        ValueError: something that is no configuration.
    """
    for mechanism in all():
        if type(config) is mechanism.config_type:  # of one mechanism's config another's may be made
            return mechanism
    raise RefusedError("kind", name="config", value=config, wanted=types_in_words())


def named(key: str) -> Mechanism:
    """Return the mechanism whose package has this name.

    Raises:
        ValueError: there is none.
    """
    by_key = {mechanism.key: mechanism for mechanism in all()}
    checks.choice("mechanism", key, by_key)
    return by_key[key]


def types_in_words(which: Callable[[Mechanism], object] = bool) -> object:
    """Name the configurations' types of the mechanisms for which `which` holds."""
    types = (one.config_type for one in all() if which(one))
    return instance_of(*sorted(types, key=lambda kind: kind.__name__))


@lru_cache(maxsize=1)
def variants() -> Mapping[str, Variant]:
    """Return code -> variant, in order."""
    every = [variant for mechanism in all() for variant in mechanism.variants]
    return MappingProxyType({one.code: one for one in sorted(every, key=attrgetter("order"))})


def offered() -> tuple[str, ...]:
    """Return the codes of the variants that may be chosen for any sizes, in their order."""
    return tuple(code for code, one in variants().items() if one.offered)


def ways() -> dict[str, Way]:
    """Return code -> way of keeping a cache and decoding, in the order of comparisons."""
    every = [way for mechanism in all() for way in mechanism.ways]
    return {one.code: one for one in sorted(every, key=attrgetter("order"))}


def of_variant(code: str) -> Mechanism:
    """Return the mechanism that offers a variant."""
    every = variants()
    checks.choice("variant", code, every)
    return next(one for one in all() if every[code] in one.variants)


def form_of(code: str) -> Form:
    """Return the form that a variant is computed in."""
    return of_variant(code).form(variants()[code].form)


def form_names() -> tuple[str, ...]:
    """Return the names of all forms, each once."""
    return tuple(dict.fromkeys(form.name for one in all() for form in one.forms))


def cache_kinds() -> tuple[str, ...]:
    """Return the kinds of all caches, each once."""
    return tuple(dict.fromkeys(cache.kind for one in all() for cache in one.caches))


def sizes_of(config: AttentionConfig) -> dict[str, int]:
    """Return the shared sizes that a configuration stands for, 0 for a part that it has not.

    Sizes that only other mechanisms have are those that they suggest for it.
    """
    own = of(config)
    suggested = {}
    for mechanism in all():
        if mechanism is not own:
            suggested |= mechanism.suggested(config)
    in_use = (name for variant in own.variants for name in variant.sizes)
    names = dict.fromkeys((*COMMON_SIZES, *in_use))
    return suggested | {name: getattr(config, name) or 0 for name in names}


def rows(name: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield file, key and row of the table of this name in data/, then beside each mechanism."""
    for folder in ("data", *(one.key for one in all())):
        if (file := resources.files("mla_engine") / folder / name).is_file():
            table = read_table("mla_engine", folder, name)
            yield from ((str(file), *row) for row in table.items())


def _declaration(name: str) -> Traversable:
    return resources.files("mla_engine") / name / "mechanism.py"


def _declared(name: str) -> Mechanism:
    declared = vars(import_module(f"mla_engine.{name}.mechanism")).get("MECHANISM")
    if not isinstance(declared, Mechanism) or declared.key != name:
        raise RefusedError("no_mechanism", name=name)
    return declared


def _refuse_twins(what: str, claimed: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Raise ValueError if two mechanisms claim one code."""
    owners: dict[str, str] = {}
    for key, codes in claimed:
        for code in codes:
            if code in owners:
                raise RefusedError(
                    "claimed_twice", key=key, what=what, code=code, owner=owners[code]
                )
            owners[code] = key
