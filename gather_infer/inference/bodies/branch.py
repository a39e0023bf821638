"""If: both branches are interpreted and their facts joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnx import NodeProto

from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.iteration import record_branch
from gather_infer.inference.bodies.predicates import assumed_value, require_single, scalar, select_by_predicate
from gather_infer.inference.bodies.subgraph import body_location, body_of, inputs_of, interpret_body, local_symbols
from gather_infer.inference.environment import Environment
from gather_infer.inference.join import fresh_dim, join
from gather_infer.ops.onnx.sequence import DIFFERS
from gather_infer.rules import Attribute
from gather_infer.symbolic import known_lt
from gather_infer.tensor import SequenceType, SymbolicTensor, Value
from gather_infer.trail import PathCondition

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter


def branch(
    interpreter: Interpreter,
    call: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    environment: Environment,
) -> Sequence[Value | None]:
    """https://onnx.ai/onnx/operators/onnx__If.html: the facts of the branch that is taken, or the join of both."""
    context, place, outputs = interpreter.context, interpreter.context.node, len(call.output)
    if not inputs or inputs[0] is None:
        raise SpecViolation("input cond is missing", "GI107")
    require_single(inputs[0], "cond", context)
    taken = scalar(inputs[0])
    negative, choice = environment.sign_predicate(call.input[0]), environment.input_predicate(call.input[0])
    scope, created = context.scope, len(context.causes)
    if negative is not None and not isinstance(taken, bool):
        taken = known_lt(negative, 0, scope)  # more may be known here than where the condition was computed
    results: dict[bool, list[Value]] = {}
    attribute_of = {True: "then_branch", False: "else_branch"}
    at = {branch: body_location(place, call, name) for branch, name in attribute_of.items()}
    for branch, name in attribute_of.items():
        body = body_of(attributes, name)
        if len(body.output) != outputs:
            raise SpecViolation(f"{name} must have {outputs} outputs, has {len(body.output)}", "GI110")
        given = inputs_of(body)
        if given:
            raise SpecViolation(f"{name} must have no inputs, has {len(given)}", "GI110")
        mark = interpreter.checkpoint()
        with context.preserved():
            # a branch that always runs is on the unconditional path
            context.scope = scope if taken is branch else scope.child()
            if negative is not None and not isinstance(taken, bool):
                context.scope.add_fact(-negative - 1 if branch else negative)
            results[branch], inner = interpret_body(interpreter, body, (), at[branch], environment)
        if taken is branch:
            interpreter.conditions.pop(at[branch].path, None)
            for outer, output in zip(call.output, body.output, strict=True):
                trace = inner.provenance_of(output.name)
                if outer and trace is not None:
                    environment.provenance[outer] = trace
            continue
        where = scope.child()
        if negative is not None and not isinstance(taken, bool):
            where.add_fact(-negative - 1 if branch else negative)
        interpreter.drop_conditional(mark, is_dead=isinstance(taken, bool), where=where)
        record_branch(interpreter, mark)
        interpreter.conditions[at[branch].path] = PathCondition(
            at[branch].path,
            place,
            name,
            negative if branch or negative is None else -negative - 1,
            choice if branch or choice is None else choice.negated,
            at[not branch].path,
        )
    if isinstance(taken, bool):
        return results[taken]
    differ = "the branches of the If give it different sizes"
    pairs = list(zip(results[True], results[False], strict=True))
    if negative is not None:
        if any(_ranks_differ(*pair) for pair in pairs) and (held := assumed_value(negative, context)) is not None:
            return results[held]
        local = local_symbols(context, created)
        pairs = [select_by_predicate(negative, a, b, local, context) for a, b in pairs]
    return [join(a, b, fresh_dim(context, DIFFERS if isinstance(a, SequenceType) else differ)) for a, b in pairs]


def _ranks_differ(a: Value, b: Value) -> bool:
    return isinstance(a, SymbolicTensor) and isinstance(b, SymbolicTensor) and a.rank != b.rank
