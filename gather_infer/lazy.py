"""Names that are resolved on first use: importing a package costs nothing (PEP 562), results reach what is above."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any


def lazy(package: str, homes: Mapping[str, Iterable[str]], modules: Collection[str] = ()) -> Callable[[str], object]:
    """The `__getattr__` of a package.

    homes     names by the module below the package that they are in
    modules   those below the package that are names of it themselves
    """
    module_of = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> object:
        if name in modules:
            return import_module(f"{package}.{name}")
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module}"), name)

    return find


def resolved(home: str) -> Any:
    """What `module:name` below this package is.

    Results are asked for what stands above them: their texts, which `report` makes, or another run.
    """
    module, _, name = home.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
