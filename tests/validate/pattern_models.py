"""Small models of one index pattern each, with the verdict that it has to have, and runs on both sides of it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime

import gather_infer
from gather_infer.symbolic import evaluate
from gather_infer.validate import Condition, Elements, Verdict, VerdictKind, verdicts
from gather_infer.validate.condition import difference
from tests.validate.access_models import by_node

onnxruntime.set_default_logger_severity(4)

HEAD = '<ir_version: 9, opset_import: ["": 18]>'
NUMBERS = (
    "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () two = Constant <value_int = 2> () "
    "four = Constant <value_int = 4> () five = Constant <value_int = 5> () nine = Constant <value_int = 9> () "
    "f0 = Constant <value_float = 0.0> () s0 = Constant <value_ints = [0]> () s1 = Constant <value_ints = [1]> () "
    "s2 = Constant <value_ints = [2]> () flat = Constant <value_ints = [-1]> () "
    "pairs = Constant <value_ints = [-1, 2]> () "
)
KINDS: Mapping[int, type[Any]] = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_}
LEAST, MOST = -(2**63), 2**63 - 1
MIXED = 24
"""Runs of each binding whose inputs have other elements each."""


@dataclass(frozen=True)
class Pattern:
    """A graph whose last access is judged.

    condition  what the verdict is: "proved", "violated", "undecided", else its condition
    tight      whether it is needed as well; where it is not, some run of those that are tried shows why
    sizes      that are tried for each symbol
    numbers    that fill integer inputs; `given` has those of single inputs
    """

    inputs: str
    body: str
    condition: str
    tight: bool = True
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    numbers: tuple[int, ...] = (0,)
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def model(self) -> onnx.ModelProto:
        return onnx.parser.parse_model(f"{HEAD} g ({self.inputs}) => (y) {{ {NUMBERS} {self.body} }}")

    @property
    def kind(self) -> VerdictKind:
        return (
            VerdictKind(self.condition)
            if self.condition in ("proved", "violated", "undecided")
            else VerdictKind.CONDITIONAL
        )


def judged(pattern: Pattern) -> list[Verdict]:
    return by_node(verdicts(gather_infer.infer(pattern.model)))


def feeds_of(pattern: Pattern) -> Iterator[tuple[dict[str, int], dict[str, np.ndarray]]]:
    """Sizes and inputs: every number in every place of an input alone, then numbers drawn for each place."""
    names = sorted(pattern.sizes)
    choice = random.Random(7)
    inputs = pattern.model.graph.input
    for sizes in itertools.product(*(pattern.sizes[name] for name in names)):
        binding = dict(zip(names, sizes, strict=True))
        shapes = {
            i.name: [binding[d.dim_param] if d.dim_param else d.dim_value for d in i.type.tensor_type.shape.dim]
            for i in inputs
        }
        kinds = {i.name: KINDS[i.type.tensor_type.elem_type] for i in inputs}
        told = {name: pattern.given.get(name, pattern.numbers) for name, kind in kinds.items() if kind not in FREE}
        fills = itertools.product(*told.values())
        for fill in itertools.islice(fills, 400):
            one = dict(zip(told, fill, strict=True))
            yield binding, {n: _filled(shapes[n], kinds[n], [one[n]] if n in one else None, choice) for n in shapes}
        for _ in range(MIXED if told else 4):
            yield binding, {n: _filled(shapes[n], kinds[n], told.get(n), choice) for n in shapes}


FREE = (np.float32, np.bool_)


def _filled(shape: list[int], kind: type[Any], numbers: Any, choice: random.Random) -> np.ndarray:
    count = int(np.prod(shape))
    if kind is np.float32:
        return np.array([choice.random() for _ in range(count)], kind).reshape(shape)
    if kind is np.bool_:
        return np.array([choice.random() < 0.5 for _ in range(count)], kind).reshape(shape)
    limits = np.iinfo(kind)
    held = [n for n in numbers if limits.min <= n <= limits.max]
    return np.array([choice.choice(held) for _ in range(count)], kind).reshape(shape)


def holds(condition: Condition, sizes: Mapping[str, int], feeds: Mapping[str, np.ndarray]) -> bool:
    if condition.either:
        return any(holds(each, sizes, feeds) for each in condition.either)
    if not isinstance(condition.left, Elements):
        return evaluate(difference(condition), dict(sizes)) >= 0
    end, numbers = evaluate(condition.right, dict(sizes)), feeds[condition.left.input]
    column = condition.left.column
    if column is not None:
        numbers = numbers[..., column : column + 1]
    found = [int(n) for n in numbers.flat]
    return all(n >= end if condition.relation == ">=" else n < end for n in found)


class Runs:
    """The model of a pattern on onnxruntime, as it is."""

    def __init__(self, pattern: Pattern) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        model = pattern.model
        if not model.graph.output[0].type.HasField("tensor_type"):
            model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def result(self, feeds: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """The output; None where the run fails."""
        try:
            found: np.ndarray = self.session.run(None, dict(feeds))[0]
        except Exception:  # noqa: BLE001 - a run that fails is an answer
            return None
        return found
