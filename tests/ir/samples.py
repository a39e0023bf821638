"""Small models with subgraphs for the tests of the IR."""

from __future__ import annotations

from onnx import GraphProto, ModelProto, NodeProto, helper

from gather_infer.node_ids import MAIN, Step
from tests.model.model_samples import INFO

N = helper.make_node

THEN = MAIN.below(Step(0, 1))  # the then_branch in `nested`; attributes are sorted by name
BODY = THEN.below(Step(0, 0))
"""The body of the Loop in `nested`."""


def graph_of(nodes: list[NodeProto], inputs: str = "x", outputs: str = "y", name: str = "g") -> GraphProto:
    """A graph with inputs and outputs that are given by name, separated by spaces."""
    return helper.make_graph(
        nodes, name, [INFO(n, 1, None) for n in inputs.split()], [INFO(n, 1, None) for n in outputs.split()]
    )


def nested() -> ModelProto:
    """`x` is read in the main graph, in both branches of an If, and in a Loop inside one of them."""
    body = graph_of([N("Add", ["x", "v"], ["v2"]), N("Identity", ["c"], ["c2"])], "i c v", "c2 v2", "body")
    then = graph_of([N("Loop", ["n", "c", "x"], ["t"], name="L", body=body)], "", "t", "then")
    other = graph_of([N("Relu", ["k"], ["x2"])], "", "x2", "other")  # reads a later node of the main graph
    nodes = [
        N("If", ["c"], ["y"], name="branch", then_branch=then, else_branch=other),
        N("Neg", ["x"], ["k"]),
        N("Add", ["x", "x"], ["z"]),
    ]
    return helper.make_model(graph_of(nodes, "x c n", "y z"))
