"""Control flow: dispatch to the inference of If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnx import NodeProto

from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.branch import branch
from gather_infer.inference.bodies.iteration import record_branch
from gather_infer.inference.bodies.loop import loop
from gather_infer.inference.bodies.scan import scan
from gather_infer.inference.bodies.sequence_map import sequence_map
from gather_infer.inference.bodies.subgraph import body_of
from gather_infer.inference.environment import MAX_DEPTH, Environment
from gather_infer.rules import Attribute
from gather_infer.tensor import Value

if TYPE_CHECKING:
    from gather_infer.inference.interpreter import Interpreter


def infer(
    interpreter: Interpreter,
    node: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    environment: Environment,
) -> Sequence[Value | None]:
    """The facts of a control-flow node's outputs. Raises SpecViolation when its bodies do not fit it."""
    if environment.depth >= MAX_DEPTH:
        raise SpecViolation(f"subgraphs and calls nest deeper than {MAX_DEPTH}", "GI108")
    with interpreter.context.preserved():
        match node.op_type:
            case "If":
                return branch(interpreter, node, attributes, inputs, environment)
            case "Loop":
                return loop(interpreter, node, attributes, inputs, environment)
            case "SequenceMap":
                mark = interpreter.checkpoint()
                found = sequence_map(interpreter, node, body_of(attributes, "body"), inputs, environment)
                record_branch(interpreter, mark)  # the sequence may be empty
                return found
            case _:
                return scan(interpreter, node, attributes, inputs, environment)
