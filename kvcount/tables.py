"""Tables of a package: TOML files beside the code that reads them."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any


def read_table(package: str, *path: str) -> dict[str, Any]:
    """Return a file of the package by the parts of its path; FileNotFoundError without it."""
    return tomllib.loads(_text(package, *path))


class Rows(Mapping[str, dict[str, Any]]):
    """The rows of a file, each parsed when it is asked for: `rows[key]` is `read_table(...)[key]`.

    For a long file of which a command needs only one row. The head of a row stands alone on its
    line, and tables inside a row come after it.
    """

    _HEAD = re.compile(r'^\[(?:([\w-]+)|"([^"]+)")\]$', re.MULTILINE)  # not of a table inside a row
    _LISTED = re.compile(r'"([^"]*)"')

    def __init__(self, package: str, *path: str) -> None:
        text = _text(package, *path)
        heads = [*self._HEAD.finditer(text)]
        ends = [*(head.start() for head in heads[1:]), len(text)][: len(heads)]
        self._texts = {
            head[1] or head[2]: text[head.start() : end]
            for head, end in zip(heads, ends, strict=True)
        }

    def by(self, column: str) -> dict[str, str]:
        """Return the row that lists each text in a column; no row is parsed.

        The column is a list of texts on one line.
        """
        line = re.compile(rf"^{column} = \[(.*)\]$", re.MULTILINE)
        listed = ((key, line.search(text)) for key, text in self._texts.items())
        return {
            one: key for key, found in listed if found for one in self._LISTED.findall(found[1])
        }

    def __getitem__(self, key: str) -> dict[str, Any]:
        return tomllib.loads(self._texts[key])[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def _text(package: str, *path: str) -> str:
    return files(package).joinpath(*path).read_text("utf-8")
