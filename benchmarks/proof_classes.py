"""The class of each law that `gather-infer diff` uses, measured in onnxruntime, its optimizations off.

    python benchmarks/proof_classes.py [--type NAME ...] [--operator NAME ...]

Pointwise operators: the result of an element is compared, bit by bit, with that of the same element alone, at each
position of vectors of 1 to 40 and of some larger lengths, in rows of matrices, and beside an operand that broadcasts
along either axis. The elements are drawn, with -0.0, infinities, NaN and the limits of the type among them. NaNs are
equal.

    alike    no element has another result anywhere; `length N` otherwise, the smallest one with a difference
    class    "same calls" if the proof may move elements through the operator and stay in that class, else "pointwise"

Named laws: both sides at several sizes, as the number of sizes at which the bits agree.

Exit code 1: an operator that counts as "same calls" depends on the position.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import onnxruntime
from onnx import GraphProto, NodeProto, TensorProto, helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

from gather_infer.equality.pointwise import POINTWISE
from gather_infer.tensor import DType

Array = np.ndarray[Any, Any]
LENGTHS: Final[tuple[int, ...]] = (*range(1, 41), 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000)
ROWS: Final = ((3, 5), (2, 17), (7, 33), (1, 129))
TYPES: Final[dict[str, int]] = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
BINARY: Final = frozenset(
    (
        "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual",
        "Less", "LessOrEqual", "Max", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Xor",
    )
)  # fmt: skip
TRUTHS: Final = frozenset(("Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual"))
CASTS: Final = ("float32", "float16", "float64", "int32", "int64", "uint8", "bool")
OPSET: Final = 24
FAILURES: Final = (Fail, InvalidArgument, InvalidGraph, NoKernel)


def loaded(graph: GraphProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


class Call:
    """One operator with its attributes; its inputs broadcast."""

    def __init__(self, domain: str, op_type: str, kind: str, result: str, attributes: dict[str, Any]) -> None:
        self.is_where, self.is_binary = op_type == "Where", op_type in BINARY or op_type == "Where"
        given = ["x", "z"] if self.is_binary else ["x"]
        names = ["c", *given] if self.is_where else [*given, "low", "high"] if op_type == "Clip" else given
        nodes = [helper.make_node(op_type, names, ["y"], domain=domain, **attributes)]
        inputs = [helper.make_tensor_value_info(name, TYPES[kind], None) for name in given]
        if self.is_where:
            inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, None))
        bounds = [helper.make_tensor(n, TYPES[kind], [], [v]) for n, v in (("low", 0), ("high", 3)) if n in names]
        output = helper.make_tensor_value_info("y", TYPES[result], None)
        graph = helper.make_graph(nodes, "g", inputs, [output], bounds)
        self.session = loaded(graph)

    def __call__(self, x: Array, z: Array) -> Array:
        feeds = {"x": x, "z": z} if self.is_binary else {"x": x}
        if self.is_where:
            feeds["c"] = x > z if x.dtype != bool else x & z
        found: Array = self.session.run(None, feeds)[0]
        return found


def bits(values: Array) -> Array:
    """The elements as integers; one number for all NaNs."""
    if values.dtype.kind != "f":
        return values
    plain: Array = values.view(f"u{values.dtype.itemsize}").copy()
    plain[np.isnan(values)] = np.iinfo(plain.dtype).max
    return plain


def elements(kind: str, op_type: str, count: int, rng: np.random.Generator) -> Array:
    """Elements for the two operands of an operator, as they come in a network and at the edges of the type."""
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        special = [*[0.0, -0.0] * 3, 1.0, -1.0, np.inf, -np.inf, np.nan]
        special += [limits.max, limits.tiny, limits.smallest_subnormal]
        drawn = rng.standard_normal(count) * rng.choice((0.1, 1, 8), count)
        return np.where(rng.random(count) < 0.3, rng.choice(np.array(special), count), drawn).astype(dtype)
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if op_type == "BitShift":
        return rng.integers(0, 7, count).astype(dtype)
    info = np.iinfo(dtype)
    drawn = rng.integers(max(info.min, -50), min(info.max, 50), count, endpoint=True)
    if op_type in ("Div", "Mod"):  # by 0, and the smallest number by -1, have no result
        return np.where(drawn == 0, 1, np.abs(drawn)).astype(dtype)
    return np.where(rng.random(count) < 0.1, rng.choice(np.array([info.min, info.max]), count), drawn).astype(dtype)


def first_difference(call: Call, kind: str, op_type: str) -> int | None:
    """The smallest length at which an element has another result than alone; None if there is none."""
    rng = np.random.default_rng(0)
    many = max(LENGTHS)
    with np.errstate(all="ignore"):
        x, z = elements(kind, op_type, many, rng), elements(kind, op_type, many, rng)
        alone = np.concatenate([bits(call(x[at : at + 1], z[at : at + 1])) for at in range(many)])
        for length in LENGTHS:
            for start in {0, 1, 5, many - length}:
                part = slice(start, start + length)
                if start + length <= many and not np.array_equal(bits(call(x[part], z[part])), alone[part]):
                    return length
        for rows, columns in ROWS:
            a, b = x[: rows * columns].reshape(rows, columns), z[: rows * columns].reshape(rows, columns)
            wanted = alone[: rows * columns].reshape(rows, columns)
            if not np.array_equal(bits(call(a, b)), wanted):
                return columns
            if not call.is_binary:
                continue
            for left, right in ((a, b[:, :1]), (a, b[0]), (a[:, :1], b), (a[0], b)):
                left, right = np.broadcast_arrays(left, right)
                apart = call(np.ascontiguousarray(left).reshape(-1), np.ascontiguousarray(right).reshape(-1))
                narrow = [_narrowed(side) for side in (left, right)]
                if not np.array_equal(bits(call(*narrow)).reshape(-1), bits(apart)):
                    return columns
    return None


def _narrowed(side: Array) -> Array:
    """An operand without the axes along which it is broadcast."""
    index = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in side.strides)
    return np.ascontiguousarray(side[index])


def calls(op_type: str, domain: str, kinds: Sequence[str]) -> Iterator[tuple[str, str, Call]]:
    """The text, the type and the call for each type that onnxruntime has a kernel for."""
    attributes: dict[str, Any] = {"direction": "LEFT"} if op_type == "BitShift" else {}
    for kind in kinds:
        if op_type == "Mod":
            attributes = {"fmod": int(np.dtype(kind).kind == "f")}
        targets = CASTS if op_type == "Cast" else ("bool",) if op_type in TRUTHS else (kind,)
        for target in targets:
            given = {"to": TYPES[target]} if op_type == "Cast" else attributes
            try:
                made = Call(domain, op_type, kind, target, given)
                made(*(np.ones(1, np.dtype(kind)),) * 2)
            except FAILURES:
                continue
            yield f"{kind} to {target}" if op_type == "Cast" else kind, kind, made


def pointwise(operators: Sequence[str], kinds: Sequence[str]) -> bool:
    """Print a line for each operator; whether all that count as "same calls" are alike everywhere."""
    print(f"{'operator':24}{'class':32}measured")
    is_right = True
    for (domain, op_type), entry in sorted(POINTWISE.items()):
        if operators and op_type not in operators:
            continue
        found = {text: first_difference(call, kind, op_type) for text, kind, call in calls(op_type, domain, kinds)}
        exact = {text: entry.is_exact_for(_dtype_of(text)) for text in found}
        classes = {True: "same calls", False: "pointwise"}
        shown = classes[entry.is_exact] + (" (of floats pointwise)" if entry.mixes_zeros else "")
        alike = [text for text, length in found.items() if length is None]
        others = [f"{text}: length {length}" for text, length in found.items() if length is not None]
        wrong = [text for text, length in found.items() if length is not None and exact[text]]
        is_right &= not wrong
        parts = [f"alike: {', '.join(alike)}"] * bool(alike) + others + [f"WRONG: {', '.join(wrong)}"] * bool(wrong)
        print(f"{f'{domain}.{op_type}'.lstrip('.'):24}{shown:32}{'; '.join(parts) or 'no kernel'}", flush=True)
    return is_right


def _dtype_of(text: str) -> DType:
    return DType(TYPES[text.rpartition(" ")[2]])


def session_of(nodes: Sequence[NodeProto], ranks: Mapping[str, int]) -> onnxruntime.InferenceSession:
    """A session of nodes that compute `y` of float inputs; for each input its rank."""
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * rank) for n, rank in ranks.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return loaded(helper.make_graph(nodes, "g", inputs, [output]))


def laws() -> None:
    """Print for each named law the sizes at which both sides have the same bits."""
    rng = np.random.default_rng(0)
    rows = session_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": 3, "w": 2})
    flat = session_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": 2, "w": 2})
    added = session_of(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["y"])],
        {"x": 2, "w": 2, "b": 1},
    )
    gemm = session_of([helper.make_node("Gemm", ["x", "w", "b"], ["y"])], {"x": 2, "w": 2, "b": 1})
    kept: dict[str, list[str]] = {"rows": [], "columns": [], "gemm-bias": []}
    others: dict[str, list[str]] = {name: [] for name in kept}
    for a, m, k, n in product((1, 2, 5), (1, 2, 7, 32), (1, 5, 64, 300), (1, 3, 16, 65, 700)):
        x, w, b = (rng.standard_normal(shape, np.float32) for shape in ((a, m, k), (k, n), (n,)))
        one, other = rows.run(None, {"x": x, "w": w})[0], flat.run(None, {"x": x.reshape(-1, k), "w": w})[0]
        (kept if one.tobytes() == other.tobytes() else others)["rows"].append(f"[{a}, {m}, {k}] x [{k}, {n}]")
        if n > 2:  # the proof cuts two columns and more
            cut = np.ascontiguousarray(w[:, : n // 2 + 1])
            part = flat.run(None, {"x": x.reshape(-1, k), "w": cut})[0]
            is_same = part.tobytes() == np.ascontiguousarray(other[:, : n // 2 + 1]).tobytes()
            (kept if is_same else others)["columns"].append(f"[{a * m}, {k}] x [{k}, {n}]")
        feeds = {"x": x.reshape(-1, k), "w": w, "b": b}
        one, other = added.run(None, feeds)[0], gemm.run(None, feeds)[0]
        (kept if one.tobytes() == other.tobytes() else others)["gemm-bias"].append(f"[{a * m}, {k}] x [{k}, {n}]")
    for name in kept:
        first = f"; other bits first at {others[name][0]}" if others[name] else ""
        print(f"law {name:20}the same bits at {len(kept[name])} of {len(kept[name] + others[name])} sizes{first}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", nargs="*", default=list(TYPES), choices=list(TYPES), help="of the first operand")
    parser.add_argument("--operator", nargs="*", default=[], help="all pointwise ones by default")
    options = parser.parse_args()
    is_right = pointwise(options.operator, options.type)
    if not options.operator:
        laws()
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
