"""Function calls: functions of the model, and function bodies of onnx schemas for operators without a rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from onnx import AttributeProto, FunctionProto, NodeProto

from gather_infer.diagnostic import Location
from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies import memo
from gather_infer.inference.environment import MAX_DEPTH, Environment
from gather_infer.inference.proto.schema import Schema
from gather_infer.inference.proto.types import to_type
from gather_infer.node_ids import Step
from gather_infer.rules import Attribute
from gather_infer.tensor import Value
from gather_infer.versioned import newest_version

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter


def call(
    interpreter: Interpreter,
    body: FunctionProto,
    node: NodeProto,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Attribute],
    environment: Environment,
) -> list[Value | None]:
    """The facts of a call: the body interpreted with the call's inputs and attributes, under the body's opset imports.

    Raises SpecViolation when the function calls itself or nests too deep, when the node has more inputs or outputs than
    the function, and when the budget for bodies is spent.
    """
    key = (body.domain, body.name, body.overload)
    if key in interpreter.calls:
        raise SpecViolation(f"function {body.name} calls itself", "GI108")
    if environment.depth >= MAX_DEPTH:
        raise SpecViolation(f"subgraphs and calls nest deeper than {MAX_DEPTH}", "GI108")
    if len(inputs) > len(body.input):
        raise SpecViolation(
            f"function {body.name} takes at most {len(body.input)} inputs, found {len(inputs)}", "GI107"
        )
    if len(node.output) > len(body.output):
        raise SpecViolation(
            f"function {body.name} has at most {len(body.output)} outputs, found {len(node.output)}", "GI107"
        )

    memo_key = memo.key_of(interpreter, body, node, inputs, environment)
    if memo_key is not None and (known := memo.recall(interpreter, memo_key, node, environment)) is not None:
        return known
    place = interpreter.context.node
    path = place.graph.below(Step(place.position))
    interpreter.spend(path, body.node, 0)
    start = memo.call_start(interpreter)
    bound: dict[str, AttributeProto] = {a.name: a for a in body.attribute_proto}
    for attribute in node.attribute:
        source = environment.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is not None:
            bound[attribute.name] = source
    given = dict(zip(body.input, inputs, strict=False))
    inner = Environment(
        interpreter.opsets(body.opset_import),
        path=path,
        label=place.label,
        values={name: value for name, value in given.items() if value is not None},
        declared={v.name: v for v in body.value_info},
        attributes=bound,
        parameters=frozenset(body.attribute) | bound.keys(),
        absent=frozenset(name for name in body.input if given.get(name) is None),
        depth=environment.depth + 1,
    )
    for name, argument in zip(body.input, node.input, strict=False):
        trace = environment.provenance_of(argument)
        if trace is not None:
            inner.provenance[name] = trace
        choice = environment.input_predicate(argument)
        if choice is not None:
            inner.input_predicates[name] = choice
    interpreter.calls.append(key)
    interpreter.enter(inner)
    with interpreter.context.preserved():
        interpreter.interpret_nodes(body.node, inner)
    interpreter.calls.pop()
    for outer, name in zip(node.output, body.output, strict=False):
        if name in inner.provenance:
            environment.provenance[outer] = inner.provenance[name]
    for name in body.output:
        if name not in inner.values and name not in inner.absent:
            interpreter.report(
                "GI103", f"function output {name} is not defined", Location(graph=inner.label, value=name)
            )
    results = [inner.values.get(name) for name in body.output]
    if memo_key is not None:
        memo.remember(
            interpreter, memo_key, start, place, results, [inner.provenance.get(name) for name in body.output]
        )
    return results


def with_bound_attributes(node: NodeProto, environment: Environment) -> NodeProto:
    """`node` with each reference to a function attribute replaced by the value that the call passes.

    An attribute whose reference the call leaves without a value is omitted.
    """
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        source = environment.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if source is not None:
            copy.attribute.add().CopyFrom(source)
            copy.attribute[-1].name = attribute.name
    return copy


@cache
def _fixed_body(schema: Schema, version: int, imports: tuple[tuple[str, int], ...]) -> FunctionProto | None:
    """The newest function body of a schema up to opset `version`; None when there is none."""
    newest = newest_version(schema.raw.function_opset_versions, version)
    serialized = b"" if newest is None else schema.raw.get_function_with_opset_version(newest)
    return _with_imports(serialized, version, imports)


def _with_imports(serialized: bytes, version: int, imports: Iterable[tuple[str, int]]) -> FunctionProto | None:
    """The body with complete opset imports, None when `serialized` is empty.

    A body without imports uses the opset `version` of its operator. Other domains have the versions in `imports`.

    The body of FlexAttention, for example, imports its own domain only and consists of nodes of ai.onnx.
    """
    if not serialized:
        return None
    body: FunctionProto = FunctionProto.FromString(serialized)
    if not body.opset_import:
        body.opset_import.add(version=version)
    for domain, number in imports:  # of a domain that is imported twice the first one counts
        body.opset_import.add(domain=domain, version=number)
    return body


def schema_body(
    schema: Schema, node: NodeProto, inputs: Sequence[Value | None], version: int, imports: Mapping[str, int]
) -> FunctionProto | None:
    """The function body that onnx's schema defines for a node, None when there is none.

    version   opset version of the operator's domain
    imports   opset versions of all domains that the graph of the node imports

    A context-dependent body is built from the node and the types of its inputs, all of which must be known. Raises
    SpecViolation when onnx rejects the node.
    """
    raw = schema.raw
    if raw is None:
        return None
    if raw.has_function:
        return _fixed_body(schema, version, tuple(imports.items()))
    if not raw.has_context_dependent_function:
        return None
    newest = newest_version(raw.context_dependent_function_opset_versions, version)
    protos = [None if value is None else to_type(value) for value in inputs]
    if newest is None or any(p is None and v is not None for p, v in zip(protos, inputs, strict=True)):
        return None
    serialized_types = [b"" if p is None else p.SerializeToString() for p in protos]
    try:
        serialized = raw.get_context_dependent_function_with_opset_version(
            newest, node.SerializeToString(), serialized_types
        )
    except (ValueError, RuntimeError) as error:
        raise SpecViolation(f"onnx rejects the node: {' '.join(str(error).split())}") from error
    return _with_imports(serialized, version, imports.items())
