"""Random programs of shape arithmetic: onnxruntime gives the same bits before and after, at sizes 0 and 1 too."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from gather_infer.passes import OptimizeResult, optimize
from tests.rewrites.table import SIZES, run

OPSETS = (11, 13, 14, 15, 18, 21)
TYPES: dict[str, tuple[int, list[str | int]]] = {
    "x": (TensorProto.FLOAT, ["A", "B", 4]),
    "y": (TensorProto.FLOAT, ["B", "C"]),
    "ids": (TensorProto.INT64, ["A", "C"]),
    "ok": (TensorProto.BOOL, []),
}


class Program:
    """Nodes at random over the inputs: sizes read off shapes and computed from each other, and what reads them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.opset = self.rng.choice(OPSETS)
        self.nodes: list[NodeProto] = []
        self.held: dict[str, np.ndarray[Any, Any]] = {}
        self.tensors = {"x": 3, "y": 2, "ids": 2}  # value: rank
        self.floats = ["x", "y"]
        self.scalars: list[str] = []
        self.vectors: dict[str, int] = {}  # value: length
        self.outputs: list[str] = []
        self.bodies = 0

    def name(self) -> str:
        return f"v{len(self.nodes)}_{len(self.held)}_{self.bodies}"

    def constant(self, value: object, dtype: Any = np.int64) -> str:
        name = self.name() + "c"
        self.held[name] = np.asarray(value, dtype)
        return name

    def add(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], **attributes))
        return name

    def step(self) -> None:
        if not self.vectors or self.rng.random() < 0.25:
            source = self.rng.choice([*self.tensors])
            self.vectors[self.add("Shape", source)] = self.tensors[source]
            return
        self.rng.choice([
            self.pick, self.pick, self.part, self.arithmetic, self.arithmetic, self.floats_and_back, self.joined,
            self.joined, self.single, self.through_int32, self.count, self.relu, self.sized, self.reshaped,
            self.reshaped, self.sliced, self.ranged, self.branch,
        ])()  # fmt: skip

    def vector(self) -> str:
        return self.rng.choice([*self.vectors])

    def scalar(self) -> str:
        if not self.scalars:
            self.pick()
        return self.rng.choice(self.scalars)

    def pick(self) -> None:
        """Gather(vector, i)."""
        name = self.vector()
        self.scalars.append(self.add("Gather", name, self.constant(self.rng.randrange(self.vectors[name]))))

    def part(self) -> None:
        """Some elements of a vector, by Gather or Slice."""
        name = self.vector()
        count = self.vectors[name]
        start = self.rng.randrange(count)
        end = self.rng.randint(start + 1, count)
        if self.rng.random() < 0.5:
            made = self.add("Slice", name, self.constant([start]), self.constant([end]))
        else:
            made = self.add("Gather", name, self.constant([*range(start, end)]))
        self.vectors[made] = end - start

    def arithmetic(self) -> None:
        """Add, Sub, Mul, Div by a number, Min, Max."""
        op_type = self.rng.choice(["Add", "Mul", "Sub", "Div", "Add", "Mul", *(["Min", "Max"] * (self.opset >= 12))])
        if self.rng.random() < 0.3:
            name = self.vector()
            made = self.add(op_type, name, self.constant([self.rng.randint(1, 3)]))
            self.vectors[made] = self.vectors[name]
            return
        other = self.constant(self.rng.randint(1, 4)) if op_type == "Div" or self.rng.random() < 0.4 else self.scalar()
        self.scalars.append(self.add(op_type, self.scalar(), other))

    def floats_and_back(self) -> None:
        """Through floats: half of a size, the root of its square."""
        size = self.add("Cast", self.scalar(), to=TensorProto.FLOAT)
        if self.rng.random() < 0.7:
            half = self.add("Mul", size, self.constant(0.5, np.float32))
            found = self.add(self.rng.choice(["Floor", "Ceil"]), half)
        else:
            found = self.add("Sqrt", self.add("Mul", size, size))
        self.scalars.append(self.add("Cast", found, to=TensorProto.INT64))

    def through_int32(self) -> None:
        narrow = self.add("Cast", self.scalar(), to=TensorProto.INT32)
        twice = self.add("Mul", narrow, self.constant(2, np.int32))
        if self.rng.random() < 0.5:
            self.outputs.append(twice)
        self.scalars.append(self.add("Cast", twice, to=TensorProto.INT64))

    def count(self) -> None:
        if self.rng.random() < 0.5:
            self.scalars.append(self.add("Size", self.rng.choice([*self.tensors])))
        else:
            self.scalars.append(self.add("ReduceProd", self.vector(), keepdims=0))

    def single(self) -> None:
        self.vectors[self.unsqueezed(self.scalar())] = 1

    def unsqueezed(self, name: str) -> str:
        if self.opset < 13:
            return self.add("Unsqueeze", name, axes=[0])
        return self.add("Unsqueeze", name, self.constant([0]))

    def joined(self) -> None:
        """Concat of vectors, single sizes and numbers."""
        parts, count = [], 0
        for _ in range(self.rng.randint(1, 3)):
            kind = self.rng.random()
            if kind < 0.4:
                parts.append(self.unsqueezed(self.scalar()))
                count += 1
            elif kind < 0.7:
                parts.append(self.vector())
                count += self.vectors[parts[-1]]
            else:
                parts.append(self.constant([self.rng.randint(1, 3)]))
                count += 1
        if count <= 5:
            self.vectors[self.add("Concat", *parts, axis=0)] = count

    def relu(self) -> None:
        """Another value of a known shape."""
        name = self.rng.choice(self.floats)
        rank = self.tensors[name]
        kind = self.rng.randrange(3)
        if kind == 0 or rank < 2:
            made = self.add("Neg", name)
        elif kind == 1:
            made = self.add("Transpose", name, perm=self.rng.sample(range(rank), rank))
        else:
            made, rank = self.add("Concat", name, name, axis=self.rng.randrange(rank)), rank
        self.tensors[made] = rank
        self.floats.append(made)

    def sized(self) -> None:
        """A tensor of a computed shape, and an Expand of one."""
        name = self.vector()
        limited = name
        if self.opset >= 12:  # sizes of 0 and more, and not too many elements
            limited = self.add("Min", self.add("Max", name, self.constant([0])), self.constant([7]))
        elif self.vectors[name] > 3:
            return
        else:
            limited = self.add("Mul", self.add("Shape", "y"), self.constant([1]))
            self.vectors[limited] = 2
        rank = self.vectors[name] if self.opset >= 12 else 2
        if self.rng.random() < 0.5:
            made = self.add("ConstantOfShape", limited)
        else:
            made = self.add("Expand", self.constant([1.5], np.float32), limited)
        self.tensors[made] = rank
        self.floats.append(made)
        self.outputs.append(made)

    def reshaped(self) -> None:
        """Reshape to a target that is right, put together in one of several ways."""
        name = self.rng.choice(self.floats)
        rank = self.tensors[name]
        shape = self.add("Shape", name)
        dims = [self.unsqueezed(self.add("Gather", shape, self.constant(axis))) for axis in range(rank)]
        kind = self.rng.randrange(5)
        if kind == 0:
            made, rank = self.add("Reshape", name, self.add("Concat", *dims, axis=0)), rank
        elif kind == 1 and rank >= 2:
            flat = self.add("Mul", dims[0], dims[1])
            made, rank = self.add("Reshape", name, self.add("Concat", flat, *dims[2:], axis=0)), rank - 1
        elif kind == 2 and rank >= 2:
            at = self.rng.randrange(rank)
            parts = [*dims[:at], self.constant([-1]), *dims[at + 1 :]]
            made, rank = self.add("Reshape", name, self.add("Concat", *parts, axis=0)), rank
        elif kind == 3 and self.opset >= 14:
            made = self.add("Reshape", name, self.add("Concat", *dims, self.constant([1]), axis=0), allowzero=1)
            rank += 1
        else:
            made, rank = self.add("Reshape", name, self.add("Concat", self.constant([1]), *dims, axis=0)), rank + 1
        self.tensors[made] = rank
        self.floats.append(made)
        self.outputs.append(made)

    def sliced(self) -> None:
        """The beginning of a value along an axis."""
        name = self.rng.choice(self.floats)
        rank = self.tensors[name]
        if not rank:
            return
        axis = self.rng.randrange(rank)
        end = self.unsqueezed(self.scalar())
        made = self.add("Slice", name, self.constant([0]), end, self.constant([axis]))
        self.tensors[made] = rank
        self.floats.append(made)
        self.outputs.append(made)

    def ranged(self) -> None:
        least = self.scalar()
        if self.opset >= 12:
            least = self.add("Min", least, self.constant(9))
        made = self.add("Range", self.constant(0), least, self.constant(1))
        self.tensors[made] = 1
        self.outputs.append(made)

    def branch(self) -> None:
        """An If, or a Loop of two trips, whose body computes with sizes of its own and of the graph."""
        self.bodies += 1
        tag = f"b{self.bodies}"
        source, size = self.rng.choice([*self.tensors]), self.scalar()
        zero = self.constant(0)

        def body(kind: str, inputs: list[Any], extra: list[NodeProto], first: list[Any]) -> Any:
            own = f"{tag}{kind}"
            nodes = [*extra]
            if self.tensors[source]:
                nodes += [
                    helper.make_node("Shape", [source], [f"{own}_shape"]),
                    helper.make_node("Gather", [f"{own}_shape", zero], [f"{own}_dim"]),
                ]
            other = f"{own}_dim" if self.tensors[source] else size
            nodes.append(helper.make_node(self.rng.choice(["Add", "Mul"]), [other, size], [f"{own}_out"]))
            out = helper.make_tensor_value_info(f"{own}_out", TensorProto.INT64, [])
            return helper.make_graph(nodes, own, inputs, [*first, out])

        if self.rng.random() < 0.6:
            made = self.add(
                "If", "ok", then_branch=body("then", [], [], []), else_branch=body("else", [], [], [])
            )  # fmt: skip
        else:
            going = helper.make_tensor_value_info(f"{tag}_go", TensorProto.BOOL, [])
            inputs = [
                helper.make_tensor_value_info(f"{tag}_i", TensorProto.INT64, []),
                helper.make_tensor_value_info(f"{tag}_in", TensorProto.BOOL, []),
            ]
            same = helper.make_node("Identity", [f"{tag}_in"], [f"{tag}_go"])
            made = self.add("Loop", self.constant(2), "", body=body("loop", inputs, [same], [going]))
            self.tensors[made] = 1
            self.outputs.append(made)
            return
        self.outputs.append(made)

    def made(self) -> ModelProto:
        for _ in range(self.rng.randint(8, 30)):
            self.step()
        if self.scalars:
            self.outputs += self.rng.sample(self.scalars, min(2, len(self.scalars)))
        if not self.outputs or self.rng.random() < 0.3:
            self.outputs.append(self.vector())
        inputs = [helper.make_tensor_value_info(name, dtype, [*shape]) for name, (dtype, shape) in TYPES.items()]
        outputs = [helper.make_empty_tensor_value_info(name) for name in dict.fromkeys(self.outputs)]
        held = [numpy_helper.from_array(value, name) for name, value in self.held.items()]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, held)
        imports = [helper.make_opsetid("", self.opset)]
        made = helper.make_model(graph, opset_imports=imports, ir_version=8 if self.opset < 19 else 10)
        typed = onnx.shape_inference.infer_shapes(made)
        for output in typed.graph.output:  # types only: onnxruntime wants them
            if output.type.tensor_type.HasField("shape"):
                output.type.tensor_type.ClearField("shape")
        del typed.graph.value_info[:]
        return typed


def feeds(rng: np.random.Generator) -> dict[str, Any]:
    a, b, c = (int(rng.choice(SIZES)) for _ in range(3))
    return {
        "x": rng.standard_normal((a, b, 4)).astype(np.float32),
        "y": rng.standard_normal((b, c)).astype(np.float32),
        "ids": rng.integers(0, 9, (a, c)),
        "ok": np.array(bool(rng.integers(0, 2))),
    }


def counted(result: OptimizeResult) -> tuple[int, int]:
    before, after = result.before.operators, result.after.operators
    return before.total() - before["Constant"], after.total() - after["Constant"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs(first: int) -> None:
    compared = 0
    for seed in range(first, first + 20):
        before = Program(seed).made()
        result = optimize(before)
        was, now = counted(result)
        assert now <= was, f"seed {seed}: {was} nodes became {now}"
        again = optimize(result.proto)
        assert not again.applied, f"seed {seed}: a second run does {again.applied}"
        rng = np.random.default_rng(seed)
        for _ in range(6):
            given = feeds(rng)
            expected = run(before, given)
            if expected is None:
                continue
            found = run(result.proto, given)
            assert found is not None, f"seed {seed}: only the rewritten model fails, on {_shapes(given)}"
            for one, other in zip(expected, found, strict=True):
                assert one.shape == other.shape and one.tobytes() == other.tobytes(), f"seed {seed}, {_shapes(given)}"
            compared += 1
    assert compared >= 30


def _shapes(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value.shape for name, value in given.items()}
