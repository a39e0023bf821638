"""Sequences, optionals and strings; the last tests run chains of sequence operators in onnxruntime."""

# ruff: noqa: E501

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ValueInfoProto, helper

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.ops.onnx import sequence, strings
from gather_infer.symbolic import Dim, symbol
from gather_infer.tensor import DType, OptionalType, SequenceType, SymbolicTensor, ValueRange, from_values, make_values
from tests.ops.call import UNRANKED, call
from tests.ops.facts import ints, known

B, S, N, P = map(symbol, ["B", "S", "N", "P"])
ROW = SymbolicTensor(DType.FLOAT32, (B, 4))


def seq(op_type: str, *inputs: Any, context: Context | None = None, **attributes: Any) -> Any:
    return call(sequence.rules, op_type, inputs, version=18, context=context, **attributes)[0]


def test_members_of_one_shape_keep_it() -> None:
    assert seq("SequenceConstruct", ROW, ROW) == SequenceType(ROW, 2, (ROW, ROW))


def test_a_dim_in_which_members_differ_is_another_one_in_every_member() -> None:
    context = Context()
    found = seq("SequenceConstruct", (B, 4), (B, 5), (B, 6), context=context)
    assert (found.length, found.element.shape[0]) == (3, B)
    first, second = (seq("SequenceAt", found, known(i), context=context) for i in (0, 1))
    assert first.shape[0] == second.shape[0] == B
    assert first.shape[1] != second.shape[1]


def test_members_of_different_ranks_have_none() -> None:
    assert seq("SequenceConstruct", (2,), (2, 3)).element == UNRANKED


def test_insert_into_an_empty_sequence() -> None:
    empty = seq("SequenceEmpty", dtype=7)
    assert empty == SequenceType(SymbolicTensor(DType.INT64), 0)
    assert seq("SequenceInsert", empty, ints(B)) == SequenceType(ints(B), 1, (ints(B),))
    assert seq("SequenceEmpty").element.dtype is DType.FLOAT32


def test_lengths() -> None:
    found = SequenceType(ROW, N)
    assert seq("SequenceInsert", found, ROW).length == N + 1
    assert seq("SequenceErase", found).length == N - 1
    assert seq("SequenceLength", found).values.item() == N
    assert seq("SequenceLength", SequenceType(ROW)).value_range == ValueRange(0, None)


def test_taking_a_member_implies_that_there_is_one() -> None:
    context = Context()
    seq("SequenceAt", SequenceType(ROW, N), SymbolicTensor(DType.INT64, ()), context=context)
    assert context.scope.bounds(N).lo == 1


SPLITS: dict[str, Any] = {
    # id:                       (dim,    split,       attributes,         member,        length)
    "one by one":               (S,      None,        {},                 (B, 1),        S),
    "one by one, no axis":      (S,      None,        {"keepdims": 0},    (B,),          S),
    "equal chunks":             (6,      known(2),   {},                 (B, 2),        3),
    "equal symbolic chunks":    (4 * S,  known(4),   {},                 (B, 4),        S),
    "unbind of PyTorch":        (S,      known(1),   {"keepdims": 0},    (B,),          S),
    "one by one, kept":         (S,      known(1),   {"keepdims": 1},    (B, 1),        S),
    "keepdims is ignored":      (6,      known(2),   {"keepdims": 0},    (B, 2),        3),
    "equal lengths":            (2 * S,  ints(S, S),  {},                 (B, S),        2),
    "last chunk is smaller":    (S,      known(2),   {},                 (B, None),     (S + 1) // 2),
    "unequal lengths":          (P + S,  ints(P, S),  {},                 (B, None),     2),
    "unknown chunk":            (S,      SymbolicTensor(DType.INT64, ()), {}, (B, None), None),
}  # fmt: skip


@pytest.mark.parametrize("dim, split, attributes, member, length", SPLITS.values(), ids=SPLITS)
def test_split_to_sequence(dim: Dim, split: Any, attributes: Any, member: Any, length: Dim | None) -> None:
    found = seq("SplitToSequence", (B, dim), *([] if split is None else [split]), axis=1, **attributes)
    assert found.length == length and len(found.element.shape) == len(member)
    for dim, wanted in zip(found.element.shape, member, strict=True):
        assert dim == wanted or (wanted is None and dim.is_symbol)


CONCATS: dict[str, Any] = {
    # id:                    (members,                        attributes,                    result)
    "along an axis":         (SequenceType(ROW, 3),           {"axis": 0},                   (3 * B, 4)),
    "negative axis":         (SequenceType(ROW, N),           {"axis": -1},                  (B, 4 * N)),
    "stacked":               (SequenceType(ROW, 3),           {"axis": 0, "new_axis": 1},    (3, B, 4)),
    "stacked at the end":    (SequenceType(ROW, N),           {"axis": -1, "new_axis": 1},   (B, 4, N)),
    "unknown rank":          (SequenceType(UNRANKED, 3),      {"axis": 0},                   None),
}  # fmt: skip


@pytest.mark.parametrize("members, attributes, result", CONCATS.values(), ids=CONCATS)
def test_concat_from_sequence(members: SequenceType, attributes: Any, result: Any) -> None:
    assert seq("ConcatFromSequence", members, **attributes).shape == result


def test_optionals() -> None:
    assert seq("Optional", ROW) == OptionalType(ROW, True)
    assert seq("Optional", type=ROW) == OptionalType(ROW, False)
    assert seq("OptionalGetElement", OptionalType(ROW)) == ROW
    assert seq("OptionalGetElement", ROW) == ROW


HAS_ELEMENT: dict[str, Any] = {
    "present": ([OptionalType(ROW, True)], True),
    "empty": ([OptionalType(ROW, False)], False),
    "not known": ([OptionalType(ROW)], None),
    "tensor": ([ROW], True),
    "no input": ([], False),
}


@pytest.mark.parametrize("inputs, present", HAS_ELEMENT.values(), ids=HAS_ELEMENT)
def test_optional_has_element(inputs: Any, present: bool | None) -> None:
    found = seq("OptionalHasElement", *inputs)
    assert (found.dtype, found.shape) == (DType.BOOL, ())
    assert (None if found.values is None else found.values.item()) is present


STRINGS: dict[str, Any] = {
    # id:                  (op,                 inputs,              attributes,            result)
    "concat broadcasts":   ("StringConcat",     [(B, 1), (3,)],      {},                    (B, 3)),
    "full match":          ("RegexFullMatch",   [(B, S)],            {"pattern": "a"},      (B, S)),
    "no stop words":       ("StringNormalizer", [(3,)],              {},                    (3,)),
    "no words":            ("StringNormalizer", [(1, 0)],            {},                    (1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name, inputs, attributes, result", STRINGS.values(), ids=STRINGS)
def test_strings(name: str, inputs: Any, attributes: Any, result: Any) -> None:
    (found,) = call(strings.rules, name, inputs, version=20, **attributes)
    assert found.shape == result


def test_string_split() -> None:
    context = Context()
    parts, counts = call(strings.rules, "StringSplit", [(B,)], version=20, outputs=2, context=context, maxsplit=2)
    assert (parts.dtype, parts.shape[0], counts.shape, counts.value_range) == (DType.STRING, B, (B,), ValueRange(0, 3))
    assert context.scope.bounds(parts.shape[1]).hi == 3


VIOLATIONS: dict[str, Any] = {
    "position":          ("SequenceAt",         [SequenceType(ROW, 2), known(2)],   {},             "position 2 is outside [-2, 1], there are 2 members"),
    "insert position":   ("SequenceInsert",     [SequenceType(ROW, 2), ROW, known(3)], {},          "position 3 is outside [-2, 2], there are 2 members"),
    "erase nothing":     ("SequenceErase",      [SequenceType(ROW, 0)],              {},             "nothing can be erased, the sequence is empty"),
    "element types":     ("SequenceConstruct",  [ROW, ints(1)],                      {},             "all members must have one element type, have float32 and int64"),
    "no sequence":       ("SequenceLength",     [ROW],                               {},             "input 0 must be a sequence, is float32[B, 4]"),
    "concat axis":       ("ConcatFromSequence", [SequenceType(ROW, 2)],              {"axis": 2},    "axis = 2 is outside [-2, 1], data has rank 2"),
    "split of nothing":  ("SplitToSequence",    [(4,), known(0)],                   {},             "split must be greater than zero, is 0"),
    "split sum":         ("SplitToSequence",    [(4,), ints(1, 2)],                  {},             "split adds up to 3, dim of axis 0 is 4"),
    "empty optional":    ("OptionalGetElement", [OptionalType(ROW, False)],          {},             "the optional has no element"),
}  # fmt: skip


@pytest.mark.parametrize("name, inputs, attributes, message", VIOLATIONS.values(), ids=VIOLATIONS)
def test_violations(name: str, inputs: Any, attributes: Any, message: str) -> None:
    with pytest.raises(SpecViolation) as raised:
        seq(name, *inputs, **attributes)
    assert raised.value.message == message


def chains(rng: random.Random) -> tuple[list[Any], np.ndarray, Any, Any]:
    """Nodes `SplitToSequence -> SequenceAt, ConcatFromSequence, SequenceLength` with their data and attributes."""
    data = np.zeros((rng.randint(1, 3), rng.randint(1, 7)), np.float32)
    attributes: dict[str, Any] = {"axis": rng.choice((0, 1, -1))}
    dim = data.shape[attributes["axis"]]
    split: Any = None
    match rng.randrange(4):
        case 0:
            split = np.array(rng.randint(1, 4))
        case 3:
            split, attributes["keepdims"] = np.array(1), 0
        case 1:
            cut = rng.randint(0, dim)
            split = np.array([cut, dim - cut])
    joined: dict[str, Any] = {"axis": attributes["axis"], "new_axis": 1 - attributes.get("keepdims", 1)}
    nodes = [
        helper.make_node("SplitToSequence", ["x"] if split is None else ["x", "split"], ["s"], **attributes),
        helper.make_node("SequenceAt", ["s", "i"], ["at"]),
        helper.make_node("ConcatFromSequence", ["s"], ["joined"], **joined),
        helper.make_node("SequenceLength", ["s"], ["n"]),
    ]
    return nodes, data, split, attributes


@pytest.mark.parametrize("seed", range(60))
def test_chains_agree_with_the_runtime(seed: int) -> None:
    rng = random.Random(seed)
    nodes, data, split, attributes = chains(rng)
    feeds = {"x": data, "i": np.array(rng.choice((0, -1)))} | ({} if split is None else {"split": split})
    inputs = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), None) for k, v in feeds.items()
    ]
    outputs = [ValueInfoProto(name=name) for name in ("at", "joined", "n")]
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 18)]
    )
    model.ir_version = 10
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    at, joined, count = session.run(None, feeds)

    context = Context()
    facts = [data.shape] if split is None else [data.shape, from_values(DType.INT64, make_values(split))]
    members = seq("SplitToSequence", *facts, context=context, **attributes)
    found = seq("SequenceAt", members, known(int(feeds["i"])), context=context)
    new_axis = 1 - attributes.get("keepdims", 1)
    whole = seq("ConcatFromSequence", members, context=context, axis=attributes["axis"], new_axis=new_axis)
    assert seq("SequenceLength", members).values.item() == count
    for fact, array in ((found, at), (whole, joined)):
        assert len(fact.shape) == array.ndim
        assert all(d == n or not isinstance(d, int) for d, n in itertools.zip_longest(fact.shape, array.shape))
