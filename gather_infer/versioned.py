"""Tables by operator and opset version: an entry is valid from its first version until that of the next entry."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import Generic, Protocol, TypeVar


class Versioned(Protocol):
    """An entry that is valid from opset version `since` on."""

    @property
    def since(self) -> int: ...


_E = TypeVar("_E", bound=Versioned)


class VersionedTable(Generic[_E]):
    """The entries for the operators of one domain.

    domain   "" for ai.onnx
    kind     what the entries are, for the message about a duplicate
    entries  operators with their entries, in any order
    """

    def __init__(self, domain: str, kind: str, entries: Iterable[tuple[str, _E]] = ()) -> None:
        self.domain = domain
        self._kind = kind
        self._entries: dict[str, tuple[_E, ...]] = {}  # the newest first
        for op_type, entry in entries:
            self._add(op_type, entry)

    @property
    def op_types(self) -> Collection[str]:
        """The operators that have an entry."""
        return self._entries.keys()

    def lookup(self, op_type: str, version: int) -> _E | None:
        """The newest entry of `op_type` with `since <= version`; None if there is none."""
        for entry in self._entries.get(op_type, ()):
            if entry.since <= version:
                return entry
        return None

    def versions(self, op_type: str) -> tuple[_E, ...]:
        """Every entry of `op_type`, newest first."""
        return self._entries.get(op_type, ())

    def _add(self, op_type: str, *entries: _E) -> None:
        """Add entries of `op_type`. Raises ValueError if two of its entries begin at the same version."""
        versions = sorted((*self.versions(op_type), *entries), key=lambda entry: -entry.since)
        for newer, older in pairwise(versions):
            if newer.since == older.since:
                raise ValueError(f"{self.domain or 'ai.onnx'} {op_type} has two {self._kind} since {older.since}")
        self._entries[op_type] = tuple(versions)

    def _merge(self, other: VersionedTable[_E]) -> None:
        """Add the entries of `other`, a table of the same domain. Raises ValueError as `_add`."""
        for op_type, versions in other._entries.items():
            self._add(op_type, *versions)


def valid_at(version: int, entries: Iterable[_E]) -> Iterator[_E]:
    """The entries with `since <= version`, in their order, for a table in which newer entries do not replace older."""
    return (entry for entry in entries if entry.since <= version)


def newest_version(versions: Iterable[int], version: int) -> int | None:
    """The largest of `versions` that is at most `version`; None if there is none."""
    return max((each for each in versions if each <= version), default=None)
