"""Interface types: writes input constraints into a model's types, as `--dim batch=1` makes the batch of inputs 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from gather_infer.diagnostic import Diagnostic
from gather_infer.domains import plain_domain
from gather_infer.errors import UsageError
from gather_infer.inference.backward_slice import undeclarable_values
from gather_infer.inference.constraints.given import InputConstraints, symbols_of_inputs
from gather_infer.inference.constraints.persisted import KEY, DimConstraint, persisted_texts, read_persisted, text_of
from gather_infer.inference.dim_rendering import INNER, TENSORS, dims_of, is_sized
from gather_infer.inference.proto.types import DimReader, to_dim_param
from gather_infer.model import ModelFile
from gather_infer.model.paths import bodies, graph_at
from gather_infer.node_ids import MAIN, GraphPath, Root
from gather_infer.symbolic import Dim, Expr, Interval, free_symbols, substitute, symbol
from gather_infer.tensor import DType, MapType, OptionalType, SequenceType, SparseTensor, SymbolicTensor, Value
from gather_infer.trail import Cause

MAX_SIZE: Final = 2**63 - 1


Change: TypeAlias = Callable[[ValueInfoProto], None]


class InferenceView(Protocol):
    """The parts of an Inference that this module reads."""

    model: ModelFile
    scopes: Mapping[GraphPath, Mapping[str, Value]]
    labels: Mapping[GraphPath, str]
    inputs: tuple[str, ...]
    causes: Mapping[str, Cause]
    input_constraints: InputConstraints | None
    diagnostics: tuple[Diagnostic, ...]


class Redeclared(NamedTuple):
    """A value whose declared dims changed.

    kind     `input`, `output` or `value_info`
    graph    label of the graph of the value, "" for the main graph
    before, after   the declared dims, each a number, a name, or None if undeclared; None when there was no shape
    """

    name: str
    kind: str
    graph: str
    before: tuple[int | str | None, ...] | None
    after: tuple[int | str | None, ...]


class DynamicDim(NamedTuple):
    """A dim of an input or output that is still not a number after all given constraints are applied.

    kind     `input` or `output`
    axis     None when the rank is unknown
    dim      declared name of the dim, None when undeclared
    reason   why the dim is not a number
    """

    name: str
    kind: str
    axis: int | None
    dim: str | None
    reason: str


class Interface(NamedTuple):
    """Differences between the types of a written model and those of the source model.

    changed                values whose declared dims changed, inputs first
    dynamic_dims           dims of inputs and outputs that are still not numbers
    persisted_constraints  constraints that types cannot express: written to `metadata_props`, under `gather_infer.dims`
    """

    changed: tuple[Redeclared, ...] = ()
    dynamic_dims: tuple[DynamicDim, ...] = ()
    persisted_constraints: tuple[DimConstraint, ...] = ()


UNCHANGED: Final = Interface()


def declare(
    proto: ModelProto, inference: InferenceView, *, is_relied_on: bool, outputs: bool = False
) -> tuple[ModelProto, Interface]:
    """A copy of the model that declares the input constraints of the inference, and the differences to `proto`.

    A dim given as a number, and each dim that follows from it, is written as a number in inputs, outputs and
    `value_info`, also in branches of an If. An output without a shape gets the inferred shape. An output or
    `value_info` keeps its declaration if a new one would make a runtime refuse a node that it loaded before. A dim name
    given by `--input` is written too. Bounds and relations are persisted in `metadata_props`. All other parts are
    unchanged; the result is `proto` itself when no constraints are given.

    is_relied_on   whether other written facts depend on the constraints
    outputs        whether to write known numbers as dims even without constraints

    Raises UsageError if the file cannot express a constraint: a relation that names a symbol of `--input` that is not
    a dim of an input.
    """
    given = inference.input_constraints
    if given is None or not (given.is_given or outputs):
        return proto, UNCHANGED
    copy = ModelProto()
    copy.CopyFrom(proto)
    changed: tuple[Redeclared, ...] = ()
    if given.substitutions or given.inputs or outputs:
        changed = tuple(_InterfaceWriter(copy, inference, given).changes())
        omitted = undeclarable_values(inference.model, copy, inference.scopes, inference.diagnostics)
        if omitted:
            copy.CopyFrom(proto)
            changed = tuple(_InterfaceWriter(copy, inference, given, omitted).changes())
    if not changed and not (is_relied_on and given.is_given):
        return proto, Interface(dynamic_dims=tuple(dynamic_dims(proto, inference)))
    if not given.is_given:
        return copy, Interface(changed, tuple(dynamic_dims(copy, inference)))
    recorded = tuple(dict.fromkeys(_dim_constraints(copy, inference, given)))
    _require_expressible(recorded, copy, inference)
    _persist(copy, recorded, given.persisted)
    return copy, Interface(changed, tuple(dynamic_dims(copy, inference)), recorded)


class _InterfaceWriter:
    """Writes constraints into the types of a model; values in `omitted` keep their types, except inputs."""

    def __init__(
        self,
        proto: ModelProto,
        inference: InferenceView,
        constraints: InputConstraints,
        omitted: frozenset[tuple[GraphPath, str]] = frozenset(),
    ) -> None:
        self.proto = proto
        self.inference = inference
        self.omitted = omitted
        self.constraints = constraints
        self.reader = DimReader(constraints.known)
        self.renamed = frozenset(constraints.substitutions)
        self.unchanged = constraints.known - self.renamed  # names that `--input` introduces are in `known` as well

    def changes(self) -> Iterator[Redeclared]:
        main, facts = self.proto.graph, self.inference.scopes[MAIN]
        inputs = set(self.inference.inputs)
        for value in main.input:
            if value.name in inputs:
                yield from self._change(value, "input", "", lambda v: self._input(v, facts[v.name]))
        for value in main.output:
            if (MAIN, value.name) not in self.omitted:
                yield from self._change(value, "output", "", lambda v: self._output(v.type, facts.get(v.name)))
        for value in main.value_info:
            if (MAIN, value.name) not in self.omitted:
                yield from self._change(value, "value_info", "", lambda v: self._refine(v.type, facts.get(v.name)))
        for path, body in bodies(self.proto):
            known = self.inference.scopes.get(path)
            if isinstance(body, GraphProto) and path.steps and known is not None and self._is_of_branches(path):
                for kind, values in (("input", body.input), ("output", body.output), ("value_info", body.value_info)):
                    for value in values:
                        if (path, value.name) not in self.omitted:
                            yield from self._change(
                                value, kind, self.inference.labels[path], _numbers(known.get(value.name))
                            )

    def _is_of_branches(self, path: GraphPath) -> bool:
        """Whether every graph on the path is a branch of an If, so that each run executes the graph at most once.

        Other bodies stay unchanged. A runtime uses the declarations of a loop body, with 0 for a name, when the loop
        has no iterations. Declarations in a function apply to all its calls.
        """
        steps = [GraphPath(path.root, path.position, path.steps[:i]) for i in range(len(path.steps))]
        nodes = (graph_at(self.proto, p).node[path.steps[i].node] for i, p in enumerate(steps))
        return path.root is Root.GRAPH and all(node.op_type == "If" and not plain_domain(node.domain) for node in nodes)

    def _change(self, value: ValueInfoProto, kind: str, graph: str, change: Change) -> Iterator[Redeclared]:
        before = declared_dims(value.type)
        change(value)
        after = declared_dims(value.type)
        if after is not None and after != before:
            yield Redeclared(value.name, kind, graph, before, after)

    def _input(self, value: ValueInfoProto, fact: Value) -> None:
        given = self.constraints
        if value.name in given.inputs and isinstance(fact, SymbolicTensor) and fact.shape is not None:
            _declare_shape(value.type, fact.dtype, fact.shape)
            return
        for axis, dim in enumerate(dims_of(value.type)):
            if dim.dim_param:
                self._substitute(dim)
            elif not is_sized(dim):
                name = given.unnamed.get((value.name, axis), "")
                if name in given.substitutions:
                    _set(dim, given.substitutions[name])

    def _substitute(self, dim: Any) -> None:
        """Substitute the given dims for the names in the declared dim."""
        declared = self.reader.param(dim.dim_param)
        if isinstance(declared, Expr) and not free_symbols(declared).isdisjoint(self.renamed):
            try:
                _set(dim, substitute(declared, self.constraints.substitutions))
            except ZeroDivisionError:  # the dim has no size there
                return

    def _output(self, declared: TypeProto, fact: Value | None) -> None:
        """Write the inferred dims of an output that declares no shape; refine a declared shape by the constraints."""
        if declared_dims(declared) is not None:
            self._refine(declared, fact)
        elif not (self.constraints.substitutions or self.constraints.inputs):
            return  # shapes of all tensors are written by `annotated` only
        elif isinstance(fact, SymbolicTensor) and fact.shape is not None and _may_declare(declared, fact):
            declarable = self.unchanged.difference(self.constraints.unnamed.values())
            names = [dim if free_symbols(dim) <= declarable else None for dim in fact.shape]
            _declare_shape(declared, fact.dtype, names)

    def _refine(self, declared: TypeProto, fact: Value | None) -> None:
        """Write each inferred dim that is a number, or that replaces a name with a given substitution."""
        for dim, known in _paired(declared, fact):
            if isinstance(known, int) or (self._mentions_changed(dim) and free_symbols(known) <= self.unchanged):
                _set(dim, known)

    def _mentions_changed(self, dim: Any) -> bool:
        text = dim.dim_param
        return text in self.renamed or not free_symbols(self.reader.param(text)).isdisjoint(self.renamed)


def _numbers(fact: Value | None) -> Change:
    """A function that writes into a declaration those dims of `fact` that are numbers."""

    def change(value: ValueInfoProto) -> None:
        for dim, known in _paired(value.type, fact):
            if isinstance(known, int):
                _set(dim, known)

    return change


def _paired(declared: TypeProto, fact: Value | None) -> Iterator[tuple[Any, Dim]]:
    """The declared dims, each with its inferred dim; none if the type and the fact differ in kind, dtype or rank."""
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


def _may_declare(declared: TypeProto, fact: SymbolicTensor) -> bool:
    """Whether a type without a shape is compatible with the inferred fact."""
    if declared.WhichOneof("value") not in (None, "tensor_type"):
        return False
    return not declared.tensor_type.elem_type or fact.dtype in (None, declared.tensor_type.elem_type)


def _declare_shape(declared: TypeProto, dtype: DType | None, shape: Sequence[Dim | None]) -> None:
    """Write `shape` into a type; a dim of None is left as it is."""
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


def declared_dims(declared: TypeProto) -> tuple[int | str | None, ...] | None:
    """The dims of a type, each a number, a name, or None for an undeclared dim; None when there is no shape."""
    inner = declared
    while (kind := inner.WhichOneof("value")) in INNER:
        inner = getattr(getattr(inner, kind), INNER[kind])
    if kind not in TENSORS or not getattr(inner, kind).HasField("shape"):
        return None
    return tuple(int(d.dim_value) if is_sized(d) else d.dim_param or None for d in dims_of(declared))


# constraints that types cannot express


def _dim_constraints(
    proto: ModelProto, inference: InferenceView, constraints: InputConstraints
) -> Iterator[DimConstraint]:
    """The given bounds and relations that the types of `proto` do not express, in the symbols of its inputs."""
    values = [v for v in proto.graph.input if v.name in set(inference.inputs)]
    present, _ = symbols_of_inputs(values, {})
    bound = constraints.dims.bound
    for name, dim in bound.items():
        if name not in constraints.substitutions and name in present:
            yield DimConstraint(_symbol(name), dim)
    for name, interval in constraints.dims.bounds.items():
        of = symbol(name) if name in present else substitute(symbol(name), bound)
        if isinstance(of, Expr):
            yield DimConstraint(of, interval)
    for statement in constraints.dims.constraints:
        yield from _resolved(statement, bound)
    for value in values:
        for declared, dim in _paired(value.type, inference.scopes[MAIN][value.name]):
            name = declared.dim_param
            if isinstance(dim, Expr) and name == str(dim) != "" and name in present and not dim.is_symbol:
                yield DimConstraint(_symbol(name), dim)  # makes the names in it symbols when the file is read


def _require_expressible(constraints: Iterable[DimConstraint], proto: ModelProto, inference: InferenceView) -> None:
    """Raise UsageError for a constraint that uses a dim name which no input of `proto` has."""
    names, _ = symbols_of_inputs([v for v in proto.graph.input if v.name in set(inference.inputs)], {})
    _, faults, _ = read_persisted([text_of(constraints)], names)
    if faults:
        raise UsageError(f"a file cannot express the given constraints: {faults[0]}")


def _resolved(constraint: DimConstraint, bound: Mapping[str, Dim]) -> Iterator[DimConstraint]:
    """The constraint with symbols substituted by `bound`; yields nothing when no symbol is left."""
    dim, value = substitute(constraint.dim, bound), constraint.value
    if isinstance(value, Interval):
        if isinstance(dim, Expr):
            yield DimConstraint(dim, value)
        return
    value = substitute(value, bound)
    for left, right in ((dim, value), (value, dim)):
        if isinstance(left, Expr) and left != right:
            yield DimConstraint(left, right)
            return


def _symbol(name: str) -> Expr:
    found = symbol(name)
    assert isinstance(found, Expr), "a symbol is an expression"
    return found


def _persist(proto: ModelProto, constraints: Iterable[DimConstraint], persisted: Iterable[DimConstraint]) -> None:
    """Write the constraints as the only `metadata_props` entry with the key `KEY`; an equal entry stays unchanged."""
    text = text_of(constraints)
    if text == text_of(persisted) and len(persisted_texts(proto)) <= 1:
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


def dynamic_dims(proto: ModelProto, inference: InferenceView) -> Iterator[DynamicDim]:
    """The dims of inputs and outputs in `proto` that are not numbers, each with the reason."""
    given = inference.input_constraints
    assert given is not None, "`infer` keeps its input constraints"
    facts = inference.scopes[MAIN]
    inputs = set(inference.inputs)
    for value in proto.graph.input:
        if value.name in inputs:
            yield from _dynamic(value, "input", facts.get(value.name), inference, given)
    for value in proto.graph.output:
        yield from _dynamic(value, "output", facts.get(value.name), inference, given)


def _dynamic(
    value: ValueInfoProto, kind: str, fact: Value | None, inference: InferenceView, constraints: InputConstraints
) -> Iterator[DynamicDim]:
    dims = declared_dims(value.type)
    if dims is None:
        yield DynamicDim(value.name, kind, None, None, "its rank is not declared")
        return
    known = {i: dim for i, (_, dim) in enumerate(_paired(value.type, fact))}
    for axis, dim in enumerate(dims):
        if isinstance(dim, int):
            continue
        if kind == "input":
            reason = _reason_for_input(constraints.unnamed.get((value.name, axis)) if dim is None else dim, constraints)
        else:
            reason = _reason_for_output(dim, known.get(axis), inference, constraints)
        yield DynamicDim(value.name, kind, axis, dim, reason)


def _reason_for_input(name: str | None, constraints: InputConstraints) -> str:
    if name is None:
        return "it is not declared"
    if name in constraints.dims.bound:
        return f"it is {constraints.dims.bound[name]}"
    return _missing_sizes(DimReader(constraints.known).param(name))


def _reason_for_output(
    dim: str | None, known: Dim | None, inference: InferenceView, constraints: InputConstraints
) -> str:
    if not isinstance(known, Expr):
        return "it is unknown"
    causes = [inference.causes[n] for n in sorted(free_symbols(known)) if n in inference.causes]
    if causes:
        return f"{causes[0].reason} (node {causes[0].node})"
    return _missing_sizes(known) if dim == to_dim_param(known) else f"it is {known}"


def _missing_sizes(dim: Dim) -> str:
    names = sorted(free_symbols(dim))
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not given"
