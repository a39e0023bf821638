"""Seeded random models whose index is computed from inputs, sizes and numbers, with runs of them on onnxruntime."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
I64, I32, U8, I8, BOOL, F = (
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.UINT8,
    TensorProto.INT8,
    TensorProto.BOOL,
    TensorProto.FLOAT,
)
NUMPY: dict[int, type[Any]] = {I64: np.int64, I32: np.int32, U8: np.uint8, I8: np.int8, BOOL: np.bool_, F: np.float32}
NUMBERS = (-7, -3, -2, -1, 0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 9, 20, 128)
DIVISORS = (1, 2, 3, 4, 7, 20)
SIZES = (0, 1, 1, 2, 3, 5, 6, 8)


@dataclass(frozen=True)
class Vector:
    """A vector in the making; two of one length have the same `length`. A scalar has the length ""."""

    name: str
    dtype: int
    length: str


@dataclass
class Indices:
    """A graph in the making that computes an index for an axis of `rows` rows."""

    choice: random.Random
    rows: int | str
    nodes: list[NodeProto] = field(default_factory=list)
    inputs: dict[str, tuple[int, list[int | str]]] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def constant(self, value: Any, dtype: int = I64) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value).astype(NUMPY[dtype])
        return name

    def number(self, dtype: int) -> str:
        """A scalar: a number that the type holds, or a size."""
        if dtype in (I64, I32) and self.choice.random() < 0.3:
            size = self.size(self.choice.choice(["table", "table", "i"]))
            if self.choice.random() < 0.3:
                size = self.node(self.choice.choice(["Add", "Sub"]), size, self.constant(self.choice.choice(NUMBERS)))
            return size if dtype == I64 else self.node("Cast", size, to=I32)
        limits = np.iinfo(NUMPY[dtype])
        numbers = [n for n in NUMBERS if limits.min <= n <= limits.max]
        if self.choice.random() < 0.03:
            numbers = [int(limits.max), int(limits.min)]
        return self.constant(self.choice.choice(numbers), dtype)

    def size(self, tensor: str) -> str:
        """The first dim of an input, a scalar."""
        if tensor == "i":
            self.inputs.setdefault("i", (I64, ["S"]))
        return self.node("Squeeze", self.node("Shape", tensor, start=0, end=1))

    def source(self, dtype: int) -> Vector:
        match self.choice.randrange(9):
            case 8 if dtype == I64:
                first = self.number_of_input()
                end = self.node("Add", first, self.size(self.choice.choice(["table", "i"])))
                counted = self.node("Range", first, end, self.constant(self.choice.choice([1, 1, 2])))
                return Vector(counted, I64, counted)
            case 0 if dtype == I64:
                start = self.choice.choice([0, 0, 0, 1, -1])
                return Vector(
                    self.node("Range", self.constant(start), self.size("table"), self.constant(1)), I64, f"N-{start}"
                )
            case 1 if dtype == I64:
                return Vector(self.node("Range", self.constant(0), self.size("i"), self.constant(1)), I64, "S")
            case 2:
                numbers = [self.choice.choice([n for n in NUMBERS if n >= 0]) for _ in range(self.choice.randint(1, 3))]
                return Vector(self.constant(numbers, dtype), dtype, str(len(numbers)))
            case 3:
                return Vector(self.number(dtype), dtype, "")
            case 4:
                names: dict[int, str] = {I64: "k", I32: "l", U8: "u", I8: "b"}
                name = names[dtype]
                length: int | str = "T" if self.choice.random() < 0.7 else 2
            case _:
                names, length = {I64: "i", I32: "j", U8: "v", I8: "a"}, "S"
                name = names[dtype]
        found, shape = self.inputs.setdefault(name, (dtype, [length]))
        return Vector(name, found, str(shape[0]))

    def number_of_input(self) -> str:
        """A scalar that an input gives, as it is or changed."""
        self.inputs["z"] = (I64, [])
        match self.choice.randrange(4):
            case 0:
                return self.node("Sub", self.constant(self.choice.choice(NUMBERS)), "z")
            case 1:
                return self.node("Add", "z", self.constant(self.choice.choice(NUMBERS)))
            case _:
                return "z"

    def mask(self, like: Vector) -> str:
        """Bools for the elements of a vector: an input, a comparison, or two of these joined."""
        if self.choice.random() < 0.3:
            return self.node(self.choice.choice(["And", "And", "Or"]), self.test(like), self.test(like))
        return self.test(like)

    def test(self, like: Vector) -> str:
        if self.choice.random() < 0.25:
            if like.length in ("S", "T", "2"):
                shape: list[int | str] = [int(like.length) if like.length == "2" else like.length]
            else:
                shape = []
            name = f"p{like.length}" if shape else "p"
            self.inputs[name] = (BOOL, shape)
            return name
        op = self.choice.choice(["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
        operands = [like.name, self.number(like.dtype)]
        if self.choice.random() < 0.2:
            operands.reverse()
        found = self.node(op, *operands)
        return self.node("Not", found) if self.choice.random() < 0.2 else found

    def other(self, like: Vector, made: list[Vector]) -> str:
        """Something to combine elements with: one number, or a vector of the same length."""
        fitting = [m.name for m in made if m.dtype == like.dtype and (m.length == like.length or m.length == "")]
        return self.choice.choice(fitting) if self.choice.random() < 0.45 else self.number(like.dtype)

    def step(self, made: list[Vector]) -> Vector:
        x = self.choice.choice(made[-3:])
        dtype, length = x.dtype, x.length
        match self.choice.randrange(18):
            case 15:
                return Vector(
                    self.node("Div", x.name, self.constant(self.choice.choice(DIVISORS), dtype)), dtype, length
                )
            case 16 if dtype != U8:
                return Vector(self.node("Neg", x.name), dtype, length)
            case 17:
                factor = self.constant(self.choice.choice(NUMBERS if dtype != U8 else DIVISORS), dtype)
                op, given = self.choice.choice([("Mul", [x.name, factor]), ("Sub", [factor, x.name])])
                return Vector(self.node(op, *given), dtype, length)
            case 0 | 1 | 2 | 3:
                mask = self.mask(x if self.choice.random() < 0.5 else self.like(x, made))
                branches = [x.name, self.other(x, made)]
                if self.choice.random() < 0.5:
                    branches.reverse()
                return Vector(self.node("Where", mask, *branches), dtype, length)
            case 4:
                low, high = self.number(dtype), self.number(dtype)
                given = [low, high] if self.choice.random() < 0.7 else self.choice.choice([[low], ["", high]])
                return Vector(self.node("Clip", x.name, *given), dtype, length)
            case 5 | 6:
                operands = [x.name, self.other(x, made)]
                if self.choice.random() < 0.3:
                    operands.reverse()
                return Vector(self.node(self.choice.choice(["Min", "Max"]), *operands), dtype, length)
            case 7 | 8:
                operands = [x.name, self.other(x, made)]
                if self.choice.random() < 0.2:
                    operands.reverse()
                return Vector(
                    self.node(self.choice.choice(["Add", "Add", "Sub", "Sub", "Mul"]), *operands), dtype, length
                )
            case 9:
                fmod = self.choice.choice([0, 0, 1])
                return Vector(self.node("Mod", x.name, self.other(x, made), fmod=fmod), dtype, length)
            case 10 | 11 if length:
                second = self.choice.choice([m for m in made if m.dtype == dtype and m.length])
                both = self.node("Concat", x.name, second.name, axis=0)
                return Vector(both, dtype, f"{length}+{second.length}")
            case 12:
                to = self.choice.choice([I64, I64, I32, U8, I8])
                return Vector(self.node("Cast", x.name, to=to), to, length)
            case 13 if length:
                match self.choice.randrange(3):
                    case 0:
                        part = self.node(
                            "Slice", x.name, self.constant([0]), self.constant([self.choice.randint(1, 3)])
                        )
                        return Vector(part, dtype, f"some of {length}, {part}")
                    case 1:
                        name = self.node(
                            "Reshape", self.node("Unsqueeze", x.name, self.constant([0])), self.constant([-1])
                        )
                        return Vector(name, dtype, length)
                    case _:
                        twice = self.node("Tile", x.name, self.constant([self.choice.choice([2, 2, 0])]))
                        return Vector(twice, dtype, f"{twice} times {length}")
            case 14 if not length:
                vector = self.node("Expand", x.name, self.node("Shape", "table", start=0, end=1))
                return Vector(vector, dtype, "N-0")
        return self.source(dtype)

    def like(self, x: Vector, made: list[Vector]) -> Vector:
        return self.choice.choice([m for m in made if m.length == x.length])

    def index(self) -> Vector:
        """A vector of int64 or int32 numbers."""
        made = [self.source(self.choice.choice([I64, I64, I64, I32, U8, I8]))]
        made.append(self.source(made[0].dtype))
        for _ in range(self.choice.randint(1, 6)):
            made.append(self.step(made))
        last = made[-1]
        if not last.length:
            last = Vector(self.node("Unsqueeze", last.name, self.constant([0])), last.dtype, "1")
        if last.dtype in (I64, I32) and self.choice.random() < 0.9:
            return last
        to = self.choice.choice([I64, I32])
        return Vector(self.node("Cast", last.name, to=to), to, last.length)


@dataclass(frozen=True)
class Sample:
    """A model with one access, and the one that gives its index as an output instead."""

    model: ModelProto
    index_model: ModelProto
    rows: tuple[int | str, ...]
    numbers: tuple[int, ...]


def sample(seed: int) -> Sample:
    """The models of a seed. The index is called `index`; the rows are those of each component of it."""
    choice = random.Random(seed)
    sizes: list[int | str] = [1, 2, 5, 6, 9, 128, "N", "N", "N"]
    rows = choice.choice(sizes)
    b = Indices(choice, rows)
    b.inputs["table"] = (F, [rows])
    index = b.index()
    components: tuple[int | str, ...] = (rows,)
    match choice.randrange(6):
        case 0 | 1:
            op, attributes, shape, final = "Gather", {"axis": 0}, [rows], index.name
        case 2:
            op, attributes, shape, final = "Gather", {"axis": -1}, [2, rows], index.name
        case 3:
            op, attributes, shape, final = "GatherElements", {}, [rows], index.name
        case 4:
            wide = b.node("Cast", index.name, to=I64)
            op, attributes, shape, final = "GatherND", {}, [rows, 2], b.node("Unsqueeze", wide, b.constant([-1]))
        case _:
            wide = b.node("Cast", index.name, to=I64)
            columns = [b.node("Unsqueeze", wide, b.constant([-1]))]
            second = b.node("Mod", wide, b.constant(choice.choice([3, 4, 5, -4])))
            if choice.random() < 0.5:
                second = b.node(
                    "Clip", wide, b.constant(choice.choice([-5, -4, 0, 1])), b.constant(choice.choice([2, 3]))
                )
            columns.insert(choice.randint(0, 1), b.node("Unsqueeze", second, b.constant([-1])))
            final = b.node("Concat", *columns, axis=-1)
            if choice.random() < 0.2:
                final = b.node("Reshape", final, b.constant([-1, 2]))
            elif choice.random() < 0.2:
                final = b.node("Reshape", b.node("Concat", wide, second, axis=0), b.constant([-1, 2]))
            op, attributes, shape = "GatherND", {}, [rows, 4]
            components = (rows, 4)
    if len(shape) > 1:
        b.inputs["data"] = (F, shape)
    data = "data" if len(shape) > 1 else "table"
    b.nodes.append(helper.make_node("Identity", [final], ["index"]))
    given: dict[str, Any] = dict(attributes)
    access = helper.make_node(op, [data, "index"], ["result"], **given)
    model = _model(seed, b, [*b.nodes, access], "result", F)
    if choice.random() < 0.2:
        inner = len(b.nodes) if choice.random() < 0.5 else choice.randint(0, len(b.nodes))
        model = _in_branch(seed, b, access, inner)
    kind = I64 if op == "GatherND" or index.dtype == I64 else I32
    numbers = {int(n) for c in b.constants.values() for n in c.flat if abs(int(n)) < 10**6}
    return Sample(model, _model(seed, b, b.nodes, "index", kind), components, tuple(sorted(numbers)))


def _model(
    seed: int,
    b: Indices,
    nodes: list[NodeProto],
    output: str,
    kind: int,
    more: Mapping[str, tuple[int, list[int | str]]] | None = None,
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        f"seed_{seed}",
        [helper.make_tensor_value_info(n, t, s) for n, (t, s) in {**b.inputs, **(more or {})}.items()],
        [onnx.ValueInfoProto(name=output)],
        [numpy_helper.from_array(v, n) for n, v in b.constants.items()],
    )
    graph.output[0].type.tensor_type.elem_type = kind
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _in_branch(seed: int, b: Indices, access: NodeProto, inner: int) -> ModelProto:
    """The access, and the nodes from `inner` on, in the branch of an If that is taken when `taken` is true."""
    outputs = [helper.make_tensor_value_info("result", F, None)]
    taken = helper.make_graph([*b.nodes[inner:], access], "taken", [], outputs)
    empty = helper.make_node("Constant", [], ["nothing"], value=numpy_helper.from_array(np.zeros(0, np.float32)))
    other = helper.make_graph([empty], "other", [], [helper.make_tensor_value_info("nothing", F, None)])
    branch = helper.make_node("If", ["taken"], ["final"], then_branch=taken, else_branch=other)
    return _model(seed, b, [*b.nodes[:inner], branch], "final", F, {"taken": (BOOL, [])})


@dataclass(frozen=True)
class Run:
    """One run: the sizes and the inputs, the index (None if computing it fails) and whether the access succeeds."""

    sizes: dict[str, int]
    feeds: dict[str, np.ndarray]
    index: np.ndarray | None
    passes: bool


def session(model: ModelProto) -> onnxruntime.InferenceSession | None:
    """The model on onnxruntime, as it is; None when it lacks an operator for a type, or a constant divisor is 0."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "modulo by zero" in str(error):
            return None
        raise


def runs(made: Sample, seed: int, count: int) -> Iterator[Run]:
    """Runs with random sizes, 0 among them, and elements near whatever limits there are; none on a type that lacks."""
    whole, part = session(made.model), session(made.index_model)
    if whole is None or part is None:
        return
    choice = random.Random(seed)
    for _ in range(count):
        sizes = {name: choice.choice(SIZES) for name in ("N", "S", "T")}
        feeds = dict(_feeds(made, sizes, choice))
        index = _run(part, {n: v for n, v in feeds.items() if n != "taken"})
        yield Run(sizes, feeds, index, _run(whole, feeds) is not None)


def _feeds(made: Sample, sizes: Mapping[str, int], choice: random.Random) -> Iterator[tuple[str, np.ndarray]]:
    rows = [sizes[r] if isinstance(r, str) else r for r in made.rows]
    for value in made.model.graph.input:
        tensor = value.type.tensor_type
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
        dtype: Any = np.dtype(NUMPY[tensor.elem_type])
        if value.name == "taken":
            yield value.name, np.asarray(True)
        elif dtype == np.bool_:
            kinds = choice.choice([[True], [False], [True, False]])
            yield value.name, np.array([choice.choice(kinds) for _ in range(int(np.prod(shape)))], bool).reshape(shape)
        elif dtype == np.float32:
            yield value.name, np.zeros(shape, np.float32)
        else:
            limits = np.iinfo(dtype)
            near = [limit + d for limit in (*rows, *(-r for r in rows), 0, *made.numbers) for d in (-1, 0, 1)]
            if choice.random() < 0.6:
                near = [n for n in near if -rows[0] <= n < rows[0]]
            elif choice.random() < 0.3:
                # Nor the least number: by -1 it cannot be divided, the process ends.
                near = [limits.min + 1, limits.max, limits.max - 1, limits.max // 2 + 1, 0]
                # Not from -2**32 to -2**31: onnxruntime 1.31 takes those for larger than -1 in Min, Max and Clip.
                near += [2**32 + 3, 3 - 2**33]
            near = [n for n in near if limits.min <= n <= limits.max] or [0]
            if choice.random() < 0.3:
                near = [choice.choice(near)]
            elements = [choice.choice(near) for _ in range(int(np.prod(shape)))]
            yield value.name, np.array(elements, dtype).reshape(shape)


def _run(runtime: onnxruntime.InferenceSession, feeds: Mapping[str, np.ndarray]) -> np.ndarray | None:
    try:
        return runtime.run(None, {i.name: feeds[i.name] for i in runtime.get_inputs()})[0]
    except Exception:  # noqa: BLE001 - as above; a run that fails is an answer
        return None
