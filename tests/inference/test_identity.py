"""Nodes, graphs and values are what they are by where they stand: equal and misleading names change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import gather_infer
from gather_infer import infer
from gather_infer.node_ids import MAIN, GraphPath, Step
from gather_infer.tensor import DType, SymbolicTensor
from gather_infer.validate import VerdictKind, verdicts
from tests.passes.folding_models import model, tensor

F, I64 = TensorProto.FLOAT, TensorProto.INT64


def run(made: ModelProto, **feeds: Any) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, {name: np.asarray(value) for name, value in feeds.items()}))


def info(name: str, dtype: int, *dims: Any) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


def graph(nodes: list[onnx.NodeProto], outputs: list[onnx.ValueInfoProto], name: str = "b") -> onnx.GraphProto:
    return helper.make_graph(nodes, name, [], outputs)


def misleading() -> ModelProto:
    """An If called `A`, and a call of a function that is called like its then branch; both have a value `c`."""
    then = graph(
        [
            helper.make_node("Shape", ["x"], ["s"], name="s"),
            helper.make_node("Gather", ["s", "zero"], ["c"], name="g"),
        ],
        [info("c", I64)],
    )
    other = graph([helper.make_node("Identity", ["zero"], ["c2"], name="g")], [info("c2", I64)])
    function = helper.make_function(
        "f",
        "F",
        ["v"],
        ["c"],
        [
            helper.make_node("Constant", [], ["table"], name="s", value=tensor("", np.array([7, 8]))),
            helper.make_node("Constant", [], ["at"], name="at", value=tensor("", np.int64(1))),
            helper.make_node("Gather", ["table", "at"], ["c"], name="g"),
        ],
        [helper.make_opsetid("", 17)],
    )
    made = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("F", ["x"], ["out_f"], name="A/then_branch", domain="f"),
                helper.make_node("If", ["cond"], ["out_if"], name="A", then_branch=then, else_branch=other),
            ],
            "g",
            [info("x", F, "N", 4), info("cond", TensorProto.BOOL)],
            [info("out_f", I64), info("out_if", I64)],
            [tensor("zero", np.int64(0))],
        ),
        functions=[function],
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)],
        ir_version=10,
    )
    onnx.checker.check_model(made)
    return made


def test_a_branch_and_a_call_of_one_label_keep_their_facts() -> None:
    made = misleading()
    inference = infer(made)
    branch = GraphPath(steps=(Step(1, [a.name for a in made.graph.node[1].attribute].index("then_branch")),))
    call = MAIN.below(Step(0))
    assert inference.labels[branch] == inference.labels[call] == "A/then_branch"
    assert str(inference.scopes[branch]["c"]) == "int64[] = N"
    assert str(inference.scopes[call]["c"]) == "int64[] = 8"
    x = np.zeros((3, 4), np.float32)
    assert [int(v) for v in run(made, x=x, cond=True)] == [8, 3]


def test_fold_writes_no_constant_into_the_graph_of_the_same_label() -> None:
    made = misleading()
    folded = gather_infer.fold(made).model
    for size in (0, 1, 3):
        x = np.zeros((size, 4), np.float32)
        for cond in (True, False):
            assert run(folded, x=x, cond=cond) == run(made, x=x, cond=cond)


def test_annotated_writes_types_into_their_own_graph() -> None:
    made = misleading()
    made.graph.node[0].name, made.graph.node[1].name = "A", "A"
    annotated = infer(made).annotated()
    then = next(a.g for a in annotated.graph.node[1].attribute if a.name == "then_branch")
    (shape,) = (v for v in then.value_info if v.name == "s")
    assert [d.dim_value for d in shape.type.tensor_type.shape.dim] == [2]
    onnx.checker.check_model(annotated, full_check=True)


def openvino_gather(name: str, data: str, out: str) -> onnx.NodeProto:
    return helper.make_node("Gather", [data, "rows", "axis"], [out], name=name, domain="openvino.opset8")


def duplicates(first: str, second: str) -> ModelProto:
    """Two OpenVINO Gathers with indices that are proved in bounds."""
    return helper.make_model(
        helper.make_graph(
            [openvino_gather(first, "x", "a"), openvino_gather(second, "y", "b")],
            "g",
            [info("x", F, 5, "N"), info("y", F, 9, "N")],
            [info("a", F, 2, "N"), info("b", F, 2, "N")],
            [tensor("rows", np.array([4, 0], np.int64)), tensor("axis", np.int64(0))],
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("openvino.opset8", 1)],
        ir_version=10,
    )


@pytest.mark.parametrize("names", [("g", "g"), ("", ""), ("g#1", "g"), ("g", "g#0")], ids=str)
def test_gathers_of_one_name_are_converted(names: tuple[str, str]) -> None:
    result = gather_infer.convert(duplicates(*names))
    assert [(each.node.position, each.indices) for each in result.converted] == [(0, "proved"), (1, "proved")]
    x, y = np.arange(10, dtype=np.float32).reshape(5, 2), np.arange(18, dtype=np.float32).reshape(9, 2)
    a, b = ReferenceEvaluator(result.model).run(None, {"x": x, "y": y})  # onnxruntime wants names to differ
    assert (a == x[[4, 0]]).all() and (b == y[[4, 0]]).all()


def test_a_finding_about_nodes_of_one_name_is_given_once_each() -> None:
    nodes = [helper.make_node("Gather", ["x", f"i{k}"], [f"y{k}"], name="g") for k in range(2)]
    constants = {"x": np.array([1, 2, 3]), "i0": np.array([9]), "i1": np.array([1])}
    made = model(nodes, {}, {"y0": (I64, [1]), "y1": (I64, [1])}, constants)
    result = gather_infer.fold(made)
    found = [(d.code, d.location.node.position) for d in result.diagnostics if d.location.node]
    assert found == [("GI301", 0), ("GI401", 0)]  # the second says that the node is left alone
    assert [f.name for f in result.applied] == ["y1"]


def test_labels_tell_every_node_of_a_graph_from_the_others() -> None:
    names = ["a", "a", "a#1", "", "Neg#3", "a#0"]
    nodes = [helper.make_node("Neg", ["x"], [f"y{k}"], name=name) for k, name in enumerate(names)]
    made = helper.make_model(
        helper.make_graph(nodes, "g", [info("x", F, "N")], [info(f"y{k}", F, "N") for k in range(6)]),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    from gather_infer.model.paths import node_labels

    labels = node_labels(made.graph.node)
    assert len(set(labels)) == 6 and labels[2] == "a#1" and labels[5] == "a#0"


def overriding(domain: str, name: str, body: onnx.NodeProto) -> ModelProto:
    """A call of an operator `name` for which the model defines a function too."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return helper.make_model(
        helper.make_graph(
            [helper.make_node(name, ["x"], ["y"], domain=domain)], "g", [info("x", F, "N")], [info("y", F, None)]
        ),
        functions=[helper.make_function(domain, name, ["a"], ["b"], [body], imports)],
        opset_imports=imports,
        ir_version=10,
    )


TWICE = helper.make_node("Concat", ["a", "a"], ["b"], axis=0)
SAME = helper.make_node("Neg", ["a"], ["b"])
OVERRIDING = {
    # id:                          (domain,            name,     body,  result)
    "another shape": ("com.microsoft", "Gelu", TWICE, "float32[gelu_0]"),
    "the same shape": ("com.microsoft", "Gelu", SAME, "float32[N]"),
    "no such operator": ("com.mine", "Gelu", TWICE, "float32[2*N]"),
    "the operator would fail": ("openvino.opset8", "Gather", TWICE, "float32[2*N]"),
}


@pytest.mark.parametrize("case", OVERRIDING)
def test_what_holds_whichever_of_operator_and_function_runs(case: str) -> None:
    domain, name, body, result = OVERRIDING[case]
    made = overriding(domain, name, body)
    inference = infer(made)
    assert str(inference["y"]) == result
    (judged,) = ReferenceEvaluator(made).run(None, {"x": np.zeros(3, np.float32)})
    sizes = {judged.shape[0]}
    if not domain.startswith("openvino"):
        sizes.add(run(made, x=np.zeros(3, np.float32))[0].shape[0])
    y: Any = inference["y"]
    (size,) = y.shape
    assert inference.is_generated(size) == (len(sizes) > 1)
    assert [d.code for d in inference.diagnostics] == ([] if domain == "com.mine" else ["GI109"])


def test_provenance_ignores_a_function_that_may_not_run() -> None:
    made = overriding("com.microsoft", "Trilu", helper.make_node("Identity", ["a"], ["b"]))
    made.graph.input[0].CopyFrom(info("x", I64, 2, 2))
    made.graph.node.append(helper.make_node("Gather", ["t", "y"], ["z"]))
    made.graph.initializer.append(tensor("t", np.arange(9, dtype=np.float32)))
    made.graph.output[0].CopyFrom(info("z", F, 2, 2))
    below = np.array([[0, 0], [99, 0]])  # onnxruntime runs the operator, which puts 0 there: in bounds
    assert run(made, x=below)[0].shape == (2, 2)
    assert verdicts(infer(made))[-1].kind is VerdictKind.UNDECIDED


# accesses are what rules say


def own_rules(declared: bool = True) -> gather_infer.RuleSet:
    from gather_infer.access import Indexing
    from gather_infer.ops.semantics.indices import check_bounds, known_numbers
    from gather_infer.tensor import SymbolicTensor

    rules = gather_infer.RuleSet("mine")

    @rules.rule("Pick", addresses={0: 1} if declared else None)
    def pick(op: gather_infer.OpCall) -> list[SymbolicTensor]:
        at, table = op.tensor(0), op.tensor(1)
        assert table.shape is not None and at.shape is not None
        check_bounds(op, at, known_numbers(op, 0), table.shape[0], Indexing(), axis=0, data="table", position=0)
        return [SymbolicTensor(table.dtype, (*at.shape, *table.shape[1:]))]

    return rules


def pick_model(rows: Any) -> ModelProto:
    return helper.make_model(
        helper.make_graph(
            [helper.make_node("Pick", ["i", "t"], ["y"], domain="mine")],
            "g",
            [info("i", I64, "S"), info("t", F, rows, 4)],
            [info("y", F, "S", 4)],
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)],
    )


def test_an_operator_of_the_caller_has_accesses_and_verdicts() -> None:
    inference = infer(pick_model(9), rules=[own_rules()])
    (verdict,) = verdicts(inference)
    assert (verdict.kind, verdict.condition) == (VerdictKind.CONDITIONAL, "-9 <= i < 9")
    assert (verdict.access.data, verdict.access.indices, verdict.access.axis) == ("t", "i", 0)


def test_what_another_domain_calls_constant_is_none() -> None:
    """onnxruntime, which knows ONNX's Constant, refuses the index 9; what `mine.Constant` gives only its rule knows."""
    rules = gather_infer.RuleSet("mine")
    rules.rule("Constant")(lambda op: [SymbolicTensor(DType.INT64, (2,))])
    for domain, kind in (("", VerdictKind.VIOLATED), ("mine", VerdictKind.UNDECIDED)):
        made = pick_model(9)
        made.graph.node[0].CopyFrom(helper.make_node("Gather", ["t", "i"], ["y"]))
        constant = helper.make_node("Constant", [], ["i"], domain=domain, value=tensor("i", np.array([0, 9])))
        made.graph.node.insert(0, constant)
        del made.graph.input[0]
        inference = infer(made, rules=[rules])
        assert [found.kind for found in verdicts(inference)] == [kind]
        assert [found.code for found in inference.errors] == (["GI301"] if kind is VerdictKind.VIOLATED else [])
        if not domain:
            with pytest.raises(InvalidArgument, match="indices element out of data bounds"):
                made.ir_version = 8
                run(made, t=np.zeros((9, 4), np.float32))


def test_a_rule_that_addresses_has_to_say_so() -> None:
    with pytest.raises(
        gather_infer.UsageError, match=r"the rule of mine.Pick at node Pick#0 addresses .* addresses=\{0: ...\}"
    ):
        infer(pick_model(9), rules=[own_rules(declared=False)])


def test_each_component_of_an_index_tuple_is_an_access() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[3, M] x, int64[N, 2] i) => (float[N] y) {
        y = GatherND (x, i) }"""
    found = verdicts(infer(onnx.parser.parse_model(text)))
    assert [(v.access.axis, v.condition) for v in found] == [(0, "-3 <= i[..., 0] < 3"), (1, "-M <= i[..., 1] < M")]


EMBED = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
g (int32[B, S] ids, int32[B, S] kinds, int32[1, S] places) => (float[B, S, 4] y, int32[B] m) {
    y, m = com.microsoft.EmbedLayerNormalization (ids, kinds, words, positions, segments, gamma, beta, , places)
}"""


def embed_model() -> ModelProto:
    made = onnx.parser.parse_model(EMBED)
    tables = {"words": (9, 4), "positions": (7, 4), "segments": (2, 4), "gamma": (4,), "beta": (4,)}
    made.graph.initializer.extend(tensor(name, np.ones(shape, np.float32)) for name, shape in tables.items())
    return made


def test_every_index_input_is_an_access() -> None:
    made = embed_model()
    found = verdicts(infer(made))
    assert [(v.access.indices, v.condition) for v in found] == [
        ("ids", "0 <= ids < 9"), ("kinds", "0 <= kinds < 2"), ("places", "0 <= places < 7"),
    ]  # fmt: skip
    fine = {"ids": [[8, 0]], "kinds": [[1, 0]], "places": [[6, 0]]}

    def passes(**changes: Any) -> bool:
        feeds = {name: np.array(value, np.int32) for name, value in (fine | changes).items()}
        try:
            run(made, **feeds)
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
            return False
        return True

    assert passes()
    for name, limit in (("ids", 9), ("kinds", 2), ("places", 7)):
        assert not passes(**{name: [[limit, 0]]}) and not passes(**{name: [[-1, 0]]}), name
