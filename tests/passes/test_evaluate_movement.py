"""Data movement evaluated on true bits, judged by onnxruntime and onnx's reference evaluator."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import gather_infer
from gather_infer.errors import SpecViolation
from gather_infer.ir.constant import Constant, bits_dtype, read_tensor
from gather_infer.model import ModelFile
from gather_infer.passes.evaluate import (
    Evaluation,
    arithmetic,
    cast,
    evaluator_of,
    generation,
    input_checks,
    reduction,
    tables,
)
from gather_infer.tensor import INTEGER_RANGE, DType, SymbolicTensor
from tests.conformance.backend import cases as backend_cases
from tests.onnx_versions import has_onnx, has_types_of, require_onnx, require_type
from tests.passes.movement_cases import (
    CASES,
    FAULTS,
    NEWEST,
    OPEN,
    Case,
    Data,
    as_array,
    ids,
)
from tests.passes.test_evaluate import sample

ORT_NEWEST = 26
"""The newest opset that onnxruntime 1.31 loads."""

RUNS = [(name, opset) for name, case in CASES.items() for opset in case.opsets]
MODEL = ModelFile.from_proto(helper.make_model(helper.make_graph([], "empty", [], [])))
TYPES = sorted(set(TensorProto.DataType.values()) - {TensorProto.UNDEFINED})


def by_ort(case: Case, constants: list[Constant | None], opset: int) -> list[npt.NDArray[Any]]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    model = case.model(constants, opset, fed=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(found) for found in session.run(None, feeds(case, constants))]


def by_reference(case: Case, constants: list[Constant | None], opset: int) -> list[npt.NDArray[Any]]:
    model = case.model(constants, opset, fed=True)
    return [np.asarray(found) for found in ReferenceEvaluator(model).run(None, feeds(case, constants))]


def feeds(case: Case, constants: list[Constant | None]) -> dict[str, npt.NDArray[Any]]:
    return {n: as_array(c) for n, c in zip(case.node().input, constants, strict=True) if c is not None}


def judges(name: str, opset: int, data_type: int) -> list[Any]:
    """The runtimes that take a case: (function, opset at which it is asked)."""
    case = CASES[name]
    found: list[Any] = []
    is_float = data_type == TensorProto.FLOAT
    if case.since <= ORT_NEWEST and (is_float or (case.op not in ONLY_FLOATS and (case.op, opset) != ("Flatten", 7))):
        found.append((by_ort, min(opset, ORT_NEWEST)))
    if name not in NOT_BY_REFERENCE:
        found.append((by_reference, opset))
    return found


ONLY_FLOATS = ("DepthToSpace", "SpaceToDepth")
"""What onnxruntime has no int64 kernel of."""
NOT_BY_REFERENCE = {
    # numpy's pad cuts nothing
    "pad, cut", "pad and cut", "pad, edge and cut", "pad, value attribute",
    # it computes the columns as -1
    "flatten, empty",
    # it has no Scatter
    "scatter",
}  # fmt: skip


@pytest.mark.parametrize(("name", "opset"), RUNS)
def test_elements_are_those_of_the_runtimes(name: str, opset: int) -> None:
    if name.startswith("reverse sequence"):
        require_onnx("1.23", "ReverseSequence of lengths below the longest, in the reference evaluator")
    case = CASES[name]
    is_of_floats = case.op == "Pad" and opset < 11
    judged = 0
    for data_type in (TensorProto.FLOAT,) if is_of_floats else (TensorProto.INT64, TensorProto.FLOAT):
        constants = case.constants(lambda shape, n, t=data_type: ids(shape, n, t))  # type: ignore[misc] # a default in a lambda has no type
        ours = case.evaluate(constants, opset)
        assert ours is not None
        for judge, version in judges(name, opset, data_type):
            theirs = judge(case, constants, version)
            assert [o.shape for o in ours] == [t.shape for t in theirs]
            assert [o.plain.tobytes() for o in ours] == [t.tobytes() for t in theirs]
            judged += 1
    assert judged


@pytest.mark.parametrize(("name", "opset"), RUNS)
def test_shapes_are_those_that_the_rules_infer(name: str, opset: int) -> None:
    case = CASES[name]
    constants = case.constants(lambda shape, n: ids(shape, n, TensorProto.FLOAT))
    inference = gather_infer.infer(case.model(constants, opset))
    assert inference.errors == ()
    ours = case.evaluate(constants, opset)
    assert ours is not None
    for output, result in zip(case.node().output, ours, strict=True):
        fact = inference.get(output)
        assert isinstance(fact, SymbolicTensor)
        assert (fact.dtype, fact.shape) == (result.data_type, result.shape)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.since <= ORT_NEWEST])
def test_special_floats_are_moved_as_bits(name: str) -> None:
    """-0.0, infinities and NaNs with payloads, quiet and signalling."""
    case = CASES[name]
    constants = case.constants(lambda shape, n: sample("FLOAT", shape))
    opset = min(case.opsets[-1], ORT_NEWEST)
    ours = case.evaluate(constants, opset)
    if case.op == "Where":  # selects -0.0 of X in each case with elements
        assert ours is None or not ours[0].bits.size
        return
    assert ours is not None
    theirs = by_ort(case, constants, opset)
    assert [o.plain.tobytes() for o in ours] == [t.tobytes() for t in theirs]


def test_where_of_onnxruntime_loses_the_sign_of_a_zero() -> None:
    """Why the evaluator does not know the result."""
    zero = Constant(TensorProto.FLOAT, np.full(2, 1 << 31, "<u4"))
    case = Case("Where", [[True, True], zero, zero])
    constants = case.constants(ids)
    assert case.evaluate(constants, 16) is None
    assert not np.signbit(by_ort(case, constants, 16)[0]).any()
    assert np.signbit(by_reference(case, constants, 16)[0]).all()


# every element type


def held(constant: Constant) -> Any:
    """The elements to compare."""
    return list(constant.bits.flat) if constant.data_type == TensorProto.STRING else constant.plain.tobytes()


def drawn(data_type: int, shape: tuple[int, ...], number: int) -> Constant:
    """Random bits of a type; no float among them is -0.0."""
    rng = np.random.default_rng(number + 1)
    size = int(np.prod(shape))
    dtype = bits_dtype(data_type)
    assert dtype is not None
    if data_type == TensorProto.STRING:
        bits = np.empty(size, object)
        bits[:] = [f"{number}:{i}".encode() for i in range(size)]
        return Constant(data_type, bits.reshape(shape))
    tensor = TensorProto(data_type=data_type, dims=[1])
    width = 1 if data_type == TensorProto.BOOL else 8 * MODEL.nbytes(tensor)
    if dtype.itemsize == 1 and width != 1:
        width = {n: w for w, names in NARROW.items() for n in names}.get(TensorProto.DataType.Name(data_type), 8)
    octets = rng.integers(0, 1 << min(width, 8), (size, dtype.itemsize), dtype=np.uint8)
    return Constant(data_type, octets.reshape(-1).view(dtype).reshape(shape))


NARROW = {2: ("INT2", "UINT2"), 4: ("INT4", "UINT4", "FLOAT4E2M1"), 6: ("FLOAT6E2M3", "FLOAT6E3M2")}


def admitted(op: str, opset: int, position: int) -> list[int]:
    """The element types of an input by the schema."""
    schema = defs.get_schema(op, opset)
    parameter = schema.inputs[min(position, len(schema.inputs) - 1)].type_str
    texts = next(t.allowed_type_strs for t in schema.type_constraints if t.type_param_str == parameter)
    names = {t[len("tensor(") : -1].upper() for t in texts if t.startswith("tensor(")}
    return [t for t in TYPES if TensorProto.DataType.Name(t) in names]


@cache
def judged_ids(name: str, opset: int) -> tuple[npt.NDArray[Any], ...]:
    """Which elements a runtime moves where: see `ids`; 0 where it writes a zero."""
    case = CASES[name]
    judge, version = judges(name, opset, TensorProto.FLOAT)[0]
    return tuple(judge(case, case.constants(lambda shape, n: ids(shape, n, TensorProto.FLOAT)), version))


MOVES = [n for n, c in CASES.items() if c.op not in ("Shape", "Size", "ConstantOfShape", "EyeLike")]
NO_ZERO = {"Pad": (DType.FLOAT8E8M0,), "Trilu": (TensorProto.STRING,)}
"""Types that have no zero to write."""


@pytest.mark.parametrize("name", MOVES)
def test_every_element_type_is_moved_alike(name: str) -> None:
    case = CASES[name]
    if not case.opsets:
        require_onnx("1.23", f"the version of {case.op}")
    opset = case.opsets[-1]
    position = next(i for i, given in enumerate(case.inputs) if isinstance(given, Data))
    types = admitted(case.op, opset, position)
    assert len(types) >= 3
    for data_type in types:
        constants = case.constants(lambda shape, n, t=data_type: drawn(t, shape, n))  # type: ignore[misc] # a default in a lambda has no type
        ours = case.evaluate(constants, opset)
        wanted = judged_ids(name, opset)
        if data_type in NO_ZERO.get(case.op, ()) and (case.op == "Trilu" or len(case.inputs) < 3):
            assert ours is None or case.attributes.get("mode", "constant") != "constant"
            continue
        if name == "pad, value attribute" and data_type != TensorProto.FLOAT:
            wanted = tuple(np.where(w == 3.0, -1, w) for w in wanted)
        if data_type in NO_ZERO.get(case.op, ()) and constants[2] is None:
            assert ours is None
            continue
        assert ours is not None, TensorProto.DataType.Name(data_type)
        elements = source_elements(constants, case)
        for result, numbers in zip(ours, wanted, strict=True):
            assert result.data_type == data_type
            assert result.shape == numbers.shape
            if "value" in case.attributes:  # the attribute is a float of its own
                continue
            blank: Any = b"" if data_type == TensorProto.STRING else np.zeros((), result.plain.dtype)
            expected = [elements.get(int(n), blank) for n in numbers.flat]
            assert all(_same(a, b) for a, b in zip(result.plain.flat, expected, strict=True))


def source_elements(constants: list[Constant | None], case: Case) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for number, (constant, given) in enumerate(zip(constants, case.inputs, strict=True)):
        if isinstance(given, Data) and constant is not None:
            numbers = as_array(ids(given.shape, number)).reshape(-1).tolist()
            found.update(zip(numbers, constant.plain.flat, strict=True))
    return found


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) if isinstance(a, bytes) else bool(np.asarray(a).tobytes() == np.asarray(b).tobytes())


@pytest.mark.parametrize("data_type", admitted("EyeLike", NEWEST, 0))
def test_eye_like_by_type(data_type: int) -> None:
    case = Case("EyeLike", [Data((3, 4))], {"k": -1, "dtype": data_type}, since=22)
    constants = case.constants(ids)
    found = case.evaluate(constants, NEWEST)
    assert found is not None
    ours = found[0]
    model = case.model(constants, NEWEST)
    (theirs,) = ReferenceEvaluator(model).run(None, {})
    assert numpy_helper.to_array(ours.to_tensor("t")).tobytes() == theirs.tobytes()


@pytest.mark.parametrize("data_type", TYPES)
def test_constant_of_shape_by_type(data_type: int) -> None:
    if data_type == TensorProto.STRING:
        value = TensorProto(name="v", data_type=data_type, dims=[1], string_data=[b"word"])
    else:
        value = drawn(data_type, (1,), 3).to_tensor("v")
    case = Case("ConstantOfShape", [[2, 3]], {"value": value})
    found = case.evaluate(case.constants(ids), NEWEST)
    assert found is not None
    ours = found[0]
    one = read_tensor(MODEL, value)
    assert one is not None
    assert (ours.data_type, ours.shape) == (data_type, (2, 3))
    assert all(_same(element, one.plain.flat[0]) for element in ours.plain.flat)


# what fails, what is open


@pytest.mark.parametrize("name", FAULTS)
def test_what_fails_in_every_run_is_refused_as_by_the_rules(name: str) -> None:
    case = FAULTS[name]
    for opset in case.opsets:
        constants = case.constants(lambda shape, n: ids(shape, n, TensorProto.FLOAT))
        with pytest.raises(SpecViolation) as refusal:
            case.evaluate(constants, opset)
        errors = gather_infer.infer(case.model(constants, opset)).errors
        assert refusal.value.code in {error.code for error in errors}, [error.text() for error in errors]
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            by_ort(case, constants, min(opset, ORT_NEWEST))


@pytest.mark.parametrize("name", OPEN)
def test_where_runtimes_differ_the_result_is_not_known(name: str) -> None:
    case = OPEN[name]
    for opset in case.opsets:
        assert case.evaluate(case.constants(lambda s, n: ids(s, n, TensorProto.FLOAT)), opset) is None


# onnx's own node tests


def test_node_models_of_onnx() -> None:
    others = (arithmetic.evaluators, cast.evaluators, generation.evaluators, reduction.evaluators)
    mine = {(t.domain, op) for t in tables() if t not in others for op in t.op_types}
    counts: Counter[str] = Counter()
    unknown: list[str] = []
    for case in backend_cases():
        nodes = case.model.graph.node
        if len(nodes) != 1 or (nodes[0].domain, nodes[0].op_type) not in mine:
            continue
        values = dict(zip((i.name for i in case.model.graph.input), case.inputs, strict=True))
        if not all(_is_tensor(value) for value in (*values.values(), *case.outputs)):
            continue
        node = nodes[0]
        if not has_types_of(case.model):
            continue
        inputs = [None if not name else _constant(values[name]) for name in node.input]
        version = next(o.version for o in case.model.opset_import if o.domain == node.domain)
        evaluator = evaluator_of(node.domain, node.op_type, version)
        assert evaluator is not None, case.name
        found = evaluator(Evaluation(node, inputs, version))
        if found is None:
            unknown.append(case.name)
            continue
        for ours, theirs in zip(found, case.outputs, strict=True):
            wanted = _constant(theirs)
            assert (ours.data_type, ours.shape) == (wanted.data_type, wanted.shape), case.name
            assert held(ours) == held(wanted), case.name
        counts[node.op_type] += 1
    print(counts, unknown)
    assert counts.total() >= (150 if has_onnx("1.19") else 140)
    assert not [name for name in unknown if not name.startswith(KNOWN_OPEN)], unknown


KNOWN_OPEN = ("test_scatter_elements_with_", "test_scatternd_")
"""Reductions, and indices that occur twice."""


def _is_tensor(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic, onnx.TensorProto))


def _constant(value: Any) -> Constant:
    tensor = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value))
    found = read_tensor(MODEL, tensor)
    assert found is not None
    return found


# constants of every type


@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize("size", range(10))
def test_constants_are_read_as_onnx_reads_them(data_type: int, size: int) -> None:
    constant = drawn(data_type, (size,), 1)
    tensor = constant.to_tensor("t")
    assert constant.nbytes == MODEL.nbytes(tensor)
    found = read_tensor(MODEL, tensor)
    assert found is not None
    assert held(found) == held(constant)
    require_type(DType(data_type))
    theirs = numpy_helper.to_array(tensor)
    if data_type == TensorProto.STRING:
        assert [s.encode() for s in theirs] == list(constant.bits)
        return
    # onnx extends the sign of a narrow integer over the byte
    mask = {w: (1 << w) - 1 for w in NARROW}
    width = next((w for w, names in NARROW.items() if TensorProto.DataType.Name(data_type) in names), 8)
    octets = np.frombuffer(theirs.tobytes(), np.uint8) & mask.get(width, 255)
    assert octets.tobytes() == constant.plain.tobytes()


@pytest.mark.parametrize("data_type", [t for t in TYPES if "4" in TensorProto.DataType.Name(t) or t > 16])
@pytest.mark.parametrize("size", [0, 1, 3, 5, 8])
def test_narrow_and_small_types_in_typed_fields(data_type: int, size: int) -> None:
    """As onnx's own helper writes them."""
    require_type(DType(data_type))
    tensor = helper.make_tensor(
        "t", data_type, [size], [i % 2 if DType(data_type) in INTEGER_RANGE else (i % 2) * 1.0 for i in range(size)]
    )
    raw = numpy_helper.from_array(numpy_helper.to_array(tensor))
    assert raw.HasField("raw_data")
    assert not tensor.HasField("raw_data")
    typed, wanted = read_tensor(MODEL, tensor), read_tensor(MODEL, raw)
    assert typed is not None
    assert wanted is not None
    assert typed.plain.tobytes() == wanted.plain.tobytes()


def test_data_that_does_not_fill_its_dims_is_not_read() -> None:
    for nbytes in (0, 1, 3):
        assert read_tensor(MODEL, TensorProto(data_type=TensorProto.INT4, dims=[3], raw_data=bytes(nbytes))) is None
    assert read_tensor(MODEL, TensorProto(data_type=TensorProto.INT4, dims=[3], raw_data=bytes(2))) is not None
    assert read_tensor(MODEL, TensorProto(data_type=99, dims=[1], raw_data=b"a")) is None
    assert read_tensor(MODEL, TensorProto(data_type=TensorProto.INT8, dims=[1] * 40, raw_data=b"a")) is None


@pytest.mark.parametrize("data_type", [t for t in TYPES if t != TensorProto.STRING])
def test_mapped_data_is_moved_like_data_in_memory(tmp_path: Path, data_type: int) -> None:
    """External data at an odd offset; results of the operators that only look differently at it are views."""
    constant = drawn(data_type, (4, 6), 1)
    raw = constant.to_tensor("t").raw_data
    (tmp_path / "w.bin").write_bytes(b"\xff" + raw)
    tensor = TensorProto(name="t", data_type=data_type, dims=[4, 6], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "w.bin"), ("offset", "1"), ("length", str(len(raw)))):
        tensor.external_data.add(key=key, value=value)
    model = helper.make_model(helper.make_graph([], "g", [], []))
    mapped = read_tensor(ModelFile.from_proto(model, tmp_path), tensor)
    assert mapped is not None
    assert mapped.plain.tobytes() == constant.plain.tobytes()
    steering = {
        "Identity": [], "Reshape": [[6, -1]], "Transpose": [], "Flatten": [], "Unsqueeze": [[0]],
        "Slice": [[1], [9], [0]], "Expand": [[2, 4, 6]], "Split": [[1, 3]], "Tile": [[2, 1]], "Pad": [[1, 0, 1, 0]],
    }  # fmt: skip
    for op, more in steering.items():
        outputs = 2 if op == "Split" else 1
        from_file, from_memory = (
            Case(op, [given, *more], outputs=outputs).evaluate(
                Case(op, [given, *more], outputs=outputs).constants(ids), NEWEST
            )
            for given in (mapped, constant)
        )
        if from_memory is None:
            assert op == "Pad"
            continue
        assert from_file is not None
        assert [f.plain.tobytes() for f in from_file] == [m.plain.tobytes() for m in from_memory]
        if op not in ("Tile", "Pad"):
            assert all(np.shares_memory(f.bits, mapped.bits) for f in from_file)


# any constants at all


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(8))
def test_evaluators_refuse_or_do_not_know_but_never_break(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random constants for every evaluator."""
    monkeypatch.setattr(input_checks, "MAX_BYTES", 1 << 20)
    rng = np.random.default_rng(seed)
    operators = sorted({(t.domain, op) for t in tables() if t.domain != "ai.onnx.ml" for op in t.op_types})
    for (domain, op), _ in itertools.product(operators, range(60)):
        version = 1 if domain else int(rng.choice([1, 2, 4, 7, 9, 10, 11, 13, 14, 15, 18, 19, NEWEST]))
        evaluator = evaluator_of(domain, op, version)
        if evaluator is None:
            continue
        inputs = [_any_constant(rng) for _ in range(rng.integers(0, 6))]
        node = helper.make_node(op, ["x"] * len(inputs), ["y"] * int(rng.integers(0, 4)))
        node.attribute.extend(_any_attributes(rng))
        try:
            found = evaluator(Evaluation(node, inputs, version))
        except SpecViolation:
            continue
        for result in found or ():
            assert result.plain.dtype == bits_dtype(result.data_type)
            assert result.to_tensor("t").dims == list(result.shape)


def _any_constant(rng: np.random.Generator) -> Constant | None:
    if rng.random() < 0.05:
        return None
    shape = tuple(int(n) for n in rng.integers(0, 4, rng.integers(0, 5)))
    if rng.random() < 0.6:
        shape = shape[:1]
        extremes = [-(2**63), 2**63 - 1, 2**31 - 1, -(2**31), 2**40]
        numbers = rng.integers(-3, 5, shape)
        if rng.random() < 0.2:
            numbers = rng.choice(np.array(extremes), shape)
        return Constant(TensorProto.INT64, np.asarray(numbers, dtype="<i8").view("<u8"))
    data_type = int(rng.choice([1, 1, 1, 6, 7, 8, 9, *TYPES]))
    return drawn(data_type, shape, int(rng.integers(9)))


def _any_attributes(rng: np.random.Generator) -> list[onnx.AttributeProto]:
    found: list[onnx.AttributeProto] = []
    for name in ("axis", "allowzero", "start", "end", "k", "dtype", "blocksize", "num_outputs", "batch_axis", "upper"):
        if rng.random() < 0.3:
            found.append(helper.make_attribute(name, int(rng.integers(-3, 4)) if rng.random() < 0.9 else 2**63 - 1))
    for name in ("axes", "perm", "shape", "starts", "ends", "split", "pads"):
        if rng.random() < 0.4:
            numbers = [int(n) for n in rng.integers(-3, 4, rng.integers(0, 4))]
            found.append(onnx.AttributeProto(name=name, type=onnx.AttributeProto.INTS, ints=numbers))
    if rng.random() < 0.5:
        modes = ("constant", "reflect", "edge", "wrap", "DCR", "CRD", "", "linear")
        found.append(helper.make_attribute("mode", modes[rng.integers(len(modes))]))
    if rng.random() < 0.2:
        tensor = drawn(int(rng.choice(TYPES)), (1,), 1).to_tensor("v")
        found.append(helper.make_attribute("value", 1.5 if rng.random() < 0.5 else tensor))
    return found
