"""What a model declares of its values and does not keep to, beside what the walk says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from onnx import GraphProto, ValueInfoProto

from gather_infer.checks.places import Places
from gather_infer.diagnostic import Diagnostic, Location, Severity, diagnostic
from gather_infer.inference import Inference
from gather_infer.inference.join import contradiction
from gather_infer.inference.proto.types import DimReader, from_type, shown
from gather_infer.inference.said import shaped_dims
from gather_infer.model.paths import bodies, label_of
from gather_infer.places import MAIN, GraphPath, Root
from gather_infer.symbolic import Dim, Expr, known_eq, symbol
from gather_infer.tensor import SymbolicTensor, Value


def declared_findings(inference: Inference, places: Places) -> Iterator[Diagnostic]:
    """Dims below 0, and value_info that holds for some sizes only or for nothing."""
    model = inference.model.proto
    for path, body in bodies(model):
        if not isinstance(body, GraphProto) or path.root is not Root.GRAPH:
            continue
        yield from _negative(path, body, inference, places)
        facts = inference.scopes.get(path)
        if facts is None:
            continue
        makers = {name: position for position, node in enumerate(body.node) for name in node.output}
        stated = set(_numbers(body.output, facts)) if path == MAIN else set()
        for value in body.value_info:
            maker = makers.get(value.name)
            found = _stale(value, facts.get(value.name), maker is not None, stated, inference, path)
            if found is not None:
                message, severity = found
                where = _place(value.name, path, inference, maker, places)
                yield diagnostic("GI201", message, where, severity=severity)


def _negative(path: GraphPath, body: GraphProto, inference: Inference, places: Places) -> Iterator[Diagnostic]:
    for kind, values in (("input", body.input), ("output", body.output), ("value_info", body.value_info)):
        for value in values:
            below = [a for a, d in enumerate(shaped_dims(value)) if d.HasField("dim_value") and d.dim_value < 0]
            if path == MAIN and kind == "input":  # the walk tells of what is less than -1
                below = [a for a in below if shaped_dims(value)[a].dim_value == -1]
            if below:
                axes = ", ".join(map(str, below))
                message = (
                    f"{kind} {value.name} declares {'a dim' if len(below) == 1 else 'dims'} below 0 (axis {axes}); "
                    "a dim that is not known has a name, or nothing"
                )
                yield diagnostic("GI109", message, _place(value.name, path, inference, None, places))


def _stale(
    value: ValueInfoProto,
    fact: Value | None,
    is_made: bool,
    specialised: Set[tuple[Dim, int]],
    inference: Inference,
    path: GraphPath,
) -> tuple[str, Severity] | None:
    """What is wrong with a value_info that the walk has nothing against.

    specialised   what the outputs declare as numbers: the exporter meant the whole file for such sizes
    """
    if fact is None:
        return f"value_info tells of {value.name}, which nothing in the graph makes", Severity.NOTE
    if not is_made:  # of outputs of nodes the walk says it
        stated = from_type(value.type, DimReader(), lambda axis: symbol(f"?{axis}"))
        if stated is not None and contradiction(stated, fact, inference.known):
            return f"value_info of {value.name} says {stated}, it is {fact}", Severity.WARNING
    if path != MAIN:
        return None  # what a branch knows of sizes holds in it alone
    wrong = {
        pair
        for pair in _numbers([value], {value.name: fact})
        if not inference.is_generated(pair[0]) and known_eq(*pair, inference.known) is None
    }
    if not wrong or not isinstance(fact, SymbolicTensor):
        return None
    implied = SymbolicTensor(fact.dtype, fact.shape)
    message = f"value_info of {value.name} says {shown(value.type)}, the inputs imply {implied}"
    return message, Severity.NOTE if wrong <= specialised else Severity.WARNING


def _numbers(values: Iterable[ValueInfoProto], facts: Mapping[str, Value]) -> Iterator[tuple[Dim, int]]:
    """Dims that are expressions and declared as a number, with the number."""
    for value in values:
        fact = facts.get(value.name)
        dims = shaped_dims(value)
        if not isinstance(fact, SymbolicTensor) or fact.shape is None or len(dims) != len(fact.shape):
            continue
        for proto, dim in zip(dims, fact.shape, strict=True):
            if isinstance(dim, Expr) and proto.HasField("dim_value") and proto.dim_value >= 0:
                yield dim, proto.dim_value


def _place(name: str, path: GraphPath, inference: Inference, maker: int | None, places: Places) -> Location:
    """The node that makes a value, or the value where none does."""
    model = inference.model.proto
    if maker is None:
        return Location(value=name, graph="" if path == MAIN else label_of(model, path))
    return places.node(path, maker, f"output {name}")
