"""A parser of ONNX's text form, for the tests on an onnx whose own parser does not read all of it.

https://github.com/onnx/onnx/blob/main/docs/Syntax.md. The parser of onnx 1.16 and 1.17 knows no labels of nodes
and no quoted names, and none knows element types that came later. `tests/test_onnx_text.py` compares both parsers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)
from onnx.parser import ParseError

from gather_infer.tensor import DType

_TOKEN = re.compile(
    r"""(?:\s|\#[^\n]*)*
    (?: (?P<string>"(?:\\.|[^"\\])*") | (?P<arrow>=>)
      | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+](?:inf|nan)\b) | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<mark>.) | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_TYPES = {d.onnx_name: d for d in DType}
_NESTED = ("seq", "map", "optional", "sparse_tensor")
_KINDS: dict[str, Any] = {name.lower(): number for name, number in AttributeProto.AttributeType.items()}
_PLURAL = {
    AttributeProto.INT: (AttributeProto.INTS, "i", "ints"),
    AttributeProto.FLOAT: (AttributeProto.FLOATS, "f", "floats"),
    AttributeProto.STRING: (AttributeProto.STRINGS, "s", "strings"),
    AttributeProto.TENSOR: (AttributeProto.TENSORS, "t", "tensors"),
    AttributeProto.GRAPH: (AttributeProto.GRAPHS, "g", "graphs"),
    AttributeProto.TYPE_PROTO: (AttributeProto.TYPE_PROTOS, "tp", "type_protos"),
}


def parse_model(model_text: str) -> ModelProto:
    """The model that the text spells, with its functions. Raises ParseError."""
    return _Parser(model_text).whole(_Parser.model)


def parse_graph(graph_text: str) -> GraphProto:
    """The graph that the text spells. Raises ParseError."""
    return _Parser(graph_text).whole(_Parser.graph)


def parse_function(function_text: str) -> FunctionProto:
    """The function that the text spells. Raises ParseError."""
    return _Parser(function_text).whole(_Parser.function)


class _Parser:
    """Recursive descent over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.tokens = [(str(found.lastgroup), found[found.lastgroup or 0]) for found in _TOKEN.finditer(text)]
        self.at = 0

    def whole(self, read: Callable[[_Parser], Any]) -> Any:
        found = read(self)
        if self.kind != "end":
            raise self.error("the end")
        return found

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def token(self) -> str:
        return self.tokens[self.at][1]

    def error(self, wanted: str) -> ParseError:
        around = " ".join(text for _, text in self.tokens[max(0, self.at - 8) : self.at + 4])
        return ParseError(f"expected {wanted}, found {self.token!r} in: {around}")

    def take(self, mark: str | None = None) -> str:
        token = self.token
        if mark is not None and (token != mark or self.kind == "string"):
            raise self.error(mark)
        self.at += 1
        return token

    def has(self, mark: str) -> bool:
        """Take `mark` if it is next. Returns whether it was."""
        is_next = self.kind != "string" and self.token == mark
        self.at += is_next
        return is_next

    def items(self, end: str, read: Callable[[], None]) -> None:
        """Read items with commas between them up to the mark `end`."""
        while not self.has(end):
            read()
            if not self.has(","):
                self.take(end)
                return

    # names and literals

    def name(self) -> str:
        if self.kind == "string":
            return self.string()
        if self.kind != "name":
            raise self.error("a name")
        return self.take()

    def name_if_any(self) -> str:
        return self.name() if self.kind in ("name", "string") else ""

    def string(self) -> str:
        if self.kind != "string":
            raise self.error("a string")
        return re.sub(r"\\(.)", r"\1", self.take()[1:-1], flags=re.DOTALL)

    def integer(self) -> int:
        if self.kind != "number":
            raise self.error("a number")
        return int(self.take())

    # types

    def is_type(self) -> bool:
        return self.kind == "name" and (self.token in _TYPES or self.token in _NESTED)

    def type(self, into: TypeProto) -> TypeProto:
        name = self.take()
        if name in ("seq", "optional"):
            self.take("(")
            self.type(into.sequence_type.elem_type if name == "seq" else into.optional_type.elem_type)
            self.take(")")
        elif name == "map":
            self.take("(")
            into.map_type.key_type = _TYPES[self.take()]
            self.take(",")
            self.type(into.map_type.value_type)
            self.take(")")
        elif name == "sparse_tensor":
            self.take("(")
            self.dense(into.sparse_tensor_type, self.take())
            self.take(")")
        else:
            self.dense(into.tensor_type, name)
        return into

    def dense(self, into: Any, name: str) -> None:
        if name not in _TYPES:
            raise self.error("an element type")
        into.elem_type = _TYPES[name]
        if not self.has("["):
            into.shape.SetInParent()
            return
        if self.has("]"):
            return

        def dim() -> None:
            made = into.shape.dim.add()
            if self.kind == "number":
                made.dim_value = self.integer()
            elif not self.has("?"):
                made.dim_param = self.name()

        self.items("]", dim)

    def tensor(self, kind: TypeProto, into: TensorProto) -> TensorProto:
        """Read the elements of a tensor of type `kind`, in braces, or where its external data is, in brackets."""
        into.data_type = kind.tensor_type.elem_type
        into.dims.extend(d.dim_value for d in kind.tensor_type.shape.dim)
        if self.has("["):
            into.data_location = TensorProto.EXTERNAL

            def entry() -> None:
                key = self.string()
                self.take(":")
                into.external_data.add(key=key, value=self.string())

            self.items("]", entry)
            return into
        self.take("{")
        dtype = DType(into.data_type)

        def element() -> None:
            if dtype is DType.STRING:
                into.string_data.append(self.string().encode())
            elif dtype in (DType.FLOAT32, DType.FLOAT64):
                (into.float_data if dtype is DType.FLOAT32 else into.double_data).append(float(self.take()))
            elif dtype is DType.INT64:
                into.int64_data.append(self.integer())
            elif dtype in (DType.UINT32, DType.UINT64):
                into.uint64_data.append(self.integer())
            else:
                into.int32_data.append(self.integer())

        self.items("}", element)
        return into

    # attributes

    def attribute(self, into: AttributeProto) -> None:
        into.name = self.name()
        kind: Any = 0
        if self.has(":"):
            kind = _KINDS[self.take()]
        self.take("=")
        if self.has("@"):
            into.ref_attr_name = self.name()
            into.type = kind
        elif self.has("["):
            values: list[AttributeProto] = []
            self.items("]", lambda: values.append(self.value(AttributeProto())))
            self.many(into, values, kind)
        else:
            self.value(into)
            if kind == AttributeProto.FLOAT and into.type == AttributeProto.INT:
                into.f, into.type = float(into.i), kind
                into.ClearField("i")

    def many(self, into: AttributeProto, values: list[AttributeProto], kind: Any) -> None:
        if not values:
            into.type = kind or AttributeProto.INTS
            return
        single = next((v.type for v in values if v.type == AttributeProto.FLOAT), values[0].type)
        if kind == AttributeProto.FLOATS:
            single = AttributeProto.FLOAT
        into.type, one, field = _PLURAL[single]
        for value in values:
            is_widened = single == AttributeProto.FLOAT and value.type == AttributeProto.INT
            found = float(value.i) if is_widened else getattr(value, one)
            if isinstance(found, (int, float, bytes)):
                getattr(into, field).append(found)
            else:
                getattr(into, field).add().CopyFrom(found)

    def value(self, into: AttributeProto) -> AttributeProto:
        if self.kind == "string":
            into.type, into.s = AttributeProto.STRING, self.string().encode()
        elif self.kind == "number" or self.token in ("inf", "infinity", "nan"):
            text = self.take()
            if re.fullmatch(r"[-+]?\d+", text):
                into.type, into.i = AttributeProto.INT, int(text)
            else:
                into.type, into.f = AttributeProto.FLOAT, float(text)
        elif self.is_type():
            kind = self.type(TypeProto())
            name = self.name_if_any() if self.kind == "name" else ""
            self.has("=")
            if self.token in ("{", "["):
                into.type = AttributeProto.TENSOR
                self.tensor(kind, into.t)
                into.t.name = name
            else:
                into.type = AttributeProto.TYPE_PROTO
                into.tp.CopyFrom(kind)
        else:
            into.type = AttributeProto.GRAPH
            into.g.CopyFrom(self.graph())
        return into

    # graphs

    def value_info(self, values: Any, initializers: Any, names: Any = None) -> None:
        """Read a value with or without a type, and its initializer.

        names   where values are listed by name, `values` having only those with types
        """
        kind = self.type(TypeProto()) if self.is_type() else None
        name = self.name()
        if names is not None:
            names.append(name)
        made = ValueInfoProto(name=name) if kind is None else ValueInfoProto(name=name, type=kind)
        if self.has("="):
            if kind is None:
                raise self.error("a type before the name of an initializer")
            self.tensor(kind, initializers.add(name=name))
            if values is initializers or values is None:
                return
        if values is not None and (names is None or kind is not None):
            values.append(made)

    def nodes(self, into: Any) -> None:
        self.take("{")
        while not self.has("}"):
            self.node(into.add())

    def node(self, into: NodeProto) -> None:
        if self.has("["):
            into.name = self.name()
            self.take("]")
        while not self.has("="):
            into.output.append(self.name_if_any())
            if not self.has(","):
                self.take("=")
                break
        path = [self.name()]
        while self.has("."):
            path.append(self.name())
        into.op_type = path[-1]
        into.domain = ".".join(path[:-1])
        if self.has(":"):
            into.overload = self.name()
        self.attributes(into)
        self.take("(")
        while not self.has(")"):
            into.input.append(self.name_if_any())
            if self.has(","):
                continue
            self.take(")")
            break
        self.attributes(into)

    def attributes(self, into: NodeProto) -> None:
        if self.has("<"):
            self.items(">", lambda: self.attribute(into.attribute.add()))

    def graph(self) -> GraphProto:
        found = GraphProto(name=self.name_if_any())
        self.take("(")
        self.items(")", lambda: self.value_info(found.input, found.initializer))
        self.take("=>")
        self.take("(")
        self.items(")", lambda: self.value_info(found.output, found.initializer))
        if self.has("<"):
            self.items(">", lambda: self.inner_value(found))
        self.nodes(found.node)
        return found

    def inner_value(self, graph: GraphProto) -> None:
        """Read a value between the interface and the nodes: an initializer, or a declared type."""
        made = GraphProto()
        self.value_info(made.value_info, made.initializer)
        graph.initializer.extend(made.initializer)
        if not made.initializer:
            graph.value_info.extend(made.value_info)

    def opsets(self, into: Any) -> None:
        def entry() -> None:
            domain = self.string()
            self.take(":")
            into.append(OperatorSetIdProto(domain=domain, version=self.integer()))

        self.take("[")
        self.items("]", entry)

    def header(self, into: Any) -> None:
        def entry() -> None:
            key = self.take()
            self.take(":")
            if key == "opset_import":
                self.opsets(into.opset_import)
            elif key == "metadata_props":
                self.take("[")
                self.items("]", lambda: self.prop(into))
            elif key in ("ir_version", "model_version"):
                setattr(into, key, self.integer())
            else:
                setattr(into, key, self.string())

        if self.has("<"):
            self.items(">", entry)

    def prop(self, into: Any) -> None:
        key = self.string()
        self.take(":")
        into.metadata_props.add(key=key, value=self.string())

    def function(self) -> FunctionProto:
        found = FunctionProto()
        self.header(found)
        found.name = self.name()
        if self.has("<"):
            self.items(">", lambda: self.parameter(found))
        self.take("(")
        self.items(")", lambda: self.value_info(found.value_info, None, found.input))
        self.take("=>")
        self.take("(")
        self.items(")", lambda: self.value_info(found.value_info, None, found.output))
        if self.has("<"):
            self.items(">", lambda: self.value_info(found.value_info, None))
        self.nodes(found.node)
        return found

    def parameter(self, into: FunctionProto) -> None:
        start = self.at
        name = self.name()
        if self.token in (":", "="):
            self.at = start
            self.attribute(into.attribute_proto.add())
        else:
            into.attribute.append(name)

    def model(self) -> ModelProto:
        found = ModelProto()
        self.header(found)
        found.graph.CopyFrom(self.graph())
        while self.kind != "end":
            found.functions.append(self.function())
        return found
