"""Random programs of operators that move elements, with nodes that are there twice and nodes that do nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from gather_infer.passes import optimize
from tests.rewrites.table import run

PROGRAMS, BATCH = 300, 20
SIZES = (0, 1, 2, 3, 5)


class Program:
    """A random graph of one input [N, 4, 1]; what it computes is known by rank and by the static sizes of its dims."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[TensorProto] = []
        self.values: list[tuple[str, list[int | None]]] = [("x", [None, 4, 1])]  # None: it depends on N

    def constant(self, numbers: list[int]) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        return name

    def add(self, op_type: str, inputs: list[str], shape: list[int | None], **attributes: Any) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        self.values.append((name, shape))

    def step(self) -> None:
        name, shape = self.values[self.random.integers(max(0, len(self.values) - 4), len(self.values))]
        rank = len(shape)
        axis = int(self.random.integers(rank)) if rank else 0
        match int(self.random.integers(14)):
            case 0:
                self.add("Identity", [name], shape)
            case 1:
                perm = [int(a) for a in self.random.permutation(rank)]
                self.add("Transpose", [name], [shape[a] for a in perm], perm=perm)
            case 2 if rank < 5:
                at = int(self.random.integers(rank + 1))
                given = at if self.random.random() < 0.5 else at - rank - 1
                self.add("Unsqueeze", [name, self.constant([given])], [*shape[:at], 1, *shape[at:]])
            case 3 if 1 in shape:
                at = shape.index(1)
                self.add("Squeeze", [name, self.constant([at])], [*shape[:at], *shape[at + 1 :]])
            case 4 if rank:
                lo, hi = int(self.random.integers(0, 3)), int(self.random.choice([2, 3, 4, 2**62, -1]))
                size = shape[axis]
                new = None if size is None else len(range(size)[lo:hi])
                inputs = [name, *(self.constant([v]) for v in (lo, hi, axis))]
                self.add("Slice", inputs, [*shape[:axis], new, *shape[axis + 1 :]])
            case 5 if rank:
                inputs = [name, self.constant([0]), self.constant([2**62]), self.constant([axis])]
                self.add("Slice", inputs, shape)
            case 6 if rank:
                others = [n for n, s in self.values if s == shape and None not in s]
                parts = (
                    [name, *(str(n) for n in self.random.choice(others, int(self.random.integers(0, 2))))]
                    if others
                    else [name]
                )
                size = shape[axis]
                total = None if size is None else size * len(parts)
                self.add("Concat", parts, [*shape[:axis], total, *shape[axis + 1 :]], axis=axis)
            case 7:
                self.add("Cast", [name], shape, to=TensorProto.FLOAT)
            case 8 if rank and all(s != 0 for s in shape):
                if shape.count(None) <= 1:
                    self.add("Reshape", [name, self.constant([-1 if s is None else s for s in shape])], shape)
                else:
                    self.add("Reshape", [name, self.constant([0] * rank)], shape)
            case 9 if rank and shape.count(None) <= 1 and all(s != 0 for s in shape):
                total = int(np.prod([s for s in shape if s is not None]))
                target: list[int | None] = [None, total] if None in shape else [total]
                self.add("Reshape", [name, self.constant([-1 if s is None else s for s in target])], target)
            case 10:
                self.add("Expand", [name, self.constant([1] * rank)], shape)
            case 11 if rank:
                self.add("Tile", [name, self.constant([1] * rank)], shape)
            case 12 if self.nodes:
                twin = self.nodes[self.random.integers(len(self.nodes))]
                copy = onnx.NodeProto()
                copy.CopyFrom(twin)
                found = next(s for n, s in self.values if n == twin.output[0])
                copy.output[0] = f"v{len(self.nodes)}"
                self.nodes.append(copy)
                self.values.append((copy.output[0], found))
            case _:
                self.add(str(self.random.choice(["Relu", "Neg", "Abs"])), [name], shape)

    def model(self) -> ModelProto:
        for _ in range(int(self.random.integers(3, 18))):
            self.step()
        names = {name for name, _ in self.values[-2:]} - {"x"}
        names |= {str(self.random.choice([n for n, _ in self.values[1:]]))} if len(self.values) > 1 else set()
        ranks = {name: len(shape) for name, shape in self.values}
        outputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{at}" for at in range(ranks[name])])
            for name in sorted(names)
        ]
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, 1])
        graph = helper.make_graph(self.nodes, "g", [x], outputs, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.checker.check_model(made, full_check=True)
        return made


def _nodes(made: ModelProto) -> int:
    return sum(node.op_type != "Constant" for node in made.graph.node)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", range(0, PROGRAMS, BATCH))
def test_programs(start: int) -> None:
    for seed in range(start, start + BATCH):
        before = Program(seed).model()
        result = optimize(before)
        after = result.proto
        onnx.checker.check_model(after, full_check=True)
        assert _nodes(after) <= _nodes(before), seed
        again = optimize(after)
        assert not again.applied and again.proto == after, (seed, again.applied)
        assert after.graph.input == before.graph.input and after.graph.output == before.graph.output
        random = np.random.default_rng(seed)
        for size in SIZES:
            x = random.standard_normal((size, 4, 1)).astype("f4")
            x[random.random(x.shape) < 0.2] = -0.0
            x[random.random(x.shape) < 0.1] = np.nan
            expected, found = run(before, {"x": x}), run(after, {"x": x})
            if expected is None:
                continue
            assert found is not None, (seed, size)
            for one, other in zip(expected, found, strict=True):
                assert one.shape == other.shape and one.tobytes() == other.tobytes(), (seed, size)
