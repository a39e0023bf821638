"""Function builder: collects the ONNX nodes and constants that a lowering writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper

from gather_infer.dialect import LoweringRefused
from gather_infer.model.elements import from_array
from gather_infer.tensor import INTEGER_RANGE, DType

NUMPY: Final[dict[DType, str]] = {
    DType.FLOAT32: "<f4", DType.UINT8: "u1", DType.INT8: "i1", DType.UINT16: "<u2", DType.INT16: "<i2",
    DType.INT32: "<i4", DType.INT64: "<i8", DType.BOOL: "?", DType.FLOAT16: "<f2", DType.FLOAT64: "<f8",
    DType.UINT32: "<u4", DType.UINT64: "<u8",
}  # fmt: skip
"""The native numpy dtype of each element type that has one."""

FLOAT8: Final = frozenset((DType.FLOAT8E4M3FN, DType.FLOAT8E5M2))
"""The 8-bit floats that both ONNX (from opset 19 of ai.onnx) and OpenVINO have."""

FAR: Final = 2**62
"""End of a Slice that takes the rest of the axis."""


def numpy_of(dtype: DType) -> str:
    """The native numpy dtype of `dtype`. Raises LoweringRefused for a type without one."""
    if dtype not in NUMPY:
        raise LoweringRefused(f"computation in {dtype} is not supported")
    return NUMPY[dtype]


def range_of(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest value of an integer type. Raises LoweringRefused for any other type."""
    if dtype not in INTEGER_RANGE:
        raise LoweringRefused(f"{dtype} is not an integer type")
    return INTEGER_RANGE[dtype]


class FunctionBuilder:
    """Builds a function: `g.Gather(x, i, axis=1)` adds a node and returns the name of its output.

    `g.i64(1, -1)` returns the name of a constant. An input `""` or None is left out, and so is an attribute None.
    Names are local to the function; inlining renames them.

    opset      the ai.onnx opset for which nodes are written
    parent     the builder of the enclosing graph, for the body of an If or a Loop; its constants and names are shared
    constants  tensors of the constants, by name
    """

    def __init__(self, opset: int, *, parent: FunctionBuilder | None = None) -> None:
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, TensorProto] = {} if parent is None else parent.constants
        self._constant_names: dict[tuple[object, ...], str] = {} if parent is None else parent._constant_names
        self._names: Iterator[int] = iter(range(1 << 62)) if parent is None else parent._names

    # nodes

    def __getattr__(self, op_type: str) -> Callable[..., str]:
        if not op_type[:1].isupper():
            raise AttributeError(op_type)

        def add(*inputs: str | None, domain: str = "", **attributes: Any) -> str:
            return self.node(op_type, inputs, domain=domain, **attributes)[0]

        return add

    def node(
        self, op_type: str, inputs: Sequence[str | None], outputs: int = 1, *, domain: str = "", **attributes: Any
    ) -> tuple[str, ...]:
        """Add a node with `outputs` outputs; returns their names."""
        given = [name or "" for name in inputs]
        while given and not given[-1]:
            given.pop()
        names = tuple(f"{op_type}_{next(self._names)}" for _ in range(outputs))
        node = NodeProto(op_type=op_type, domain=domain or None, input=given, output=names)
        for name, value in attributes.items():
            if value is not None:
                node.attribute.append(_attribute(name, value))
        self.nodes.append(node)
        return names

    def graph(
        self,
        name: str,
        inputs: Sequence[tuple[DType, int | None]],
        write: Callable[[FunctionBuilder, tuple[str, ...]], Sequence[tuple[str, DType]]],
    ) -> GraphProto:
        """The body graph of an If or a Loop; its nodes may read all names of the function.

        inputs   element type and rank of each input of the body; None for an unknown rank
        write    adds the nodes, given the builder of the body and the names of its inputs, and returns name and element
                 type of each output
        """
        body = FunctionBuilder(self.opset, parent=self)
        names = tuple(f"{name}_input_{next(self._names)}" for _ in inputs)
        outputs: list[Any] = []
        for value, dtype in write(body, names):
            (passed,) = body.node("Identity", [value])
            outputs.append(helper.make_tensor_value_info(passed, int(dtype), None))
        given = [
            helper.make_tensor_value_info(value, int(dtype), None if rank is None else [None] * rank)
            for value, (dtype, rank) in zip(names, inputs, strict=True)
        ]
        return helper.make_graph(body.nodes, name, given, outputs)

    # constants

    def const(self, value: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> str:
        """The name of a constant with the elements of `value`; equal arrays share one constant."""
        array = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        found = self._constant_names.get(key)
        if found is None:
            found = self._constant_names[key] = f"const_{next(self._names)}"
            self.constants[found] = from_array(array, found)
        return found

    def tensor(self, tensor: TensorProto) -> str:
        """The name of a new constant that is a copy of `tensor`; for any element type."""
        name = f"const_{next(self._names)}"
        held = TensorProto()
        held.CopyFrom(tensor)
        held.name = name
        self.constants[name] = held
        return name

    def i64(self, *elements: int) -> str:
        """The name of a constant int64 vector. Raises LoweringRefused for an element that does not fit 64 bits."""
        far = next((element for element in elements if not -(2**63) <= element < 2**63), None)
        if far is not None:
            raise LoweringRefused(f"{far} does not fit 64 bits")
        return self.const(np.array(elements, np.int64))

    def zero(self, dtype: DType) -> str:
        """A scalar 0 of type `dtype`; the empty string for STRING."""
        if dtype is DType.STRING:
            return self.tensor(TensorProto(data_type=TensorProto.STRING, string_data=[b""]))
        return self.scalar(0, dtype)

    def scalar(self, value: float | bool, dtype: DType) -> str:
        """`value` as a scalar of type `dtype`. Raises LoweringRefused for a number that the type cannot hold."""
        if dtype in NUMPY:
            if dtype.is_integer:
                low, high = INTEGER_RANGE[dtype]
                if not low <= value <= high:  # also of NaN
                    raise LoweringRefused(f"{value} does not fit {dtype}")
            return self.const(np.array(value, NUMPY[dtype]))
        return self.Cast(self.const(np.array(value, np.float32)), to=int(dtype))

    # idioms

    def cast(self, x: str, old: DType, new: DType) -> str:
        """`x` cast from `old` to `new`. Numbers out of range of an 8-bit float become NaN or inf, as in OpenVINO."""
        return x if old == new else self.Cast(x, to=int(new), saturate=0 if new in FLOAT8 else None)

    def dims(self, x: str, start: int = 0, end: int | None = None) -> str:
        """The dims of `x` from axis `start` to before axis `end` (None: to the last one), an int64 vector."""
        if self.opset >= 15:
            return self.Shape(x, start=start or None, end=end)
        shape = self.Shape(x)
        if start == 0 and end is None:
            return shape
        return self.Slice(shape, self.i64(start), self.i64(FAR if end is None else end))

    def dim(self, x: str, axis: int) -> str:
        """The dim of `x` at `axis`, an int64 vector of one element."""
        return self.dims(x, axis, axis + 1 if axis != -1 else None)

    def concat(self, *parts: str, axis: int = 0) -> str:
        return parts[0] if len(parts) == 1 else self.Concat(*parts, axis=axis)

    def unsqueeze(self, x: str, *axes: int) -> str:
        if self.opset < 13 and axes:
            return self.Unsqueeze(x, axes=list(axes))
        return self.Unsqueeze(x, self.i64(*axes)) if axes else x

    def squeeze(self, x: str, *axes: int) -> str:
        if self.opset < 13 and axes:
            return self.Squeeze(x, axes=list(axes))
        return self.Squeeze(x, self.i64(*axes)) if axes else x

    def transpose(self, x: str, permutation: Sequence[int]) -> str:
        order = list(permutation)
        return x if order == sorted(order) else self.Transpose(x, perm=order)

    def as_scalar(self, x: str) -> str:
        """`x`, a tensor of one element, reshaped to a scalar."""
        return self.Reshape(x, self.i64())

    def as_vector(self, x: str) -> str:
        """`x` flattened to a vector."""
        return self.Reshape(x, self.i64(-1))

    # the result

    def require_opset(self, opset: int, reason: str) -> None:
        """Raise LoweringRefused if the function has an ai.onnx opset below `opset`; `reason` begins the message."""
        if self.opset < opset:
            raise LoweringRefused(f"{reason} needs opset {opset}, the result has {self.opset}")


def _attribute(name: str, value: Any) -> AttributeProto:
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, DType):
        value = int(value)
    return helper.make_attribute(name, value, attr_type=AttributeProto.INTS if value in ([], ()) else None)
