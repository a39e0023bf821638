"""Contracts with every kind of line, and feeds that break them in every way."""

from __future__ import annotations

from typing import Any

import numpy as np

from gather_infer import Contract, parse_dim
from gather_infer.contract import ContractInput, DimsLine, ElementsLine, InputCondition, Line, Relation
from gather_infer.symbolic import Dim

Feeds = dict[str, Any]


def spec(name: str, dtype: str | None, *dims: int | str, optional: bool = False) -> ContractInput:
    return ContractInput(name, dtype, tuple(d if isinstance(d, int) else parse_dim(d) for d in dims), optional)


def dims(text: str, *nodes: str, tight: bool = True, where: tuple[InputCondition, ...] = ()) -> DimsLine:
    """A line of `a <= b or c == d`."""
    relations = []
    for part in text.split(" or "):
        left, relation, right = part.split(" ", 2) if part.count(" ") == 2 else _sides(part)
        relations.append(Relation(parse_dim(left), relation, parse_dim(right)))
    return DimsLine(tuple(relations), tight, nodes, where=where)


def _sides(part: str) -> tuple[str, str, str]:
    for relation in ("==", "<=", ">="):
        left, found, right = part.partition(f" {relation} ")
        if found:
            return left, relation, right
    raise ValueError(part)


def elements(name: str, low: str, high: str, *nodes: str, column: int | None = None) -> ElementsLine:
    ends: list[Dim | None] = [parse_dim(end) if end else None for end in (low, high)]
    return ElementsLine(name, column, ends[0], ends[1], True, True, nodes)


BERT = Contract(
    "bert.onnx",
    (
        spec("ids", "int64", "batch", "seq"),
        spec("mask", "int64", "batch", "seq"),
        spec("types", "int64", "batch", "seq"),
    ),
    (
        elements("ids", "-30522", "30521", "/emb/word/Gather"),
        elements("types", "0", "1", "/emb/type/Gather"),
        dims("seq <= 512", "/emb/Add_1"),
    ),
    (dims("seq >= 1", "/Reshape"),),
)
MIXED = Contract(
    'odd "name".onnx',
    (
        spec("ids", "int32", "batch", "seq"),
        spec("mask", "bool", "batch", "past + seq"),
        spec("cache", "float16", "batch", 2, "past", "half//2"),
        spec("last", "uint8", "batch"),
        spec("boxes", "int64", "n", 4),
        spec("twice", "float32", "2*k + 1", "'a b'"),
        spec("sum", "float64", "k + n"),
        spec("text", "string", "batch"),
        spec("maybe", "float32", "m", optional=True),
        ContractInput("any", "int8", None),
        ContractInput("list", None, None),
        spec("one", "int64"),
        spec("flag", "bool", 1),
    ),
    (
        elements("ids", "-seq", "seq - 1", "A", "B", "C"),
        elements("ids", "", "90", "D"),
        elements("last", "", "seq - 1", "E"),
        elements("boxes", "0", "9", "F", column=1),
        elements("boxes", "", "n//m", "F", column=3),
        elements("any", "-3", "", "G"),
        elements("one", "1", "1", "H"),
        dims("past + seq <= 12", "I"),
        dims("mask.1 == past + seq", "J", tight=False),
        dims("batch == n or batch == 1 or n == 1", "K"),
        dims("min(past, n) + 2 >= (seq + 1)//3", "L"),
        dims("n//m <= 4 or n*m == 6", "M"),
        dims("'a b' <= 5", "N"),
        dims("n <= 3", "O", where=(InputCondition("one", "==", 1),)),
        dims("n >= 2", "P", where=(InputCondition("one", "!=", 1), InputCondition("flag", "==", 1, True))),
        dims("seq >= 3", "Q", where=(InputCondition("one", "<", 1),)),
        dims("half == 3", "R", where=(InputCondition("one", ">=", 2),)),
        dims("batch <= n or seq >= 4", "S", where=(InputCondition("flag", "==", 0, True),)),
        dims("seq <= 3", "T", tight=False, where=(InputCondition("one", "==", 1),)),
    ),
    (dims("batch >= 1"),),
    (elements("ids", "-50", "50"), dims("seq <= 9")),
)

_SIZES = {"batch": 2, "seq": 3, "past": 4, "n": 2, "k": 2, "a b": 3, "m": 1, "half": 3}


def good() -> Feeds:
    return {
        "ids": np.zeros((2, 3), np.int32),
        "mask": np.ones((2, 7), bool),
        "cache": np.zeros((2, 2, 4, 1), np.float16),
        "last": np.zeros(2, np.uint8),
        "boxes": np.zeros((2, 4), np.int64),
        "twice": np.zeros((5, 3), np.float32),
        "sum": np.zeros(4, np.float64),
        "text": np.array(["a", "b"]),
        "any": np.zeros((1, 2, 3), np.int8),
        "list": [np.zeros(3)],
        "one": np.array(1),
        "flag": np.ones(1, bool),
    }


def random_feeds(numbers: np.random.Generator) -> Feeds:
    """Feeds for MIXED that are mostly right."""
    size = {
        name: int(numbers.choice([s, s, s, 1, 0, 5, 13])) if numbers.random() < 0.2 else s for name, s in _SIZES.items()
    }

    def array(dtype: str, *shape: int) -> Any:
        shape = tuple(max(0, n + int(numbers.choice([0] * 30 + [-1, 1]))) for n in shape)
        if dtype == "string":
            return np.full(shape, "x")
        drawn = numbers.integers(-1, 2, shape)
        wild = numbers.random(shape) < 0.03
        drawn = np.where(wild, numbers.integers(-60, 120, shape), drawn)
        if numbers.random() < 0.03:
            dtype = str(numbers.choice(["int64", "float32", "uint16"]))
        return drawn.astype(dtype)

    feeds = {
        "ids": array("int32", size["batch"], size["seq"]),
        "mask": array("bool", size["batch"], size["past"] + size["seq"]),
        "cache": array("float16", size["batch"], 2, size["past"], size["half"] // 2),
        "last": np.abs(array("uint8", size["batch"])),
        "boxes": array("int64", size["n"], 4),
        "twice": array("float32", 2 * size["k"] + 1, size["a b"]),
        "sum": array("float64", size["k"] + size["n"]),
        "text": array("string", size["batch"]),
        "any": array("int8", *numbers.integers(0, 3, numbers.integers(0, 3))),
        "list": [],
        "one": np.array(int(numbers.choice([1] * 20 + [0, 2, 2, 0, -1]))),
        "flag": array("bool", 1),
    }
    if numbers.random() < 0.5:
        feeds["maybe"] = array("float32", size["m"])
    if numbers.random() < 0.1:
        del feeds[str(numbers.choice(sorted(feeds)))]
    if numbers.random() < 0.05:
        feeds["other"] = np.zeros(3)
    return feeds


__all__ = ["BERT", "MIXED", "Feeds", "Line", "dims", "elements", "good", "random_feeds", "spec"]
