"""Random programs of the gather family around what moves data: the same bits after all rewrites, never more nodes."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from gather_infer.passes import optimize
from tests.rewrites.table import run

SIZES = (0, 1, 2, 3, 5)
N = "N"
"""The one symbolic dim; every other one is a number."""

Dims = tuple[Any, ...]


class Program:
    """Random nodes over `x: float[N, 3, 4]`, `s: int64[3, N]`, `f: float[1, 4, N]`, in bounds at every size."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.opset = self.random.choice([7, 9, 10, 11, 13, 14, 15, 18, 21, 23])
        self.nodes: list[Any] = []
        self.held: dict[str, np.ndarray[Any, Any]] = {}
        self.shapes: dict[str, Dims] = {"x": (N, 3, 4), "s": (3, N), "f": (1, 4, N)}
        self.types: dict[str, int] = {"x": TensorProto.FLOAT, "s": TensorProto.INT64, "f": TensorProto.FLOAT}
        for _ in range(self.random.randint(5, 16)):
            self.step()

    def hold(self, elements: Any, dtype: Any = np.int64) -> str:
        name = f"c{len(self.held)}"
        self.held[name] = np.array(elements, dtype)
        return name

    def add(self, op_type: str, inputs: list[str], shape: Dims, dtype: int, **attributes: Any) -> None:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        self.shapes[name], self.types[name] = shape, dtype

    def step(self) -> None:
        pick = self.random
        op = pick.choice(["Gather"] * 6 + ["Slice", "Concat", "Transpose", "Unsqueeze", "Squeeze", "Split",
                                           "Expand", "Cast", "Add", "Mul", "Shape", "GatherElements", "GatherND",
                                           "Neg"])  # fmt: skip
        name = pick.choice(list(self.shapes)[-6:] if pick.random() < 0.8 else list(self.shapes))
        shape, dtype = self.shapes[name], self.types[name]
        fixed = [a for a, d in enumerate(shape) if d != N and d > 0]
        axis = pick.choice(fixed) if fixed else None
        match op:
            case "Gather" if axis is not None:
                n = shape[axis]
                index = np.array(pick.choices(range(-n if self.opset >= 11 else 0, n), k=4))
                taken: Any = pick.choice([
                    index[0], index[:1], index[:2], index.reshape(2, 2), np.arange(n), np.arange(n)[::-1],
                    np.arange(n)[:2],
                ])  # fmt: skip
                taken = np.asarray(taken)
                self.add("Gather", [name, self.hold(taken)], shape[:axis] + taken.shape + shape[axis + 1 :], dtype,
                         axis=pick.choice([axis, axis - len(shape)]))  # fmt: skip
            case "Slice" if axis is not None:
                n = shape[axis]
                start, end, step = pick.randint(-n, n - 1), pick.choice([-1, n, 2**63 - 1, 1]), pick.choice([1, 1, 2])
                step = 1 if self.opset < 10 else step
                length = len(range(*slice(start, end, step).indices(n)))
                result = (*shape[:axis], length, *shape[axis + 1 :])
                if self.opset < 10:
                    self.add("Slice", [name], result, dtype, axes=[axis], starts=[start], ends=[end])
                else:
                    inputs = [name, *(self.hold([v]) for v in (start, end, axis, step))]
                    self.add("Slice", inputs, result, dtype)
            case "Concat" if axis is not None:
                fits = [o for o, d in self.shapes.items() if self.types[o] == dtype and len(d) == len(shape)
                        and all(a == b for k, (a, b) in enumerate(zip(d, shape, strict=True)) if k != axis)
                        and d[axis] != N]  # fmt: skip
                parts = [name, *pick.choices(fits, k=pick.randint(0, 2))]
                total = sum(self.shapes[p][axis] for p in parts)
                self.add("Concat", parts, (*shape[:axis], total, *shape[axis + 1 :]), dtype, axis=axis)
            case "Transpose" if shape:
                perm = pick.sample(range(len(shape)), len(shape))
                self.add("Transpose", [name], tuple(shape[p] for p in perm), dtype, perm=perm)
            case "Unsqueeze" | "Squeeze":
                is_added = op == "Unsqueeze"
                ones = [a for a, d in enumerate(shape) if d == 1]
                if not is_added and not ones:
                    return
                at = pick.randint(0, len(shape)) if is_added else pick.choice(ones)
                result = (*shape[:at], 1, *shape[at:]) if is_added else shape[:at] + shape[at + 1 :]
                if self.opset < 13:
                    self.add(op, [name], result, dtype, axes=[at])
                else:
                    self.add(op, [name, self.hold([at])], result, dtype)
            case "Split" if axis is not None and shape[axis] > 1:
                n, first = shape[axis], pick.randint(1, shape[axis] - 1)
                outputs = [f"v{len(self.nodes)}", f"w{len(self.nodes)}"]
                if self.opset < 13:
                    made = helper.make_node("Split", [name], outputs, axis=axis, split=[first, n - first])
                else:
                    made = helper.make_node("Split", [name, self.hold([first, n - first])], outputs, axis=axis)
                self.nodes.append(made)
                for output, length in zip(outputs, (first, n - first), strict=True):
                    self.shapes[output], self.types[output] = (*shape[:axis], length, *shape[axis + 1 :]), dtype
            case "Expand" if self.opset >= 8:
                target = [2, *(1 if d == N else pick.choice([1, d if d != 1 else 3]) for d in shape)]
                result = (2, *(t if d == 1 else d for t, d in zip(target[1:], shape, strict=True)))
                self.add("Expand", [name, self.hold(target)], result, dtype)
            case "Cast":
                to = TensorProto.DOUBLE if dtype == TensorProto.FLOAT else TensorProto.INT32
                if dtype in (TensorProto.FLOAT, TensorProto.INT64):
                    self.add("Cast", [name], shape, to, to=to)
            case "Add" | "Mul" if shape and shape[-1] != N and dtype == TensorProto.FLOAT:
                self.add(op, [name, self.hold(np.arange(shape[-1]) - 0.5, np.float32)], shape, dtype)
            case "Neg":
                self.add("Neg", [name], shape, dtype)
            case "Shape":
                self.add("Shape", [name], (len(shape),), TensorProto.INT64)
            case "GatherElements" if self.opset >= 11 and axis is not None and N not in shape and 0 not in shape:
                n = shape[axis]
                row = np.array(pick.choices(range(-n, n), k=2)).reshape(
                    [2 if a == axis else 1 for a in range(len(shape))]
                )
                index = np.broadcast_to(row, [2 if a == axis else d for a, d in enumerate(shape)])
                self.add("GatherElements", [name, self.hold(index)], index.shape, dtype, axis=axis)
            case "GatherND" if self.opset >= 11 and axis == 0:
                index = np.array(pick.choices(range(-shape[0], shape[0]), k=2)).reshape(2, 1)
                self.add("GatherND", [name, self.hold(index)], (2, *shape[1:]), dtype)

    def model(self) -> ModelProto:
        made = [name for name in self.shapes if name not in ("x", "s", "f")]
        read = {name for node in self.nodes for name in node.input}
        outputs = [name for name in made if name not in read or self.random.random() < 0.15]
        inputs = [helper.make_tensor_value_info(k, self.types[k], list(self.shapes[k])) for k in ("x", "s", "f")]
        graph = helper.make_graph(
            self.nodes, "g", inputs,
            [helper.make_tensor_value_info(k, self.types[k], list(self.shapes[k])) for k in outputs],
            [onnx.numpy_helper.from_array(array, name) for name, array in self.held.items()],
        )  # fmt: skip
        opset = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opset, ir_version=8 if self.opset < 19 else 10)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_random_programs(first: int) -> None:
    done = 0
    for seed in range(first, first + 50):
        before = Program(seed).model()
        if not before.graph.output:
            continue
        onnx.checker.check_model(before, full_check=True)
        result = optimize(before)
        after = result.proto
        onnx.checker.check_model(after, full_check=True)
        assert result.after.nodes <= result.before.nodes, seed
        again = optimize(after)
        assert not again.applied, f"seed {seed}: a second run does {again.applied}"
        done += len(result.applied)
        for size in SIZES:
            random = np.random.default_rng(size)
            feeds: dict[str, Any] = {
                "x": random.standard_normal((size, 3, 4)).astype(np.float32),
                "s": random.integers(-9, 9, (3, size)),
                "f": random.standard_normal((1, 4, size)).astype(np.float32),
            }
            if size:
                feeds["x"][0, 0, :3] = -0.0, np.nan, np.inf
            expected, found = run(before, feeds), run(after, feeds)
            assert expected is not None and found is not None, f"seed {seed}, size {size}"
            for one, other in zip(expected, found, strict=True):
                assert one.dtype == other.dtype and one.shape == other.shape, f"seed {seed}, size {size}"
                assert one.tobytes() == other.tobytes(), f"seed {seed}, size {size}"
    assert done > 50
