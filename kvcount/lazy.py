"""Modules that are imported when something of them is first used."""

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for a module that is not imported yet: `pd = LazyModule("pandas")`.

    An annotation that names something of it is quoted, or it would be asked for at once.
    """

    def __getattr__(self, name: str) -> Any:
        """Import the module and return its attribute of this name."""
        return getattr(import_module(self.__name__), name)
