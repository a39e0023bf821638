"""The tables of a page: dims, types, tensors and nodes, each stored once and referred to by its position."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from gather_infer.explanation import StepRow, inferred_nodes, step_table
from gather_infer.explanation.symbols import known_symbols
from gather_infer.inference.inferred_graphs import InferredGraphs
from gather_infer.inference.result import Inference
from gather_infer.node_ids import GraphPath, NodePath
from gather_infer.report.json import Json
from gather_infer.symbolic import Dim, Expr
from gather_infer.symbolic.normal_form import FloorDiv, Max, Min, Symbol
from gather_infer.tensor import SymbolicTensor, Value, format_values

Tree: TypeAlias = "int | str | list[Tree]"
"""A dim that the page evaluates: a number, digits of a larger one, `[symbol]`, or `[operation, operand, ...]`."""

_LARGEST_EXACT: Final = 2**53
_SHOWN_ELEMENTS: Final = 8
_ORIGINS: Final = ("node", "input", "constant", "body input")


class Dims:
    """Dims by position; a dim is a number, or its text and its tree."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = {name: position for position, name in enumerate(symbols)}
        self.rows: list[Json] = []
        self._positions: dict[Dim, int] = {}

    def position(self, dim: Dim) -> int:
        known = self._positions.get(dim)
        if known is None:
            known = self._positions[dim] = len(self.rows)
            self.rows.append(_number(dim) if isinstance(dim, int) else [str(dim), tree_json(self.tree(dim))])
        return known

    def symbol(self, name: str) -> int:
        return self.symbols.setdefault(name, len(self.symbols))

    def tree(self, dim: Dim) -> Tree:
        if isinstance(dim, int):
            return _number(dim)
        if isinstance(dim, Symbol):
            return [self.symbol(dim.name)]
        if isinstance(dim, FloorDiv):
            return ["/", self.tree(dim.num), self.tree(dim.den)]
        if isinstance(dim, (Min, Max)):
            return ["min" if isinstance(dim, Min) else "max", *map(self.tree, dim.args)]
        terms = [self._term(monomial, coefficient) for monomial, coefficient in dim.terms]
        return terms[0] if len(terms) == 1 else ["+", *terms]

    def _term(self, monomial: Iterable[Expr], coefficient: int) -> Tree:
        factors = [self.tree(atom) for atom in monomial]
        if coefficient != 1 or not factors:
            factors.insert(0, _number(coefficient))
        return factors[0] if len(factors) == 1 else ["*", *factors]


def _number(number: int) -> int | str:
    """The number, or its digits if the page could not read it exactly."""
    return number if abs(number) <= _LARGEST_EXACT else str(number)


def tree_json(tree: Tree) -> Json:
    return [tree_json(part) for part in tree] if isinstance(tree, list) else tree


class PageTables:
    """The tables of a model, and the positions in them.

    nodes           position of a node by its path
    tensors         position of a tensor by its graph and name
    node_inputs     tensors that each node reads, None for an omitted or undefined one
    node_outputs    tensors that each node produces, None for an omitted one
    producers       node that produces each tensor, None for the others
    consumers       nodes that read each tensor
    names           name of each tensor
    labels          label of each node
    operators       operator of each node, after its domain
    is_constant     whether a tensor is an initializer, or the output of a Constant node
    """

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self.dims = Dims(known_symbols(inference))
        self.nodes: dict[NodePath, int] = {}
        self.tensors: dict[tuple[GraphPath, str], int] = {}
        self.node_inputs: list[list[int | None]] = []
        self.node_outputs: list[list[int | None]] = []
        self.producers: list[int | None] = []
        self.consumers: list[list[int]] = []
        self.is_constant: list[bool] = []
        self.names: list[str] = []
        self.labels: list[str] = []
        self.operators: list[str] = []
        self._ops: dict[tuple[str, str], int] = {}
        self._op_rows: list[Json] = []
        self._types: dict[str, int] = {}
        self._type_rows: list[Json] = []
        self._texts: dict[str, int] = {"": 0}
        self._scopes = {path: position for position, path in enumerate(inference.scopes)}
        self._tensor_columns = self._tensor_table()
        self._node_columns = self._node_table()

    def json(self) -> dict[str, Json]:
        return {
            "scopes": [self.inference.labels[path] for path in self._scopes],
            "texts": [*self._texts],
            "types": self._type_rows,
            "operators": self._op_rows,
            "nodes": self._node_columns,
            "tensors": self._tensor_columns,
            "steps": self._step_table(),
        }

    def type(self, value: Value | None) -> int:
        """The position of a type: `[dtype, dims, elements]` of a tensor, or the text of another type."""
        row = self._type(value)
        return self._types[row]

    def _type(self, value: Value | None) -> str:
        row: list[Json]
        if isinstance(value, SymbolicTensor):
            dims: Json = None if value.shape is None else [self.dims.position(dim) for dim in value.shape]
            row = [None if value.dtype is None else str(value.dtype), dims, *self._facts(value)]
        else:
            row = ["?" if value is None else str(value)]
        key = repr(row)
        if key not in self._types:
            self._types[key] = len(self._type_rows)
            self._type_rows.append(row)
        return key

    def _facts(self, value: SymbolicTensor) -> list[Json]:
        """The known integer or bool elements as text, with their symbols; else bounds of all elements, as text."""
        is_float = value.dtype is not None and value.dtype.is_float
        names: set[str] = set()
        if value.values is not None and not is_float:
            elements = [element for element in value.values.flat if isinstance(element, Expr)]
            names = {name for element in elements for name in element.symbols}
            if value.values.size <= _SHOWN_ELEMENTS:
                text = f" = {format_values(value.values)}"
            else:
                text = f" = {value.values.size} known elements"
        elif value.value_range is not None and not is_float:
            ends = (value.value_range.lo, value.value_range.hi)
            text = f" in {' .. '.join('' if end is None else str(end) for end in ends)}"
        else:
            return []
        return [text, [self.dims.symbol(name) for name in sorted(names)]] if names else [text]

    def _tensor_table(self) -> dict[str, Json]:
        columns: dict[str, list[Json]] = {name: [] for name in ("name", "scope", "type", "origin", "cause")}
        keys = [(path, name) for path, values in self.inference.scopes.items() for name in values]
        for (path, name), row in zip(keys, self.inference.tensors(), strict=True):
            self.tensors[path, name] = len(self.tensors)
            self.producers.append(None)
            self.consumers.append([])
            self.is_constant.append(row.origin == "constant" or (row.op_type == "Constant" and not row.domain))
            self.names.append(name)
            columns["name"].append(name)
            columns["scope"].append(self._scopes[path])
            columns["type"].append(self.type(row.value))
            columns["origin"].append(_ORIGINS.index(row.origin))
            columns["cause"].append(self._text(row.cause))
        return {**columns}

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _node_table(self) -> dict[str, Json]:
        columns: dict[str, list[Json]] = {name: [] for name in ("label", "op", "scope", "inputs", "outputs")}
        bodies = InferredGraphs(self.inference)
        for record in inferred_nodes(self.inference):
            position = self.nodes[record.path] = len(self.nodes)
            path = record.path.graph
            body = bodies.at(path)
            homes = [None if body is None or not name else body.defining_graph(name) for name in record.inputs]
            inputs = [
                None if home is None else self.tensors.get((home.path, name))
                for home, name in zip(homes, record.inputs, strict=True)
            ]
            self.node_inputs.append(inputs)
            for read in dict.fromkeys(tensor for tensor in inputs if tensor is not None):
                self.consumers[read].append(position)
            outputs = [self.tensors.get((path, name)) if name else None for name in record.outputs]
            self.node_outputs.append(outputs)
            for tensor in outputs:
                if tensor is not None:
                    self.producers[tensor] = position
            self.labels.append(str(record.path))
            self.operators.append(f"{record.domain}.{record.op_type}" if record.domain else record.op_type)
            columns["label"].append(str(record.path))
            columns["op"].append(self._operator(record.op_type, record.domain, record.path, bodies))
            columns["scope"].append(self._scopes[path])
            columns["inputs"].append([*inputs])
            columns["outputs"].append([*outputs])
        return {**columns}

    def _operator(self, op_type: str, domain: str, path: NodePath, bodies: InferredGraphs) -> int:
        """The position of an operator: its name, and the names of its inputs in the specification."""
        key = (op_type, domain)
        if key not in self._ops:
            place = bodies.node(path)
            schema = None if place is None or place.op.function is not None else place.op.schema
            formal: list[Json] = [] if schema is None else [*schema.inputs]
            if schema is not None and schema.variadic:
                formal.pop()
            self._ops[key] = len(self._op_rows)
            self._op_rows.append([f"{domain}.{op_type}" if domain else op_type, formal])
        return self._ops[key]

    def _step_table(self) -> dict[str, Json]:
        rows = step_table(self.inference)
        return {
            "tensor": [self.tensors.get((row.graph, row.name)) for row in rows],
            "facet": [int(row.facet.value == "values") for row in rows],
            "relevant": [self._relevant(row) for row in rows],
            "sources": [[*row.sources] for row in rows],
            "forwarded": [position for position, row in enumerate(rows) if row.is_forwarded],
        }

    def _relevant(self, row: StepRow) -> Json:
        """The dims that a step explains; 0 for all, so that most rows are short."""
        if not row.relevant:
            return 0
        return [self.dims.position(dim) for dim in sorted(row.relevant, key=str)]
