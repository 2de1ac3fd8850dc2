"""Tables of a package: TOML files beside the code that reads them."""

import tomllib
from importlib.resources import files
from typing import Any


def read_table(package: str, *path: str) -> dict[str, Any]:
    """Return a file of the package by the parts of its path; FileNotFoundError without it."""
    return tomllib.loads(files(package).joinpath(*path).read_text("utf-8"))
