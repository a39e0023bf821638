"""Feeds held against contracts: what is found, how it is said, and how contracts are kept."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from gather_infer import Contract, ContractViolated, ModelReadError, UsageError
from gather_infer.contract import KEY
from gather_infer.report import guard_source
from gather_infer.tensor import DType
from tests.contract.contracts import BERT, MIXED, Feeds, dims, elements, good, spec


def bert(**changed: Any) -> Feeds:
    ids = np.zeros((4, 20), np.int64)
    return {"ids": ids, "mask": ids, "types": ids, **changed}


def at(index: tuple[int, int], value: int) -> Any:
    array = np.zeros((4, 20), np.int64)
    array[index] = value
    return array


WRONG: dict[str, tuple[Feeds, list[str]]] = {
    # id: (feeds, violations)
    "an element above": (
        bert(ids=at((3, 17), 30522)),
        ["ids[3, 17] = 30522: must be -30522 <= ids < 30522 (/emb/word/Gather)"],
    ),
    "an element below": (
        bert(ids=at((0, 1), -30523)),
        ["ids[0, 1] = -30523: must be -30522 <= ids < 30522 (/emb/word/Gather)"],
    ),
    "two inputs": (
        bert(ids=at((0, 0), 40000), types=at((1, 2), 2)),
        [
            "ids[0, 0] = 40000: must be -30522 <= ids < 30522 (/emb/word/Gather)",
            "types[1, 2] = 2: must be 0 <= types < 2 (/emb/type/Gather)",
        ],
    ),
    "too long": (
        dict.fromkeys(("ids", "mask", "types"), np.zeros((1, 513), np.int64)),
        ["seq = 513: must be seq <= 512 (/emb/Add_1)"],
    ),
    "empty": (
        dict.fromkeys(("ids", "mask", "types"), np.zeros((1, 0), np.int64)),
        ["seq = 0: must be seq >= 1 (/Reshape)"],
    ),
    "another length": (bert(mask=np.zeros((4, 19), np.int64)), ["mask.1 = 19: must be seq, which is 20 by ids.1"]),
    "another batch": (bert(types=np.zeros((3, 20), np.int64)), ["types.0 = 3: must be batch, which is 4 by ids.0"]),
    "another rank": (bert(ids=np.zeros(20, np.int64)), ["ids must be of rank 2, is of rank 1"]),
    "another type": (bert(ids=np.zeros((4, 20), np.int32)), ["ids must be int64, is int32"]),
    "missing": ({"ids": np.zeros((4, 20), np.int64), "types": np.zeros((4, 20), np.int64)}, ["mask is missing"]),
    "one more": (bert(more=1), ["more is no input of the model"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_violations_are_named(case: str) -> None:
    feeds, texts = WRONG[case]
    assert [str(violation) for violation in BERT.check(feeds)] == texts
    with pytest.raises(ContractViolated) as caught:
        BERT.require(feeds)
    assert caught.value.violations == texts


def test_feeds_that_satisfy_the_contract_pass() -> None:
    assert BERT.check(bert(ids=at((0, 0), 30521), types=at((3, 19), 1))) == []
    BERT.require(bert())


def test_lists_are_arrays() -> None:
    rows = [[1, 2], [3, 40000]]
    found = BERT.check({"ids": rows, "mask": rows, "types": [[0, 1], [1, 0]]})
    assert [v.text for v in found] == ["ids[1, 1] = 40000: must be -30522 <= ids < 30522 (/emb/word/Gather)"]


class Refusing:
    def __array__(self, *_: object, **__: object) -> Any:
        raise RuntimeError("it is on another device")


def matrix(*row: int) -> Any:
    return np.array([row]).view(np.matrix)


VALUES: dict[str, tuple[str, object, list[str]]] = {
    # id: (element type, value of x with the dims n and m, violations)
    "none": ("int64", None, ["x is None"]),
    "ragged": ("int64", [[1], [2, 3]], ["x: its rows differ in length, or its elements are of several types"]),
    "none inside": ("int64", [[None, 1]], ["x must be int64, is object"]),
    "a matrix": ("int64", matrix(1, 2), []),
    "a matrix outside": ("int64", matrix(1, 99), ["x[0, 1] = 99: must be -9 <= x < 9"]),
    "a masked array outside": (
        "int64",
        np.ma.masked_greater(np.array([[1, 99]]), 9),
        ["x[0, 1] = 99: must be -9 <= x < 9"],
    ),
    "another byte order": ("int64", np.array([[1, 2]], ">i8"), ["x must be int64, is int64 in another byte order"]),
    "floats of another byte order": (
        "float32",
        np.array([[1, 2]], ">f4"),
        ["x must be float32, is float32 in another byte order"],
    ),
    "bytes have none": ("int8", np.array([[1, 2]], ">i1"), []),
    "objects": ("int64", np.array([[1, 2]], object), ["x must be int64, is object"]),
    "what is no array": ("int64", {"a": 1}, ["x must be int64, is object", "x must be of rank 2, is of rank 0"]),
    "what refuses": ("int64", Refusing(), ["x is no array: it is on another device"]),
    "a list of an integer type": ("int32", [[1, 2]], []),
    "a list of whole floats": ("int32", [[1.0, 2.0]], []),
    "a list of floats outside": ("int32", [[1.0, 99.0]], ["x[0, 1] = 99: must be -9 <= x < 9"]),
    "a list of fractions": ("int32", [[1.5, 2.0]], ["x must be int32, has fractions"]),
    "a list with infinity": ("int32", [[1.0, float("inf")]], ["x must be int32, has fractions"]),
    "a list beyond the type": ("uint8", [[1, 256]], ["x[0, 1] = 256: must be uint8, which is 0 to 255"]),
    "a list below the type": ("uint8", [[1, -1]], ["x[0, 1] = -1: must be uint8, which is 0 to 255"]),
    "a list beyond all": ("int64", [[1, 2**70]], ["x must be int64, is object"]),
    "a list of strings": ("int64", [["a", "b"]], ["x must be int64, is str32"]),
    "a list of bools": ("int64", [[True, False]], ["x must be int64, is bool"]),
    "a list of numbers for bools": ("bool", [[1, 0]], ["x must be bool, is int64"]),
    "a list of integers for floats": ("float16", [[1, 2]], []),
    "a list of strings for floats": ("float16", [["a", "b"]], ["x must be float16, is str32"]),
    "an empty list": ("int64", [], ["x must be of rank 2, is of rank 1"]),
    "empty rows": ("int64", [[], []], []),
    "a list of arrays": ("int64", [np.array([1, 2]), np.array([3, 4])], []),
    "texts": ("string", [["a", "b"]], []),
    "texts as objects": ("string", np.array([["a", "b"]], object), []),
    "bytes for texts": ("string", np.array([[b"a", b"b"]]), ["x must be string, is bytes8"]),
    "numbers among texts": ("string", np.array([["a", 1]], object), ["x must be string, is object"]),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("case", VALUES)
def test_odd_values_are_violations(case: str) -> None:
    """As onnxruntime has it, which makes arrays of lists, and misreads bytes of another order and texts of bytes."""
    dtype, value, texts = VALUES[case]
    lines = () if dtype in ("string", "bool") else (elements("x", "-9", "8"),)
    contract = Contract("m", (spec("x", dtype, "n", "m"),), lines)
    assert [violation.text for violation in contract.check({"x": value})] == texts
    names: dict[str, Any] = {"__name__": "guard"}
    exec(guard_source(contract), names)
    assert names["check"]({"x": value}) == texts


ODD: dict[str, tuple[Feeds, list[str]]] = {
    "fine": ({}, []),
    "an optional input": ({"maybe": np.zeros(1, np.float32)}, []),
    "an end that is a dim": (
        {"ids": np.full((2, 3), 3, np.int32)},
        ["ids[0, 0] = 3: must be -seq <= ids < seq, seq = 3 (A, B and 1 more)"],
    ),
    "an unsigned type": (
        {"last": np.array([0, 255], np.uint8)}, ["last[1] = 255: must be last < seq, seq = 3 (E)"],
    ),
    "a column": (
        {"boxes": np.array([[99, 9, 99, 0], [0, 10, 0, 0]])}, ["boxes[1, 1] = 10: must be 0 <= boxes[..., 1] < 10 (F)"],
    ),
    "an end that needs an input that is not there": ({"boxes": np.array([[0, 0, 0, 99], [0, 0, 0, 0]])}, []),
    "and is": (
        {"boxes": np.array([[0, 0, 0, 99], [0, 0, 0, 0]]), "maybe": np.zeros(1, np.float32)},
        ["boxes[0, 3] = 99: must be boxes[..., 3] < n//m + 1, m = 1, n = 2 (F)"],
    ),
    "divided by 0": ({"maybe": np.zeros(0, np.float32)}, []),
    "a sum of dims": (
        {"mask": np.ones((2, 8), bool)},
        ["mask.1 = 8, past = 4, seq = 3: is known to work only for mask.1 == past + seq (J)"],
    ),
    "a dim that is a number": (
        {"cache": np.zeros((2, 3, 4, 1), np.float16)}, ["cache.1 = 3: must be 2"],
    ),
    "a dim that is solved for": (
        {"twice": np.zeros((4, 3), np.float32)}, ["twice.0 = 4: must be 2*k + 1"],
    ),
    "a sum with one that is solved for": ({"sum": np.zeros(5)}, ["sum.0 = 5: must be k + n, k = 2, n = 2"]),
    "a name that is no word": ({"twice": np.zeros((5, 6), np.float32)}, ["'a b' = 6: must be 'a b' <= 5 (N)"]),
    "none of several": (
        {"boxes": np.zeros((3, 4), np.int64), "sum": np.zeros(5)},
        ["batch = 2, n = 3: must be batch == n or batch == 1 or n == 1 (K)"],
    ),
    "a scalar": ({"one": np.array(2)}, ["one = 2: must be 1 <= one < 2 (H)"]),
    "an input of any rank": ({"any": np.array([[0, -4]], np.int8)}, ["any[0, 1] = -4: must be any >= -3 (G)"]),
    "texts": ({"text": np.array([1, 2])}, ["text must be string, is int64"]),
    "what is no tensor": ({"list": 3}, []),
    "of another rank, and nothing more": ({"boxes": np.zeros(4, np.int64)}, ["boxes must be of rank 2, is of rank 1"]),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_every_kind_of_line(case: str) -> None:
    changed, texts = ODD[case]
    feeds = {**good(), **changed}
    assert [violation.text for violation in MIXED.check(feeds, strict=True)] == texts
    sure = [text for text in texts if "is known to work only for" not in text]
    assert [violation.text for violation in MIXED.check(feeds)] == sure
    assert [violation.text for violation in MIXED.warnings(feeds)] == [text for text in texts if text not in sure]


def test_what_is_sufficient_only_is_a_warning() -> None:
    text = "mask.1 = 8, past = 4, seq = 3: is known to work only for mask.1 == past + seq (J)"
    feeds = {**good(), "mask": np.ones((2, 8), bool)}
    with pytest.warns(UserWarning) as caught:
        MIXED.require(feeds)
    assert [(str(each.message), Path(each.filename)) for each in caught] == [(text, Path(__file__))]
    with pytest.raises(ContractViolated) as refused:
        MIXED.require(feeds, strict=True)
    assert refused.value.violations == [text]
    declared = replace(MIXED, lines=(), declared=(dims("mask.1 == past + seq", tight=False),))
    assert [v.text for v in declared.check(feeds)] == ["mask.1 = 8, past = 4, seq = 3: must be mask.1 == past + seq"]


def test_no_type_of_numpy_is_taken_for_another() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    contract = Contract("m", (spec("x", "bfloat16", "n"), spec("y", "float8e4m3fn", "n")), ())
    x, y = np.zeros(2, ml_dtypes.bfloat16), np.zeros(2, ml_dtypes.float8_e4m3fn)
    assert contract.check({"x": x, "y": y}) == []
    assert [v.text for v in contract.check({"x": np.zeros(2, np.float16), "y": y})] == [
        "x must be bfloat16, is float16"
    ]


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if not dtype.is_numpy], ids=str)
def test_types_of_ml_dtypes(dtype: DType) -> None:
    pytest.importorskip("ml_dtypes")
    contract = Contract("m", (spec("x", str(dtype), "n"),), ())
    assert contract.check({"x": np.zeros(2, dtype.dtype)}) == []
    assert contract.check({"x": np.zeros(2, np.float32)})


def test_unsigned_64_bits() -> None:
    contract = Contract("m", (spec("x", "uint64", "n"),), (elements("x", "0", "9"),))
    found = contract.check({"x": np.array([3, 2**64 - 1], np.uint64)})
    assert [v.text for v in found] == [f"x[1] = {2**64 - 1}: must be 0 <= x < 10"]


@pytest.mark.parametrize("contract", [BERT, MIXED], ids=["bert", "mixed"])
def test_it_is_kept_as_json(contract: Contract, tmp_path: Path) -> None:
    text = json.dumps(contract.to_json())
    assert Contract.load(text) == contract
    (tmp_path / "c.json").write_text(f"\n {text}")
    assert Contract.load(tmp_path / "c.json") == contract


def test_the_json_is_what_the_page_says() -> None:
    data = BERT.to_json()
    assert data["schema"] == 2
    assert data["model"]["inputs"][0] == {"name": "ids", "dtype": "int64", "shape": ["batch", "seq"], "optional": False}
    ids, _, seq = data["lines"]
    assert ids == {
        "kind": "elements", "input": "ids", "column": None, "lower": "-30522", "upper": "30521",
        "reads_all": True,
        "tight": True, "nodes": ["/emb/word/Gather"], "text": "-30522 <= ids < 30522", "reason": "",
    }  # fmt: skip
    assert seq == {
        "kind": "dims", "left": "seq", "relation": "<=", "right": "512", "tight": True, "nodes": ["/emb/Add_1"],
        "text": "seq <= 512", "reason": "",
    }  # fmt: skip
    several = MIXED.to_json()["lines"][9]
    assert several["kind"] == "any"
    assert several["any"][1] == {"left": "batch", "relation": "==", "right": "1"}


def model(**metadata: str) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
    )
    made = helper.make_model(graph)
    helper.set_model_props(made, metadata)
    return made


def test_it_is_found_in_a_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(**{"a": "b", KEY: json.dumps(BERT.to_json()), "c": "d" * 300}).SerializeToString())
    assert Contract.load(path) == BERT


def test_a_model_without_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(a="b").SerializeToString())
    with pytest.raises(UsageError, match=r"no contract, neither JSON nor a model with 'gather_infer\.contract'"):
        Contract.load(path)
    path.write_bytes(model(a="b" * 1000).SerializeToString()[:-100])
    with pytest.raises(UsageError, match="neither a contract nor a model: a field runs past the end"):
        Contract.load(path)
    path.write_bytes(b"\x0f\xff\xff")
    with pytest.raises(UsageError, match="neither a contract nor a model"):
        Contract.load(path)
    with pytest.raises(ModelReadError, match="No such file"):
        Contract.load(tmp_path / "none.json")


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    # id: (change of the JSON, what is said)
    "another schema": ({"schema": 1}, "a contract of schema 1 cannot be read, only of schema 2"),
    "no model": ({"model": None}, "not a contract of schema 2"),
    "a line of another kind": ({"lines": [{"kind": "x"}]}, "no lines of the kind 'x'"),
    "a line without ends": ({"lines": [{"kind": "elements", "input": "ids", "column": None}]}, "KeyError"),
    "a dim that is none": (
        {"lines": [{**BERT.to_json()["lines"][2], "right": "5 +"}]}, "not a contract of schema 2: ",
    ),
    "another relation": (
        {"lines": [{**BERT.to_json()["lines"][2], "relation": "<"}]}, "a contract has no relation '<'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_contract_is_refused(case: str) -> None:
    change, text = BROKEN[case]
    with pytest.raises(UsageError, match=text):
        Contract.load(json.dumps({**BERT.to_json(), **change}))


def test_json_that_is_none() -> None:
    with pytest.raises(UsageError, match="not a contract"):
        Contract.load("{")
    with pytest.raises(UsageError, match="not a contract of schema 2: it has no member 'schema'"):
        Contract.load("{}")


def test_the_first_form_of_the_json_is_refused() -> None:
    first = {"version": 1, **{key: value for key, value in BERT.to_json().items() if key != "schema"}}
    with pytest.raises(UsageError, match="not a contract of schema 2: it has no member 'schema'"):
        Contract.load(json.dumps(first))


def test_checking_needs_numpy_only(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(BERT.to_json()))
    code = (
        "import sys, gather_infer, numpy; c = gather_infer.Contract.load('c.json'); x = numpy.zeros((1, 1), 'int64'); "
        "assert c.check({'ids': x, 'mask': x, 'types': x}) == []; "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('onnx', 'google', 'click', 'onnx_graphsurgeon')))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, text=True) == "[]\n"


def test_a_check_costs_little_more_than_min_and_max() -> None:
    """Of a batch of 8 x 512; processor time, the least of many turns."""
    ids = np.random.default_rng(0).integers(0, 2, (8, 512))
    feeds = {"ids": ids, "mask": ids, "types": ids}

    def least(way: Callable[[], object]) -> float:
        return min(timeit.repeat(way, timer=time.process_time, number=50, repeat=40))

    alone = least(lambda: [(array.min(), array.max()) for array in (ids, ids)])
    assert least(lambda: BERT.check(feeds)) < 5 * alone


def test_sizes_that_lines_do_not_know_are_left_alone() -> None:
    contract = replace(BERT, lines=(dims("other <= 3"), elements("ids", "0", "other")))
    assert contract.check(bert(ids=at((0, 0), 99))) == []
