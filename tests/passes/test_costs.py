"""Declared costs of rewrites, compared with the models before and after: nodes and bytes of constants counted in the
messages, bytes of a run in onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper

from gather_infer.passes import optimize
from gather_infer.symbolic import evaluate, free_symbols
from tests.oracle.soundness import Runtime
from tests.rewrites.table import feeds_of, model, run, tables

CASES = {f"{file}: {name}": case for file, cases in tables().items() for name, case in cases.items()}

SMALL = 64
"""Elements of a constant that costs nothing to read."""


def _is_constant(node: NodeProto) -> bool:
    return node.op_type == "Constant" and not node.domain


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _nodes(made: ModelProto) -> int:
    return sum(not _is_constant(node) for graph in _graphs(made.graph) for node in graph.node)


def _constants(graph: GraphProto) -> dict[str, np.ndarray]:
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in filter(_is_constant, graph.node):
        value = helper.get_attribute_value(node.attribute[0])
        if node.attribute[0].name == "value":
            found[node.output[0]] = numpy_helper.to_array(value)
        else:
            dtype = np.int64 if node.attribute[0].name.startswith("value_int") else np.float32
            found[node.output[0]] = np.array(value, dtype)
    return found


def _bytes(array: np.ndarray) -> int:
    """Of strings one each, as the length of the text is not counted."""
    return int(array.size if array.dtype.hasobject else array.nbytes)


def _constant_bytes(made: ModelProto) -> int:
    return sum(_bytes(array) for graph in _graphs(made.graph) for array in _constants(graph).values())


def _run_bytes(made: ModelProto, feeds: Mapping[str, np.ndarray]) -> int:
    """Bytes read and written by nodes in a run; Shape and Size do not read their input, small constants are free."""
    constants = _constants(made.graph)
    known = {**feeds, **constants, **Runtime(made).run(feeds)}
    free = {name for name, array in constants.items() if array.size <= SMALL}
    return sum(
        _bytes(np.asarray(known[name]))
        for node in made.graph.node
        if not _is_constant(node)
        for name in (*(() if node.op_type in ("Shape", "Size") else node.input), *node.output)
        if name and name not in free
    )


def _has_bodies(made: ModelProto) -> bool:
    return any(attribute.HasField("g") for node in made.graph.node for attribute in node.attribute)


@pytest.mark.parametrize("name", CASES)
def test_nodes_and_constants(name: str) -> None:
    """Never less than it is. Of a node with bodies that dies constants in them are not counted."""
    case = CASES[name]
    before = model(case.before, case.opset)
    result = optimize(before, passes=[case.rule])
    after, costs = result.proto, [done.cost for done in result.applied]
    assert _nodes(after) - _nodes(before) <= sum(cost.nodes for cost in costs)
    if not _has_bodies(before):
        assert _constant_bytes(after) - _constant_bytes(before) <= sum(cost.constant_bytes for cost in costs)


PLAIN = [name for name, case in CASES.items() if not _has_bodies(model(case.before, case.opset))]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PLAIN)
def test_bytes_of_a_run(name: str) -> None:
    """Never less than they are, at the largest sizes of some draws; not where they rest on symbols of no input."""
    case = CASES[name]
    before = model(case.before, case.opset)
    result = optimize(before, passes=[case.rule])
    random = np.random.default_rng(0)
    drawn = [feeds_of(before, random, case) for _ in range(20)]
    feeds = max((feeds for feeds in drawn if run(before, feeds) is not None), key=_elements)
    sizes = {
        dim.dim_param: size
        for value in before.graph.input
        for dim, size in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape, strict=True)
    }
    said = [done.cost.run_bytes for done in result.applied]
    if all(dim is not None and free_symbols(dim) <= sizes.keys() for dim in said):
        told = sum(evaluate(dim, sizes) for dim in said if dim is not None)
        assert _run_bytes(result.proto, feeds) - _run_bytes(before, feeds) <= told


def _elements(feeds: Mapping[str, np.ndarray]) -> int:
    return sum(array.size for array in feeds.values())


TEXTS = {
    f"{name}{missing and ', near miss: '}{missing}": (text, case.opset)
    for name, case in CASES.items()
    for missing, text in {"": case.before, **case.near}.items()
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TEXTS)
def test_nothing_is_left_for_a_second_run(name: str) -> None:
    text, opset = TEXTS[name]
    again = optimize(optimize(model(text, opset)).proto)
    assert not again.applied, again.applied
