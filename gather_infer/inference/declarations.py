"""Declared types of values and outputs, compared with the inferred facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Final

import onnx
from onnx import GraphProto, NodeProto, TypeProto, ValueInfoProto

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.inference.environment import Environment
from gather_infer.inference.interpreter_state import InterpreterState
from gather_infer.inference.join import contradiction, never_equal
from gather_infer.inference.proto.types import DimReader, from_type, shown
from gather_infer.node_ids import MAIN
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_eq, symbol
from gather_infer.tensor import UNKNOWN, SymbolicTensor, Value


def declared_fact(
    state: InterpreterState, proto: onnx.TypeProto, environment: Environment, reason: str
) -> Value | None:
    """The fact of a type declared inside the model; None when it declares nothing.

    reason   why a dim without a size gets a generated symbol

    In a subgraph, a dim name is a new symbol unless an input of the model has it. In a function, every name is a new
    symbol for each call.
    """
    return from_type(proto, reader_of(state, environment), lambda _: state.context.fresh(reason))


def reader_of(state: InterpreterState, environment: Environment) -> DimReader:
    """The reader that turns the dims declared in a graph into symbols; created on first use."""
    if environment.reader is None:
        if environment.path == MAIN:
            environment.reader = state.reader
        else:
            known = state.reader.known if environment.parameters is None else frozenset[str]()
            bound = state.reader.bound if environment.parameters is None else {}
            environment.reader = DimReader(
                known,
                bound,
                lambda name: state.context.fresh(f"a body declares it as {name}"),
                state.reader.noted if environment.parameters is None else None,
            )
    return environment.reader


def reconciled(
    state: InterpreterState,
    declared: onnx.ValueInfoProto,
    inferred: Value,
    node: NodeProto,
    index: int,
    environment: Environment,
) -> Value:
    """Reconcile a declaration with the inferred fact: inference wins, the declaration fills in unknown parts."""
    if isinstance(inferred, SymbolicTensor) and _is_redundant(state, declared.type, inferred, environment):
        return inferred
    fact = declared_fact(state, declared.type, environment, "value_info declares no size")
    if fact is None:
        return inferred
    if inferred == UNKNOWN:
        _add_size_facts(state, fact)
        return fact
    if contradiction(fact, inferred, state.context.scope):
        is_refused = severity(fact, inferred) is Severity.ERROR and _is_compared_by_loaders(
            state, declared.name, node, environment
        )
        state.trail.add(
            diagnostic(
                "GI201",
                f"value_info of {declared.name} declares {fact}, the inputs imply {inferred}",
                state.location(node, index, environment, f"output {declared.name}"),
                severity=Severity.ERROR if is_refused else None,
            )
        )
        return inferred
    if isinstance(inferred, SymbolicTensor) and isinstance(fact, SymbolicTensor):
        if inferred.dtype is None:
            inferred = inferred.with_(dtype=fact.dtype)
        if inferred.shape is None:
            _add_size_facts(state, fact)
            inferred = inferred.with_(shape=fact.shape)
    return inferred


LOADER_DOMAINS: Final = frozenset({"", "ai.onnx.ml", "com.microsoft"})
"""Domains for whose operators onnxruntime infers types; it refuses a node whose output declares another type."""


def _is_compared_by_loaders(state: InterpreterState, name: str, node: NodeProto, environment: Environment) -> bool:
    """Whether a loader compares the value_info of a node's output with the type that it infers.

    Loaders compare it for calls and in branches inside functions, but not in the body of a function. They also skip a
    Constant, which they have turned into an initializer, and a graph output, whose own declaration they compare.
    """
    is_function = bool(environment.path.steps) and environment.path.steps[-1].attribute is None
    if is_function or is_constant(node) or name in environment.outputs:
        return False
    domain = plain_domain(node.domain)
    return domain in LOADER_DOMAINS or (domain, node.op_type, node.overload) in state.functions


def is_constant(node: NodeProto) -> bool:
    """Whether loaders turn the node into an initializer."""
    return bool(node.op_type == "Constant") and not plain_domain(node.domain)


def _add_size_facts(state: InterpreterState, value: Value) -> None:
    """Add the facts that the dims of a declared tensor are >= 0: the file is trusted, so `N - 5` implies N >= 5."""
    if isinstance(value, SymbolicTensor) and value.shape and state.context.may_assume:
        state.context.taint()
        for dim in value.shape:
            state.context.add_implied_fact(dim)


def _is_redundant(
    state: InterpreterState, declared: onnx.TypeProto, inferred: SymbolicTensor, environment: Environment
) -> bool:
    """True when a declaration neither adds to the inferred fact nor contradicts it.

    This fast path spares most declarations the construction of a fact.
    """
    tensor = declared.tensor_type
    if inferred.shape is None or inferred.dtype != tensor.elem_type or not tensor.HasField("shape"):
        return False
    dims = tensor.shape.dim
    if len(dims) != len(inferred.shape):
        return False
    reader = reader_of(state, environment)
    scope = state.context.scope
    for proto, dim in zip(dims, inferred.shape, strict=True):
        name = proto.dim_param
        size: Dim
        if name:
            if isinstance(dim, Expr) and dim.is_symbol and dim.name == name:
                continue
            size = reader.param(name)
        else:
            size = proto.dim_value
            if size < 0 or (size == 0 and not proto.HasField("dim_value")):
                continue  # declares no size
        if size is not dim and never_equal(size, dim, scope):
            return False
    return True


def check_outputs(
    state: InterpreterState, graph: onnx.GraphProto, outputs: Sequence[Value], environment: Environment
) -> None:
    """Report in one finding all declared outputs of a body that contradict the inferred facts `outputs`."""
    known = state.reader.known if environment.parameters is None else frozenset[str]()
    reader = DimReader(known, state.reader.bound, lambda name: symbol(f"?{name}"))
    found = list(contradicted_outputs(graph, outputs, reader, state.context.scope))
    if found:
        worst = Severity.ERROR if any(s is Severity.ERROR for _, s in found) else Severity.WARNING
        first, *rest = (message for message, _ in found)
        where = Location(graph=environment.label)
        state.trail.add(diagnostic("GI202", first, where, detail=tuple(rest), severity=worst))


def contradicted_outputs(
    graph: GraphProto, values: Iterable[Value], reader: DimReader, scope: Scope
) -> Iterator[tuple[str, Severity]]:
    """Messages and severities for declared outputs of a body that contradict the inferred facts `values`."""
    computed = cache(partial(_computed_values, graph))
    for proto, value in zip(graph.output, values, strict=True):
        stated = from_type(proto.type, reader, lambda axis: symbol(f"?{axis}"))
        # runtimes ignore the shapes of sequences
        if isinstance(stated, SymbolicTensor) and value != SymbolicTensor() and contradiction(stated, value, scope):
            message = f"output {proto.name} is declared {shown(proto.type)}, the inputs imply {value}"
            yield message, severity(stated, value) if proto.name in computed() else Severity.WARNING


def _computed_values(graph: GraphProto) -> set[str]:
    """The values that a node other than a Constant produces; for other outputs loaders do not compare types."""
    return {name for node in graph.node if not is_constant(node) for name in node.output}


def severity(declared: Value, value: Value) -> Severity:
    """Severity of a wrong declaration: a warning if only the shape is wrong, which exporters do and runtimes accept."""
    is_shape_alone = (
        isinstance(declared, SymbolicTensor)
        and isinstance(value, SymbolicTensor)
        and value.dtype in (None, declared.dtype)
    )
    return Severity.WARNING if is_shape_alone else Severity.ERROR


def contradicted_hints(state: InterpreterState, reader: DimReader) -> Iterable[Diagnostic]:
    """Findings for type hints (`ModelFile.hints`) that contradict the inferred facts."""
    hints = state.model.hints
    for path, values in state.scopes.items() if hints else ():
        for name, value in values.items():
            hint = hints.get(name)
            if hint is None or value == UNKNOWN:
                continue
            stated = from_type(hint, reader, lambda axis: symbol(f"{axis}"))
            if stated is not None and contradiction(stated, value, state.context.scope):
                message = f"the file declares {name} as {_shown(hint, stated)}, the inputs imply {value}"
                yield diagnostic("GI201", message, Location(graph=state.labels[path], value=name))


def _shown(hint: TypeProto, declared: Value) -> str:
    """The type of a hint for messages, with `?` for unknown sizes."""
    dtype = declared.dtype if isinstance(declared, SymbolicTensor) and declared.dtype is not None else "?"
    sizes = [str(dim.dim_value) if dim.HasField("dim_value") else "?" for dim in hint.tensor_type.shape.dim]
    return f"{dtype}[{', '.join(sizes) if hint.tensor_type.HasField('shape') else '...'}]"


def declared_outputs(
    state: InterpreterState, declared: Iterable[ValueInfoProto], outputs: Iterable[Value], reader: DimReader
) -> list[Diagnostic]:
    """Findings for declared outputs that contradict the inferred facts, and for the values of their dim names."""
    found: list[Diagnostic] = []
    computed = cache(partial(_computed_values, state.model.proto.graph))
    aliases: dict[str, Dim] = {}
    scope = state.context.scope
    for proto, value in zip(declared, outputs, strict=True):
        where = Location(value=proto.name)
        stated = from_type(proto.type, reader, lambda _: state.context.fresh("the output declares no size"))
        if stated is None or value == UNKNOWN:
            continue
        if contradiction(stated, value, scope):
            message = f"output {proto.name} is declared {stated}, the inputs imply {value}"
            weight = severity(stated, value) if proto.name in computed() else Severity.WARNING
            found.append(diagnostic("GI202", message, where, severity=weight))
            continue
        if not isinstance(stated, SymbolicTensor):
            continue
        assert isinstance(value, SymbolicTensor), "another kind would contradict the declaration"
        for axis, (written, dim) in enumerate(zip(stated.shape or (), value.shape or (), strict=False)):
            if isinstance(written, int) and isinstance(dim, Expr) and free_symbols(dim) <= reader.known:
                message = f"dim {axis} is declared {written}, the inputs imply {dim}"
                found.append(diagnostic("GI203", message, where))
            if not isinstance(written, Expr) or not written.is_symbol or written.name in state.context.causes:
                continue
            if written.name in reader.known:
                continue  # a symbol of the inputs keeps its meaning
            if written == dim or not free_symbols(dim) <= reader.known:
                continue
            first = aliases.setdefault(written.name, dim)
            if first is dim:
                message = f"{written} = {dim}"
                if all(d.message != message for d in found):
                    found.append(diagnostic("GI203", message, where))
            elif known_eq(first, dim, scope) is False:
                message = f"declared dim {written} is both {first} and {dim}"
                found.append(diagnostic("GI202", message, where, severity=Severity.WARNING))
    return found
