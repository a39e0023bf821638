"""Random graphs with NonZero, whose rows are or are not independent: each verdict `proved` against onnxruntime.

python -m tests.oracle.row_positions [--first SEED] [--seconds S]

Elements are read at positions that NonZero found in all rows, and written back at these or other positions, with their
indices reordered, cut, shifted and multiplied. Nothing keeps the graphs from mixing rows; most of them do.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer import IndependenceVerdict
from gather_infer.inference import infer
from gather_infer.provenance.row_verdicts import independence_of
from tests.oracle.row_independence import Contradicted, Feeds, judge, run_session

LISTED: Final = "positions"
"""The size of the axis of positions, of any NonZero."""
AXES: Final = {"x": 0, "w": 0}
SIZES: Final = (1, 2, 4, 6)
"""Rows of the runs; as many as there are other indices, so that lists of positions of other rows have equal sizes."""


class Value(NamedTuple):
    """A tensor of floats, or index tuples, with the sizes of its axes: numbers, and products of one with `B`."""

    name: str
    is_tuples: bool
    shape: tuple[int | str, ...]


class Graph:
    """A graph that grows by random nodes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes: list[Any] = []
        self.constants: list[TensorProto] = []
        self.values = [Value("x", False, ("B", 4)), Value("w", False, ("B", 4, 6))]

    def constant(self, elements: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(elements), name))
        return name

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def add(self, value: Value) -> None:
        self.values.append(value)

    def pick(self, fits: Callable[[Value], bool]) -> Value | None:
        """A value, often a late one."""
        found = [value for value in self.values if fits(value)]
        if not found:
            return None
        return self.random.choice(found if self.random.random() < 0.5 else found[-4:])

    def floats(self, fits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        return self.pick(lambda value: not value.is_tuples and fits(value))

    def tuples(self) -> Value | None:
        return self.pick(lambda value: value.is_tuples)

    def model(self) -> ModelProto:
        """The nodes that the last output needs, since a node that fails hides the others."""
        read = {name for node in self.nodes for name in node.input}
        outputs = [v.name for v in self.values[2:] if not v.is_tuples and v.name not in read][-1:]
        needed = set(outputs)
        nodes: list[Any] = []
        for node in reversed(self.nodes):
            if node.output[0] in needed:
                needed.update(node.input)
                nodes.insert(0, node)
        inputs: list[tuple[str, list[int | str]]] = [("x", ["B", 4]), ("w", ["B", 4, 6])]
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _elementwise(graph: Graph) -> None:
    a = graph.floats()
    assert a is not None, "there are inputs"
    b = graph.floats(lambda value: value.shape == a.shape) or a
    op = graph.random.choice(["Neg", "Sin", "Add", "Mul"])
    graph.add(a._replace(name=graph.node(op, [a.name, b.name] if op in ("Add", "Mul") else [a.name])))


def _transpose(graph: Graph) -> None:
    value = graph.floats(lambda value: len(value.shape) == 2)
    assert value is not None, "there are inputs"
    graph.add(Value(graph.node("Transpose", [value.name], perm=[1, 0]), False, value.shape[::-1]))


def _merge(graph: Graph) -> None:
    value = graph.floats(lambda value: value.shape[:1] == ("B",) and len(value.shape) > 1)
    assert value is not None, "there are inputs"
    size, rest = value.shape[1], value.shape[2:]
    target = graph.constant(np.array([-1, *rest], np.int64))
    graph.add(Value(graph.node("Reshape", [value.name, target]), False, (f"{size}*B", *rest)))


def _split(graph: Graph) -> None:
    value = graph.floats(lambda value: bool(value.shape) and str(value.shape[0]).endswith("*B"))
    if value is not None:
        size, rest = int(str(value.shape[0])[:-2]), value.shape[1:]
        target = graph.constant(np.array([-1, size, *rest], np.int64))
        graph.add(Value(graph.node("Reshape", [value.name, target]), False, ("B", size, *rest)))


def _along_axis(graph: Graph) -> None:
    value = graph.floats(lambda value: len(value.shape) > 1)
    assert value is not None, "there are inputs"
    axis = graph.random.choice([len(value.shape) - 1] * 3 + [0])
    if graph.random.random() < 0.5:
        graph.add(value._replace(name=graph.node("Softmax", [value.name], axis=axis)))
    else:
        name = graph.node("ReduceMax", [value.name], axes=[axis], keepdims=0)
        graph.add(Value(name, False, tuple(dim for at, dim in enumerate(value.shape) if at != axis)))


def _find(graph: Graph) -> None:
    """Positions of large elements, or of the largest ones along an axis, and sometimes their neighbours."""
    value = graph.floats(lambda value: bool(value.shape) and LISTED not in value.shape)
    assert value is not None, "there are inputs"
    rank = len(value.shape)
    how = graph.random.randrange(3)
    if how == 0:
        mask = graph.node("Greater", [value.name, graph.constant(np.float32(0.3))])
    else:
        largest = graph.node("ReduceMax", [value.name], axes=[0 if how == 1 else rank - 1], keepdims=1)
        mask = graph.node("Equal", [value.name, largest])
    found = graph.node("NonZero", [mask])
    if graph.random.random() < 0.3:
        shift = [[graph.random.choice([0, 0, 1, -1])] for _ in range(rank)]
        found = graph.node("Add", [found, graph.constant(np.array(shift, np.int64))])
    graph.add(Value(graph.node("Transpose", [found], perm=[1, 0]), True, (LISTED, rank)))


def _read(graph: Graph) -> None:
    tuples = graph.tuples()
    if tuples is None:
        return
    depth = int(tuples.shape[1])
    data = graph.floats(lambda value: len(value.shape) >= depth)
    if data is not None:
        graph.add(Value(graph.node("GatherND", [data.name, tuples.name]), False, (LISTED, *data.shape[depth:])))


def _write(graph: Graph) -> None:
    """Elements at positions, or a number at each of them; to a tensor or to zeros."""
    tuples = graph.tuples()
    if tuples is None:
        return
    depth = int(tuples.shape[1])
    data = graph.floats(lambda value: len(value.shape) >= depth and LISTED not in value.shape)
    if data is None:
        return
    needed = (LISTED, *data.shape[depth:])
    updates = graph.floats(lambda value: value.shape == needed)
    name = "" if updates is None else updates.name
    if len(needed) == 1 and (updates is None or graph.random.random() < 0.2):
        size = graph.node("Slice", [graph.node("Shape", [tuples.name]), *map(graph.constant, ([0], [1]))])
        name = graph.node("Expand", [graph.constant(np.float32(7)), size])
    if not name:
        return
    target = data.name
    if graph.random.random() < 0.3:
        target = graph.node("ConstantOfShape", [graph.node("Shape", [target])])
    reduction = graph.random.choice(["none", "add"])
    if depth == 1 and len(data.shape) == 2 and graph.random.random() < 0.5:
        indices = graph.node("Expand", [tuples.name, graph.node("Shape", [name])])
        written = graph.node("ScatterElements", [target, indices, name], axis=0, reduction=reduction)
    else:
        written = graph.node("ScatterND", [target, tuples.name, name], reduction=reduction)
    graph.add(data._replace(name=written))


def _change_tuples(graph: Graph) -> None:
    tuples = graph.tuples()
    if tuples is None:
        return
    depth = int(tuples.shape[1])
    match graph.random.randrange(4):
        case 0:
            order = graph.random.sample(range(depth), depth)
            graph.add(tuples._replace(name=graph.node("Gather", [tuples.name, graph.constant(order)], axis=1)))
        case 1:
            start = graph.random.randrange(depth)
            end = graph.random.randrange(start, depth) + 1
            name = graph.node("Slice", [tuples.name, *map(graph.constant, ([start], [end], [1]))])
            graph.add(Value(name, True, (LISTED, end - start)))
        case 2:
            other = graph.tuples() or tuples
            joined = graph.node("Concat", [tuples.name, other.name], axis=1)
            graph.add(Value(joined, True, (LISTED, depth + int(other.shape[1]))))
        case _:
            op = graph.random.choice(["Add", "Mul", "Div", "Mod"])
            number = graph.constant(np.int64(graph.random.choice([1, 2, 4, 6])))
            graph.add(tuples._replace(name=graph.node(op, [tuples.name, number])))


_MOVES: Final = (
    *(_elementwise, _transpose, _merge, _split, _along_axis, _change_tuples),
    *(_find, _find, _read, _read, _write, _write, _write),
)


def random_model(seed: int) -> ModelProto:
    graph = Graph(seed)
    for _ in range(graph.random.randrange(8, 22)):
        graph.random.choice(_MOVES)(graph)
    return graph.model()


def outcome(seed: int) -> str:
    """`judged N` for N proved outputs that runs confirm, or why none is. Raises Contradicted."""
    model = random_model(seed)
    if not model.graph.output:
        return "no output"
    result = independence_of(infer(model), AXES)
    # a constant output has no part for each row
    result = replace(
        result,
        outputs=tuple(
            replace(each, verdict=IndependenceVerdict.OPEN) if each.axis is None else each for each in result.outputs
        ),
    )
    proved = sum(each.verdict is IndependenceVerdict.PROVED for each in result.outputs)
    if not proved:
        return "nothing proved"

    def draw(binding: Mapping[str, int], turn: int) -> Feeds:
        numbers = np.random.default_rng((seed, turn))
        shapes = {"x": (binding["B"], 4), "w": (binding["B"], 4, 6)}
        return {name: numbers.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}

    runs = judge(result, AXES, run_session(model.SerializeToString()), draw, {}, SIZES)
    return f"judged {proved}" if runs else "no run"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    totals: Counter[str] = Counter()
    end, seed = time.monotonic() + options.seconds, options.first
    while time.monotonic() < end:
        try:
            found = outcome(seed)
        except Contradicted as error:
            print(f"seed {seed}: {error}", flush=True)
            found = "contradicted"
        kind, _, number = found.partition(" ") if found.startswith("judged") else (found, "", "1")
        totals[kind] += int(number)
        seed += 1
    print(f"{seed - options.first} graphs; outputs judged, graphs without: {dict(totals)}")
    return 1 if totals["contradicted"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
