"""Results of rule calls that were made before: deep models repeat the same layer many times.

Only a call without side effects is remembered: one that made no symbol, reported, learnt and assumed nothing, and read
no constant. Its key holds everything a rule can see, the facts of its inputs by identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from gather_infer.access import Addressing
from gather_infer.context import Context
from gather_infer.inference.dispatch import Entry
from gather_infer.rules import Attribute
from gather_infer.tensor import SymbolicTensor, Value

MAX_INTERNED_VALUES: Final = 16
"""Elements of a tensor whose facts are compared element by element; a larger one is only ever equal to itself."""

Key: TypeAlias = tuple[object, ...]
_HASHED: Final = (int, float, str)


def _types(attributes: Mapping[str, Attribute]) -> Iterator[object]:
    """The types of attributes that no schema tells: 1 and 1.0 are equal, and different."""
    for attribute in attributes.values():
        yield tuple(map(type, attribute)) if isinstance(attribute, tuple) else type(attribute)


class RuleCache:
    """The pure calls of one run; `clear` when what they rested on is taken back."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._results: dict[Key, Sequence[Value | None]] = {}
        self.addressed: dict[Key, tuple[Addressing, ...]] = {}  # of the gather family
        self.calls: dict[Key, Any] = {}  # of functions, see `bodies.memo`
        self._canonical: dict[Key, Value] = {}
        self._alive: dict[int, Value | None] = {id(None): None}  # so that no id is given to another fact

    def key(
        self, entry: Entry, attributes: Mapping[str, Attribute], inputs: list[Value | None], outputs: Sequence[str]
    ) -> Key | None:
        """What a call's result depends on, None when that cannot be told. Makes the facts in `inputs` canonical."""
        if entry.op_type == "Constant":
            return None
        for position, value in enumerate(inputs):
            if id(value) not in self._alive:
                assert value is not None, "None is always alive"
                inputs[position] = self.canonical(value)
        for attribute in attributes.values():
            if not isinstance(attribute, _HASHED) and not (
                isinstance(attribute, tuple) and all(isinstance(item, _HASHED) for item in attribute)
            ):
                return None
        scope = self._context.scope
        return (
            entry,
            *map(id, inputs),
            *attributes.items(),
            *(() if entry.schema is not None else _types(attributes)),
            *map(bool, outputs),
            scope,
            scope.version,
        )

    def canonical(self, value: Value) -> Value:
        """The one object that stands for all facts equal to `value`."""
        if isinstance(value, SymbolicTensor):
            values = value.values
            key: Key | None
            if values is None:
                key = (value.dtype, value.shape, value.span)
            elif values.size <= MAX_INTERNED_VALUES and value.dtype is not None and value.dtype.is_integer:
                key = (value.dtype, value.shape, value.span, *values.flat)
            else:
                key = None  # 0.0 == -0.0 and True == 1, but they are different facts
            if key is not None:
                value = self._canonical.setdefault(key, value)
        self._alive[id(value)] = value
        return value

    def get(self, key: Key) -> Sequence[Value | None] | None:
        return self._results.get(key)

    def put(self, key: Key, results: Sequence[Value | None]) -> Sequence[Value | None]:
        """Remember the results of a call, which become canonical."""
        made = [None if value is None else self.canonical(value) for value in results]
        self._results[key] = made
        return made

    def clear(self) -> None:
        """Forget the results: what they rested on has been taken back."""
        self._results.clear()
        self.calls.clear()
