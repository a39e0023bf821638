"""Control flow: dispatch to the inference of If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnx import NodeProto

from gather_infer.errors import SpecViolation
from gather_infer.inference.bodies.branch import branch
from gather_infer.inference.bodies.iteration import note_branch
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
    walker: Interpreter,
    node: NodeProto,
    attributes: Mapping[str, Attribute],
    inputs: Sequence[Value | None],
    frame: Environment,
) -> Sequence[Value | None]:
    """The facts of a control-flow node's outputs. Raises SpecViolation when its bodies do not fit it."""
    if frame.depth >= MAX_DEPTH:
        raise SpecViolation(f"subgraphs and calls nest deeper than {MAX_DEPTH}", "GI108")
    with walker.context.preserved():
        match node.op_type:
            case "If":
                return branch(walker, node, attributes, inputs, frame)
            case "Loop":
                return loop(walker, node, attributes, inputs, frame)
            case "SequenceMap":
                mark = walker.checkpoint()
                found = sequence_map(walker, node, body_of(attributes, "body"), inputs, frame)
                note_branch(walker, mark)  # the sequence may be empty
                return found
            case _:
                return scan(walker, node, attributes, inputs, frame)
