"""Dead code elimination on the IR: what is neither read nor returned goes, with all that only it has read."""

from __future__ import annotations

import onnx.parser
import pytest

from gather_infer.ir import Graph, Model, Node
from gather_infer.ir.dead_code import DEAD_CODE_REASON, eliminate_all_dead_code, eliminate_dead_code
from gather_infer.ir.write_back import to_proto
from tests.ir.random_models import random_model
from tests.ir.recount import held, recounted

MODEL = """<ir_version: 10, opset_import: ["": 21]>
g (float[N] x, bool c) => (float[N] y) <float[1] w = {1}, float[1] v = {2}> {
    a = Neg(x) b = Add(a, w) d = Abs(b) e = Exp(a)
    z = If (c) <then_branch = t () => (float[N] p) { p = Mul(e, v) q = Abs(p) },
                else_branch = f () => (float[N] e) { }>
    u, s = Split<num_outputs = 2>(x)
    y = Relu(s)
}"""


def model() -> Model:
    made = Model(onnx.parser.parse_model(MODEL))
    main = made.main
    main.constants = dict(main.initializers)
    return made


def anything(_: Node) -> bool:
    return True


def left(made: Model) -> tuple[str, list[str]]:
    """The operators and the initializers of the main graph as written."""
    assert held(made) == recounted(made)
    graph = to_proto(made).graph
    return " ".join(node.op_type for node in graph.node), [tensor.name for tensor in graph.initializer]


def test_all() -> None:
    """A node with one live output stays; a value that a dead branch reads or returns is dead too."""
    made = model()
    eliminate_all_dead_code(made, anything)
    assert left(made) == ("Neg Exp Split Relu", [])  # e keeps its name and stays: a branch has returned it


def test_candidates_only() -> None:
    made = model()
    eliminate_dead_code(made, [(made.main, "d")], anything)
    assert left(made) == ("Neg Exp If Split Relu", ["v"])
    assert {why for reasons in made.removed.values() for why in reasons.values()} == {DEAD_CODE_REASON}


def test_candidates_of_a_subgraph() -> None:
    """A candidate is looked up from the graph that can read it."""
    made = model()
    branch = next(body for body in made.main.file_nodes[4].bodies if body.nodes)
    eliminate_dead_code(made, [(branch, "q"), (branch, "d"), (branch, "missing")], anything)
    assert [node.op_type for node in branch.nodes] == ["Mul"]
    assert left(made) == ("Neg Exp If Split Relu", ["v"])


def test_nodes_with_effects_stay() -> None:
    made = model()
    eliminate_all_dead_code(made, lambda node: node.op_type != "Abs")
    assert left(made) == ("Neg Add Abs Exp Split Relu", ["w"])


def test_constants_that_callers_may_override_stay() -> None:
    made = model()
    del made.main.constants["w"]
    eliminate_all_dead_code(made, anything)
    assert left(made)[1] == ["w"]


def test_what_is_examined_and_removed_is_reported() -> None:
    made = model()
    visited: list[tuple[Graph, str]] = []
    removed: list[str] = []
    eliminate_dead_code(
        made, [(made.main, "d"), (made.main, "y")], anything,
        on_visit=lambda graph, name: visited.append((graph, name)),
        on_removal=lambda node: removed.append(node.op_type),
    )  # fmt: skip
    assert removed == ["Abs", "Add"] and {name for _, name in visited} == {"d", "y", "b", "a", "w"}
    assert all(graph is made.main for graph, _ in visited)


@pytest.mark.parametrize("seed", range(12))
def test_random_models(seed: int) -> None:
    """Nothing that an output depends on goes, and nothing stays that is dead."""
    made = Model(random_model(seed))
    for name in list(made.main.producers)[::5]:
        if name not in made.main.outputs:
            made.add_output(made.main, onnx.ValueInfoProto(name=name), "a test")
    live: set[Node] = set()
    pending = [(made.main, name) for name in made.main.outputs]
    while pending:
        graph, name = pending.pop()
        found = graph.producer(name) if name else None
        if found is None or found[0] in live:
            continue
        node = found[0]
        live.add(node)
        pending += [(node.graph, read) for read in node.inputs]
        pending += [(body, result) for body in node.bodies for result in body.outputs]
    assert live
    eliminate_all_dead_code(made, anything)
    assert held(made) == recounted(made)
    assert not any(node.is_removed for node in live)
    for node in made.nodes:
        names = [name for name in node.outputs if name]
        assert not names or any(made.is_needed(node.graph, name) for name in names), names
