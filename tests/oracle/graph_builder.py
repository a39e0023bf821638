"""Builds a random graph node by node: a node stays when onnxruntime runs it on the example feeds.

So most graphs are legal at most bindings, and nothing here has to know what the operators do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from gather_infer.symbolic import evaluate, free_symbols, parse_dim
from tests.oracle.runtime_faults import aborts_on_empty

Array = Any
"""A numpy array, or a list of them for a sequence."""

MAX_ELEMENTS = 6000
LOCAL = "local"

_errors = ort.capi.onnxruntime_pybind11_state
REFUSALS = (
    *(
        getattr(_errors, name)
        for name in ("Fail", "InvalidArgument", "InvalidGraph", "NotImplemented", "RuntimeException", "EPFail")
    ),
    RuntimeError,
    MemoryError,
)
ort.set_default_logger_severity(4)


def session(model: onnx.ModelProto, *, packs_weights: bool = True) -> ort.InferenceSession:
    """Raises one of REFUSALS. Kernels of packed weights round otherwise than those of computed ones."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if not packs_weights:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def type_of(name: str, value: Array, dims: Sequence[str] | None = None) -> ValueInfoProto:
    """A declaration with the element type alone; `dims` adds a shape of names."""
    if isinstance(value, list):
        kind = helper.np_dtype_to_tensor_dtype(value[0].dtype) if value else TensorProto.FLOAT
        return helper.make_tensor_sequence_value_info(name, kind, None)
    kind = TensorProto.STRING if value.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, dims)


@dataclass(frozen=True)
class Input:
    """A graph input.

    dims    numbers, texts in the symbols, or None for a dim without a name
    data    "float", "bool", "index" (in [-2, 2]), "count" (in [0, 3]), "never" (false), "zero": what the elements are
    """

    name: str
    dims: tuple[int | str | None, ...]
    data: str

    def symbols(self) -> set[str]:
        found = {f"{self.name}.{axis}" for axis, dim in enumerate(self.dims) if dim is None}
        return found.union(*(free_symbols(parse_dim(str(dim))) for dim in self.dims if dim is not None))

    def feed(self, bindings: Mapping[str, int], rng: np.random.Generator) -> np.ndarray[Any, Any]:
        shape = [
            bindings[f"{self.name}.{axis}"] if dim is None else evaluate(parse_dim(str(dim)), bindings)
            for axis, dim in enumerate(self.dims)
        ]
        match self.data:
            case "bool":
                return np.asarray(rng.random(shape) < 0.5)  # the runtime takes no numpy.bool
            case "never":
                return np.zeros(shape, np.bool_)
            case "zero":
                return np.zeros(shape, np.int64)
            case "index":
                return rng.integers(-2, 3, shape)
            case "count":
                return rng.integers(0, 4, shape)
        return np.asarray(rng.integers(-4, 9, shape) / 2, np.float32)

    def proto(self) -> ValueInfoProto:
        kinds = {"float": TensorProto.FLOAT, "bool": TensorProto.BOOL, "never": TensorProto.BOOL}
        kind = kinds.get(self.data, TensorProto.INT64)
        return helper.make_tensor_value_info(self.name, kind, list(self.dims))


@dataclass
class World:
    """State shared by the builders of one model.

    examples   feeds' bindings; a node has to run at the first of them
    aborting   whether operators may occur that end the process on empty inputs: no size is 0 then
    static     names of values that are functions of dims alone
    ends       names that are outputs of the graph, whoever reads them
    """

    rng: random.Random
    examples: list[dict[str, int]]
    opset: int
    aborting: bool = False
    functions: list[FunctionProto] = field(default_factory=list)
    static: set[str] = field(default_factory=set)
    ends: set[str] = field(default_factory=set)
    number: int = 0
    attempts: int = 0

    def name(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def imports(self) -> list[onnx.OperatorSetIdProto]:
        return [helper.make_opsetid("", self.opset), helper.make_opsetid(LOCAL, 1)]


def captured(graph: GraphProto) -> set[str]:
    """Names that a subgraph takes from around it."""
    own = {i.name for i in graph.input} | {t.name for t in graph.initializer}
    used: set[str] = set()
    for node in graph.node:
        used |= ({n for n in node.input if n} | captures_of(node)) - own
        own |= set(node.output)
    return used | {o.name for o in graph.output} - own


def captures_of(node: NodeProto) -> set[str]:
    return {name for a in node.attribute if a.type == AttributeProto.GRAPH for name in captured(a.g)}


class Builder:
    """One graph under construction; `values` holds what each name is in every example run, None where it failed."""

    def __init__(self, world: World, parent: Builder | None = None, *, is_function: bool = False) -> None:
        self.world, self.parent, self.is_function = world, parent, is_function
        self.rng = world.rng
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.values: dict[str, list[Array | None]] = {}
        self.alive: set[int] = set(parent.alive) if parent is not None else set(range(len(world.examples)))
        self.depth: int = 0 if parent is None else parent.depth + 1

    # names

    def find(self, name: str) -> list[Array | None]:
        if name in self.values or self.parent is None or self.is_function:
            return self.values[name]
        return self.parent.find(name)

    def first(self, name: str) -> Array:
        return self.find(name)[0]

    def visible(self) -> list[str]:
        outer = [] if self.parent is None or self.is_function else self.parent.visible()
        return [*outer, *self.values]

    def pick(self, accept: Callable[[Array], bool], *, static: float = 0.0) -> str | None:
        """A name whose value in the first example is accepted; `static`: how often of shapes alone."""
        names = [n for n in self.visible() if accept(self.first(n))]
        if static and self.rng.random() < static:
            names = [n for n in names if n in self.world.static] or names
        if not names:
            return None
        if self.rng.random() < 0.6:
            names = names[-5:]
        return self.rng.choice(names)

    def floats(self, low: int = 0, high: int = 5) -> str | None:
        return self.pick(lambda a: is_float(a) and low <= a.ndim <= high)

    def vector(self) -> str | None:
        """Up to 8 small integers, as shapes are."""
        return self.pick(lambda a: is_int(a) and a.ndim == 1 and a.size <= 8 and is_small(a), static=0.85)

    def scalar(self) -> str | None:
        return self.pick(lambda a: is_int(a) and a.ndim == 0 and is_small(a), static=0.85)

    # nodes

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        array = np.asarray(value, dtype=dtype)
        name = self.world.name("c")
        tensor = numpy_helper.from_array(array, name)
        if self.is_function or self.rng.random() < 0.4:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        self.bind(name, [array] * len(self.world.examples), is_static=True)
        return name

    def bind(self, name: str, arrays: list[Array | None], *, is_static: bool) -> None:
        self.values[name] = arrays
        if is_static:
            self.world.static.add(name)

    def add(
        self, op_type: str, inputs: Iterable[str | None], outputs: int = 1, *, domain: str = "", **attributes: Any
    ) -> list[str] | None:
        """The names of the outputs, None when the node does not run on the examples."""
        names: list[Any] = list(inputs)
        if None in names:
            return None
        made = [self.world.name("v") for _ in range(outputs)]
        return self.add_node(helper.make_node(op_type, names, made, domain=domain, **attributes))

    def one(self, op_type: str, *inputs: str | None, **attributes: Any) -> str | None:
        """As `add`, for an operator with one output."""
        made = self.add(op_type, inputs, **attributes)
        return None if made is None else made[0]

    def add_node(self, node: NodeProto) -> list[str] | None:
        self.world.attempts += 1
        used = list(dict.fromkeys([*(n for n in node.input if n), *sorted(captures_of(node))]))
        known = {name: self.find(name) for name in used}
        model = helper.make_model(
            helper.make_graph(
                [node],
                "one",
                [type_of(n, arrays[0]) for n, arrays in known.items()],
                [ValueInfoProto(name=n) for n in node.output],
            ),
            functions=self.world.functions,
            opset_imports=self.world.imports(),
            ir_version=10,
        )
        results: list[list[Array] | None] = [None] * len(self.world.examples)
        try:
            runtime = session(model)
        except REFUSALS:
            return None
        for example in sorted(self.alive):
            feeds = {n: arrays[example] for n, arrays in known.items()}
            if any(array is None for array in feeds.values()):
                continue
            if aborts_on_empty(node) and any(np.size(a) == 0 for a in feeds.values() if isinstance(a, np.ndarray)):
                if example == 0:
                    return None
                continue
            try:
                results[example] = runtime.run(None, feeds)
            except REFUSALS:
                if example == 0 or self.rng.random() < 0.6:
                    return None
                continue
            if any(np.size(a) > MAX_ELEMENTS for a in results[example] or () if not isinstance(a, list)):
                return None
        self.alive = {e for e in self.alive if results[e] is not None} if self.parent is None else self.alive
        is_static = node.op_type in ("Shape", "Size") or all(n in self.world.static for n in used)
        for position, name in enumerate(node.output):
            self.bind(
                name,
                [None if r is None else r[position] for r in results],
                is_static=is_static and not node.op_type.startswith("Random"),
            )
        self.nodes.append(node)
        return list(node.output)

    # graphs

    def inner(self) -> Builder:
        return Builder(self.world, self)

    def graph(self, inputs: Sequence[str], outputs: Sequence[str]) -> GraphProto:
        """The subgraph built here."""
        given, made = ([self._declared(n) for n in names] for names in (inputs, outputs))
        return helper.make_graph(self.nodes, self.world.name("g"), given, made, self.initializers)

    def _declared(self, name: str) -> ValueInfoProto:
        value = self.first(name)
        if isinstance(value, list) or self.rng.random() < 0.5:
            return type_of(name, value)
        return type_of(name, value, [self.world.name("d") for _ in range(value.ndim)])


def is_float(value: Array) -> bool:
    return not isinstance(value, list) and value.dtype == np.float32


def is_int(value: Array) -> bool:
    return not isinstance(value, list) and value.dtype == np.int64


def is_bool(value: Array) -> bool:
    return not isinstance(value, list) and value.dtype == np.bool_


def is_small(value: Array) -> bool:
    return value.size == 0 or bool(np.abs(value).max() <= 64)


Entry: TypeAlias = "Callable[[Builder], object]"
"""Adds a node or a short chain to a graph, or gives up."""


def axis_of(b: Builder, rank: int) -> int:
    return b.rng.randint(-rank, rank - 1) if rank else 0


def axes_of(b: Builder, rank: int, least: int = 1) -> list[int]:
    chosen = b.rng.sample(range(rank), b.rng.randint(min(least, rank), rank))
    return [a - rank if b.rng.random() < 0.4 else a for a in chosen]
