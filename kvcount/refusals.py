"""Refusals: a code with values, said in the language of the reader.

The sentences stand in data/refusals.toml, a row a code and a column a language; `str(error)` is the
English one. A package that builds on this one has a table of its own and gives its name to `add`.
What a refusal quotes from another, or only in some cases, is a `Phrase` among its values and is
said in the reader's language with it.
"""

from collections.abc import Mapping
from functools import cache, partial, reduce

from kvcount.drawn import Quoted
from kvcount.tables import read_table

ORIGINAL = "en"  # the language that stands in where a translation is missing
_packages = ["kvcount"]


class Phrase:
    """A part of a sentence with words of its own: a code and values, as a refusal has them."""

    section = "phrase"

    def __init__(self, code: str, /, **values: object) -> None:
        self.code, self.values = code, values

    def __str__(self) -> str:
        return sentence(self, ORIGINAL)


class RefusedError(ValueError):
    """A refusal: its `code` in the table's `section`, and the `values` that its sentence names."""

    section = "refused"

    def __init__(self, code: str, /, **values: object) -> None:
        self.code, self.values = code, values
        super().__init__(sentence(self, ORIGINAL))

    def __reduce__(self) -> tuple:
        """Pickle it by its code and values; an exception's own way is by its sentence."""
        return partial(type(self), self.code, **self.values), ()


def table() -> dict[str, dict[str, dict[str, str]]]:
    """Return every sentence: section -> code -> language -> text with its values in braces."""
    return _tables(tuple(_packages))


@cache
def _tables(packages: tuple[str, ...]) -> dict[str, dict[str, dict[str, str]]]:
    sections: dict[str, dict[str, dict[str, str]]] = {}
    for package in packages:
        for section, rows in of_package(package).items():
            sections[section] = sections.get(section, {}) | rows
    return sections


def of_package(name: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the sentences of one package, as `table` does."""
    return read_table(name, "data", "refusals.toml")


def add(package: str) -> None:
    """Also use the sentences of a package whose refusals have codes of their own."""
    if package not in _packages:
        _packages.append(package)


def sentence(said: object, language: str) -> str:
    """Say a refusal in `language`, or in English without a translation; other errors in a line."""
    if not isinstance(said, RefusedError | Phrase):
        return format(Quoted(_in_a_line(said)))
    row = table()[said.section][said.code]
    values = {name: _spoken(value, language) for name, value in said.values.items()}
    return row.get(language, row[ORIGINAL]).format(**values)


def _spoken(value: object, language: str) -> object:
    """Return a value as a sentence shows it: a text or another error may be a stranger's."""
    if isinstance(value, RefusedError | Phrase):
        return sentence(value, language)
    if isinstance(value, Exception):
        return Quoted(_in_a_line(value))
    return Quoted(value) if isinstance(value, str) else value


def _in_a_line(said: object) -> str:
    return " ".join(str(said).split())


def linked(code: str, *parts: object) -> object:
    """Return one part or more, each joined to those before it by the phrase `code`."""
    return reduce(lambda first, last: Phrase(code, first=first, last=last), parts)


def either(*options: object) -> object:
    """Join options by "or", for the end of a sentence."""
    return linked("either", *options)


def instance_of(*types: type) -> object:
    """Return the types as a refusal names them: "a LatentCache or a KVCache", "an object"."""
    names = ("object" if issubclass(kind, Mapping) else kind.__name__ for kind in types)
    return either(*map(_one, names))


def _one(name: str) -> Phrase:
    return Phrase("an" if name[0] in "AEIOUaeiou" else "a", name=name)
