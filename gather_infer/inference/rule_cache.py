"""Memoized results of rule calls: deep models repeat the same layer many times.

Only a call without side effects is cached: a call that generated no symbol, added no finding, fact or assumption, and
read no constant. The key holds everything that a rule can read; facts of inputs are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from gather_infer.access import Addressing
from gather_infer.context import Context
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.rules import Attribute
from gather_infer.tensor import SymbolicTensor, Value

MAX_INTERNED_VALUES: Final = 16
"""Maximal number of known elements of a fact that is interned; a larger fact is identical only to itself."""

Key: TypeAlias = tuple[object, ...]
_HASHED: Final = (int, float, str)


def _types(attributes: Mapping[str, Attribute]) -> Iterator[object]:
    """The Python types of attribute values, part of the key of an operator without a schema, since 1 == 1.0."""
    for attribute in attributes.values():
        yield tuple(map(type, attribute)) if isinstance(attribute, tuple) else type(attribute)


class RuleCache:
    """The pure calls of one run; `clear` it when facts they depend on are rolled back."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._results: dict[Key, Sequence[Value | None]] = {}
        self.addressed: dict[Key, tuple[Addressing, ...]] = {}  # of the gather family
        self.calls: dict[Key, Any] = {}  # of functions, see `bodies.memo`
        self._canonical: dict[Key, Value] = {}
        self._alive: dict[int, Value | None] = {id(None): None}  # keeps the ids of the keys from being reused

    def key(
        self, op: ResolvedOp, attributes: Mapping[str, Attribute], inputs: list[Value | None], outputs: Sequence[str]
    ) -> Key | None:
        """The cache key of a call; None when it cannot be cached. Replaces the facts in `inputs` by canonical ones."""
        if op.op_type == "Constant":
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
            op,
            *map(id, inputs),
            *attributes.items(),
            *(() if op.schema is not None else _types(attributes)),
            *map(bool, outputs),
            scope,
            scope.version,
        )

    def canonical(self, value: Value) -> Value:
        """The canonical object for facts equal to `value`; `value` itself if it cannot be interned."""
        if isinstance(value, SymbolicTensor):
            values = value.values
            key: Key | None
            if values is None:
                key = (value.dtype, value.shape, value.value_range)
            elif values.size <= MAX_INTERNED_VALUES and value.dtype is not None and value.dtype.is_integer:
                key = (value.dtype, value.shape, value.value_range, *values.flat)
            else:
                key = None  # 0.0 == -0.0 and True == 1 although the facts differ
            if key is not None:
                value = self._canonical.setdefault(key, value)
        self._alive[id(value)] = value
        return value

    def get(self, key: Key) -> Sequence[Value | None] | None:
        return self._results.get(key)

    def put(self, key: Key, results: Sequence[Value | None]) -> Sequence[Value | None]:
        """Store the results of a call and return them as canonical facts."""
        made = [None if value is None else self.canonical(value) for value in results]
        self._results[key] = made
        return made

    def clear(self) -> None:
        """Drop all cached results; called after a rollback of facts on which they may depend."""
        self._results.clear()
        self.calls.clear()
