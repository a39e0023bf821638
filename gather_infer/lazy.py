"""Names that are resolved on first use (PEP 562): imports stay cheap, and lower layers can reach code above them."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any


def lazy(package: str, homes: Mapping[str, Iterable[str]], modules: Collection[str] = ()) -> Callable[[str], object]:
    """The `__getattr__` of a package with lazily imported names.

    homes     module below the package -> names defined in it
    modules   submodules that are themselves public names
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


def resolve(target: str) -> Any:
    """Import `module:name` below this package.

    Result classes use it to call code of higher layers without importing it, such as `report` or another inference.
    """
    module, _, name = target.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
