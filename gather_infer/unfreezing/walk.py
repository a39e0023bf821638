"""One walk over a static model with symbols in place of sizes: each node is inferred, and edited until it fits.

Nothing that a node demands is learnt: `batch == 2`, learnt once, would close everything behind it. A node fits when

* its rule reports no error, and no constraint that is false at another size than the old one;
* each output has its old shape at the old size;
* for a Reshape, the freed sizes stand where the row-major order of the elements puts them.

The last one decides: simplifiers write targets such as `[2, 7, 4, -1]`. The -1 absorbs the batch, all shapes agree, and
the values are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.domains import plain_domain
from gather_infer.inference.environment import Environment
from gather_infer.inference.interpreter import Interpreter
from gather_infer.inference.proto.tensors import from_tensor
from gather_infer.inference.topology import captured, topological
from gather_infer.model.paths import subgraphs
from gather_infer.node_ids import MAIN, Step
from gather_infer.symbolic import Dim, Expr, symbol
from gather_infer.tensor import Shape, SymbolicTensor, Value
from gather_infer.trail import Constraint, ImpliedConstraint, Unchecked
from gather_infer.unfreezing.axis_factors import AxisFactors, Factors, dim_of, is_free, placements, whole
from gather_infer.unfreezing.computed_sizes import ComputedSizes, Site
from gather_infer.unfreezing.constant_rows import ConstantRows
from gather_infer.unfreezing.counterpart import Counterpart
from gather_infer.unfreezing.explained_constants import explained
from gather_infer.unfreezing.operand_edits import edited
from gather_infer.unfreezing.result import Blocked
from gather_infer.unfreezing.row_numbers import RowNumbers, with_row_numbers
from gather_infer.unfreezing.samples import Relation, SizeSamples, values_of
from gather_infer.unfreezing.unknown_sizes import UnknownSizes
from gather_infer.unfreezing.windows import has_kernel_of_weights, problem_of_pad, problem_of_resize, problem_of_window

Array = np.ndarray[Any, Any]
_PLACING: Final = frozenset(
    {"Reshape", "Flatten", "Slice", "Split", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND",
     "Resize", "Expand", "Tile"}
)  # fmt: skip
"""Operators that a freed size may need an edit of although their shapes agree."""


class Placed(NamedTuple):
    """A node of the result: new, or one of the file with other inputs.

    before    position of the node of the file that it comes before, or that it is
    is_new    whether the file has no such node
    """

    node: NodeProto
    before: int
    is_new: bool
    reason: str


class UnfreezingWalk(Interpreter):
    """An interpreter of the main graph that edits nodes.

    static   the facts of the model before
    freed    symbol -> the old size
    sites    symbol -> an input axis that has it
    factors  the axis factors of values that depend on a freed size
    image_symbols  the symbols of lengths that are sizes of images: a node slides windows over them
    dependent  the values that are computed from an input with a freed size
    upper_bounds  symbol -> the largest size for which the constants of the file have rows
    row_symbols   the symbols of rows, of which each is computed alone; others are lengths
    counterpart  a second model at other sizes; None if there is none
    ambiguous   results of Reshapes that can hold a freed size of 1 in several places -> the number of places
    placements  which of them to take, the first one unless given
    other_places  results of Reshapes that can hold a length in several places -> the numbers of those not taken
    unknown  sizes of Resizes that a later node tells
    placed   the nodes of the result, in order
    added    constants of the result
    readers  value of the file -> the nodes that read it
    """

    static: Mapping[str, Value]
    freed: dict[str, int]
    sites: Mapping[str, Site]
    opset: int

    def prepare(
        self, static: Mapping[str, Value], freed: Mapping[str, int], sites: Mapping[str, Site], opset: int,
        names: Iterable[str], row_symbols: Iterable[str], counterpart: Counterpart | None,
    ) -> None:  # fmt: skip
        self.static, self.freed, self.sites, self.opset = static, dict(freed), sites, opset
        self.row_symbols, self.counterpart = frozenset(row_symbols), counterpart
        self.samples = SizeSamples(freed, self.row_symbols, None if counterpart is None else counterpart.sizes)
        self.factors: dict[str, AxisFactors] = {}
        self.dependent: set[str] = set()
        self.image_symbols: set[str] = set()
        self.upper_bounds: dict[str, int] = {}
        self.placed: list[Placed] = []
        self.added: dict[str, TensorProto] = {}
        self.row_numbers = RowNumbers()
        self.rows = ConstantRows(self)
        self.sizes = ComputedSizes(self)
        self.unknown = UnknownSizes(self, {})
        self.ambiguous: dict[str, int] = {}
        self.placements: Mapping[str, int] = {}
        self.other_places: dict[str, list[int]] = {}
        self._names = set(names)
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._position = 0
        self._producers: dict[str, NodeProto] = {}
        self._labels: list[str] = []
        self._images: set[Shape] = set()  # sizes of images that the network has before tokens are made images again
        self.readers: dict[str, list[NodeProto]] = {}

    # the walk

    def interpret_nodes(self, nodes: Sequence[NodeProto], environment: Environment, start: int = 0) -> None:
        if environment.path.steps:
            super().interpret_nodes(nodes, environment, start)
            return
        self.environment = environment
        environment.labels = self._labels
        for name, value in environment.values.items():
            self.record(name, value, ())
            self.sizes.note(name)
        order, _, cycle = topological(nodes)
        assert not cycle, "the model is well formed"
        for node in nodes:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        for position in order:
            self._position = position
            node = nodes[position]
            for name in node.output:
                self._producers[name] = node
            self._walk(node)

    def _walk(self, node: NodeProto) -> None:
        outputs = [name for name in node.output if name]
        original = node
        if self.counterpart is not None:
            node = self._with_explained_constants(node, self.counterpart)
        is_kept = node is original and node.op_type != "Constant" and not self._depends(node)
        if is_kept and all(name in self.static for name in outputs):
            self.environment.values.update((name, self.static[name]) for name in outputs)
            self._place(node, False, "")
            return
        changed = with_row_numbers(self, node)
        problem = self.attempt(changed)
        reason = "" if changed is original else f"a constant that stands for the old size of {', '.join(self.freed)}"
        if problem:
            changed, reason = edited(self, changed, problem), problem
        for name in outputs:
            self._producers[name] = changed
        self.row_numbers.note(self, changed)
        self._place(changed, False, reason)

    def _with_explained_constants(self, node: NodeProto, counterpart: Counterpart) -> NodeProto:
        """The node with the constants that differ in the second model as functions of the size. Raises Blocked."""
        inputs: dict[int, str] = {}
        for position, mine, other in counterpart.differing.get(node.output[0], ()):
            if node.op_type == "Reshape" and position == 1 and node.input[0] in self.factors:
                continue  # the order of the elements decides
            found = explained(self, mine, other)
            if found is None:
                raise Blocked(
                    self.label(node),
                    f"its constant {node.input[position]} is {_elements(mine)}, and {_elements(other)} in"
                    f" {counterpart.model.name}, which no rule explains",
                )
            inputs[position] = found
        return self.with_inputs(node, inputs) if inputs else node

    def _depends(self, node: NodeProto) -> bool:
        """Whether a node reads a value that is computed from an input with a freed size."""
        if any(name in self.dependent for name in node.input):
            return True
        return not self.dependent.isdisjoint(captured(node))

    def has_free_values(self, name: str) -> bool:
        value = self.environment.values.get(name)
        if not isinstance(value, SymbolicTensor) or value.values is None:
            return False
        return any(is_free(each, self.freed) for each in value.values.ravel().tolist() if isinstance(each, Expr))

    def _place(self, node: NodeProto, is_new: bool, reason: str) -> None:
        self.placed.append(Placed(node, self._position, is_new, reason))
        for name in filter(None, node.output):
            self.sizes.note(name)
            fact = self.environment.values.get(name)
            if isinstance(fact, SymbolicTensor) and node.op_type not in ("Reshape", "Flatten"):
                self._images.add(self._image_of(fact.shape or ()))
        self._images.discard(())

    def label(self, node: NodeProto) -> str:
        return f"node {node.name or f'{node.op_type}#{self._position}'} ({node.op_type})"

    # inference of a node

    def attempt(self, node: NodeProto) -> str:
        """Infer a node and bind its outputs; what does not fit, in words, with nothing bound. "" if all fits."""
        mark, scope, context = self.checkpoint(), self.context.scope, self.context
        self._labels.append(node.name or node.op_type)
        context.scope = scope.child()
        self.visit(node, len(self._labels) - 1, self.environment, final=True)
        problem = self._problem(node, mark)
        context.scope = scope
        if problem:
            self.rollback(mark)
            self.unbind(node)
        return problem

    def unbind(self, node: NodeProto) -> None:
        environment = self.environment
        for name in node.output:
            environment.values.pop(name, None)
            environment.constants.pop(name, None)
            environment.provenance.pop(name, None)
            self.factors.pop(name, None)
            self.dependent.discard(name)

    def _problem(self, node: NodeProto, mark: int) -> str:
        for finding in self.trail.since(mark, Diagnostic):
            if finding.severity is Severity.ERROR:
                return finding.message
        for constraint in self.trail.since(mark, Constraint):
            if self._is_broken(node, [(constraint.left, constraint.relation, constraint.right)]):
                return f"requires {constraint}"
        for implied in self.trail.since(mark, ImpliedConstraint):
            if self._is_broken(node, implied.any_of):
                return f"requires {implied}"
        problem = (self._unknown_data(node) or self._inner_problem(node, mark)) if self._depends(node) else ""
        problem = problem or problem_of_window(self, node) or problem_of_pad(self, node)
        if problem:
            return problem
        for name in filter(None, node.output):
            problem = self._misfit(node, name)
            if problem:
                return problem
        depends = self._depends(node)
        for name in filter(None, node.output):
            self.record(name, self.environment.values[name], node.input, node)
            if depends:
                self.dependent.add(name)
        return ""

    def _is_broken(self, node: NodeProto, any_of: Sequence[Relation]) -> bool:
        """Whether what a node requires is false at other sizes; it may require an image as large as its kernel."""
        if not self.samples.broken(any_of):
            return False
        return not has_kernel_of_weights(self, node) or self.samples.broken(any_of, is_weight=True)

    def _unknown_data(self, node: NodeProto) -> str:
        """Data of unknown shape that a node reshapes, cuts or addresses: they may have a freed size."""
        if node.op_type not in _PLACING or node.domain not in ("", "ai.onnx") or node.input[0] not in self.dependent:
            return ""
        data = self.environment.values.get(node.input[0])
        is_known = isinstance(data, SymbolicTensor) and data.shape is not None
        return "" if is_known else f"{node.input[0]} has an unknown shape"

    def _inner_problem(self, node: NodeProto, mark: int) -> str:
        """A node inside a subgraph or function that reshapes or addresses an axis of a freed size; it is not edited."""
        key = (plain_domain(node.domain), node.op_type, node.overload)
        if key in self.functions:
            return "calls a function of the model, which is not edited"
        pending = list(subgraphs(node, len(self._labels) - 1))
        paths = {path.steps: values for path, values in self.scopes.items() if path.root is MAIN.root}
        found: list[tuple[tuple[Step, ...], GraphProto]] = [((step,), graph) for step, graph in pending]
        while found:
            steps, graph = found.pop()
            values = paths.get(steps, {})
            for at, inner in enumerate(graph.node):
                found += [((*steps, step), body) for step, body in subgraphs(inner, at)]
                if inner.op_type in _PLACING and inner.input:
                    data = values.get(inner.input[0]) or self.environment.values.get(inner.input[0])
                    shape = (data.shape or ()) if isinstance(data, SymbolicTensor) else ()
                    if any(is_free(dim, self.freed) for dim in shape):
                        return f"holds a {inner.op_type} of an axis of {', '.join(self.freed)}, which is not edited"
        for unchecked in self.trail.since(mark, Unchecked) if pending else ():
            if unchecked.any_of and self.samples.broken(unchecked.any_of):
                return f"requires {unchecked.reason}"
        return ""

    def _misfit(self, node: NodeProto, name: str) -> str:
        """How the inferred type of an output contradicts that of the static model; "" if it does not."""
        found, was = self.environment.values.get(name), self.static.get(name)
        if not isinstance(found, SymbolicTensor) or not isinstance(was, SymbolicTensor) or was.shape is None:
            return ""
        if found.shape is None or len(found.shape) != len(was.shape):
            return f"{name} has the shape {_text(found.shape)}, had {_text(was.shape)}"
        now = list(values_of(found.shape, self.samples.old))
        before = list(values_of(was.shape, self.samples.old))
        if now != before:
            return f"{name} has the shape {_text(found.shape)}, had {_text(was.shape)}"
        other = None if self.counterpart is None else self.counterpart.shape(name)
        if other is not None and list(values_of(found.shape, self.samples.other)) != list(
            values_of(other, self.samples.other)
        ):
            return f"{name} has the shape {_text(found.shape)}, and {_text(other)} in the second model"
        if node.op_type == "Resize" and len(node.input) > 3 and node.input[3]:
            problem = problem_of_resize(self, node, found.shape)
            if problem:
                return problem
        wanted = self.regrouped(node, was.shape)
        if wanted is not None:
            if not wanted:
                return f"{name} has the shape {_text(found.shape)}, whose axes cut {', '.join(self.freed)}"
            if not any(self._is_shape(found.shape, axes) for axes in wanted[:1]):
                return f"{name} has the shape {_text(found.shape)}, the order of its elements is {_texts(wanted[0])}"
        return ""

    def _is_shape(self, shape: Shape, axes: AxisFactors) -> bool:
        return all(dim == dim_of(factors) for dim, factors in zip(shape, axes, strict=True))

    def regrouped(self, node: NodeProto, shape: Shape) -> list[AxisFactors] | None:
        """The axis factors that the result of a Reshape or Flatten can have; None for other operators."""
        if node.op_type not in ("Reshape", "Flatten") or node.domain not in ("", "ai.onnx"):
            return None
        axes = self.factors.get(node.input[0])
        if axes is None:
            return None
        target = [size for size in values_of(shape, self.samples.old) if size is not None]
        if 0 in target:
            return None
        found = [
            self._named(each, shape)
            for each in placements(axes, target, lambda dim: is_free(dim, self.freed), self.samples.old)
        ]
        other = None if self.counterpart is None else self.counterpart.shape(node.output[0])
        if other is not None:
            found = [
                each for each in found
                if [*values_of(map(dim_of, each), self.samples.other)] == [*values_of(other, self.samples.other)]
            ]  # fmt: skip
        if len(found) > 1:
            name = node.output[0]
            self.ambiguous[name] = len(found)
            first = self.placements.get(name, 0)
            found = found[first:] + found[:first]
            places = [[*values_of(map(dim_of, each), self.samples.of_lengths)] for each in found]
            others = [(first + at) % len(found) for at, dims in enumerate(places) if dims != places[0]]
            if others and other is None and self._image_of(tuple(map(dim_of, found[0]))) not in self._images:
                self.other_places[name] = others
        return found

    def _image_of(self, shape: Shape) -> Shape:
        """The axes of a shape from the first length to the last one; () if there is only one."""
        lengths = {name: size for name, size in self.freed.items() if name not in self.row_symbols}
        free = [axis for axis, dim in enumerate(shape) if is_free(dim, lengths)]
        return shape[free[0] : free[-1] + 1] if len(free) > 1 else ()

    def _named(self, axes: AxisFactors, shape: Shape) -> AxisFactors:
        """Axis factors with the symbols of the static shape where no freed size is."""
        return tuple(
            factors if any(is_free(factor, self.freed) for factor in factors) else whole(dim)
            for factors, dim in zip(axes, shape, strict=True)
        )

    def record(self, name: str, value: Value, inputs: Sequence[str], node: NodeProto | None = None) -> None:
        """Record the axis factors of a value that depends on a freed size."""
        if not isinstance(value, SymbolicTensor) or value.shape is None:
            return
        if not any(is_free(dim, self.freed) for dim in value.shape):
            return
        if node is not None:
            was = self.static.get(name)
            known = was.shape if isinstance(was, SymbolicTensor) else None
            found = self.regrouped(node, value.shape if known is None else known)
            if found and self._is_shape(value.shape, found[0]):
                self.factors[name] = found[0]
                return
            if node.op_type == "Transpose" and node.input[0] in self.factors:
                held = self.factors[node.input[0]]
                perm = next((list(a.ints) for a in node.attribute if a.name == "perm"), list(range(len(held)))[::-1])
                self.factors[name] = tuple(held[axis] for axis in perm)
                return
            repeats = self.array(node.input[1]) if node.op_type == "Tile" and node.input[0] in self.factors else None
            if repeats is not None:
                held = self.factors[node.input[0]]
                self.factors[name] = tuple(
                    (count, *factors) if count != 1 else factors
                    for count, factors in zip(repeats.ravel().tolist(), held, strict=True)
                )
                return
        self.dependent.add(name)
        self.factors[name] = tuple(self._factors_of(dim, inputs) for dim in value.shape)

    def _factors_of(self, dim: Dim, inputs: Sequence[str]) -> Factors:
        """The factors of an axis, from an axis of an input with the same dim."""
        if not is_free(dim, self.freed) or (isinstance(dim, Expr) and dim.is_symbol):
            return whole(dim)
        held = (factors for name in inputs for factors in self.factors.get(name, ()) if dim_of(factors) == dim)
        return max(held, key=len, default=whole(dim))

    # new nodes and constants

    def constant(self, array: Array, hint: str = "size") -> str:
        """The name of a constant of the result; equal ones are shared."""
        key = (array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = self.fresh(hint)
            tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.added[name] = tensor
            self.environment.constants[name] = tensor
            self.environment.values[name] = from_tensor(tensor, self.model)
        return name

    def emit(self, op_type: str, inputs: Sequence[str], *, reason: str = "", **attributes: Any) -> str:
        """Add a node before the present one; the name of its output. Raises Blocked if it cannot be inferred."""
        name = self.fresh(op_type.lower())
        node = helper.make_node(op_type, list(inputs), [name], name, **attributes)
        problem = self.attempt(node)
        if problem:
            raise Blocked(self.label(node), problem)
        self._producers[name] = node
        self.row_numbers.note(self, node)
        self._place(node, True, reason or "a size that is not fixed any more")
        return name

    def fresh_output(self, name: str) -> str:
        """A new name for a copy of a value."""
        return self.fresh(name.rsplit("/", 1)[-1])

    def add_copy(self, node: NodeProto) -> None:
        """Add a copy of a node of the file, which has been inferred, before the present one."""
        node.name = node.output[0]
        self._producers[node.output[0]] = node
        self.row_numbers.note(self, node)
        self._place(node, True, "a value of the old size, made to follow it")

    def fresh(self, hint: str) -> str:
        number = 0
        while (name := f"unfreeze_{hint}_{number}") in self._names:
            number += 1
        self._names.add(name)
        return name

    def limit(self, dim: Expr, most: int) -> None:
        """Note that the constants of the file have rows up to a size, and rely on it from here on."""
        for name in dim.symbols & self.freed.keys():
            rest = dim - symbol(name)
            if isinstance(rest, int):  # the dim is `seq`, or `seq + 7`
                self.upper_bounds[name] = min(most - rest, self.upper_bounds.get(name, most - rest))
        self.context.scope.add_fact(most - dim)

    @staticmethod
    def with_inputs(node: NodeProto, inputs: Mapping[int, str]) -> NodeProto:
        changed = NodeProto()
        changed.CopyFrom(node)
        for position, name in inputs.items():
            changed.input[position] = name
        return changed

    def is_constant(self, name: str) -> bool:
        return self.environment.constant(name) is not None

    def producer(self, name: str) -> NodeProto | None:
        return self._producers.get(name)

    def array(self, name: str) -> Array | None:
        """All elements of a constant, also of one that nodes compute from constants."""
        found = self.load_constant(name, self.environment)
        if found is not None:
            return found
        fact = self.environment.values.get(name)
        if isinstance(fact, SymbolicTensor) and fact.values is not None and fact.dtype is not None:
            flat = fact.values.ravel().tolist()
            if all(not isinstance(each, Expr) and each is not None for each in flat):
                return np.array(flat, fact.dtype.dtype).reshape(fact.values.shape)
        return None


def _elements(array: Array) -> str:
    flat = array.ravel().tolist()
    return f"{list(array.shape)} {flat[:4]}{'...' if len(flat) > 4 else ''}"


def _text(shape: Shape | None) -> str:
    return "unknown" if shape is None else f"[{', '.join(map(str, shape))}]"


def _texts(axes: AxisFactors) -> str:
    return "[" + ", ".join(str(dim_of(factors)) for factors in axes) + "]"
