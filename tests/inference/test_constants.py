"""Constants of every element type, raw and typed: their elements are those that onnx reads, and what lacks some is found."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from gather_infer import Severity, fold, freeze, infer, optimize
from gather_infer.tensor import DType, SymbolicTensor, ValueRange
from gather_infer.validate import VerdictKind, verdicts
from tests.inference.models import graph, model, node, untyped
from tests.onnx_versions import require_type
from tests.oracle.soundness import Runtime, compare

FAILURES = (Fail, InvalidArgument, RuntimeException)
LISTS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
DIMS: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2), (0,), (5, 0))


def constant(dtype: DType, dims: tuple[int, ...], raw: bool) -> TensorProto:
    size = int(np.prod(dims))
    if dtype is DType.STRING:
        return TensorProto(name="k", data_type=int(dtype), dims=dims, string_data=[b"a"] * size)
    made = helper.make_tensor("k", int(dtype), dims, [k % 2 for k in range(size)])
    return made if not raw else numpy_helper.from_array(numpy_helper.to_array(made), "k")


def found(tensor: TensorProto) -> tuple[set[str], SymbolicTensor]:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.initializer.append(tensor)
    inference = infer(proto)
    fact = inference["k"]
    assert isinstance(fact, SymbolicTensor)
    return {d.code for d in inference.diagnostics}, fact


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
@pytest.mark.parametrize("dtype", DType, ids=str)
def test_a_constant_is_what_onnx_reads(dtype: DType, raw: bool) -> None:
    require_type(dtype)
    for dims in DIMS:
        tensor = constant(dtype, dims, raw)
        codes, fact = found(tensor)
        assert (codes, fact.dtype, fact.shape) == (set(), dtype, dims)
        if dtype.is_integer or dtype is DType.BOOL:
            expected = numpy_helper.to_array(tensor)
            assert fact.values is not None and fact.values.shape == dims
            assert [int(v) for v in fact.values.flat] == [int(v) for v in expected.flat]


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
@pytest.mark.parametrize("dtype", DType, ids=str)
def test_a_constant_with_an_element_too_many_or_too_few_is_broken(dtype: DType, raw: bool) -> None:
    require_type(dtype)
    for dims in DIMS:
        for more in (True, False):
            tensor = constant(dtype, dims, raw)
            if tensor.HasField("raw_data"):
                data = tensor.raw_data
                if not more and not data:
                    continue
                tensor.raw_data = data + b"\0" if more else data[:-1]
            else:
                name = next((n for n in LISTS if len(getattr(tensor, n))), "")
                entries = getattr(tensor, name) if name else []
                if not entries:
                    continue
                if more:
                    entries.append(entries[0])
                else:
                    entries.pop()
            codes, fact = found(tensor)
            assert (codes, fact) == ({"GI204"}, SymbolicTensor()), (dims, more)


READERS = {
    "nobody": "g (int64[N] x) => (int64[N] y) { y = Neg(x) }",
    "a node": "g (int64[N] x) => (int64[N] y) { y = Add(x, k) }",
    "an output": "g (int64[N] x) => (int64[N] y, int64[A] k) { y = Neg(x) }",
    "a branch": """g (int64[N] x, bool b) => (int64[N] y) {
        y = If(b) <then_branch = t () => (int64[N] p) { p = Add(x, k) }, else_branch = e () => (int64[N] q) { q = Neg(x) }>
    }""",
    "a branch, of its own": """g (int64[N] x, bool b) => (int64[N] y) {
        y = If(b) <then_branch = t () => (int64[N] p) <int64[1] k = {1}> { p = Add(x, k) },
                   else_branch = e () => (int64[N] q) { q = Neg(x) }>
    }""",
}

BROKEN = {
    "no bytes": TensorProto(name="k", data_type=TensorProto.INT64, raw_data=b"", int64_data=[1]),
    "three bytes": TensorProto(name="k", data_type=TensorProto.INT64, raw_data=b"123"),
    "one element of four": TensorProto(name="k", data_type=TensorProto.INT64, dims=[4], int64_data=[1]),
    "a negative dim": TensorProto(name="k", data_type=TensorProto.INT64, dims=[-1], int64_data=[1]),
    "no such element type": TensorProto(name="k", data_type=77, dims=[1], int64_data=[1]),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_constant_is_an_error_where_a_runtime_looks_at_it(fault: str, reader: str) -> None:
    proto = parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {READERS[reader]}')
    proto.graph.initializer.append(BROKEN[fault])
    severities = [d.severity for d in infer(proto).diagnostics if d.code == "GI204"]
    try:
        Runtime(proto)
    except FAILURES:
        assert severities == [Severity.ERROR]
    else:
        assert severities == [Severity.WARNING]
    if severities == [Severity.WARNING]:
        for rewritten in (optimize(proto).proto, fold(proto).proto, freeze(proto, dims=["N=3"]).proto):
            Runtime(rewritten)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_table_of_positions_has_bounds(dtype: type[np.int32] | type[np.int64]) -> None:
    """Too large to be followed element by element; whatever is picked of it is one of its elements."""
    rows = np.arange(5000, dtype=dtype) % 7 + 2
    for least, most, kind in (
        (0, 8, VerdictKind.PROVED),
        (0, 9, VerdictKind.UNDECIDED),
        (-10, 8, VerdictKind.UNDECIDED),
        (9, 9, VerdictKind.VIOLATED),
    ):
        table = np.clip(rows, 2, 8) if kind is not VerdictKind.VIOLATED else np.full(5000, 9, dtype)
        table[0], table[-1] = least, most
        proto = model("(float[9] data, int64[K] at) => (y) { i = Gather(table, at) y = Gather(data, i) }")
        proto.graph.initializer.append(numpy_helper.from_array(table, "table"))
        inference = infer(proto)
        i = inference["i"]
        assert isinstance(i, SymbolicTensor) and i.value_range == ValueRange(table.min(), table.max())
        assert verdicts(inference)[-1].kind is kind
        runtime = Runtime(proto)
        for at, passes in ((0, -9 <= least < 9), (-1, -9 <= most < 9), (17, kind is not VerdictKind.VIOLATED)):
            feeds = {"data": np.zeros(9, np.float32), "at": np.array([at])}
            if passes:
                assert compare(inference, runtime.run(feeds), {"K": 1}).wrong == []
            else:
                with pytest.raises(InvalidArgument, match="out of data bounds"):
                    runtime.run(feeds)


PLACES = {
    # where an index is:       (inputs and outputs, nodes that gather by it, functions)
    "an initializer":          ("y = Gather(data, at)", ""),
    "a node":                  ("at = Constant() y = Gather(data, at)", ""),
    "outside a branch":        ("at = Constant() y = If(t) <then_branch = g () => (p) { p = Gather(data, at) }, else_branch = h () => (q) { q = Gather(data, at) }>", ""),
    "in a branch":             ("y = If(t) <then_branch = g () => (p) { at = Constant() p = Gather(data, at) }, else_branch = h () => (q) { q = Gather(data, v0) }>", ""),
    "in a function":           ("y = f.pick(data)", "at = Constant() y = Gather(data, at)"),
    "an attribute of a call":  ("y = f.pick(data)", "at = Constant<value: tensor = @at>() y = Gather(data, at)"),
}  # fmt: skip


@pytest.mark.parametrize("where", PLACES)
def test_every_element_of_a_large_index_is_checked(where: str) -> None:
    """Wherever the constant stands, and although it is too large to be followed element by element."""
    nodes, body = PLACES[where]
    function = f'<domain: "f", opset_import: ["" : 17]> pick <at> (data) => (y) {{ {body} }}' if body else ""
    for bad in (False, True):
        elements = np.arange(5000) % 9
        elements[1234] = 9 if bad else 8
        index = numpy_helper.from_array(elements, "at")
        proto = model(
            f"(float[9] data, bool t) => (y) {{ v0 = Constant<value_ints = [0]>() {nodes} }}",
            domains=', "f": 1',
            functions=function,
        )
        if where == "an initializer":
            proto.graph.initializer.append(index)
        for call in (n for n in proto.graph.node if where == "an attribute of a call" and n.domain == "f"):
            call.attribute.append(helper.make_attribute("at", index))
        graphs = [proto.graph, *(a.g for n in proto.graph.node for a in n.attribute), *proto.functions]
        for constant in (n for g in graphs for n in g.node if list(n.output) == ["at"] and not n.attribute):
            constant.attribute.append(helper.make_attribute("value", index))
        (judged,) = [verdict.kind for verdict in verdicts(infer(proto)) if verdict.access.result in ("y", "p")]
        assert judged is (VerdictKind.VIOLATED if bad else VerdictKind.PROVED)
        assert {found.code for found in infer(proto).errors} == ({"GI301"} if bad and where != "in a branch" else set())
        runtime = Runtime(untyped(proto))
        feeds = {"data": np.zeros(9, np.float32), "t": np.array(True)}
        if bad:
            with pytest.raises((InvalidArgument, RuntimeException), match="out of data bounds"):
                runtime.run(feeds)
        else:
            runtime.run(feeds)
