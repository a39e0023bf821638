"""Lazy imports (PEP 562): importing a package stays cheap, and lower layers can call code of higher layers."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any


def lazy(package: str, homes: Mapping[str, Iterable[str]], modules: Collection[str] = ()) -> Callable[[str], object]:
    """A module-level `__getattr__` for `package` that imports names on first use.

    homes     module below the package -> public names defined in it
    modules   submodules that are public names of the package
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
    """The object that `target`, `module:name` with the module relative to this package, refers to.

    Methods of result classes call code of higher layers in this way, such as reports, without an import at load time.
    """
    module, _, name = target.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
