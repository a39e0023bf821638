"""Declared types of values and outputs, compared with the inferred facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

import onnx
from onnx import NodeProto, TypeProto, ValueInfoProto

from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.inference.frame import Frame
from gather_infer.inference.join import contradiction, never_equal
from gather_infer.inference.proto.types import DimReader, from_type, shown
from gather_infer.inference.state import State
from gather_infer.places import MAIN
from gather_infer.symbolic import Dim, Expr, Scope, free_symbols, known_eq, symbol
from gather_infer.tensor import UNKNOWN, SymbolicTensor, Value


def declared_fact(state: State, proto: onnx.TypeProto, frame: Frame, reason: str) -> Value | None:
    """The fact of a type declared inside the model; None when it declares nothing.

    In a body, a name that no input has is a new symbol; in a function every name is one, per call.
    """
    return from_type(proto, reader_of(state, frame), lambda _: state.context.fresh(reason))


def reader_of(state: State, frame: Frame) -> DimReader:
    """The reader of dims that a graph declares."""
    if frame.reader is None:
        if frame.path == MAIN:
            frame.reader = state.reader
        else:
            known = state.reader.known if frame.parameters is None else frozenset[str]()
            bound = state.reader.bound if frame.parameters is None else {}
            frame.reader = DimReader(known, bound, lambda name: state.context.fresh(f"a body declares it as {name}"))
    return frame.reader


def compared(
    state: State, declared: onnx.ValueInfoProto, inferred: Value, node: NodeProto, index: int, frame: Frame
) -> Value:
    """Reconcile a declaration with the inferred fact: inference wins, the declaration fills in unknown parts."""
    if isinstance(inferred, SymbolicTensor) and _is_no_news(state, declared.type, inferred, frame):
        return inferred
    stated = declared_fact(state, declared.type, frame, "value_info declares no size")
    if stated is None:
        return inferred
    if inferred == UNKNOWN:
        _imply_sizes(state, stated)
        return stated
    if contradiction(stated, inferred, state.context.scope):
        is_refused = severity(stated, inferred) is Severity.ERROR and _is_compared_by_loaders(
            state, declared.name, node, frame
        )
        state.record.add(
            diagnostic(
                "GI201",
                f"value_info of {declared.name} declares {stated}, the inputs imply {inferred}",
                state.location(node, index, frame, f"output {declared.name}"),
                severity=Severity.ERROR if is_refused else None,
            )
        )
        return inferred
    if isinstance(inferred, SymbolicTensor) and isinstance(stated, SymbolicTensor):
        if inferred.dtype is None:
            inferred = inferred.with_(dtype=stated.dtype)
        if inferred.shape is None:
            _imply_sizes(state, stated)
            inferred = inferred.with_(shape=stated.shape)
    return inferred


LOADED: Final = frozenset({"", "ai.onnx.ml", "com.microsoft"})
"""Domains whose operators onnxruntime infers itself: it refuses an output declared with another type."""


def _is_compared_by_loaders(state: State, name: str, node: NodeProto, frame: Frame) -> bool:
    """Whether a loader compares the value_info of a node's output with the type that it infers.

    It does so for calls and in branches inside functions, but not in the body of a function. A Constant has become an
    initializer by then, and for a graph output the type declared there counts.
    """
    is_function = bool(frame.path.steps) and frame.path.steps[-1].attribute is None
    if is_function or is_constant(node) or name in frame.outputs:
        return False
    domain = plain_domain(node.domain)
    return domain in LOADED or (domain, node.op_type, node.overload) in state.functions


def is_constant(node: NodeProto) -> bool:
    """Whether loaders turn the node into an initializer."""
    return bool(node.op_type == "Constant") and not plain_domain(node.domain)


def _imply_sizes(state: State, value: Value) -> None:
    """Add the facts that the dims of a declared tensor are >= 0: the file is trusted, so `N - 5` implies N >= 5."""
    if isinstance(value, SymbolicTensor) and value.shape and state.context.may_assume:
        state.context.rest_on_assumption()
        for dim in value.shape:
            state.context.imply(dim)


def _is_no_news(state: State, declared: onnx.TypeProto, inferred: SymbolicTensor, frame: Frame) -> bool:
    """True when a declaration neither adds to the inferred fact nor contradicts it. Most do neither, and no fact is
    built.
    """
    tensor = declared.tensor_type
    if inferred.shape is None or inferred.dtype != tensor.elem_type or not tensor.HasField("shape"):
        return False
    dims = tensor.shape.dim
    if len(dims) != len(inferred.shape):
        return False
    reader = reader_of(state, frame)
    scope = state.context.scope
    for proto, dim in zip(dims, inferred.shape, strict=True):
        name = proto.dim_param
        stated: Dim
        if name:
            if isinstance(dim, Expr) and dim.is_symbol and dim.name == name:
                continue
            stated = reader.param(name)
        else:
            stated = proto.dim_value
            if stated < 0 or (stated == 0 and not proto.HasField("dim_value")):
                continue  # declares no size
        if stated is not dim and never_equal(stated, dim, scope):
            return False
    return True


def check_outputs(state: State, graph: onnx.GraphProto, outputs: Sequence[Value], frame: Frame) -> None:
    """Report the declared outputs of a body that contradict the inferred facts, in one finding."""
    known = state.reader.known if frame.parameters is None else frozenset[str]()
    reader = DimReader(known, state.reader.bound, lambda name: symbol(f"?{name}"))
    made = {name for node in graph.node if not is_constant(node) for name in node.output}
    found = list(misfits(graph.output, outputs, reader, state.context.scope, made))
    if found:
        worst = Severity.ERROR if any(s is Severity.ERROR for _, s in found) else Severity.WARNING
        first, *rest = (message for message, _ in found)
        where = Location(graph=frame.label)
        state.record.add(diagnostic("GI202", first, where, detail=tuple(rest), severity=worst))


def misfits(
    outputs: Iterable[ValueInfoProto], values: Iterable[Value], reader: DimReader, scope: Scope, made: Set[str]
) -> Iterator[tuple[str, Severity]]:
    """Messages and severities for declared outputs of a body that contradict the inferred facts.

    made   names produced by nodes that loaders do not turn into initializers; for others they compare no types
    """
    for proto, value in zip(outputs, values, strict=True):
        stated = from_type(proto.type, reader, lambda axis: symbol(f"?{axis}"))
        # runtimes ignore the shapes of sequences
        if isinstance(stated, SymbolicTensor) and value != SymbolicTensor() and contradiction(stated, value, scope):
            message = f"output {proto.name} is declared {shown(proto.type)}, the inputs imply {value}"
            yield message, severity(stated, value) if proto.name in made else Severity.WARNING


def severity(stated: Value, value: Value) -> Severity:
    """Severity of a wrong declared output: a warning for the shape alone, which exporters often get wrong and runtimes
    accept.
    """
    is_shape_alone = (
        isinstance(stated, SymbolicTensor) and isinstance(value, SymbolicTensor) and value.dtype in (None, stated.dtype)
    )
    return Severity.WARNING if is_shape_alone else Severity.ERROR


def contradicted_hints(state: State, reader: DimReader) -> Iterable[Diagnostic]:
    """Findings for type hints of the file that the inferred facts contradict."""
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


def _shown(hint: TypeProto, stated: Value) -> str:
    """The printed type, with `?` for unknown sizes."""
    dtype = stated.dtype if isinstance(stated, SymbolicTensor) and stated.dtype is not None else "?"
    sizes = [str(dim.dim_value) if dim.HasField("dim_value") else "?" for dim in hint.tensor_type.shape.dim]
    return f"{dtype}[{', '.join(sizes) if hint.tensor_type.HasField('shape') else '...'}]"


def declared_outputs(
    state: State, declared: Iterable[ValueInfoProto], outputs: Iterable[Value], reader: DimReader
) -> list[Diagnostic]:
    """Findings for contradictions between declared and inferred outputs, and for the values of declared symbols."""
    found: list[Diagnostic] = []
    made = {name for node in state.model.proto.graph.node if not is_constant(node) for name in node.output}
    aliases: dict[str, Dim] = {}
    scope = state.context.scope
    for proto, value in zip(declared, outputs, strict=True):
        where = Location(value=proto.name)
        stated = from_type(proto.type, reader, lambda _: state.context.fresh("the output declares no size"))
        if stated is None or value == UNKNOWN:
            continue
        if contradiction(stated, value, scope):
            message = f"output {proto.name} is declared {stated}, the inputs imply {value}"
            weight = severity(stated, value) if proto.name in made else Severity.WARNING
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
