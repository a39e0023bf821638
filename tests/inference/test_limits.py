"""No file, however it is made, ends in an exception or takes more work than its size warrants."""

from __future__ import annotations

import time

import numpy as np
import pytest
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

import gather_infer
from gather_infer.inference.result import Inference
from gather_infer.symbolic import DimTooLarge, Fuel, Scope, known_eq, known_le, maximum, minimum, symbol
from gather_infer.tensor import SymbolicTensor

SECONDS = 30.0
"""Processor time that a file of a few nodes may take; it takes less than 5, and without limits would not end."""

node = helper.make_node


def value(name: str, shape: list[str | int | None] | None = None, dtype: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def numbers(name: str, elements: object) -> TensorProto:
    return numpy_helper.from_array(np.asarray(elements, np.int64), name)


def infer(
    nodes: list[NodeProto],
    inputs: list[ValueInfoProto],
    outputs: list[ValueInfoProto],
    initializers: list[TensorProto] | None = None,
    functions: list[FunctionProto] | None = None,
) -> Inference:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers or [])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=functions or [])
    before = time.process_time()
    found = gather_infer.infer(model)
    assert time.process_time() - before < SECONDS
    found.annotated()
    return found


def function(name: str, nodes: list[NodeProto]) -> FunctionProto:
    return helper.make_function("f", name, ["x"], ["y"], nodes, list(map(helper.make_opsetid, ("", "f"), (18, 1))))


def doubling(levels: int, innermost: list[NodeProto]) -> Inference:
    """A function that calls another one twice, which does the same, and so on."""
    functions = [function("f0", innermost)]
    for level in range(1, levels):
        below = f"f{level - 1}"
        functions.append(
            function(f"f{level}", [node(below, ["x"], ["t"], domain="f"), node(below, ["t"], ["y"], domain="f")])
        )
    call = node(f"f{levels - 1}", ["x"], ["y"], domain="f", name="call")
    return infer([call], [value("x", ["a", "b"])], [value("y")], functions=functions)


def codes(inference: Inference) -> set[str]:
    return {finding.code for finding in inference.diagnostics}


def test_functions_that_call_the_next_one_twice_stay_exact() -> None:
    found = doubling(38, [node("Relu", ["x"], ["y"])])
    assert str(found["y"]) == "float32[a, b]"
    assert not found.diagnostics


def test_a_memoized_call_lists_its_graphs_and_accesses() -> None:
    index = node("Constant", [], ["i"], value=numbers("i", [0]))
    found = doubling(4, [index, node("Gather", ["x", "i"], ["y"], name="pick")])
    assert len(found.accesses) == 8
    assert len({access.node for access in found.accesses}) == 8
    assert len(found.scopes) == 1 + 8 + 4 + 2 + 1
    assert str(found["y"]) == "float32[1, b]"


@pytest.mark.oracle
def test_functions_whose_sizes_depend_on_data_end_with_a_finding() -> None:
    found = doubling(38, [node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["y"], to=TensorProto.FLOAT)])
    assert codes(found) == {"GI214"}
    assert any("budget" in finding.message for finding in gather_infer.explain(found.model, "y").findings)


def loops(depth: int) -> Inference:
    """Loops in each other, each with a state that changes its size and a condition that is computed."""
    inner: GraphProto | None = None
    for d in range(depth):
        nodes = [node("NonZero", [f"s{d}"], [f"n{d}"]), node("Cast", [f"n{d}"], [f"o{d}"], to=TensorProto.FLOAT)]
        if inner is not None:
            nodes = [node("Loop", ["most", "cond", f"s{d}"], [f"o{d}"], body=inner)]
        nodes += [
            node("ReduceMax", [f"s{d}"], [f"m{d}"], keepdims=0),
            node("Less", [f"m{d}", f"m{d}"], [f"c{d}"]),
        ]
        given = [value(f"i{d}", [], TensorProto.INT64), value(f"k{d}", [], TensorProto.BOOL), value(f"s{d}")]
        inner = helper.make_graph(nodes, "body", given, [value(f"c{d}", [], TensorProto.BOOL), value(f"o{d}")])
    inputs = [value("x", ["a", "b"]), value("cond", [], TensorProto.BOOL), value("most", [], TensorProto.INT64)]
    return infer([node("Loop", ["most", "cond", "x"], ["y"], body=inner)], inputs, [value("y")])


def test_loops_in_loops_end() -> None:
    assert "y" in loops(11)


@pytest.mark.parametrize("operators", [("Min", "Max"), ("Mul", "Max"), ("Div", "Min")], ids="-".join)
def test_chains_over_many_sizes_end(operators: tuple[str, str]) -> None:
    length = 40
    nodes = [node("Shape", ["x"], ["s"]), *(node("Gather", ["s", f"i{k}"], [f"d{k}"]) for k in range(length))]
    last = "d0"
    for k in range(1, length):
        nodes.append(node(operators[k % 2], [last, f"d{k}"], [f"e{k}"]))
        last = f"e{k}"
    nodes += [node("Unsqueeze", [last, "zero"], ["u"]), node("ConstantOfShape", ["u"], ["y"])]
    indices = [numbers(f"i{k}", k) for k in range(length)]
    dims: list[str | int | None] = [f"n{k}" for k in range(length)]
    found = infer(nodes, [value("x", dims)], [value("y")], [*indices, numbers("zero", [0])])
    result = found["y"]
    assert isinstance(result, SymbolicTensor)
    assert result.rank == 1


def test_conditions_that_are_too_large_to_be_written() -> None:
    count = 50
    nodes = [node("Shape", ["x"], ["s"]), *(node("Gather", ["s", f"i{k}"], [f"d{k}"]) for k in range(count))]
    nodes += [node("Less", [f"d{k}", f"d{k + 1}"], [f"c{k}"]) for k in range(count - 1)]
    last = "c0"
    for k in range(1, count - 1):
        nodes.append(node(("And", "Or")[k % 2], [last, f"c{k}"], [f"b{k}"]))
        last = f"b{k}"
    branch = helper.make_graph([node("Identity", ["x"], ["o"])], "branch", [], [value("o")])
    nodes.append(node("If", [last], ["y"], then_branch=branch, else_branch=branch))
    dims: list[str | int | None] = [f"n{k}" for k in range(count)]
    found = infer(nodes, [value("x", dims)], [value("y")], [numbers(f"i{k}", k) for k in range(count)])
    assert found["y"] == found["x"]


@pytest.mark.parametrize("rank", [16, 17, 32, 33, 64, 65, 70])
def test_ranks_above_what_numpy_holds(rank: int) -> None:
    ones = numbers("ones", [1] * rank)
    axes = numbers("axes", list(range(rank)))
    constant = TensorProto(name="k", data_type=TensorProto.INT64, dims=[1] * rank, int64_data=[3])
    nodes = [
        node("ConstantOfShape", ["ones"], ["filled"], value=numbers("v", [3])),
        node("Reshape", ["five", "ones"], ["reshaped"]),
        node("Expand", ["five", "ones"], ["expanded"]),
        node("Unsqueeze", ["five", "axes"], ["unsqueezed"]),
        node("Identity", ["k"], ["same"]),
        node("Constant", [], ["made"], value=constant),
        node("Add", ["filled", "made"], ["sum"]),
        node("Gather", ["filled", "made"], ["picked"]),
        node("Concat", ["filled", "made"], ["joined"], axis=0),
    ]
    found = infer(nodes, [], [value("y")], [ones, axes, constant, numbers("five", 5)])
    for name in ("filled", "reshaped", "expanded", "unsqueezed", "same", "made", "sum"):
        result = found[name]
        assert isinstance(result, SymbolicTensor)
        assert result.shape == (1,) * rank
    assert isinstance(found["picked"], SymbolicTensor)
    assert found["picked"].rank == 2 * rank - 1


def test_empty_constants_of_a_size_that_numpy_refuses() -> None:
    empty = TensorProto(name="k", data_type=TensorProto.INT64, dims=[2**30, 0, 2**30, 2**30])
    nodes = [node("Add", ["k", "k"], ["sum"]), node("Gather", ["x", "k"], ["y"])]
    found = infer(nodes, [value("x", [0])], [value("y")], [empty])
    assert str(found["sum"]) == "int64[1073741824, 0, 1073741824, 1073741824]"


def test_elementwise_operators_of_hundreds_of_inputs() -> None:
    names = [f"x{k}" for k in range(500)]
    nodes = [node("Shape", [name], [f"s{name}"]) for name in names]
    nodes += [node("Max", [f"s{name}" for name in names], ["m"]), node("Identity", ["m"], ["y"])]
    found = infer(nodes, [value(name, [f"n{name}"]) for name in names], [value("y")])
    assert str(found["m"]) == "int64[1]"


def test_questions_about_dims_that_are_too_large_to_be_written_are_open() -> None:
    a = sum((symbol(f"a{k}") for k in range(400)), start=symbol("x") * 0)
    b = sum((symbol(f"b{k}") for k in range(400)), start=symbol("x") * 0)
    with pytest.raises(DimTooLarge):
        a - b
    assert known_eq(a, b) is None
    assert known_le(a, b) is None


def test_a_scope_without_effort_answers_by_intervals() -> None:
    n, m = symbol("n"), symbol("m")
    question = minimum(n, m), maximum(n, m) + 1
    assert known_le(*question, Scope()) is True
    tired = Scope()
    tired.fuels = (Fuel(0),)
    assert known_le(*question, tired) is None
    assert known_le(0, n, tired) is True
