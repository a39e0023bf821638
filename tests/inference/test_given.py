"""Input constraints, parsed and checked at every small binding; types of every kind in a round trip."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from onnx import TensorProto, TypeProto, helper

from gather_infer import contract_of, infer
from gather_infer.contract import Contract, ContractInput
from gather_infer.errors import UsageError
from gather_infer.inference.constraints.parse import (
    MAX_SIZE,
    DimSpecs,
    add_constraint,
    equate,
    read_dims,
    read_inputs,
    read_ranges,
    scope_of,
)
from gather_infer.inference.constraints.persisted import KEY, DimConstraint, read_persisted, split, text_of
from gather_infer.inference.interface_types import _paired, _set, declared_dims
from gather_infer.inference.proto.types import DimReader, from_type, has_type, to_type
from gather_infer.symbolic import Dim, Expr, Interval, evaluate, floordiv, maximum, symbol
from gather_infer.tensor import (
    MAX_NESTING,
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SymbolicTensor,
    Value,
    ValueRange,
    is_nested_too_deep,
)
from tests.inference.models import graph, model, node
from tests.oracle.soundness import Runtime

A, B, C = (symbol(name) for name in "ABC")
SIZES = (0, 1, 2, 3, 4, 5, 7)

PARTS: dict[str, tuple[str, str, list[str]]] = {
    # id: (a text, a separator, its parts)
    "one": ("a", ",", ["a"]),
    "two": ("a, b", ",", ["a", "b"]),
    "nothing": ("", ",", [""]),
    "nothing between": ("a,,b,", ",", ["a", "", "b", ""]),
    "in parentheses": ("max(a, b), c", ",", ["max(a, b)", "c"]),
    "in two of them": ("max(a, min(b, c), d), (e), f", ",", ["max(a, min(b, c), d)", "(e)", "f"]),
    "in quotes": ("'a, b', c", ",", ["'a, b'", "c"]),
    "a quote in quotes": ("'a\\', b', c", ",", ["'a\\', b'", "c"]),
    "a backslash at the end of quotes": ("'a\\\\', b", ",", ["'a\\\\'", "b"]),
    "parentheses in quotes": ("'a(', b, ')'", ",", ["'a('", "b", "')'"]),
    "another separator": ("a, b; c", ";", ["a, b", "c"]),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_a_text(name: str) -> None:
    text, separator, parts = PARTS[name]
    assert split(text, separator) == parts


def test_dims_of_an_input_may_have_commas() -> None:
    found = read_inputs(["x=float[max(A, 2), min(B, A), 3]"], ["x"])["x"]
    assert found.dtype is DType.FLOAT32 and len(found.shape) == 3 and found.shape[0] == maximum(A, 2)
    assert read_inputs({"x": " double [ ] "}, ["x"])["x"].shape == ()
    assert read_inputs([f"x=[0, {MAX_SIZE}]"], ["x"])["x"].shape == (0, MAX_SIZE)


def constraints(dim: Dim, value: Interval | Dim) -> DimConstraint:
    assert isinstance(dim, Expr)
    return DimConstraint(dim, value)


SAID: dict[str, tuple[list[DimConstraint], bool]] = {
    # id: (statements, whether all of them can hold)
    "a size": ([constraints(A, 3)], True),
    "two sizes": ([constraints(A, 3), constraints(A, 4)], False),
    "the same size": ([constraints(A, 3), constraints(A, 3)], True),
    "bounds": ([constraints(A, Interval(2, 4))], True),
    "bounds that meet": ([constraints(A, Interval(2, 4)), constraints(A, Interval(4, 7))], True),
    "bounds that do not": ([constraints(A, Interval(2, 4)), constraints(A, Interval(5, 7))], False),
    "bounds of a size": ([constraints(A, 3), constraints(A, Interval(3, 4))], True),
    "bounds of another size": ([constraints(A, 3), constraints(A, Interval(4, 5))], False),
    "a size of bounds": ([constraints(A, Interval(3, 4)), constraints(A, 4)], True),
    "another size of bounds": ([constraints(A, Interval(3, 4)), constraints(A, 5)], False),
    "bounds of a relation": ([constraints(A, B + 1), constraints(A, Interval(3, 4))], True),
    "bounds of a relation that cannot be": ([constraints(A, B + 4), constraints(A, Interval(0, 3))], False),
    "bounds of a sum": ([constraints(A + B, Interval(2, 3))], True),
    "bounds of a sum that is bound": ([constraints(A, 2), constraints(A + B, Interval(3, 3))], True),
    "bounds of a sum that is a number": (
        [constraints(A, 2), constraints(B, 3), constraints(A + B, Interval(0, 4))],
        False,
    ),
    "bounds of a sum that is a number in them": (
        [constraints(A, 2), constraints(B, 3), constraints(A + B, Interval(0, 5))],
        True,
    ),
    "twice": ([constraints(2 * A, 6)], True),
    "half of an odd one": ([constraints(2 * A, 5)], False),
    "less than nothing": ([constraints(A + 3, 2)], False),
    "nothing left": ([constraints(A + 3, 3)], True),
    "a sum": ([constraints(A + B, 5)], True),
    "a sum and a part": ([constraints(A + B, 5), constraints(A, 2)], True),
    "a sum and too large a part": ([constraints(A + B, 5), constraints(A, 6)], False),
    "two numbers": ([constraints(A, 3), constraints(B, A), constraints(B, 3)], True),
    "two other numbers": ([constraints(A, 3), constraints(B, A), constraints(B, 4)], False),
    "one more than itself": ([constraints(A, A + 1)], False),
    "a circle": ([constraints(A, B), constraints(B, A)], True),
    "a square": ([constraints(A * A, 4)], True),
    "a square and its root": ([constraints(A * A, 4), constraints(A, 2)], True),
    "a quotient": ([constraints(floordiv(A, 2), 2)], True),
    "a quotient with A below": ([constraints(floordiv(6, A), 2)], True),
    "a remainder of nothing": ([constraints(A, B), constraints(A - B, Interval(0, 0))], True),
}


@pytest.mark.parametrize("name", SAID)
def test_given_constraints_hold_and_no_others(name: str) -> None:
    """The sizes that are left are those at which every statement holds; it is refused where there are none."""
    statements, possible = SAID[name]
    where = {}
    for sizes in itertools.product(SIZES, repeat=2):
        binding = dict(zip("AB", sizes, strict=True))
        try:
            where[sizes] = all(_holds(each, binding) for each in statements)
        except ZeroDivisionError:
            where[sizes] = False
    assert any(where.values()) == possible
    found = DimSpecs()
    try:
        for statement in statements:
            add_constraint(found, statement, {})
        scope = scope_of(found)
    except UsageError:
        assert not possible
        return
    assert possible
    for sizes, holds in where.items():
        binding = dict(zip("AB", sizes, strict=True))
        try:
            is_left = (
                all(evaluate(dim, binding) == binding[n] for n, dim in found.bound.items())
                and all(binding[n] in interval for n, interval in found.bounds.items())
                and all(_holds(each, binding) for each in found.constraints)
            )
        except ZeroDivisionError:
            is_left = False
        assert is_left == holds, binding
        assert not holds or all(evaluate(fact, binding) >= 0 for fact in scope.facts if fact.symbols <= binding.keys())


def _holds(statement: DimConstraint, sizes: dict[str, int]) -> bool:
    size = evaluate(statement.dim, sizes)
    value = statement.value
    return size in value if isinstance(value, Interval) else size == evaluate(value, sizes)


def test_a_name_that_replaces_another_dim_has_its_bounds() -> None:
    """The file bounds N, which the caller calls A + 1; where N is bound to an expression its bounds stay beside it."""
    found = DimSpecs()
    add_constraint(found, DimConstraint(C, Interval(2, 4)), {"C": A + 1})
    assert found.bounds == {} and found.constraints == [DimConstraint(_expr(A + 1), Interval(2, 4))]
    found = DimSpecs(bound={"C": A + 1})
    add_constraint(found, DimConstraint(C, Interval(2, 4)), {})
    assert found.bounds == {"C": Interval(2, 4)} and found.constraints == []
    with pytest.raises(UsageError, match="dim 'C' is 5, the file records"):
        add_constraint(DimSpecs(bound={"C": 5}), DimConstraint(C, Interval(2, 4)), {})
    with pytest.raises(UsageError, match="it holds for no sizes"):
        equate(DimSpecs(), 3, 4, "it")


def _expr(dim: Dim) -> Expr:
    assert isinstance(dim, Expr)
    return dim


def test_statements_there_and_back() -> None:
    said = [
        DimConstraint(A, Interval(1, None)),
        DimConstraint(_expr(A + B), C),
        DimConstraint(B, Interval(None, 7)),
        DimConstraint(C, Interval(0, 0)),
    ]
    text = text_of([*said, said[0]])
    assert text == "A+B=C; A=1..; B=0..7; C=0..0"
    back, faults, new = read_persisted([text], {"A", "B", "C"})
    assert text_of(back) == text and faults == [] and new == frozenset()
    assert isinstance(back[0].value, Expr)  # relations first
    assert read_persisted(["A=..; A = 2 .. 3 ;;"], {"A"})[0] == [
        DimConstraint(A, Interval(0, None)),
        DimConstraint(A, Interval(2, 3)),
    ]
    limit = 1 << 16
    assert read_persisted(["A=1.." + " " * (limit - 5)], {"A"})[1] == []
    assert len(read_persisted(["A=1.." + " " * (limit - 4)], {"A"})[1]) == 1
    assert read_persisted(["A=" + "1" * 40 + ".."], {"A"})[1] == []
    assert len(read_persisted(["A=" + "1" * 41 + ".."], {"A"})[1]) == 1


def test_a_name_that_is_spelt_out() -> None:
    """`'2*k'=2*k` says that the name is to be read as the expression; what is no name of an input says nothing of it."""
    back, faults, new = read_persisted(["'2*k'=2*k"], {"2*k"})
    assert new == {"k"} and faults == [] and [str(s) for s in back] == ["'2*k'=2*k"]
    assert read_persisted(["'2*k'=2*k"], {"2*k", "k"})[2] == frozenset()
    for wrong in ("'2*k'=3*k", "'2*k'=2*j", "'2*k'=7", "2*k=2*k"):
        _, faults, new = read_persisted([wrong], {"2*k"})
        assert new == frozenset() and (wrong == "'2*k'=7" or faults), wrong


DIM_TEXTS: dict[str, tuple[Any, dict[str, Dim], dict[str, Interval]]] = {
    # id: (dims=, what is bound, what is bounded)
    "a size": (["A=4"], {"A": 4}, {}),
    "the largest": ([f"A={MAX_SIZE}"], {"A": MAX_SIZE}, {}),
    "0": (["A=0"], {"A": 0}, {}),
    "bounds": (["A=1..4"], {}, {"A": Interval(1, 4)}),
    "bounds to the largest": ([f"A=1..{MAX_SIZE}"], {}, {"A": Interval(1, MAX_SIZE)}),
    "from": (["A=1.."], {}, {"A": Interval(1, None)}),
    "to": (["A=..4"], {}, {"A": Interval(0, 4)}),
    "from 0": (["A=0.."], {}, {"A": Interval(0, None)}),
    "one size": (["A=4..4"], {"A": 4}, {}),
    "0 to 0": (["A=0..0"], {"A": 0}, {}),
    "another": (["A=B + 1", "B=2"], {"A": 3, "B": 2}, {}),
    "a pair": ({"A": (1, 4)}, {}, {"A": Interval(1, 4)}),
    "a list": ({"A": [1, 4]}, {}, {"A": Interval(1, 4)}),
    "a pair with an open end": ({"A": (None, 4), "B": (1, None)}, {}, {"A": Interval(0, 4), "B": Interval(1, None)}),
    "an equals sign in a value": ({"A": "B"}, {"A": B}, {}),
}


@pytest.mark.parametrize("name", DIM_TEXTS)
def test_dims(name: str) -> None:
    given, bound, bounds = DIM_TEXTS[name]
    found = read_dims(given, ["A", "B"])
    assert (found.bound, found.bounds, found.constraints) == (bound, bounds, [])


NO_DIMS: dict[str, tuple[Any, str]] = {
    "too large": ([f"A={MAX_SIZE + 1}"], "must be in"),
    "bounds from too large": ([f"A={MAX_SIZE + 1}.."], "must be in"),
    "bounds to too large": ([f"A=..{MAX_SIZE + 1}"], "must be in"),
    "three ends": ({"A": (1, 2, 3)}, "must be a size"),
    "one end": ({"A": (1,)}, "must be a size"),
    "an end that is negative": ({"A": (-1, 3)}, "bounds must read"),
    "bounded and bound": (["A=1..4", "A=2"], "given twice"),
    "blanks": (["A= "], "must read NAME=SIZE"),
    "no name": ([" =3"], "must read NAME=SIZE"),
    "nothing": (["A"], "must read NAME=SIZE"),
    "no bounds": (["A=B..3"], "bounds must read"),
}


@pytest.mark.parametrize("name", NO_DIMS)
def test_no_dims(name: str) -> None:
    given, text = NO_DIMS[name]
    with pytest.raises(UsageError, match=text):
        read_dims(given, ["A", "B"])


RANGES: dict[str, tuple[Any, ValueRange]] = {
    "both": (["x=0..9"], ValueRange(0, 9)),
    "one number": (["x=3..3"], ValueRange(3, 3)),
    "negative": (["x=-9..-1"], ValueRange(-9, -1)),
    "from": (["x=-9.."], ValueRange(-9, None)),
    "to": (["x=..9"], ValueRange(None, 9)),
    "to a size": (["x = 0 .. A - 1 "], ValueRange(0, A - 1)),
    "a pair": ({"x": (0, 9)}, ValueRange(0, 9)),
    "an open pair": ({"x": (None, 9)}, ValueRange(None, 9)),
    "a pair open above": ({"x": [0, None]}, ValueRange(0, None)),
    "a text": ({"x": "0..9"}, ValueRange(0, 9)),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges(name: str) -> None:
    given, span = RANGES[name]
    assert read_ranges(given, ["x"], ["A"]) == {"x": span}


@pytest.mark.parametrize(
    "given", ["x=0..9", ["=0..9"], {"x": (1, 2, 3)}, ["x=0..9", "x=0..9"], ["x=9..0"], ["x=.."], ["x=0..a b"]], ids=str
)
def test_no_ranges(given: Any) -> None:
    with pytest.raises(UsageError):
        read_ranges(given, ["x"], ["A"])


# types


F, I64 = DType.FLOAT32, DType.INT64
X = SymbolicTensor(F, (A, 3))
TYPES: dict[str, Value] = {
    "a tensor": X,
    "a scalar": SymbolicTensor(I64, ()),
    "a rank that is not known": SymbolicTensor(F),
    "a sum": SymbolicTensor(F, (_expr(A + B), 0)),
    "sparse": SparseTensor(F, (A, 3)),
    "sparse, of no shape": SparseTensor(F),
    "sparse, a scalar": SparseTensor(F, ()),
    "a sequence": SequenceType(X),
    "an optional": OptionalType(X),
    "a map": MapType(DType.STRING, X),
    "a sequence of maps": SequenceType(MapType(I64, X)),
    "an optional sequence": OptionalType(SequenceType(SparseTensor(F, (A,)))),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_type_there_and_back(name: str) -> None:
    value = TYPES[name]
    proto = to_type(value)
    assert proto is not None and has_type(value)
    assert from_type(proto, DimReader({"A", "B"}), lambda axis: symbol(f"open{axis}")) == value
    bare = to_type(value, lambda dim: "")
    assert bare is not None
    dims = [None if isinstance(d, Expr) else d for d in getattr(_innermost(value), "shape", None) or ()]
    assert declared_dims(bare) == (None if getattr(_innermost(value), "shape", None) is None else tuple(dims))


def _innermost(value: Any) -> Any:
    while isinstance(value, (SequenceType, OptionalType, MapType)):
        value = value.value if isinstance(value, MapType) else value.element
    return value


@pytest.mark.parametrize(
    "value",
    [SymbolicTensor(None, (A,)), SparseTensor(None, (A,)), SequenceType(None), OptionalType(None), MapType(None, X), MapType(I64, None),
     SequenceType(SymbolicTensor()), MapType(I64, SymbolicTensor())],
    ids=str,
)  # fmt: skip
def test_a_given_type_needs_an_element_type(value: Value) -> None:
    assert to_type(value) is None and not has_type(value)


@pytest.mark.parametrize("kind", [SequenceType, OptionalType, MapType])
def test_what_is_nested_as_deep_as_may_be(kind: Any) -> None:
    """Of that many types around a tensor the tensor is read; of one more nothing is said of it."""
    for depth in (1, 2, MAX_NESTING - 1, MAX_NESTING, MAX_NESTING + 1):
        value: Any = X
        for _ in range(depth):
            value = MapType(I64, value) if kind is MapType else kind(value)
        proto = to_type(value)
        assert proto is not None
        back: Any = from_type(proto, DimReader({"A"}), lambda axis: symbol("open"))
        around = 0
        while isinstance(back, kind):
            back, around = back.value if kind is MapType else back.element, around + 1
        if depth < MAX_NESTING:
            assert (around, back) == (depth, X)
            assert not is_nested_too_deep(value)
        else:
            assert (around, back) == (MAX_NESTING, None)


def test_a_dim_that_no_file_can_say_is_left_open() -> None:
    for size, expected in ((2**63 - 1, 2**63 - 1), (2**63, None), (0, 0)):
        proto = to_type(SymbolicTensor(F, (size,)))
        assert proto is not None and declared_dims(proto) == (expected,)


def test_a_dim_is_set_only_where_it_changes() -> None:
    dim = TypeProto().tensor_type.shape.dim.add(dim_param="N")
    for known, kind, value in (
        (-1, "dim_param", "N"),
        (2**63, "dim_param", "N"),
        (0, "dim_value", 0),
        (2**63 - 1, "dim_value", 2**63 - 1),
    ):
        _set(dim, known)
        assert dim.WhichOneof("value") == kind and getattr(dim, kind) == value
    _set(dim, A)
    assert dim.dim_param == "A"


PAIRED: dict[str, tuple[Value, Value, list[Dim]]] = {
    # id: (declared, known, the dims that are paired)
    "a tensor": (X, SymbolicTensor(F, (5, 3)), [5, 3]),
    "a sequence": (SequenceType(X), SequenceType(SymbolicTensor(F, (5, 3))), [5, 3]),
    "an optional": (OptionalType(X), OptionalType(SymbolicTensor(F, (5, 3))), [5, 3]),
    "a map": (MapType(I64, X), MapType(I64, SymbolicTensor(F, (5, 3))), [5, 3]),
    "sparse": (SparseTensor(F, (A, 3)), SparseTensor(F, (5, 3)), [5, 3]),
    "no element type": (X, SymbolicTensor(None, (5, 3)), [5, 3]),
    "another element type": (X, SymbolicTensor(I64, (5, 3)), []),
    "another rank": (X, SymbolicTensor(F, (5,)), []),
    "no rank": (X, SymbolicTensor(F), []),
    "no rank declared": (SymbolicTensor(F), SymbolicTensor(F, (5, 3)), []),
    "sparse for dense": (X, SparseTensor(F, (5, 3)), []),
    "dense for sparse": (SparseTensor(F, (A, 3)), SymbolicTensor(F, (5, 3)), []),
    "a tensor for a sequence": (SequenceType(X), SymbolicTensor(F, (5, 3)), []),
    "a sequence for a tensor": (X, SequenceType(SymbolicTensor(F, (5, 3))), []),
    "a sequence for a map": (MapType(I64, X), SequenceType(SymbolicTensor(F, (5, 3))), []),
    "a map for a sequence": (SequenceType(X), MapType(I64, SymbolicTensor(F, (5, 3))), []),
}


@pytest.mark.parametrize("name", PAIRED)
def test_dims_of_a_declared_type_and_what_is_known_of_them(name: str) -> None:
    declared, known, dims = PAIRED[name]
    proto = to_type(declared)
    assert proto is not None
    assert [dim for _, dim in _paired(proto, known)] == dims


# findings


def places(proto: Any) -> list[tuple[str, str]]:
    return [(d.code, d.location.value) for d in infer(proto).diagnostics]


def test_findings_name_the_input() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -7
    assert places(proto) == [("GI109", "x")]
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert places(proto) == []
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    proto.graph.initializer.append(helper.make_tensor("x", TensorProto.FLOAT, [1], [0.0]))
    assert places(proto) == [("GI204", "x")]
    proto.graph.input[0].type.CopyFrom(helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, [2])))
    assert ("GI204", "x") in places(proto)


def test_without_an_import_from_ir_version_3_on() -> None:
    proto = graph([node("Abs", "x", "y")])
    del proto.opset_import[:]
    for version, expected in ((2, []), (3, ["GI104"])):
        proto.ir_version = version
        assert [d.code for d in infer(proto).diagnostics] == expected


def test_the_record_that_is_not_used_is_named() -> None:
    proto = graph([node("Abs", "x", "y")])
    proto.metadata_props.add(key=KEY, value="nonsense")
    assert places(proto) == [("GI111", KEY)]


# contracts


def contract(text: str, **options: Any) -> Contract:
    return contract_of(model(text), **options).contract


def test_what_depends_on_data_is_open_and_what_depends_on_inputs_is_not() -> None:
    count = "v0 = Constant<value_ints = [0]>() n = NonZero(x) s = Squeeze(n, v0) f = Cast<to = 1>(s)"
    for op in ("Add", "MatMul"):
        data = contract(f"(float[N] x, float[M] w) => (y) {{ {count} y = {op}(f, w) }}")
        assert [o.node for o in data.open] == [f"{op}#4"]
    for text in (
        "(float[N] x, float[M] w) => (y) { y = Add(x, w) }",
        "(float[N, M] x, float[M, K] w) => (y) { y = MatMul(x, w) }",
    ):
        assert contract(text).open == ()


def test_an_optional_input_need_not_be_fed() -> None:
    proto = model("(float[N] x) => (y) { y = Neg(x) }", opset=18)
    proto.graph.input.add(name="o").type.CopyFrom(
        helper.make_optional_type_proto(helper.make_tensor_type_proto(1, ["K"]))
    )
    proto.graph.input.add(name="s").type.CopyFrom(
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, ["K"]))
    )
    given = {spec.name: spec.optional for spec in contract_of(proto).contract.inputs}
    assert given == {"x": False, "o": True, "s": False}
    Runtime(proto)


def test_what_a_contract_knows_of_the_inputs() -> None:
    proto = model("(float[N, 3] x, int64[d, d] ids, float16 s, bool[M] mask) => (y) { y = Neg(x) }", opset=18)
    for dim in proto.graph.input[1].type.tensor_type.shape.dim:
        dim.ClearField("dim_param")
    proto.graph.input.add(name="any").type.tensor_type.elem_type = TensorProto.DOUBLE
    proto.graph.input.add(name="untyped").type.tensor_type.shape.dim.add(dim_param="N")
    proto.graph.initializer.add(name="mask", data_type=TensorProto.BOOL, dims=[1], raw_data=b"\1")
    proto.graph.input.add(name="list").type.CopyFrom(
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, ["K"]))
    )
    assert contract_of(proto).contract.inputs == (
        ContractInput("x", "float32", (symbol("N"), 3)),
        ContractInput("ids", "int64", (symbol("ids.0"), symbol("ids.1"))),
        ContractInput("s", "float16", ()),
        ContractInput("mask", "bool", (symbol("M"),), optional=True),
        ContractInput("any", "float64", None),
        ContractInput("untyped", None, (symbol("N"),)),
        ContractInput("list", None, None),
    )


def test_what_the_caller_says_is_not_tight() -> None:
    text = "(float[P] p, float[S] s, float[T] t) => (y) { c = Concat<axis = 0>(p, s) y = Add(c, t) }"
    for line in contract(text, dims=["T=P+S", "P=1..9"]).declared:
        assert not line.tight and line.reason == "declared"


def test_what_the_file_records_of_a_dim_that_the_caller_names() -> None:
    """A dim without a name is `x.1` in the file; where the caller calls it `q` the bounds are those of `q`."""
    proto = model("(float[N, d] x, float[e] w) => (y) { y = Neg(x) }", opset=18)
    for given in proto.graph.input:
        given.type.tensor_type.shape.dim[-1].ClearField("dim_param")
    proto.metadata_props.add(key=KEY, value="x.1=1..7; w.0=2..9")
    for inputs, names in (((), ("x.1", "w.0")), (("x=[p, q]",), ("q", "w.0")), (("w=[r]",), ("x.1", "r"))):
        found = infer(proto, inputs=inputs)
        assert found.diagnostics == ()
        bounds = [found.declared.symbol_bounds(name) for name in names]
        assert bounds == [Interval(1, 7), Interval(2, 9)], inputs


def test_a_range_is_declared_of_every_element() -> None:
    text = "(float[9] t, int64[N] i) => (y) { y = Gather(t, i) }"
    (line,) = contract(text, ranges=["i=0..8"]).declared
    assert (line.text, line.reads_all, line.tight) == ("0 <= i < 9", True, False)
