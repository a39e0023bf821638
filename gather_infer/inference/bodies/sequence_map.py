"""SequenceMap: a body for each member of a sequence.

The interpreter infers the subgraph itself, not the function body into which onnx expands SequenceMap. The subgraph can
therefore read outer names, and known members are mapped one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from onnx import GraphProto, NodeProto

from gather_infer.diagnostic import Diagnostic
from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.iteration import leave_body
from gather_infer.inference.bodies.subgraph import BodyLocation, body_location, inputs_of, interpret_body, local_symbols
from gather_infer.inference.environment import Environment
from gather_infer.inference.join import fresh_dim, project_out
from gather_infer.inference.result import Access
from gather_infer.ops.onnx.sequence import DIFFERS, member, sequence_of
from gather_infer.rules import OpCall
from gather_infer.symbolic import known_le
from gather_infer.tensor import SequenceType, SymbolicTensor, Value
from gather_infer.trail import PathCondition

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter

MAX_MEMBERS: Final = 8
"""Maximal number of members that are mapped one by one."""


def sequence_map(
    interpreter: Interpreter,
    node: NodeProto,
    body: GraphProto,
    inputs: Sequence[Value | None],
    environment: Environment,
) -> Sequence[Value]:
    """https://onnx.ai/onnx/operators/onnx__SequenceMap.html

    inputs    a sequence of n members, then sequences of n members and tensors
    body      (a member of each sequence, the tensors) -> one tensor per output
    outputs   sequences of n members

    Raises SpecViolation when the first input is not a sequence, two sequences differ in length, or the node and the
    body differ in the number of inputs or outputs.
    """
    outputs = len(node.output)
    if not inputs or not isinstance(inputs[0], SequenceType):
        if inputs and inputs[0] == SymbolicTensor():
            return [SequenceType() for _ in range(outputs)]
        raise SpecViolation(f"input 0 must be a sequence, is {inputs[0] if inputs else 'missing'}", "GI211")
    for kind, needed, found in (
        ("inputs", len(inputs), len(inputs_of(body))), ("outputs", outputs, len(body.output)),
    ):  # fmt: skip
        if needed != found:
            raise SpecViolation(f"the body must have {needed} {kind}, like the node, has {found}", "GI110")
    sequences = [value for value in inputs if isinstance(value, SequenceType)]
    lengths = [s.length for s in sequences if isinstance(s.length, int)]
    if len(set(lengths)) > 1:
        raise SpecViolation(f"the sequences must have one length, have {lengths}", "GI212")

    place = interpreter.context.node
    at = body_location(place, node, "body")
    members = _one_by_one(interpreter, body, inputs, at, environment)
    context, created = interpreter.context, len(interpreter.context.causes)
    length = lengths[0] if lengths else sequences[0].length
    op, scope = OpCall("SequenceMap", inputs, context=context), context.scope
    given = [
        member(op, value.element, "the size of a member")
        if isinstance(value, SequenceType)
        else value or SymbolicTensor()
        for value in inputs
    ]
    runs = False if length == 0 else None if length is None else known_le(1, length, scope)
    mark = interpreter.checkpoint()
    with context.preserved():
        context.scope = scope if runs is True else scope.child()
        results, _ = interpret_body(interpreter, body, given, at, environment)
    leave_body(interpreter, mark, runs, PathCondition(at.path, place, "body", None if length is None else -length))
    local = local_symbols(context, created)
    elements = [project_out(value, local, fresh_dim(context, DIFFERS)) for value in results]
    return [sequence_of(element, length, None if members is None else members[k]) for k, element in enumerate(elements)]


def _one_by_one(
    interpreter: Interpreter,
    body: GraphProto,
    inputs: Sequence[Value | None],
    at: BodyLocation,
    environment: Environment,
) -> list[list[SymbolicTensor]] | None:
    """For each output, the results of the body for each member; None when the members are unknown or too many.

    Accesses and diagnostics are dropped here: a later pass, with one fact for all members, records them.
    """
    lists = [value.members for value in inputs if isinstance(value, SequenceType)]
    counts = {-1 if members is None else len(members) for members in lists}
    count = counts.pop()
    if counts or not 0 < count <= MAX_MEMBERS:
        return None
    context, mark = interpreter.context, interpreter.checkpoint()
    by_output: list[list[SymbolicTensor]] = [[] for _ in body.output]
    for number in range(count):
        given: list[Value] = []
        for value in inputs:
            if isinstance(value, SequenceType) and value.members is not None:
                given.append(value.members[number])
            else:
                given.append(value or SymbolicTensor())
        with context.preserved():
            results, _ = interpret_body(interpreter, body, given, at, environment)
        for column, result in zip(by_output, results, strict=True):
            if isinstance(result, SymbolicTensor):
                column.append(result)
    interpreter.trail.filter_since(mark, lambda entry: not isinstance(entry, (Diagnostic, Access)))
    return by_output if all(len(column) == count for column in by_output) else None
