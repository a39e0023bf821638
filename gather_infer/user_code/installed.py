"""Extensions of installed packages: entry points of the group `gather_infer.extensions`, loaded only by name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from gather_infer.errors import UsageError, suggestion
from gather_infer.extensions import user_code
from gather_infer.user_code.extension import Extension, merged, require_extension

GROUP: Final = "gather_infer.extensions"
"""The group of entry points."""


def load_extension(name: str) -> Extension:
    """The extension that an installed package offers under `name`. This imports the package, which is code.

    Raises UsageError if no package or more than one offers the name, if the import fails, and if the entry point is not
    an `Extension`.
    """
    found = list(dict.fromkeys(entry_points(group=GROUP, name=name)))
    if not found:
        known = {entry.name for entry in entry_points(group=GROUP)}
        none = "" if known else f"; no installed package has an entry point of the group {GROUP}"
        raise UsageError(f"no extension {name!r}{suggestion(name, known)}{none}")
    if len(found) > 1:
        raise UsageError(f"several packages have an extension {name!r}: {', '.join(sorted(map(_package, found)))}")
    title = f"extension {name!r} ({found[0].value} of {_package(found[0])})"
    with user_code("", lambda: title):
        value = found[0].load()
    return require_extension(value, title)


def load_extensions(names: Iterable[str]) -> Extension:
    """One extension with the sets of the extensions `names`.

    Raises the errors of `load_extension`, and UsageError if two extensions register the same operator or name.

        >>> print(gather_infer.load_extensions([]).rules)
        ()
    """
    return merged({name: load_extension(name) for name in names})


@cache
def loaded_extensions(names: tuple[str, ...]) -> Extension:
    """As `load_extensions`, once in each process."""
    return load_extensions(names)


def _package(entry: EntryPoint) -> str:
    """The name and version of the package of an entry point, for messages."""
    return "an unknown package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
