"""Evaluators on onnx's own node tests, on random constants, and the runtime that does the rest."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import __version__ as onnx_version
from onnx import helper, numpy_helper
from onnxruntime import __version__ as ort

from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant, bits_dtype, read_tensor, strings
from gather_infer.model import ModelFile
from gather_infer.passes.evaluate import Evaluation, arithmetic, cast, evaluator_of, generation, reduction
from gather_infer.passes.evaluate.operation_count import operations
from gather_infer.passes.evaluate.runtime import RuntimeEvaluator
from gather_infer.runtimes.process import Failure
from gather_infer.tensor import DType
from tests.conformance.backend import cases
from tests.onnx_versions import has_types_of
from tests.passes.runtimes import NEWEST, OPSETS, SUB_BYTE, by_onnxruntime, model_of, of, raw
from tests.verification.models import absent_runtime, fake_runtime

EMPTY = ModelFile.from_proto(helper.make_model(helper.make_graph([], "empty", [], [])))
TABLES = (arithmetic.evaluators, cast.evaluators, generation.evaluators, reduction.evaluators)
OPERATORS = sorted({op for table in TABLES for op in table.op_types})
LEAST_EQUAL = 150


def constant_of(value: Any) -> Constant | None:
    """A recorded value as a constant; None for a type that is not held, or what is no tensor."""
    if isinstance(value, onnx.TensorProto):
        return read_tensor(EMPTY, value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return strings([str(s).encode() for s in array.flat], array.shape)
    return read_tensor(EMPTY, numpy_helper.from_array(array))


def test_node_models_of_onnx() -> None:
    """Every result that is known is the recorded one, bit for bit."""
    counts: Counter[str] = Counter()
    for case in cases():
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type not in OPERATORS or nodes[0].domain:
            continue
        version = next(o.version for o in case.model.opset_import if not o.domain)
        evaluator = evaluator_of("", nodes[0].op_type, version)
        if evaluator is None or not has_types_of(case.model):
            continue
        values = dict(zip((i.name for i in case.model.graph.input), map(constant_of, case.inputs), strict=True))
        if any(name and values[name] is None for name in nodes[0].input):
            counts["not held"] += 1
            continue
        found = evaluator(Evaluation(nodes[0], [values.get(name) for name in nodes[0].input], version))
        if found is None:
            counts["not known"] += 1
            continue
        for mine, value in zip(found, case.outputs, strict=False):
            theirs = constant_of(value)
            assert theirs is not None
            assert raw(mine) == raw(theirs), case.name
        counts["equal"] += 1
    print(counts)
    assert counts["equal"] >= LEAST_EQUAL


ATTRIBUTES: dict[str, Any] = {
    "axis": lambda rng: int(rng.integers(-4, 4)), "axes": lambda rng: rng.integers(-3, 3, rng.integers(1, 3)).tolist(),
    "keepdims": lambda rng: int(rng.integers(0, 2)), "noop_with_empty_axes": lambda rng: int(rng.integers(0, 2)),
    "select_last_index": lambda rng: int(rng.integers(0, 2)), "fmod": lambda rng: int(rng.integers(0, 3)),
    "direction": lambda rng: ["LEFT", "RIGHT", "\u00e4"][rng.integers(0, 3)],
    "to": lambda rng: int(rng.integers(-1, 30)),
    "saturate": lambda rng: int(rng.integers(0, 2)), "largest": lambda rng: int(rng.integers(0, 2)),
    "exclusive": lambda rng: int(rng.integers(0, 2)), "reverse": lambda rng: int(rng.integers(0, 2)),
    "k": lambda rng: int(rng.integers(-1, 4)), "min": lambda rng: float(rng.standard_normal()),
    "max": lambda rng: float(rng.standard_normal()),
}  # fmt: skip
HELD = [int(d) for d in DType if bits_dtype(d) is not None]


def drawn(rng: np.random.Generator, data_type: int) -> Constant:
    """Random bits in a random small shape; of numbers often small ones, which mean something as an axis or a count."""
    shape = [(), (1,), (2,), tuple(rng.integers(0, 4, rng.integers(0, 4)).tolist())][rng.integers(0, 4)]
    size = int(np.prod(shape))
    if data_type == T.STRING:
        texts = [b"", b"1", b"-2.5", b"\xff", b"inf", b"1e999", "\u0661".encode(), b"99999999999999999999999"]
        return strings([texts[i] for i in rng.integers(0, len(texts), size)], shape)
    dtype = bits_dtype(data_type)
    assert dtype is not None
    if dtype.kind == "u" and rng.random() < 0.6:
        bits = rng.integers(-3, 4, size).astype(dtype)
    else:
        bits = np.frombuffer(rng.bytes(size * dtype.itemsize), dtype)
    if data_type == T.BOOL and rng.random() < 0.9:
        bits = bits & np.uint8(1)
    if data_type in SUB_BYTE:
        bits = bits & np.uint8((1 << SUB_BYTE[data_type]) - 1)
    return Constant(data_type, bits.reshape(shape))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", OPERATORS)
def test_no_constants_break_an_evaluator(op: str) -> None:
    """Whatever the inputs are: constants, None or SpecViolation, and no warning of numpy."""
    rng = np.random.default_rng(sum(op.encode()))
    answers: Counter[str] = Counter()
    names = list(onnx.defs.get_schema(op, NEWEST).attributes) + [n for n in ("axes", "k") if rng.random() < 0.5]
    for _ in range(5000 if op == "Range" else 600):  # three scalars of one type come rarely
        first = HELD[rng.integers(0, len(HELD))]
        inputs: list[Constant | None] = []
        count = len(onnx.defs.get_schema(op, NEWEST).inputs) if rng.random() < 0.7 else rng.integers(0, 4)
        for _ in range(count):
            second = HELD[rng.integers(0, len(HELD))] if rng.random() < 0.2 else [first, T.INT64][rng.integers(0, 2)]
            inputs.append(None if rng.random() < 0.05 else drawn(rng, second if inputs else first))
        given = {name: ATTRIBUTES[name](rng) for name in names if name in ATTRIBUTES and rng.random() < 0.7}
        version = OPSETS[rng.integers(0, len(OPSETS))]
        evaluator = evaluator_of("", op, version)
        if evaluator is None:
            continue
        node = helper.make_node(op, [f"i{n}" for n in range(len(inputs))], ["o"], **given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = evaluator(Evaluation(node, inputs, version))
            except SpecViolation:
                answers["violation"] += 1
                continue
        answers["unknown" if found is None else "known"] += 1
        for constant in found or ():
            assert constant.bits.dtype == bits_dtype(constant.data_type)
    assert answers["known"] > 0


RUN: dict[str, Any] = {
    # id: (operator, inputs, attributes)
    "Tanh": ("Tanh", [of(T.FLOAT, [0.1, -3.0])], {}),
    "Softmax": ("Softmax", [of(T.FLOAT, [[0.1, -3.0, 2.0]])], {"axis": 1}),
    "ReduceMean": ("ReduceMean", [of(T.DOUBLE, [[0.1, 0.2], [0.3, 0.4]]), of(T.INT64, [1])], {}),
    "MatMul": ("MatMul", [of(T.FLOAT, np.eye(3)), of(T.FLOAT, np.arange(9).reshape(3, 3))], {}),
    "Resize, two left out": (
        "Resize", [of(T.FLOAT, np.ones((1, 1, 2, 2))), None, of(T.FLOAT, [1, 1, 2, 2])], {"mode": "linear"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RUN)
@pytest.mark.parametrize("is_installed", [True, False], ids=["onnxruntime", "reference"])
def test_the_runtime_does_the_rest(
    case: str, is_installed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    op, inputs, attributes = RUN[case]
    if not is_installed:
        absent_runtime(monkeypatch, tmp_path / "site")
    model = model_of(op, inputs, 18, attributes, [inputs[0].data_type])
    with RuntimeEvaluator() as runtime:
        found = runtime.evaluate(model.graph.node[0], inputs, {"": 18})
    assert not isinstance(found, Failure)
    assert runtime.runtime == (f"onnxruntime {ort}" if is_installed else f"onnx's reference evaluator {onnx_version}")
    theirs = by_onnxruntime(model)
    assert theirs is not None
    if is_installed:
        assert [raw(c) for c in found] == theirs
    else:
        assert [(c.data_type, c.bits.shape) for c in found] == [r[:2] for r in theirs]


def test_a_node_that_fails_or_returns_no_tensor_is_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with RuntimeEvaluator() as runtime:
        for op, inputs, reason in (
            ("MatMul", [of(T.FLOAT, np.ones((2, 3)))] * 2, "MatMul dimension mismatch|[Ii]ncompatible dimensions"),
            ("Nonesuch", [of(T.FLOAT, [1.0])], "Nonesuch"),
            ("SequenceConstruct", [of(T.FLOAT, [1.0])], "a result is not a tensor of numbers"),
        ):
            node = helper.make_node(op, [f"i{n}" for n in range(len(inputs))], ["o"])
            found = runtime.evaluate(node, inputs, {"": 18})
            assert isinstance(found, Failure) and re.search(reason, found.reason), found
            monkeypatch.setattr(runtime, "_run", None)
            assert runtime.evaluate(node, inputs, {"": 18}) is found
            monkeypatch.undo()


def test_a_runtime_that_ends_or_hangs_costs_its_node_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("gather_infer.passes.evaluate.runtime.TIMEOUT", 4.0)
    load = "model = Path(path).read_bytes(); os.abort() if b'Exp' in model else time.sleep(99 * (b'Sin' in model))"
    fake_runtime(monkeypatch, tmp_path / "site", "return [np.float32([2.0])]", load)
    one = [of(T.FLOAT, [1.0])]
    found: list[Any] = []
    with RuntimeEvaluator() as runtime:
        for op in ("Cos", "Exp", "Cos", "Sin", "Sinh", "Cos"):
            found.append(runtime.evaluate(helper.make_node(op, ["i0"], [f"o_{op}"]), one, {"": 18}))
    assert [isinstance(each, Failure) for each in found] == [False, True, False, True, True, True]
    assert found[1].reason.startswith("the process ended by SIGABRT")
    assert found[3].reason == "it did not end within 4 s"
    assert found[5].reason == "2 nodes before it took longer than 4 s"


SHAPES: dict[str, Any] = {
    # id: (operator, attributes, shapes of inputs, of outputs, operations)
    "elementwise": ("Exp", {}, [(2, 3)], [(2, 3)], 12),
    "an input that is left out": ("Clip", {}, [(4,), None, ()], [(4,)], 9),
    "MatMul": ("MatMul", {}, [(5, 2, 3), (3, 4)], [(5, 2, 4)], 30 + 12 + 40 * 3),
    "Gemm": ("Gemm", {}, [(2, 3), (3, 4)], [(2, 4)], 18 + 8 * 3),
    "Gemm, transposed": ("Gemm", {"transA": 1}, [(3, 2), (3, 4)], [(2, 4)], 18 + 8 * 3),
    "Conv": ("Conv", {}, [(1, 3, 8, 8), (6, 3, 3, 3)], [(1, 6, 6, 6)], 192 + 162 + 216 * 27),
    "MaxPool": ("MaxPool", {"kernel_shape": [2, 3]}, [(1, 1, 8, 9)], [(1, 1, 7, 7)], 72 + 49 * 6),
    "Einsum": ("Einsum", {"equation": "ij,jk->ik"}, [(2, 3), (3, 4)], [(2, 4)], 18 + 8 * 18),
    "nothing": ("MatMul", {}, [(2, 0), (0, 3)], [(2, 3)], 0),
    "a scalar": ("Sin", {}, [()], [()], 2),
}  # fmt: skip


@pytest.mark.parametrize("case", SHAPES)
def test_operations(case: str) -> None:
    op, attributes, inputs, outputs, count = SHAPES[case]
    names = ["" if shape is None else f"i{n}" for n, shape in enumerate(inputs)]
    assert operations(helper.make_node(op, names, ["o"], **attributes), inputs, outputs) == count
