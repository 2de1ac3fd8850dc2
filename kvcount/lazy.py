"""Imports on first use: of modules, and of the public names of packages."""

from collections.abc import Callable, Mapping
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


def public_names(
    package: str, home: Mapping[str, str], modules: tuple[str, ...] = ()
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names lie in modules of its own.

    Args:
        package: its name.
        home: name -> its module, below the package.
        modules: those that are public themselves.
    """

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return get
