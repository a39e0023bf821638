"""Interface types: writes input constraints into a model's types, as `--dim batch=1` makes the batch of inputs 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from gather_infer.diagnostic import Diagnostic
from gather_infer.domains import plain_domain
from gather_infer.errors import UsageError
from gather_infer.inference.naming import INNER, TENSORS, dims_of, is_sized
from gather_infer.inference.proto.types import DimReader, to_dim_param
from gather_infer.inference.said import Given, symbols_of_inputs
from gather_infer.inference.stated import KEY, Statement, read_recorded, recorded_texts, text_of
from gather_infer.inference.upstream import unsaid
from gather_infer.model import ModelFile
from gather_infer.model.paths import bodies, graph_at
from gather_infer.places import MAIN, GraphPath, Root
from gather_infer.record import Cause
from gather_infer.symbolic import Dim, Expr, Interval, free_symbols, substitute, symbol
from gather_infer.tensor import DType, MapType, OptionalType, SequenceType, SparseTensor, SymbolicTensor, Value

MAX_SIZE: Final = 2**63 - 1


Change: TypeAlias = Callable[[ValueInfoProto], None]


class Run(Protocol):
    """The parts of an Inference that this module reads."""

    model: ModelFile
    scopes: Mapping[GraphPath, Mapping[str, Value]]
    labels: Mapping[GraphPath, str]
    inputs: tuple[str, ...]
    causes: Mapping[str, Cause]
    given: Given | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Redeclared:
    """A value whose declared dims changed.

    kind     `input`, `output` or `value_info`
    graph    label of the graph of the value, "" for the main graph
    before, after   the dims, a number or a name, None for an undeclared one; None when there was no shape
    """

    name: str
    kind: str
    graph: str
    before: tuple[int | str | None, ...] | None
    after: tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class OpenDim:
    """A dim of an input or output that is not a number under all constraints.

    axis     None when the rank is unknown
    dim      its declared name, None when undeclared
    reason   why it is not a number
    """

    name: str
    kind: str
    axis: int | None
    dim: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Interface:
    """Differences between the types of a written model and those of the source model.

    changed                values with other dims, inputs first
    dynamic_dims           dims of inputs and outputs that are still not numbers
    persisted_constraints  constraints that types cannot express: written to `metadata_props`, under `gather_infer.dims`
    """

    changed: tuple[Redeclared, ...] = ()
    open: tuple[OpenDim, ...] = ()
    recorded: tuple[Statement, ...] = ()


UNCHANGED: Final = Interface()


def declare(proto: ModelProto, run: Run, *, rests: bool, outputs: bool = False) -> tuple[ModelProto, Interface]:
    """A copy of the model in which the constraints of the inference are declared, and the differences.

    A dim given as a number is written as one in inputs, outputs and `value_info`, and so are dims that follow from it;
    in branches of an If where it was inferred. An output without a shape gets the inferred one. An output or
    `value_info` keeps its declaration where another would make a runtime refuse a node that it loaded before. `--input`
    names a dim. Bounds and relations are persisted in `metadata_props`. Everything else stays as it is; the result is
    `proto` itself when no constraints are given.

    is_relied_on   whether other written facts depend on the constraints
    outputs        whether to write known numbers as dims even without constraints

    Raises UsageError where a file cannot express a constraint: a relation with a name of `--input` that is no input
    dim.
    """
    given = run.given
    if given is None or not (given.is_said or outputs):
        return proto, UNCHANGED
    copy = ModelProto()
    copy.CopyFrom(proto)
    changed: tuple[Redeclared, ...] = ()
    if given.changed or given.inputs or outputs:
        changed = tuple(_Declaring(copy, run, given).changes())
        left = unsaid(run.model, copy, run.scopes, run.diagnostics)
        if left:
            copy.CopyFrom(proto)
            changed = tuple(_Declaring(copy, run, given, left).changes())
    if not changed and not (rests and given.is_said):
        return proto, Interface(open=tuple(open_dims(proto, run)))
    if not given.is_said:
        return copy, Interface(changed, tuple(open_dims(copy, run)))
    recorded = tuple(dict.fromkeys(_statements(copy, run, given)))
    _check_said(recorded, copy, run)
    _record(copy, recorded, given.recorded)
    return copy, Interface(changed, tuple(open_dims(copy, run)), recorded)


class _Declaring:
    """Writes constraints into the types of a model; values in `omitted` keep their types, except inputs."""

    def __init__(
        self, proto: ModelProto, run: Run, given: Given, left: frozenset[tuple[GraphPath, str]] = frozenset()
    ) -> None:
        self.proto = proto
        self.run = run
        self.left = left
        self.given = given
        self.reader = DimReader(given.known)
        self.renamed = frozenset(given.changed)
        self.kept = given.known - self.renamed  # names that `--input` introduces are in `known` as well

    def changes(self) -> Iterator[Redeclared]:
        main, facts = self.proto.graph, self.run.scopes[MAIN]
        inputs = set(self.run.inputs)
        for value in main.input:
            if value.name in inputs:
                yield from self._change(value, "input", "", lambda v: self._input(v, facts[v.name]))
        for value in main.output:
            if (MAIN, value.name) not in self.left:
                yield from self._change(value, "output", "", lambda v: self._output(v.type, facts.get(v.name)))
        for value in main.value_info:
            if (MAIN, value.name) not in self.left:
                yield from self._change(value, "value_info", "", lambda v: self._refine(v.type, facts.get(v.name)))
        for path, body in bodies(self.proto):
            known = self.run.scopes.get(path)
            if isinstance(body, GraphProto) and path.steps and known is not None and self._is_of_branches(path):
                for kind, values in (("input", body.input), ("output", body.output), ("value_info", body.value_info)):
                    for value in values:
                        if (path, value.name) not in self.left:
                            yield from self._change(value, kind, self.run.labels[path], _numbers(known.get(value.name)))

    def _is_of_branches(self, path: GraphPath) -> bool:
        """Whether the graph runs with the main graph or not at all.

        Other bodies stay unchanged: runtimes use their declarations when a loop has no iterations, reading a name as 0.
        Declarations in a function hold for all its calls.
        """
        steps = [GraphPath(path.root, path.position, path.steps[:i]) for i in range(len(path.steps))]
        nodes = (graph_at(self.proto, p).node[path.steps[i].node] for i, p in enumerate(steps))
        return path.root is Root.GRAPH and all(node.op_type == "If" and not plain_domain(node.domain) for node in nodes)

    def _change(self, value: ValueInfoProto, kind: str, graph: str, change: Change) -> Iterator[Redeclared]:
        before = said_dims(value.type)
        change(value)
        after = said_dims(value.type)
        if after is not None and after != before:
            yield Redeclared(value.name, kind, graph, before, after)

    def _input(self, value: ValueInfoProto, fact: Value) -> None:
        given = self.given
        if value.name in given.inputs and isinstance(fact, SymbolicTensor) and fact.shape is not None:
            _state_shape(value.type, fact.dtype, fact.shape)
            return
        for axis, dim in enumerate(dims_of(value.type)):
            if dim.dim_param:
                self._substitute(dim)
            elif not is_sized(dim):
                name = given.unnamed.get((value.name, axis), "")
                if name in given.changed:
                    _set(dim, given.changed[name])

    def _substitute(self, dim: Any) -> None:
        """Substitute given dims for the names in a dim."""
        declared = self.reader.param(dim.dim_param)
        if isinstance(declared, Expr) and not free_symbols(declared).isdisjoint(self.renamed):
            try:
                _set(dim, substitute(declared, self.given.changed))
            except ZeroDivisionError:  # the dim has no size there
                return

    def _output(self, declared: TypeProto, fact: Value | None) -> None:
        """Write the inferred dims of an output without a shape; refine an existing shape by the constraints."""
        if said_dims(declared) is not None:
            self._refine(declared, fact)
        elif not (self.given.changed or self.given.inputs):
            return  # shapes of all tensors are written by `annotated` only
        elif isinstance(fact, SymbolicTensor) and fact.shape is not None and _may_state(declared, fact):
            said = self.kept.difference(self.given.unnamed.values())
            names = [dim if free_symbols(dim) <= said else None for dim in fact.shape]
            _state_shape(declared, fact.dtype, names)

    def _refine(self, declared: TypeProto, fact: Value | None) -> None:
        """Write known numbers, and the inferred dim in place of a substituted name."""
        for dim, known in _paired(declared, fact):
            if isinstance(known, int) or (self._mentions_changed(dim) and free_symbols(known) <= self.kept):
                _set(dim, known)

    def _mentions_changed(self, dim: Any) -> bool:
        text = dim.dim_param
        return text in self.renamed or not free_symbols(self.reader.param(text)).isdisjoint(self.renamed)


def _numbers(fact: Value | None) -> Change:
    """A change that writes the dims known as numbers."""

    def change(value: ValueInfoProto) -> None:
        for dim, known in _paired(value.type, fact):
            if isinstance(known, int):
                _set(dim, known)

    return change


def _paired(declared: TypeProto, fact: Value | None) -> Iterator[tuple[Any, Dim]]:
    """The dims of a type, each with its inferred dim; none where kind, element type or rank contradict."""
    while (kind := declared.WhichOneof("value")) in INNER:
        if isinstance(fact, (SequenceType, OptionalType)) and kind != "map_type":
            fact = fact.element
        elif isinstance(fact, MapType) and kind == "map_type":
            fact = fact.value
        else:
            return
        declared = getattr(getattr(declared, kind), INNER[kind])
    if kind not in TENSORS or not isinstance(fact, (SymbolicTensor, SparseTensor)) or fact.shape is None:
        return
    tensor = getattr(declared, kind)
    if isinstance(fact, SymbolicTensor) is not (kind == "tensor_type") or fact.dtype not in (None, tensor.elem_type):
        return
    if tensor.HasField("shape") and len(tensor.shape.dim) == len(fact.shape):
        yield from zip(tensor.shape.dim, fact.shape, strict=True)


def _may_state(declared: TypeProto, fact: SymbolicTensor) -> bool:
    """Whether a type without a shape is compatible with the inferred fact."""
    if declared.WhichOneof("value") not in (None, "tensor_type"):
        return False
    return not declared.tensor_type.elem_type or fact.dtype in (None, declared.tensor_type.elem_type)


def _state_shape(declared: TypeProto, dtype: DType | None, shape: Sequence[Dim | None]) -> None:
    """Declare a shape; a dim of None stays open."""
    if declared.WhichOneof("value") is None and dtype is None:
        return  # a type needs an element type
    tensor = declared.tensor_type
    if not tensor.elem_type and dtype is not None:
        tensor.elem_type = int(dtype)
    if not tensor.HasField("shape"):
        tensor.shape.SetInParent()
        for _ in shape:
            tensor.shape.dim.add()
    for dim, known in zip(tensor.shape.dim, shape, strict=True):
        if known is not None:
            _set(dim, known)


def _set(dim: Any, known: Dim) -> None:
    if isinstance(known, int):
        if 0 <= known <= MAX_SIZE:
            dim.dim_value = known
    else:
        dim.dim_param = to_dim_param(known)


def said_dims(declared: TypeProto) -> tuple[int | str | None, ...] | None:
    """The dims of a type, None for an undeclared one; None when there is no shape."""
    inner = declared
    while (kind := inner.WhichOneof("value")) in INNER:
        inner = getattr(getattr(inner, kind), INNER[kind])
    if kind not in TENSORS or not getattr(inner, kind).HasField("shape"):
        return None
    return tuple(int(d.dim_value) if is_sized(d) else d.dim_param or None for d in dims_of(declared))


# constraints that types cannot express


def _statements(proto: ModelProto, run: Run, given: Given) -> Iterator[Statement]:
    """Bounds and relations in the symbols of the inputs of `proto`."""
    values = [v for v in proto.graph.input if v.name in set(run.inputs)]
    present, _ = symbols_of_inputs(values, {})
    bound = given.dims.bound
    for name, dim in bound.items():
        if name not in given.changed and name in present:
            yield Statement(_symbol(name), dim)
    for name, interval in given.dims.bounds.items():
        of = symbol(name) if name in present else substitute(symbol(name), bound)
        if isinstance(of, Expr):
            yield Statement(of, interval)
    for statement in given.dims.required:
        yield from _resolved(statement, bound)
    for value in values:
        for declared, dim in _paired(value.type, run.scopes[MAIN][value.name]):
            name = declared.dim_param
            if isinstance(dim, Expr) and name == str(dim) != "" and name in present and not dim.is_symbol:
                yield Statement(_symbol(name), dim)  # makes the names in it symbols when the file is read


def _check_said(statements: Iterable[Statement], proto: ModelProto, run: Run) -> None:
    """Raise UsageError for a constraint with a name that no input of `proto` has."""
    names, _ = symbols_of_inputs([v for v in proto.graph.input if v.name in set(run.inputs)], {})
    _, faults, _ = read_recorded([text_of(statements)], names)
    if faults:
        raise UsageError(f"a file cannot express the given constraints: {faults[0]}")


def _resolved(statement: Statement, bound: Mapping[str, Dim]) -> Iterator[Statement]:
    """The constraint with its bound symbols replaced; none when no symbol is left."""
    dim, value = substitute(statement.dim, bound), statement.value
    if isinstance(value, Interval):
        if isinstance(dim, Expr):
            yield Statement(dim, value)
        return
    value = substitute(value, bound)
    for left, right in ((dim, value), (value, dim)):
        if isinstance(left, Expr) and left != right:
            yield Statement(left, right)
            return


def _symbol(name: str) -> Expr:
    found = symbol(name)
    assert isinstance(found, Expr), "a symbol is an expression"
    return found


def _record(proto: ModelProto, statements: Iterable[Statement], recorded: Iterable[Statement]) -> None:
    """Write the constraints to the single entry of `KEY`; an entry with the same content stays unchanged."""
    text = text_of(statements)
    if text == text_of(recorded) and len(recorded_texts(proto)) <= 1:
        return
    mine = [i for i, entry in enumerate(proto.metadata_props) if entry.key == KEY]
    keep = mine[:1] if text else []
    for i in reversed(mine):
        if i not in keep:
            del proto.metadata_props[i]
    if keep:
        proto.metadata_props[keep[0]].value = text
    elif text:
        proto.metadata_props.add(key=KEY, value=text)


# dims that are still not numbers


def open_dims(proto: ModelProto, run: Run) -> Iterator[OpenDim]:
    """The dims of inputs and outputs in `proto` that are not numbers, each with the reason."""
    given = run.given
    assert given is not None, "`infer` keeps its input constraints"
    facts = run.scopes[MAIN]
    inputs = set(run.inputs)
    for value in proto.graph.input:
        if value.name in inputs:
            yield from _open(value, "input", facts.get(value.name), run, given)
    for value in proto.graph.output:
        yield from _open(value, "output", facts.get(value.name), run, given)


def _open(value: ValueInfoProto, kind: str, fact: Value | None, run: Run, given: Given) -> Iterator[OpenDim]:
    dims = said_dims(value.type)
    if dims is None:
        yield OpenDim(value.name, kind, None, None, "its rank is not declared")
        return
    known = {i: dim for i, (_, dim) in enumerate(_paired(value.type, fact))}
    for axis, dim in enumerate(dims):
        if isinstance(dim, int):
            continue
        if kind == "input":
            reason = _of_input(given.unnamed.get((value.name, axis)) if dim is None else dim, given)
        else:
            reason = _of_output(dim, known.get(axis), run, given)
        yield OpenDim(value.name, kind, axis, dim, reason)


def _of_input(name: str | None, given: Given) -> str:
    if name is None:
        return "it is not declared"
    if name in given.dims.bound:
        return f"it is {given.dims.bound[name]}"
    return _not_given(DimReader(given.known).param(name))


def _of_output(dim: str | None, known: Dim | None, run: Run, given: Given) -> str:
    if not isinstance(known, Expr):
        return "it is unknown"
    causes = [run.causes[n] for n in sorted(free_symbols(known)) if n in run.causes]
    if causes:
        return f"{causes[0].reason} (node {causes[0].node})"
    return _not_given(known) if dim == to_dim_param(known) else f"it is {known}"


def _not_given(dim: Dim) -> str:
    names = sorted(free_symbols(dim))
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not given"
