"""Facts of the rules for OpenVINO's gathers, compared with those of the nodes that replace them: the rules infer as
much at least, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer import convert, infer
from gather_infer.inference import Inference
from gather_infer.symbolic import Dim, evaluate, free_symbols
from gather_infer.tensor import SymbolicTensor
from tests.oracle.gather_generated import (
    Case,
    Generator,
    openvino_elements,
    openvino_gather,
    openvino_nd,
    openvino_tree,
)

DRAWN = {"Gather": openvino_gather, "GatherElements": openvino_elements, "GatherND": openvino_nd,
         "GatherTree": openvino_tree}  # fmt: skip
COUNT = 60


def model(case: Case, rng: random.Random) -> tuple[ModelProto, dict[str, int]]:
    """The node, with about half of the dims of its inputs as symbols; what these stand for."""
    names = [f"x{k}" for k in range(len(case.arrays))]
    attributes: dict[str, Any] = {key: value for key, value in case.attributes.items() if key != "run_time_axis"}
    graph = helper.make_graph([], "g", [], [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)])
    node = helper.make_node(case.operator, names, ["y"], "node", domain=f"openvino.opset{case.version}", **attributes)
    graph.node.append(node)
    sizes: dict[str, int] = {}
    for k, (name, array) in enumerate(zip(names, case.arrays, strict=True)):
        is_axis = case.operator == "Gather" and k == 2
        if is_axis and not case.attributes.get("run_time_axis"):
            graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
            continue
        dims: list[int | str] = list(array.shape)
        for j in range(0 if is_axis else array.ndim):
            if rng.random() < 0.5:
                dims[j] = f"{name}.{j}"
                sizes[f"{name}.{j}"] = array.shape[j]
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        graph.input.append(helper.make_tensor_value_info(name, dtype, dims))
    graph.output[0].ClearField("type")
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(node.domain, case.version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10), sizes


def fact(known: Inference) -> SymbolicTensor:
    found = known["y"]
    assert isinstance(found, SymbolicTensor)
    return found


def reported(known: Inference, dim: Dim, sizes: dict[str, int]) -> int | None:
    """The value of a dim at these sizes; None for one that is not known."""
    return evaluate(dim, sizes) if free_symbols(dim) <= sizes.keys() and not known.is_generated(dim) else None


@pytest.mark.parametrize("operator", DRAWN)
def test_rules_say_what_the_nodes_say(operator: str) -> None:
    rng, make = random.Random(operator), DRAWN[operator]
    compared = 0
    while compared < COUNT:
        case = drawn(make, rng)
        dialect, sizes = model(case, rng)
        rule, nodes = infer(dialect, assume=False), infer(convert(dialect).proto, assume=False)
        said, found = fact(rule), fact(nodes)
        assert said.dtype == found.dtype
        if found.shape is not None:
            assert said.shape is not None, case
            dims = [
                (reported(rule, a, sizes), reported(nodes, b, sizes))
                for a, b in zip(said.shape, found.shape, strict=True)
            ]
            assert all(a == b for a, b in dims if b is not None), (case, said, found)
        compared += 1


def drawn(make: Generator, rng: random.Random) -> Case:
    while (case := make(rng)) is None:
        pass
    return case
