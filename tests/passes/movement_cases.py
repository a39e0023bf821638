"""Cases of the operators that move data, as models and as calls of their evaluators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, defs, helper

from gather_infer.ir.constant import Constant, from_integers
from gather_infer.passes.evaluate import Evaluation, evaluator_of

NEWEST = defs.onnx_opset_version()
OPSETS = (7, 9, 10, 11, 13, 14, 15, 18, NEWEST)
MIN, MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Data:
    """An input whose elements are moved."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A node.

    inputs      Data, a constant that steers the node (a list is int64), or None for an input that is left out
    since       the first opset with this form, until the last
    """

    op: str
    inputs: Sequence[Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    since: int = 7
    until: int = NEWEST
    outputs: int = 1

    @property
    def opsets(self) -> list[int]:
        return [v for v in OPSETS if self.since <= v <= self.until]

    def constants(self, data: Callable[[tuple[int, ...], int], Constant]) -> list[Constant | None]:
        """The inputs, with `data(shape, number)` for those that are moved."""
        made: list[Constant | None] = []
        for number, given in enumerate(self.inputs):
            made.append(data(given.shape, number) if isinstance(given, Data) else steering(given))
        return made

    def node(self) -> Any:
        names = ["" if given is None else f"in{i}" for i, given in enumerate(self.inputs)]
        return helper.make_node(self.op, names, [f"out{i}" for i in range(self.outputs)], **self.attributes)

    def model(self, constants: Sequence[Constant | None], opset: int, *, fed: bool = False) -> ModelProto:
        """The node alone; its inputs are initializers unless they are `fed`."""
        node = self.node()
        given = [(name, constant) for name, constant in zip(node.input, constants, strict=True) if constant is not None]
        data_type = given[0][1].data_type if self.op not in ("Shape", "Size") else TensorProto.INT64
        if self.op == "ConstantOfShape":
            data_type = self.attributes["value"].data_type if self.attributes else TensorProto.FLOAT
        if self.op == "Where":
            data_type = given[1][1].data_type
        graph = helper.make_graph(
            [node], "g",
            [helper.make_tensor_value_info(n, c.data_type, c.bits.shape) for n, c in given] if fed else [],
            [helper.make_tensor_value_info(name, data_type, None) for name in node.output],
            [] if fed else [constant.to_tensor(name) for name, constant in given],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset < 24 else 13)

    def evaluate(self, constants: Sequence[Constant | None], opset: int) -> list[Constant] | None:
        evaluator = evaluator_of("", self.op, opset)
        assert evaluator is not None
        return evaluator(Evaluation(self.node(), constants, opset))


def steering(given: Any) -> Constant | None:
    """A constant of integers or booleans."""
    if given is None or isinstance(given, Constant):
        return given
    array = np.array(given, dtype=None if isinstance(given, np.ndarray) or np.size(given) else np.int64)
    data_type = {"b": TensorProto.BOOL, "i": TensorProto.INT64}[array.dtype.kind]
    return from_integers(data_type, array.astype(object))


def int32(values: Any) -> Constant:
    return from_integers(TensorProto.INT32, np.array(values, dtype=object))


def ids(shape: tuple[int, ...], number: int, data_type: int = TensorProto.INT64) -> Constant:
    """Elements that are all different, and not 0, also between inputs of one node; below 2**11 for small shapes."""
    size = int(np.prod(shape))
    numbers = np.arange(1, size + 1) + 200 * number
    if data_type == TensorProto.INT64:
        return Constant(data_type, numbers.astype("<i8").view("<u8").reshape(shape))
    return Constant(data_type, numbers.astype("<f4").view("<u4").reshape(shape))


def as_array(constant: Constant) -> npt.NDArray[Any]:
    """For a runtime: int64, float32, bool and int32 only."""
    return np.array(constant.plain, order="C").view(_NUMPY[constant.data_type])


_NUMPY: dict[int, str] = {
    TensorProto.INT64: "<i8", TensorProto.INT32: "<i4", TensorProto.FLOAT: "<f4", TensorProto.BOOL: "?",
}  # fmt: skip

A, B, C = Data((2, 3, 4)), Data((3, 1, 2)), Data((5,))
ZERO, ONE, SCALAR = Data((2, 0, 3)), Data((1,)), Data(())
IMAGE = Data((2, 8, 2, 3))

CASES: dict[str, Case] = {
    "identity": Case("Identity", [A]),
    "identity, scalar": Case("Identity", [SCALAR]),
    "identity, empty": Case("Identity", [ZERO]),
    "reshape": Case("Reshape", [A, [4, 6]]),
    "reshape, infer and copy": Case("Reshape", [A, [0, -1]]),
    "reshape, to a scalar": Case("Reshape", [ONE, []]),
    "reshape, empty": Case("Reshape", [ZERO, [0, 0, 7]]),
    "reshape, allowzero": Case("Reshape", [ZERO, [3, 0, 7]], {"allowzero": 1}, since=14),
    "reshape, allowzero infers": Case("Reshape", [A, [-1, 3]], {"allowzero": 1}, since=14),
    "flatten": Case("Flatten", [A]),
    "flatten at 0": Case("Flatten", [A], {"axis": 0}),
    "flatten at the rank": Case("Flatten", [A], {"axis": 3}),
    "flatten, negative": Case("Flatten", [A], {"axis": -1}, since=11),
    "flatten, empty": Case("Flatten", [ZERO], {"axis": 2}),
    "squeeze all": Case("Squeeze", [Data((1, 3, 1, 2))]),
    "squeeze, attribute": Case("Squeeze", [Data((1, 3, 1, 2))], {"axes": [2]}, until=11),
    "squeeze, negative attribute": Case("Squeeze", [Data((1, 3, 1))], {"axes": [-1]}, since=11, until=11),
    "squeeze": Case("Squeeze", [Data((1, 3, 1, 2)), [-2, 0]], since=13),
    "squeeze, empty": Case("Squeeze", [Data((1, 0)), [0]], since=13),
    "unsqueeze, attribute": Case("Unsqueeze", [A], {"axes": [0, 4]}, until=11),
    "unsqueeze, negative attribute": Case("Unsqueeze", [A], {"axes": [-1]}, since=11, until=11),
    "unsqueeze": Case("Unsqueeze", [A, [-1, 1]], since=13),
    "unsqueeze a scalar": Case("Unsqueeze", [SCALAR, [0]], since=13),
    "unsqueeze, empty": Case("Unsqueeze", [ZERO, [0]], since=13),
    "transpose": Case("Transpose", [A]),
    "transpose, perm": Case("Transpose", [A], {"perm": [1, 2, 0]}),
    "transpose a scalar": Case("Transpose", [SCALAR]),
    "transpose, empty": Case("Transpose", [ZERO], {"perm": [1, 0, 2]}),
    "concat": Case("Concat", [A, Data((2, 1, 4)), Data((2, 0, 4))], {"axis": 1}),
    "concat, negative": Case("Concat", [A, A], {"axis": -1}, since=11),
    "concat one": Case("Concat", [A], {"axis": 0}),
    "concat, all empty": Case("Concat", [ZERO, ZERO], {"axis": 0}),
    "slice, attributes": Case("Slice", [A], {"starts": [1, 0], "ends": [3, -1], "axes": [1, 2]}, until=9),
    "slice, attributes without axes": Case("Slice", [A], {"starts": [0, -2], "ends": [1, 2**31 - 1]}, until=9),
    "slice": Case("Slice", [A, [1, 0], [3, -1], [1, 2]], since=10),
    "slice, steps": Case("Slice", [C, [0], [5], [0], [2]], since=10),
    "slice backward": Case("Slice", [C, [-1], [-6], [0], [-1]], since=10),
    "slice backward to the front": Case("Slice", [C, [10], [MIN], [0], [-2]], since=10),
    "slice backward, far step": Case("Slice", [C, [3], [-100], [0], [-(2**40)]], since=10),
    "slice, all of it": Case("Slice", [C, [MIN], [MAX], [0], [1]], since=10),
    "slice, far step": Case("Slice", [C, [1], [MAX], [0], [MAX]], since=10),
    "slice, int32": Case("Slice", [A, int32([-2]), int32([2**31 - 1]), int32([1])], since=10),
    "slice, negative axis": Case("Slice", [A, [1], [100], [-1], [2]], since=11),
    "slice, nothing": Case("Slice", [A, [3], [1], [2]], since=10),
    "slice, past the end": Case("Slice", [A, [9], [12], [2]], since=10),
    "slice of nothing": Case("Slice", [ZERO, [0], [5], [1]], since=10),
    "slice of nothing backward": Case("Slice", [ZERO, [0], [-5], [1], [-1]], since=10),
    "slice, no axes": Case("Slice", [A, [], [], []], since=10),
    "split": Case("Split", [Data((2, 6))], {"axis": 1}, until=15, outputs=3),
    "split, attribute": Case("Split", [Data((5, 2))], {"split": [1, 4]}, until=11, outputs=2),
    "split, negative": Case("Split", [A], {"axis": -1}, since=11, until=15, outputs=2),
    "split, lengths": Case("Split", [Data((5, 2)), [1, 0, 4]], since=13, outputs=3),
    "split, num_outputs": Case("Split", [Data((2, 7))], {"axis": -1, "num_outputs": 3}, since=18, outputs=3),
    "split, even num_outputs": Case("Split", [Data((6,))], {"num_outputs": 2}, since=18, outputs=2),
    "split nothing": Case("Split", [ZERO, [0, 0]], {"axis": 1}, since=13, outputs=2),
    "expand": Case("Expand", [B, [2, 1, 4, 1]], since=8),
    "expand a scalar": Case("Expand", [SCALAR, [2, 3]], since=8),
    "expand to nothing": Case("Expand", [ONE, [0]], since=8),
    "expand by less": Case("Expand", [A, [4]], since=8),
    "expand by no shape": Case("Expand", [A, []], since=8),
    "tile": Case("Tile", [A, [1, 2, 3]]),
    "tile no times": Case("Tile", [A, [1, 0, 3]]),
    "tile nothing": Case("Tile", [ZERO, [2, 3, 1]]),
    "pad, attribute": Case("Pad", [Data((2, 3))], {"pads": [1, 0, 0, 2]}, until=10),
    "pad, value attribute": Case("Pad", [Data((2, 3))], {"pads": [1, -1, 0, 2], "value": 3.0}, until=10),
    "pad, reflect attribute": Case("Pad", [Data((2, 3))], {"pads": [1, 2, 0, 1], "mode": "reflect"}, until=10),
    "pad": Case("Pad", [Data((2, 3)), [1, 0, 0, 2]], since=11),
    "pad, value": Case("Pad", [Data((2, 3)), [1, 0, 0, 2], SCALAR], since=11),
    "pad, cut": Case("Pad", [Data((4, 3)), [-1, 0, -2, 2]], since=11),
    "pad and cut": Case("Pad", [Data((4,)), [-2, 1], SCALAR], since=11),
    "pad nothing": Case("Pad", [ZERO, [0, 1, 0, 0, 1, 0]], since=11),
    "pad, reflect": Case("Pad", [Data((3, 4)), [2, 1, 1, 3]], {"mode": "reflect"}, since=11),
    "pad, edge": Case("Pad", [Data((3, 4)), [2, 5, 1, 0]], {"mode": "edge"}, since=11),
    "pad, edge and cut": Case("Pad", [Data((3, 4)), [2, -1, 1, -1]], {"mode": "edge"}, since=11),
    "pad, wrap": Case("Pad", [Data((3, 4)), [3, 1, 1, 2]], {"mode": "wrap"}, since=19),
    "pad, axes": Case("Pad", [A, [1, 2, 0, 1], None, [2, 0]], since=18),
    "pad, negative axes": Case("Pad", [A, [1, 1], SCALAR, int32([-1])], since=18),
    "shape": Case("Shape", [A]),
    "shape of a scalar": Case("Shape", [SCALAR]),
    "shape, part": Case("Shape", [A], {"start": 1}, since=15),
    "shape, negative": Case("Shape", [A], {"start": -2, "end": -1}, since=15),
    "shape, clamped": Case("Shape", [A], {"start": -9, "end": 9}, since=15),
    "shape, nothing": Case("Shape", [A], {"start": 2, "end": 1}, since=15),
    "size": Case("Size", [A]),
    "size of nothing": Case("Size", [ZERO]),
    "constant of shape": Case("ConstantOfShape", [[2, 3]], since=9),
    "constant of no shape": Case("ConstantOfShape", [[]], since=9),
    "constant of shape, value": Case(
        "ConstantOfShape", [[2, 0]], {"value": helper.make_tensor("v", TensorProto.INT64, [1], [7])}, since=9
    ),
    "scatter": Case("Scatter", [A, [[[0, 2, 1, 1]]], Data((1, 1, 4))], {"axis": 1}, since=9, until=10),
    "scatter elements": Case("ScatterElements", [Data((3, 3)), [[1, 0, 2], [0, 2, 1]], Data((2, 3))], since=11),
    "scatter elements, negative": Case(
        "ScatterElements", [Data((2, 4)), int32([[1, -1]]), Data((1, 2))], {"axis": -1}, since=11
    ),
    "scatter no elements": Case("ScatterElements", [Data((3,)), [], Data((0,))], since=11),
    "scatter nd": Case("ScatterND", [Data((6,)), [[4], [3], [-6]], Data((3,))], since=11),
    "scatter nd, slices": Case("ScatterND", [A, [[1], [0]], Data((2, 3, 4))], since=11),
    "scatter nd, tuples": Case("ScatterND", [A, [[[1, -1], [0, 2]]], Data((1, 2, 4))], since=11),
    "depth to space": Case("DepthToSpace", [IMAGE], {"blocksize": 2}),
    "depth to space, DCR": Case("DepthToSpace", [IMAGE], {"blocksize": 2, "mode": "DCR"}, since=11),
    "depth to space, CRD": Case("DepthToSpace", [IMAGE], {"blocksize": 2, "mode": "CRD"}, since=11),
    "space to depth": Case("SpaceToDepth", [Data((2, 2, 4, 6))], {"blocksize": 2}),
    "space to depth, CRD": Case("SpaceToDepth", [Data((2, 2, 4, 6))], {"blocksize": 2, "mode": "CRD"}, since=28),
    "reverse sequence": Case("ReverseSequence", [Data((4, 3)), [4, 0, 2]], since=10),
    "reverse sequence, batch first": Case(
        "ReverseSequence", [A, [1, 3]], {"batch_axis": 0, "time_axis": 1}, since=10
    ),
    "trilu": Case("Trilu", [A], since=14),
    "trilu, lower": Case("Trilu", [A, -1], {"upper": 0}, since=14),
    "trilu, upper": Case("Trilu", [A, 2], since=14),
    "trilu, far": Case("Trilu", [A, -50], since=14),
    "trilu of nothing": Case("Trilu", [ZERO], since=14),
    "compress": Case("Compress", [A, [False, True, True]], {"axis": 1}, since=9),
    "compress, short condition": Case("Compress", [A, [False, True]], {"axis": -1}, since=11),
    "compress, flattened": Case("Compress", [A, [True, False, False, True, True]], since=9),
    "compress, nothing": Case("Compress", [A, [False, False]], {"axis": 0}, since=9),
    "where": Case("Where", [[[True], [False]], Data((2, 3)), Data((3,))], since=9),
    "where, scalar": Case("Where", [True, SCALAR, Data((2,))], since=9),
    "where, nothing": Case("Where", [np.zeros((0, 1), bool), ONE, Data((3,))], since=9),
    "eye like": Case("EyeLike", [Data((3, 4))], {"k": 1}, since=9),
    "eye like, below": Case("EyeLike", [Data((3, 2))], {"k": -2}, since=9),
    "eye like, outside": Case("EyeLike", [Data((3, 2))], {"k": 7}, since=9),
}  # fmt: skip

FAULTS: dict[str, Case] = {
    "reshape, other count": Case("Reshape", [A, [5, 5]]),
    "reshape, not divided": Case("Reshape", [A, [-1, 5]]),
    "reshape, two open": Case("Reshape", [A, [-1, -1]]),
    "reshape, no axis to copy": Case("Reshape", [A, [2, 3, 4, 0]]),
    "reshape, infer beside 0": Case("Reshape", [ZERO, [0, 0, -1]]),
    "flatten past the rank": Case("Flatten", [A], {"axis": 4}),
    "squeeze 3": Case("Squeeze", [A, [1]], since=13),
    "squeeze past the rank": Case("Squeeze", [Data((1,)), [1]], since=13),
    "unsqueeze past the rank": Case("Unsqueeze", [A, [4]], since=13),
    "unsqueeze twice": Case("Unsqueeze", [A, [1, 1]], since=13),
    "transpose by no permutation": Case("Transpose", [A], {"perm": [0, 0, 1]}),
    "transpose by a short one": Case("Transpose", [A], {"perm": [1, 0]}),
    "concat of ranks": Case("Concat", [A, Data((2, 3))], {"axis": 0}),
    "concat of dims": Case("Concat", [A, Data((2, 2, 4))], {"axis": 0}),
    "concat past the rank": Case("Concat", [A, A], {"axis": 3}),
    "slice, lengths": Case("Slice", [A, [0], [1, 2]], since=10),
    "slice, step 0": Case("Slice", [A, [0], [1], [0], [0]], since=10),
    "slice past the rank": Case("Slice", [A, [0], [1], [3]], since=10),
    "split unevenly": Case("Split", [C], until=15, outputs=2),
    "split, other sum": Case("Split", [C, [2, 2]], since=13, outputs=2),
    "split, negative length": Case("Split", [C, [6, -1]], since=13, outputs=2),
    "split, both": Case("Split", [C, [2, 3]], {"num_outputs": 2}, since=18, outputs=2),
    "expand, other dims": Case("Expand", [A, [2]], since=8),
    "tile, short": Case("Tile", [A, [1, 2]]),
    "tile, negative": Case("Tile", [A, [1, -2, 1]]),
    "pad, short": Case("Pad", [A, [1, 2]], since=11),
    "pad, cut too much": Case("Pad", [C, [-3, -3]], since=11),
    "pad past the rank": Case("Pad", [C, [1, 1], None, [1]], since=18),
    "constant of negative shape": Case("ConstantOfShape", [[2, -1]], since=9),
    "scatter elements past the end": Case("ScatterElements", [C, [5], ONE], since=11),
    "scatter elements, shapes": Case("ScatterElements", [C, [1, 2], ONE], since=11),
    "scatter nd past the end": Case("ScatterND", [C, [[-6]], ONE], since=11),
    "scatter nd, long tuple": Case("ScatterND", [C, [[1, 1]], ONE], since=11),
    "scatter nd, updates": Case("ScatterND", [A, [[1]], Data((1, 3))], since=11),
    "depth to space, channels": Case("DepthToSpace", [IMAGE], {"blocksize": 3}),
    "depth to space, rank": Case("DepthToSpace", [A], {"blocksize": 1}),
    "space to depth, height": Case("SpaceToDepth", [IMAGE], {"blocksize": 3}),
    "reverse sequence, axes": Case("ReverseSequence", [A, [1, 1]], {"batch_axis": 0}, since=10),
    "reverse sequence, lengths": Case("ReverseSequence", [A, [1, 1]], since=10),
    "trilu of a vector": Case("Trilu", [C], since=14),
    "compress past the rank": Case("Compress", [A, [True]], {"axis": 3}, since=9),
    "where, other dims": Case("Where", [[True, False], C, C], since=9),
    "eye like a vector": Case("EyeLike", [C], since=9),
}  # fmt: skip

OPEN: dict[str, Case] = {
    # what versions or runtimes differ in, or leave open
    "reshape by a scalar": Case("Reshape", [ONE, 1]),
    "reshape, allowzero infers beside 0": Case("Reshape", [ZERO, [0, -1]], {"allowzero": 1}, since=14),
    "squeeze no axes": Case("Squeeze", [Data((1, 2)), []], since=13),
    "squeeze twice": Case("Squeeze", [Data((1, 2)), [0, -2]], since=13),
    "squeeze, negative too early": Case("Squeeze", [Data((2, 1))], {"axes": [-1]}, until=10),
    "unsqueeze, negative too early": Case("Unsqueeze", [A], {"axes": [-1]}, until=10),
    "concat, negative too early": Case("Concat", [A, A], {"axis": -1}, until=10),
    "slice, axis twice": Case("Slice", [A, [0, 0], [1, 1], [1, 1]], since=10),
    "slice backward from INT_MAX": Case("Slice", [C, [4], [MAX], [0], [-1]], since=10),
    "slice backward from before the start": Case("Slice", [C, [-6], [-10], [0], [-1]], since=10),
    "split into more than there are": Case("Split", [ONE], {"num_outputs": 2}, since=18, outputs=2),
    "split by nothing": Case("Split", [Data((4,))], since=18, outputs=2),
    "pad, reflect too far": Case("Pad", [C, [5, 0]], {"mode": "reflect"}, since=11),
    "pad, reflect and cut": Case("Pad", [C, [2, -1]], {"mode": "reflect"}, since=11),
    "pad, edge of nothing": Case("Pad", [Data((0,)), [1, 0]], {"mode": "edge"}, since=11),
    "pad, cut more than there is": Case("Pad", [C, [9, -6]], since=11),
    "pad, value of rank 2": Case("Pad", [C, [1, 1], Data((1, 1))], since=11),
    "scatter elements twice": Case("ScatterElements", [C, [1, -4], Data((2,))], since=11),
    "scatter elements, reduction": Case("ScatterElements", [C, [1], ONE], {"reduction": "add"}, since=16),
    "scatter nd twice": Case("ScatterND", [C, [[1], [1]], Data((2,))], since=11),
    "scatter nd, empty tuples": Case("ScatterND", [C, np.zeros((2, 0), "<i8"), Data((2, 5))], since=11),
    "reverse sequence, too long": Case("ReverseSequence", [Data((2, 1)), [3]], since=10),
    "compress past the end": Case("Compress", [C, [True] * 6], since=9),
}  # fmt: skip
