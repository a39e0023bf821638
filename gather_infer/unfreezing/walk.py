"""One walk over a static model with symbols in place of sizes: each node is inferred, and edited until it fits.

Nothing that a node demands is learnt: `batch == 2`, learnt once, would close everything behind it. A node fits when

* its rule reports no error, and no constraint that is false at another size than the old one;
* each output has its old shape at the old size;
* for a Reshape, the freed sizes stand where the row-major order of the elements puts them.

The last one decides: simplifiers write targets such as `[2, 7, 4, -1]`. The -1 absorbs the batch, all shapes agree, and
the values are wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from onnx import NodeProto, helper

from gather_infer.diagnostic import Diagnostic, Severity
from gather_infer.domains import plain_domain
from gather_infer.inference.environment import Environment
from gather_infer.inference.topology import captured, topological
from gather_infer.model.paths import joined_label, label_of
from gather_infer.node_ids import MAIN, GraphPath
from gather_infer.symbolic import Dim, Expr, free_symbols, symbol
from gather_infer.tensor import Shape, SymbolicTensor, Value
from gather_infer.trail import Constraint, ImpliedConstraint
from gather_infer.unfreezing.bodies import Bodies
from gather_infer.unfreezing.constants.coinciding_numbers import problem_of_numbers, reads_length
from gather_infer.unfreezing.constants.constant_rows import ConstantRows
from gather_infer.unfreezing.constants.counts import Counts
from gather_infer.unfreezing.constants.explained_constants import with_explained_constants
from gather_infer.unfreezing.constants.repeated_rows import MAX_REPEATED, RepeatedRow, repeated_rows
from gather_infer.unfreezing.counterpart import Counterpart
from gather_infer.unfreezing.factors.axis_factors import AxisFactors, WindowSize, dim_of, is_free
from gather_infer.unfreezing.factors.factored_values import FactoredValues
from gather_infer.unfreezing.factors.joined_parts import JoinedParts
from gather_infer.unfreezing.factors.samples import Relation, SizeSamples, values_of
from gather_infer.unfreezing.images.explained_paddings import with_explained_paddings
from gather_infer.unfreezing.images.window_paddings import with_window_paddings
from gather_infer.unfreezing.images.windows import (
    has_kernel_of_weights,
    problem_of_pad,
    problem_of_resize,
    problem_of_window,
    sizes_of_images,
)
from gather_infer.unfreezing.indices.indexed_axes import IndexedAxes
from gather_infer.unfreezing.indices.positions import PositionFacts
from gather_infer.unfreezing.indices.row_numbers import RowNumbers, note_index, with_row_numbers
from gather_infer.unfreezing.operand_edits import edited
from gather_infer.unfreezing.result import Blocked
from gather_infer.unfreezing.sizes.computed_sizes import ComputedSizes, Site
from gather_infer.unfreezing.sizes.divisible_sizes import with_divisible_sizes
from gather_infer.unfreezing.sizes.unknown_shapes import problem_of_unknown_shape
from gather_infer.unfreezing.sizes.unknown_sizes import UnknownSizes
from gather_infer.unfreezing.visible_values import stacked


class Placed(NamedTuple):
    """A node of the result: new, or one of the file with other inputs.

    before    position, in its graph, of the node of the file that it comes before, or that it is
    is_new    whether the file has no such node
    """

    node: NodeProto
    before: int
    is_new: bool
    reason: str


class UnfreezingWalk(FactoredValues):
    """An interpreter of the main graph, and of the bodies of its nodes, that edits nodes.

    divisible  copies of values -> axis, and the number that divides it in each run that does not fail
    divided  sizes, and the numbers that divide them
    fills_up_to_counts  whether images are filled up to multiples of numbers of windows, not of their sizes
    leaves_out_sizes  whether a node requires lengths to be equal that are not at each size, as windows and strides do
    divides_patches   whether strides have to divide the image, as an earlier walk found that sizes are left out
    windows  the sizes of the windows that images are cut into
    upper_bounds  symbol -> the largest size for which the constants of the file have rows
    unknown  sizes of Resizes that a later node tells
    repeated_rows  values that nodes compute from constants alone, whose axis counts rows
    candidates  values behind the node that does not fit, which may be such
    emitted  results of new nodes, whose numbers are those of a rule
    placed   the nodes of the present graph in the result, in order
    readers  value of the present graph -> the nodes of this graph that read it
    """

    opset: int

    def prepare(
        self, scopes: Mapping[GraphPath, Mapping[str, Value]], generated: Collection[str], freed: Mapping[str, int],
        sites: Mapping[str, Site], opset: int, names: Iterable[str], row_symbols: Iterable[str],
        counterpart: Counterpart | None,
    ) -> None:  # fmt: skip
        self.static, self.freed, self.sites, self.opset = scopes[MAIN], dict(freed), sites, opset
        self.static_scopes, self.generated_before, self.path = scopes, generated, MAIN
        self.row_symbols, self.counterpart = frozenset(row_symbols), counterpart
        self.samples = SizeSamples(freed, self.row_symbols, None if counterpart is None else counterpart.sizes)
        self.divisible: dict[str, dict[int, int]] = {}
        self.divided: set[tuple[Dim, int]] = set()
        self.filled = {}
        self.fills_up_to_counts = False
        self.leaves_out_sizes = False
        self.divides_patches = False
        self.windows: set[int] = set()
        self.begin_factors()
        self.upper_bounds: dict[str, int] = {}
        self.placed: list[Placed] = []
        self.row_numbers = RowNumbers()
        self.positions = PositionFacts(self)
        self.indexed = IndexedAxes(self)
        self.counts = Counts(self)
        self.parts = JoinedParts(self)
        self.rows = ConstantRows(self)
        self.sizes = ComputedSizes(self)
        self.unknown = UnknownSizes(self, {})
        self.bodies = Bodies(self)
        self.repeated_rows: tuple[RepeatedRow, ...] = ()
        self.candidates: list[RepeatedRow] = []
        self.use_names(names)
        self.emitted: set[str] = set()
        self._emitted: dict[bytes, str] = {}
        self._is_emitting = False
        self._position = 0
        self._producers: dict[str, NodeProto] = {}
        self._labels: list[str] = []
        self.readers: dict[str, list[NodeProto]] = {}
        self.in_file: dict[str, NodeProto] = {}

    # the walk

    def interpret_nodes(self, nodes: Sequence[NodeProto], environment: Environment, start: int = 0) -> None:
        if not environment.path.steps:
            self.main = environment
            self.enter_graph(environment)
            self.image_symbols |= sizes_of_images(self)
            self.walk_nodes(nodes, {})
            self.indexed.check(self._live())
        elif not self.bodies.interpret(nodes, environment):
            super().interpret_nodes(nodes, environment, start)

    def _live(self) -> set[str]:
        """The values of the main graph that its outputs are computed from."""
        found = {value.name for value in self.model.proto.graph.output}
        for placed in reversed(self.placed):
            if not found.isdisjoint(placed.node.output):
                found.update(placed.node.input, captured(placed.node))
        return found

    @contextmanager
    def inside(self, environment: Environment, path: GraphPath, names: Collection[str]) -> Iterator[list[Placed]]:
        """Let a subgraph be the present graph; its placed nodes. Nothing that reads its values is left afterwards.

        path    in the file
        names   of the values that the subgraph defines in the file
        """
        kept = self.graph, self.environment, self.static, self.path, self._position, self.placed
        read = self.readers, self.in_file
        marks = self.sizes.mark(), self.rows.mark(), len(self._emitted)
        self.enter_graph(environment)
        self.static, self.path = stacked(self.static_scopes.get(path, {}), self.static), path
        self.placed, self.readers = [], {}
        try:
            yield self.placed
        finally:
            self.graph, self.environment, self.static, self.path, self._position, self.placed = kept
            self.readers, self.in_file = read
            self.sizes.forget_since(marks[0])
            self.rows.forget_since(marks[1])
            while len(self._emitted) > marks[2]:
                self._emitted.popitem()
            for name in names:
                self.factors.pop(name, None)
                self._producers.pop(name, None)
            self.dependent.difference_update(names)
            for facts in (self.row_numbers, self.positions, self.counts, self.parts):
                facts.forget(names)

    def walk_nodes(self, nodes: Sequence[NodeProto], given: Mapping[str, AxisFactors]) -> None:
        """Walk the nodes of the present graph.

        given  axis factors of inputs of the graph
        """
        environment = self.graph
        environment.labels = self._labels
        for name, value in environment.values.items():
            self.record(name, value, ())
            self.sizes.note(name)
        self.factors.update(given)
        order, _, cycle = topological(nodes)
        assert not cycle, "the model is well formed"
        self.in_file = {name: node for node in nodes for name in node.output}
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
        if self.counterpart is not None and not self.path.steps:
            node = with_explained_paddings(self, with_explained_constants(self, node, self.counterpart))
        node = self._with_repeated_rows(node)
        is_kept = node is original and node.op_type != "Constant" and not self._depends(node)
        if is_kept and reads_length(self, node):
            raise Blocked(self.label(node), "reads numbers that may be the length, or positions after it")
        if is_kept and self.path.steps:
            self._labels.append(node.name or node.op_type)
            self.visit(node, len(self._labels) - 1, self.graph, final=True)  # its facts may hold for one iteration
            self._place(node, False, "")
            return
        if is_kept and all(name in self.static for name in outputs):
            self.environment.values.update((name, self.static[name]) for name in outputs)
            self._place(node, False, "")
            return
        why = self.bodies.iterations.problem(node)
        if why:
            raise Blocked(self.label(node), why)
        changed = with_row_numbers(self, with_window_paddings(self, with_divisible_sizes(self, node)))
        problem = self.attempt(changed)
        reason = "" if changed is original else f"a constant that stands for the old size of {', '.join(self.freed)}"
        if problem and self.counterpart is not None and self.path.steps:
            raise Blocked(self.label(node), problem)  # bodies are the same in both models
        if problem:
            self.candidates = [*islice(repeated_rows(self, changed), MAX_REPEATED)]
            changed, reason = edited(self, changed, problem), problem
            self.candidates = []
        changed, inner = self.bodies.with_edits(changed)
        for name in outputs:
            self._producers[name] = changed
        self._note(changed)
        self.bodies.note(changed)
        self._place(changed, False, inner or reason)

    def _with_repeated_rows(self, node: NodeProto) -> NodeProto:
        """The node with inputs of `repeated_rows` made to follow the freed size. Raises Blocked."""
        inputs: dict[int, str] = {}
        for value, axis, name in self.repeated_rows:
            for position in (at for at, given in enumerate(node.input) if given == value):
                found = self.rows.with_rows(value, axis, (symbol(name),))
                if found is None:
                    raise Blocked(self.label(node), f"{value} has no rule for another {name}")
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
        note_index(self, node)
        for name in filter(None, node.output):
            self.sizes.note(name)
            for factor in (factor for axis in self.factors.get(name, ()) for factor in axis):
                if isinstance(factor, WindowSize) and not is_new:
                    self.windows.add(int(factor))
                    self.divided.add((factor.whole, int(factor)))
            fact = self.environment.values.get(name)
            if isinstance(fact, SymbolicTensor) and node.op_type not in ("Reshape", "Flatten"):
                self.images.add(self.image_of(fact.shape or ()))
        self.images.discard(())

    def _note(self, node: NodeProto) -> None:
        """Record what the elements of the outputs of a node are."""
        self.row_numbers.note(self, node)
        self.positions.note(node)
        self.counts.note(node)

    @property
    def position(self) -> int:
        """The position in the file of the present node."""
        return self._position

    def label(self, node: NodeProto) -> str:
        own = node.name or f"{node.op_type}#{self._position}"
        return f"node {joined_label(label_of(self.model.proto, self.path), own)} ({node.op_type})"

    def is_matched(self, node: NodeProto) -> bool:
        """Whether the constants of a node are the same in a second model, or have been explained."""
        if self.counterpart is None:
            return False
        return bool(self.path.steps) or node.output[0] in self.counterpart.facts

    def attempt(self, node: NodeProto) -> str:
        """Infer a node and bind its outputs; what does not fit, in words, with nothing bound. "" if all fits."""
        problem = self._attempt(node)
        while problem and self.bodies.demands_more(node):
            problem = self._attempt(node)
        return problem

    def _attempt(self, node: NodeProto) -> str:
        mark, scope, context, retries = self.checkpoint(), self.context.scope, self.context, self.retries
        self._labels.append(node.name or node.op_type)
        context.scope = scope.child()
        try:
            with self.bodies.of(node):
                self.visit(node, len(self._labels) - 1, self.graph, final=True)
            problem = self._problem(node, mark)
        except Blocked as fault:  # in a body
            problem = f"{fault.node}: {fault.reason}"
            context.findings.clear()
            context.addressed.clear()
        context.scope = scope
        if problem:
            self.rollback(mark)
            self.unbind(node)
            self.retries = retries
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
        required: list[tuple[Constraint | ImpliedConstraint, Sequence[Relation]]] = [
            (each, [(each.left, each.relation, each.right)]) for each in self.trail.since(mark, Constraint)
        ]
        required += [(each, each.any_of) for each in self.trail.since(mark, ImpliedConstraint)]
        for each, any_of in required:
            if not self.bodies.has_fitted(node, each.node) and self._is_broken(node, any_of):
                return f"requires {each}"
        problem = self._inner_problem(node, mark) or problem_of_unknown_shape(self, node) if self._depends(node) else ""
        problem = problem or self.bodies.iterations.problem(node)
        problem = problem or problem_of_window(self, node) or problem_of_pad(self, node) or self.counts.problem(node)
        if not problem and not self._is_emitting and self._depends(node):
            problem = problem_of_numbers(self, node)
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
        self.factors.update(self.bodies.factors_of(node))
        self.parts.note(node)
        self.leaves_out_sizes |= any(self.samples.leaves_out(any_of) for _, any_of in required)
        return ""

    def _is_broken(self, node: NodeProto, any_of: Sequence[Relation]) -> bool:
        """Whether what a node requires is false at other sizes; it may require an image as large as its kernel."""
        if not self.samples.broken(any_of):
            return False
        return not has_kernel_of_weights(self, node) or self.samples.broken(any_of, is_weight=True)

    def _inner_problem(self, node: NodeProto, mark: int) -> str:
        """Why the body of a node that depends on a freed size cannot be followed."""
        if (plain_domain(node.domain), node.op_type, node.overload) in self.functions:
            return "calls a function of the model, which is not edited"
        if node.op_type == "SequenceMap":
            return f"maps a sequence that depends on {', '.join(self.freed)} by a body, which is not edited"
        return self.bodies.problem(node, mark)

    def _misfit(self, node: NodeProto, name: str) -> str:
        """How the inferred type of an output contradicts that of the static model; "" if it does not."""
        found, was = self.environment.values.get(name), self.static.get(name)
        if not isinstance(found, SymbolicTensor) or not isinstance(was, SymbolicTensor) or was.shape is None:
            return ""
        if found.shape is None or len(found.shape) != len(was.shape):
            return f"{name} has the shape {_text(found.shape)}, had {_text(was.shape)}"
        if not all(self.is_as_before(now, before) for now, before in zip(found.shape, was.shape, strict=True)):
            return f"{name} has the shape {_text(found.shape)}, had {_text(was.shape)}"
        other = self.shape_in_second(name)
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
                return (
                    f"{name} has the shape {_text(found.shape)}, and no axis is known to hold {', '.join(self.freed)}"
                )
            if not any(self.is_shape(found.shape, axes) for axes in wanted[:1]):
                return f"{name} has the shape {_text(found.shape)}, the order of its elements is {_texts(wanted[0])}"
        return ""

    def is_as_before(self, now: Dim, before: Dim) -> bool:
        """Whether a dim has its old size; of one that depends on data only that it does so."""
        if next(values_of([now], self.samples.old)) == next(values_of([before], self.samples.old)):
            return True
        if free_symbols(before).isdisjoint(self.generated_before):
            return False
        return bool(self.path.steps) or not free_symbols(now).isdisjoint(self.context.causes)

    # new nodes and constants

    def emit(self, op_type: str, inputs: Sequence[str], *, reason: str = "", **attributes: Any) -> str:
        """Add a node before the present one, unless there is an equal one; the name of its output.

        Raises Blocked if it cannot be inferred.
        """
        node = helper.make_node(op_type, list(inputs), [], **attributes)
        key = node.SerializeToString(deterministic=True)
        if key in self._emitted:
            return self._emitted[key]
        node.name = name = self.fresh(op_type.lower())
        node.output.append(name)
        self._is_emitting = True
        problem = self.attempt(node)
        self._is_emitting = False
        if problem:
            raise Blocked(self.label(node), problem)
        self._producers[name] = node
        self._note(node)
        self.bodies.iterations.note(node)
        self._place(node, True, reason or "a size that is not fixed any more")
        self._emitted[key] = name
        self.emitted.add(name)
        return name

    def add_copy(self, node: NodeProto) -> None:
        """Add a copy of a node of the file, which has been inferred, before the present one."""
        node.name = node.output[0]
        self._producers[node.output[0]] = node
        self._note(node)
        self.bodies.iterations.note(node)
        self._place(node, True, "a value of the old size, made to follow it")

    def limit(self, dim: Expr, most: int) -> None:
        """Note that the constants of the file have rows up to a size, and rely on it from here on."""
        for name in dim.symbols & self.freed.keys():
            rest = dim - symbol(name)
            if isinstance(rest, int):  # the dim is `seq`, or `seq + 7`
                self.upper_bounds[name] = min(most - rest, self.upper_bounds.get(name, most - rest))
        self.context.scope.add_fact(most - dim)

    def limit_lengths(self) -> None:
        """Note that the result is right up to the old lengths."""
        for name, size in self.freed.items():
            if name not in self.row_symbols:
                dim = symbol(name)
                assert isinstance(dim, Expr), "a symbol is no number"
                self.limit(dim, size)

    def producer(self, name: str) -> NodeProto | None:
        return self._producers.get(name)


def _text(shape: Shape | None) -> str:
    return "unknown" if shape is None else f"[{', '.join(map(str, shape))}]"


def _texts(axes: AxisFactors) -> str:
    return "[" + ", ".join(str(dim_of(factors)) for factors in axes) + "]"
