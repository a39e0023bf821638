"""Values that are computed from the number of an iteration, and the number of iterations as the old size.

A Loop that reads row `i` of an axis in iteration `i` runs as often as the axis is long. If its trip count is a
constant, it stands for this size: it is edited, or the model is refused. States of integers may count, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from onnx import NodeProto

from gather_infer.inference.bodies.predicates import scalar
from gather_infer.symbolic import Dim, Expr
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.trail import Iterations
from gather_infer.unfreezing.constants.constant_rows import BROADCASTING
from gather_infer.unfreezing.factors.axis_factors import is_free
from gather_infer.unfreezing.factors.samples import values_of
from gather_infer.unfreezing.indices.row_numbers import ADDRESSING, addressed_dims

if TYPE_CHECKING:
    from gather_infer.unfreezing.walk import UnfreezingWalk

_INTEGERS: Final = (DType.INT64, DType.INT32)


class NumberKind(NamedTuple):
    """Whether the elements of a value are computed from numbers of rows, a freed size, the number of an iteration."""

    is_row: bool
    is_sized: bool
    is_iteration: bool


class IterationNumbers:
    """The values of the present graph that are computed from the number of an iteration.

    numbers  their names, but for those of a loop that has as many iterations as a freed axis has positions
    wanted   the size of the axis that was read by such a number; None if none was
    """

    def __init__(self, walk: UnfreezingWalk) -> None:
        self.walk = walk
        self.numbers: set[str] = set()
        self.wanted: Dim | None = None

    @contextmanager
    def inside(self, node: NodeProto, given: Sequence[str], operands: Sequence[str]) -> Iterator[None]:
        """The number of the iteration and states of integers as inputs of a loop body.

        operands   of the node, for each input of the body; "" where there is none
        """
        walk, kept = self.walk, set(self.numbers)
        count = walk.environment.values.get(node.input[0]) if node.op_type == "Loop" else None
        limit = scalar(count)
        for at, (name, operand) in enumerate(zip(given, operands, strict=True)):
            fact = walk.environment.values.get(name)
            if not isinstance(fact, SymbolicTensor) or fact.dtype not in _INTEGERS:
                continue
            is_numbered = operand in walk.row_numbers.names
            if node.op_type == "Loop" and at == 0:
                is_numbered = isinstance(limit, Expr) and is_free(limit, walk.freed)
            if is_numbered:
                walk.row_numbers.names.add(name)
            else:
                self.numbers.add(name)
        try:
            yield
        finally:
            self.numbers = kept

    def changed_state(self, node: NodeProto, given: Sequence[str], outputs: Sequence[str]) -> str:
        """How a state has numbers of rows at the first iteration alone; "" if none does."""
        names = self.walk.row_numbers.names
        first = 2 if node.op_type == "Loop" else 0
        for name, after in zip(given[first:], outputs[1 if node.op_type == "Loop" else 0 :], strict=False):
            if name in names and after not in names:
                return f"its state {name} has numbers of rows at the first iteration alone"
        return ""

    def note(self, node: NodeProto) -> None:
        """Remember whether the outputs of a node are computed from the number of an iteration."""
        sources = set(node.input)
        if node.op_type in ADDRESSING:
            fact = self.walk.environment.values.get(node.output[0])
            if not isinstance(fact, SymbolicTensor) or fact.dtype not in _INTEGERS:
                sources = {node.input[0]}
        if not self.numbers.isdisjoint(sources):
            self.numbers.update(filter(None, node.output))

    def kind_of(self, name: str) -> NumberKind:
        known = self.walk.row_numbers
        return NumberKind(name in known.names, name in known.sized, name in self.numbers)

    def note_kind(self, name: str, kind: NumberKind) -> None:
        """Remember what the elements of an output of a node with bodies are."""
        known = self.walk.row_numbers
        for table, is_one in zip((known.names, known.sized, self.numbers), kind, strict=True):
            if is_one and name:
                table.add(name)

    def problem(self, node: NodeProto) -> str:
        """How a node reads a freed axis at a position that is computed from the number of an iteration; "" if not."""
        if self.numbers.isdisjoint(node.input) or node.domain not in ("", "ai.onnx"):
            return ""
        walk, dims = self.walk, list[Dim]()
        if node.op_type in ADDRESSING and node.input[1] in self.numbers:
            dims = addressed_dims(walk, node)
        elif node.op_type == "Slice" and not self.numbers.isdisjoint(node.input[1:]):
            dims = self._cut(node)
        elif node.op_type in BROADCASTING and not walk.row_numbers.names.isdisjoint(node.input):
            return "compares the number of an iteration with positions in a freed axis"
        if not dims:
            return ""
        self.wanted = dims[0]
        return f"reads in an axis of {dims[0]} by the number of an iteration, which does not follow its size"

    def _cut(self, node: NodeProto) -> list[Dim]:
        walk = self.walk
        fact = walk.environment.values.get(node.input[0])
        shape = (fact.shape or ()) if isinstance(fact, SymbolicTensor) else ()
        given = walk.array(node.input[3]) if len(node.input) > 3 and node.input[3] else None
        axes = range(len(shape)) if given is None else [int(a) % len(shape) for a in given.ravel()]
        return [shape[axis] for axis in axes if is_free(shape[axis], walk.freed)]

    def trip_count(self, node: NodeProto) -> str | None:
        """A trip count for a Loop that follows the size of the axis that is read by the number of its iteration.

        None if the constant one is not the old size of this axis.
        """
        walk, dim = self.walk, self.wanted
        if node.op_type != "Loop" or dim is None or not node.input[0]:
            return None
        fact = walk.environment.values.get(node.input[0])
        if not isinstance(fact, SymbolicTensor) or scalar(fact) != next(values_of([dim], walk.samples.old)):
            return None
        found = walk.sizes.of_dim(dim)
        return found if fact.shape else walk.rows.as_scalar(found)

    def problem_of_count(self, node: NodeProto, mark: int) -> str:
        """Why a constant number of iterations may be a freed length; "" if it is none.

        mark   of the trail before the node was inferred
        """
        walk = self.walk
        if node.op_type != "Loop" or walk.is_matched(node):
            return ""
        loops = (each for each in walk.trail.since(mark, Iterations) if each.body.above == walk.graph.path)
        count = next((each.trip_count for each in loops), None)
        if not isinstance(count, int) or count < 2:
            return ""
        for dim in walk.sizes.held():
            is_length = isinstance(dim, Expr) and not dim.symbols & walk.freed.keys() <= walk.row_symbols
            if is_length and next(values_of([dim], walk.samples.old)) in (count, count + 1):
                return f"runs {count} times, which may depend on {dim}"
        return ""
