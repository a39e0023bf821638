"""Seeded small models with one access by index whose class is known by how it was built."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from gather_infer.validate import Verdict, combined

onnxruntime.set_default_logger_severity(4)
I32, I64, F, U8 = TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.UINT8
NUMPY = {I32: np.int32, I64: np.int64, F: np.float32, U8: np.uint8}


def by_node(found: Iterable[Verdict]) -> list[Verdict]:
    """One verdict for each node, in order."""
    return [combined(list(group)) for _, group in itertools.groupby(found, key=lambda verdict: verdict.access.node)]


@dataclass
class Builder:
    """A graph in the making; `table` is gathered from along its axis of length `rows`."""

    choice: random.Random
    rows: int | str
    nodes: list[NodeProto] = field(default_factory=list)
    inputs: dict[str, tuple[int, list[int | str]]] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    added: bool = False

    def node(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> str:
        names = [f"v{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0]

    def constant(self, value: Any, dtype: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value, dtype)
        return name

    def input(self, name: str, dtype: int, shape: list[int | str]) -> str:
        self.inputs[name] = (dtype, shape)
        return name

    def length(self, tensor: str) -> str:
        """The first dim of a tensor, a scalar."""
        return self.node("Squeeze", self.node("Shape", tensor, start=0, end=1))

    def model(self, name: str, result: str, versions: Mapping[str, int], ir_version: int) -> ModelProto:
        """The model whose output is `result`, a float tensor."""
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info(n, t, s) for n, (t, s) in self.inputs.items()],
            [onnx.ValueInfoProto(name=result)],
            [numpy_helper.from_array(v, n) for n, v in self.constants.items()],
        )
        graph.output[0].type.tensor_type.elem_type = F
        opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


Source = Callable[[Builder], str]


def _number(b: Builder, low: int, high: int) -> int:
    return b.choice.randint(low, high)


def _ids(b: Builder, dtype: int = I64) -> str:
    return b.input("ids", dtype, ["S"])


def _argmax(b: Builder) -> str:
    scores = b.input("scores", F, ["B", b.rows])
    return b.node(b.choice.choice(["ArgMax", "ArgMin"]), scores, axis=1, keepdims=0)


def _below(b: Builder, rows: int) -> list[int]:
    return [_number(b, -rows, rows - 1) for _ in range(_number(b, 1, 3))]


def _constant(b: Builder) -> str:
    assert isinstance(b.rows, int)
    return b.constant(_below(b, b.rows))


def _range_of_rows(b: Builder) -> str:
    return b.node("Range", b.constant(0), b.length("table"), b.constant(1))


def _clipped(b: Builder) -> str:
    assert isinstance(b.rows, int)
    low = _number(b, -b.rows, b.rows - 1)
    return b.node("Clip", _ids(b), b.constant(low), b.constant(_number(b, low, b.rows - 1)))


def _modulo(b: Builder) -> str:
    assert isinstance(b.rows, int)
    return b.node("Mod", _ids(b), b.constant(_number(b, 1, b.rows)), fmod=b.choice.choice([0, 1]))


def _modulo_rows(b: Builder) -> str:
    return b.node("Mod", _ids(b), b.length("table"))


def _limited(b: Builder) -> str:
    assert isinstance(b.rows, int)
    low = b.node("Max", _ids(b), b.constant(_number(b, -b.rows, 0)))
    return b.node("Min", b.constant(_number(b, 0, b.rows - 1)), low)


def _wrapped_argmax(b: Builder) -> str:
    rows = b.length("table")
    below = b.node("Sub", _argmax(b), rows)
    more = b.node("Add", below, rows)
    if b.choice.random() < 0.5:
        return b.node("Where", b.node("Less", below, b.constant(0)), more, below)
    return b.node("Where", b.node("GreaterOrEqual", below, b.constant(0)), below, more)


def _non_zero(b: Builder) -> str:
    b.input("mask", F, ["B", b.rows])
    found = b.node("NonZero", "mask")
    return b.node("Gather", found, b.constant(b.choice.choice([1, -1])), axis=0)


def _top_k(b: Builder) -> str:
    scores = b.input("scores", F, ["B", b.rows])
    b.node("TopK", scores, b.constant([1]), outputs=2, axis=1)
    return b.node("Reshape", f"v{len(b.nodes) - 1}_1", b.constant([-1]))


def _outside(b: Builder) -> str:
    assert isinstance(b.rows, int)
    bad = b.choice.choice([b.rows, b.rows + 3, -b.rows - 1, -b.rows - 7])
    return b.constant([0, bad] if b.choice.random() < 0.5 else [bad])


def _one_past(b: Builder) -> str:
    return b.node("Unsqueeze", b.length("table"), b.constant([0]))


def _clipped_past(b: Builder) -> str:
    assert isinstance(b.rows, int)
    return b.node("Clip", _ids(b), b.constant(b.rows + _number(b, 0, 2)), "")


def _argmax_past(b: Builder) -> str:
    return b.node("Add", _argmax(b), b.length("table"))


def _any(b: Builder) -> str:
    return _ids(b, b.choice.choice([I64, I32]))


def _shifted(b: Builder) -> str:
    return b.node(b.choice.choice(["Add", "Sub"]), _ids(b), b.constant(_number(b, -4, 4)))


def _from_zero(b: Builder) -> str:
    return b.node("Max", _ids(b), b.constant(0))


def _bytes(b: Builder) -> str:
    return b.node("Cast", _ids(b, U8), to=I64)


def _wrapped(b: Builder) -> str:
    ids, rows = _ids(b), b.length("table")
    return b.node("Where", b.node("Less", ids, b.constant(0)), b.node("Add", ids, rows), ids)


def _positions(b: Builder) -> str:
    b.input("tokens", F, ["S"])
    return b.node("Range", b.constant(0), b.length("tokens"), b.constant(1))


def _positions_after(b: Builder) -> str:
    b.input("tokens", F, ["S"])
    b.input("past", F, ["P"])
    past = b.length("past")
    return b.node("Range", past, b.node("Add", past, b.length("tokens")), b.constant(1))


def _fixed(b: Builder) -> str:
    return b.constant([_number(b, -5, 5)])


def _size(b: Builder) -> str:
    b.input("tokens", F, ["S"])
    return b.node("Unsqueeze", b.length("tokens"), b.constant([0]))


def _squared(b: Builder) -> str:
    ids = _ids(b)
    return b.node("Mul", ids, ids)


def _argmax_of_another(b: Builder) -> str:
    return b.node("ArgMax", b.input("scores", F, ["B", "W"]), axis=1, keepdims=0)


def _count(b: Builder) -> str:
    b.input("mask", F, ["W"])
    return b.node("Unsqueeze", b.length(b.node("Transpose", b.node("NonZero", "mask"))), b.constant([0]))


def _floats(b: Builder) -> str:
    return b.node("Cast", b.input("ids", F, ["S"]), to=I64)


STATIC: Mapping[str, Sequence[Source]] = {
    "proved": (_constant, _clipped, _modulo, _modulo_rows, _limited),
    "violated": (_outside, _clipped_past),
    "conditional": (_positions, _positions_after, _bytes, _size),
    "undecided": (_squared, _count, _floats),
    "enough": (_argmax_of_another,),
}
EITHER: Mapping[str, Sequence[Source]] = {
    "proved": (_argmax, _range_of_rows, _wrapped_argmax, _non_zero, _top_k),
    "violated": (_one_past, _argmax_past),
    "conditional": (_any, _shifted, _from_zero, _wrapped),
    "undecided": (_squared,),
    "enough": (_argmax_of_another,),
}
SYMBOLIC: Mapping[str, Sequence[Source]] = {
    "proved": (), "violated": (), "conditional": (_fixed,), "undecided": (), "enough": ()
}  # fmt: skip


def _move(b: Builder, index: str, may_add: bool) -> str:
    """The same indices, moved by a random step or two; a vector again at the end.

    may_add   also with a 0 beside them, which is in bounds
    """
    for _ in range(b.choice.randint(0, 2)):
        match b.choice.randrange(8):
            case 0:
                index = b.node("Identity", index)
            case 1:
                index = b.node("Reshape", b.node("Unsqueeze", index, b.constant([0])), b.constant([-1]))
            case 2:
                twice = b.node("Expand", b.node("Unsqueeze", index, b.constant([0])), b.constant([2, 1]))
                index = b.node("Reshape", b.node("Transpose", twice), b.constant([-1]))
            case 3 if isinstance(b.rows, int) and may_add:
                b.added = True
                index = b.node("Concat", b.node("Cast", index, to=I64), b.constant([0]), axis=0)
            case 4:
                index = b.node("Slice", index, b.constant([0]), b.constant([2**62]))
            case 5:
                index = b.node("Cast", index, to=I64)
            case 6:
                index = b.node("Tile", index, b.constant([2]))
            case _:
                index = b.node("Squeeze", b.node("Unsqueeze", index, b.constant([1])), b.constant([1]))
    return index


def _access(b: Builder, index: str, operators: int) -> tuple[str, list[int | str]]:
    """One of the operators that gather along the axis of `rows` rows, and the shape of the table."""
    match b.choice.randrange(operators):
        case 0:
            return b.node("Gather", "table", index), [b.rows, 2]
        case 1:
            return b.node("Gather", b.node("Transpose", "table"), index, axis=-1), [b.rows, 2]
        case 2:
            return b.node("GatherElements", "table", index), [b.rows]
        case 3:
            return b.node("GatherND", "table", b.node("Unsqueeze", b.node("Cast", index, to=I64), b.constant([-1]))), [
                b.rows,
                2,
            ]
        case _:
            index = b.node("Cast", index, to=I64)
            zeros = b.node("Sub", index, index)
            pairs = [b.node("Unsqueeze", part, b.constant([-1])) for part in (index, zeros)]
            b.constants["first"] = np.array([0], np.int64)
            pairs[1] = b.node("Expand", b.node("Unsqueeze", "first", b.constant([0])), b.node("Shape", pairs[0]))
            return b.node("GatherND", "table", b.node("Concat", *pairs, axis=-1)), [b.rows, 2]


@dataclass(frozen=True)
class Sample:
    """A model, the class of its access and where it came from."""

    model: ModelProto
    kind: str
    source: str


def sample(seed: int) -> Sample:
    """The model of a seed."""
    choice = random.Random(seed)
    sizes: list[int | str] = [1, 2, 5, 9, "V"]
    rows = choice.choice(sizes)
    b = Builder(choice, rows)
    kind = choice.choice(sorted(STATIC))
    sources = [*EITHER[kind], *(STATIC if isinstance(rows, int) else SYMBOLIC)[kind]]
    source = choice.choice(sources)
    b.inputs["table"] = (F, [])
    # Beside a 0 nothing is demanded of positions after a past where there are none: their condition is not exact.
    index = _move(b, source(b), kind != "violated" and source is not _positions_after)
    # Of a component of pairs that has several sources only the bounds are known.
    operators = 4 if b.added and kind == "conditional" else 5
    result, shape = _access(b, index, operators)
    b.inputs["table"] = (F, shape)
    return Sample(b.model(f"seed_{seed}", result, {"": 17}, 8), kind, source.__name__.lstrip("_"))


class Runner:
    """Runs of one model on onnxruntime."""

    def __init__(self, model: ModelProto, seed: int) -> None:
        self.inputs = {i.name: i.type.tensor_type for i in model.graph.input}
        self.random = np.random.default_rng(seed)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session: onnxruntime.InferenceSession | None = None
        try:
            self.session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        except Exception as error:  # noqa: BLE001 - each failure of the runtime has a class of its own
            self.refusal = str(error)

    def symbols(self) -> Iterator[str]:
        for tensor in self.inputs.values():
            yield from (d.dim_param for d in tensor.shape.dim if d.dim_param)

    def passes(self, sizes: Mapping[str, int], elements: Mapping[str, int] | None = None) -> bool:
        """Whether a run succeeds; `elements` fills an input with one number, the others are random."""
        if self.session is None:
            return False
        feeds = {}
        for name, tensor in self.inputs.items():
            shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
            dtype: Any = NUMPY[tensor.elem_type]
            if elements is not None and name in elements:
                feeds[name] = np.full(shape, elements[name], dtype)
            elif np.issubdtype(dtype, np.floating):
                feeds[name] = self.random.normal(size=shape).astype(dtype)
            else:
                bounds = np.iinfo(dtype)
                wide = self.random.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
                feeds[name] = wide if self.random.random() < 0.5 else (wide % 16).astype(dtype)
        try:
            self.session.run(None, feeds)
        except Exception:  # noqa: BLE001 - as above; a run that fails is an answer
            return False
        return True
