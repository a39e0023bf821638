"""Lowering of compressed weights to the requested format; they are dequantized in float32, as in OpenVINO on CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper

from gather_infer.ir import Graph, Model, Node, Value
from gather_infer.ir.dead_code import eliminate_dead_code
from gather_infer.model import ModelFile
from gather_infer.model.attributes import attributes_of
from gather_infer.model.elements import from_array
from gather_infer.openvino.dialect_nodes import is_openvino
from gather_infer.openvino.weights.matching import Weight, WeightConstant, WeightMatcher
from gather_infer.tensor import DType

WeightFormat: TypeAlias = Literal["dequantize", "contrib", "float"]
Array: TypeAlias = npt.NDArray[Any]

MICROSOFT: Final = "com.microsoft"
_WHY: Final = "a compressed weight"
_CONVERT_DOMAIN: Final = "openvino.opset1"
_QUANTIZED: Final = frozenset(
    {TensorProto.UINT4, TensorProto.INT4, TensorProto.UINT8, TensorProto.INT8, TensorProto.FLOAT8E4M3FN,
     TensorProto.FLOAT8E5M2}
)  # fmt: skip
"""Element types that DequantizeLinear takes at opset 21 and for which onnxruntime has a kernel."""
_NBITS: Final[dict[int, int]] = {DType.UINT4: 4, DType.INT4: 4, DType.UINT8: 8}
_MIN_BLOCK: Final = 16
"""Smallest block size of com.microsoft.MatMulNBits; block sizes are powers of two."""


@dataclass(frozen=True, slots=True)
class WeightConversion:
    """The converted form of a compressed weight.

    name     the value that holds the weight in the file
    element  number of the element type in TensorProto, 0 for a type that ONNX lacks
    format   "dequantize": a DequantizeLinear; "contrib": MatMulNBits; "float": converted and multiplied as in the file
    """

    name: str
    element: int
    format: WeightFormat


def lower_weights(
    model: Model, source: ModelFile, format: WeightFormat, opset: int
) -> tuple[tuple[WeightConversion, ...], frozenset[str]]:
    """Lower the compressed weights of a model in the dialect to `format` if possible.

    A weight that DequantizeLinear at `opset` of ai.onnx does not support is computed by plain operators ("float").

    source   the file that holds the bytes of the weights

    Returns the form of each weight, and the names of the values that are computed otherwise than in the file.
    Raises ModelReadError when the bytes of a weight cannot be read.
    """
    making = _WeightLowering(model, source, format, opset)
    return tuple(making.run()), frozenset(making.changed)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Layout of the scales of a weight for DequantizeLinear.

    axis   axis of the data along which scales differ; None for a single scale
    size   number of elements along `axis` that share a scale; 0 for one scale per index of `axis`
    """

    axis: int | None
    size: int


class _WeightLowering:
    def __init__(self, model: Model, source: ModelFile, format: WeightFormat, opset: int) -> None:
        self.model = model
        self.source = source
        self.format = format
        self.opset = opset
        self.changed: set[str] = set()

    def run(self) -> Iterator[WeightConversion]:
        found = [
            weight
            for graph in self.model.graphs.values()
            if not graph.is_in_function
            for weight in WeightMatcher(graph).weights()
        ]
        constants: list[tuple[Graph, str]] = []
        for weight in found:
            element = weight.data.element
            graph = weight.graph
            for table in (weight.data, weight.zero, weight.scale):
                if table is not None:
                    constants.append((graph, table.initializer.name))
            self.changed.update(name for node in weight.chain for name in node.outputs)
            blocks = _blocks_of(weight) if element in _QUANTIZED and self.format != "float" else None
            zero = None if blocks is None else self.zero(weight)
            if blocks is None or (weight.zero is not None and zero is None):
                self.widen_to_float32(weight)
                yield WeightConversion(weight.result, element, "float")
            elif self.format == "contrib" and self.to_matmul_nbits(weight, blocks, zero):
                yield WeightConversion(weight.result, element, "contrib")
            elif self.opset < _since(element, blocks):
                self.widen_to_float32(weight)
                yield WeightConversion(weight.result, element, "float")
            else:
                self.to_dequantize_linear(weight, blocks, zero)
                yield WeightConversion(weight.result, element, "dequantize")
        for graph, name in constants:  # dead code elimination removes those that are no longer read
            home = graph.defining_graph(name)
            if home is not None and home.tensor(name) is not None and name not in home.input_set:
                home.constants.setdefault(name, home.initializers.get(name) or home.added[name][0])
        eliminate_dead_code(self.model, constants, lambda _: False)

    # the elements

    def array(self, constant: WeightConstant) -> Array:
        return self.source.tensor(constant.initializer).reshape(constant.shape)

    def zero(self, weight: Weight) -> Array | None:
        """The zero point of `weight` in the element type of its data; None if there is none, or it does not fit."""
        if weight.zero is None:
            return None
        dtype = DType(weight.data.element).dtype
        found = self.array(weight.zero)
        with np.errstate(invalid="ignore"):  # NaN does not fit either
            cast = found.astype(dtype)
        return cast if (cast.astype(np.float64) == found.astype(np.float64)).all() else None

    def constant(self, array: Array, stem: str) -> str:
        return self.add(from_array(np.ascontiguousarray(array), self.model.fresh(stem)))

    def add(self, tensor: TensorProto) -> str:
        """Add an initializer to the main graph; returns its name."""
        self.model.add_constant(self.model.main, tensor.name, tensor, None, _WHY)
        return tensor.name

    # the forms

    def widen_to_float32(self, weight: Weight) -> None:
        """Make the nodes of `weight` compute in float32 if the file computes in f16."""
        if not weight.is_half:
            return
        first = weight.chain[0]
        for node in weight.chain:
            if node.op_type not in ("Subtract", "Multiply"):
                continue
            for position, name in enumerate(node.inputs):
                tables = [table for table in (weight.scale, weight.zero) if table is not None and table.name == name]
                if tables and tables[0].element == TensorProto.FLOAT16:
                    wide = self.model.fresh(f"{name}.f32")
                    made = helper.make_node("Convert", [name], [wide], wide, domain=_CONVERT_DOMAIN)
                    made.attribute.append(helper.make_attribute("destination_type", "f32"))
                    self.model.add(node.graph, made, first, _WHY)
                    self.model.set_input(node, position, wide, _WHY)
        for convert in weight.converts:
            self.set_attribute(convert, "destination_type", "f32")

    def set_attribute(self, node: Node, name: str, value: str) -> None:
        """Replace a node by one in which the attribute `name` is `value`."""
        changed = NodeProto()
        changed.CopyFrom(node.proto)
        for attribute in changed.attribute:
            if attribute.name == name:
                attribute.CopyFrom(helper.make_attribute(name, value))
        self.model.replace(node, [changed], _WHY)

    def to_dequantize_linear(self, weight: Weight, blocks: _Blocks, zero: Array | None) -> None:
        """Replace the nodes of `weight` by a DequantizeLinear; `zero` is the zero point in the type of the data.

        If only MatMuls with transpose_b read the weight, its data is stored transposed, and transpose_b is cleared.
        """
        readers = self.transposing_matmuls(weight)
        scale = _layout(self.array(weight.scale), weight, blocks).astype(np.float32)
        zeros = None if zero is None else _layout(zero, weight, blocks)
        axis = blocks.axis
        if readers:
            held = self.array(weight.data).reshape(weight.shape).T
            data = self.constant(held, weight.data.name)
            axis = None if axis is None else 1 - axis
            if scale.ndim == 2:
                scale, zeros = scale.T, None if zeros is None else zeros.T
            for reader in readers:
                self.set_attribute(reader, "transpose_b", "false")
        else:
            data = self.reshaped_data(weight)
        inputs = [data, self.constant(scale, weight.scale.name)]
        if zeros is not None:
            inputs.append(self.constant(zeros, f"{weight.data.name}.zero"))
        node = helper.make_node("DequantizeLinear", inputs, [weight.result], weight.multiply.name)
        if axis is not None:
            node.attribute.append(helper.make_attribute("axis", axis))
        if blocks.size:
            node.attribute.append(helper.make_attribute("block_size", blocks.size))
        self.replace_chain(weight, [node])

    def to_matmul_nbits(self, weight: Weight, blocks: _Blocks, zero: Array | None) -> bool:
        """Replace each reader of `weight` by a MatMulNBits; False if that is impossible, and nothing is changed.

        Possible if all readers are MatMuls with transpose_b and MatMulNBits supports type and layout of the weight.
        """
        readers = self.transposing_matmuls(weight)
        bits = _NBITS.get(weight.data.element)
        size = blocks.size
        if not readers or bits is None or size < _MIN_BLOCK or size & (size - 1) or blocks.axis != 1:
            return False
        n, k = weight.shape
        held = TensorProto()
        held.CopyFrom(weight.data.initializer)
        signed = weight.data.element == TensorProto.INT4
        if signed:  # the default zero point of MatMulNBits is 8: flip the sign bit of each nibble
            raw = np.frombuffer(self.packed(weight.data), np.uint8) ^ np.uint8(0x88)
            held = from_array(raw.reshape(n, k // size, size * bits // 8))
        held.data_type = TensorProto.UINT8
        del held.dims[:]
        held.dims.extend((n, k // size, size * bits // 8))
        held.name = self.model.fresh(weight.data.name)
        data = self.add(held)
        scale = _layout(self.array(weight.scale), weight, blocks).astype(np.float32)
        inputs = [data, self.constant(scale.reshape(-1), weight.scale.name)]
        zeros = np.zeros((n, k // size), np.uint8)
        if zero is not None:
            zeros = _layout(zero, weight, blocks).astype(np.int64)
        if not (signed and zero is None):
            held_zeros = np.asarray(zeros, np.int64) + (8 if signed else 0)
            inputs.append(self.constant(_packed(held_zeros.astype(np.uint8), bits), f"{weight.data.name}.zero"))
        for reader in readers:
            node = helper.make_node(
                "MatMulNBits", [reader.inputs[0], *inputs], reader.outputs, reader.name, domain=MICROSOFT,
                K=k, N=n, bits=bits, block_size=size, accuracy_level=1,
            )  # fmt: skip
            self.model.replace(reader, [node], _WHY)
        self.replace_chain(weight, [])
        if MICROSOFT not in self.model.imported_opsets():
            self.model.import_opset(MICROSOFT, 1)
        return True

    def packed(self, constant: WeightConstant) -> bytes:
        region = self.source.region(constant.initializer)
        return bytes(constant.initializer.raw_data) if region is None else region.read()

    def reshaped_data(self, weight: Weight) -> str:
        """Name of the data of `weight` with the shape of the weight: the same bytes, so external data is not moved."""
        if weight.data.shape == weight.shape:
            return weight.data.name
        held = TensorProto()
        held.CopyFrom(weight.data.initializer)
        del held.dims[:]
        held.dims.extend(weight.shape)
        held.name = self.model.fresh(weight.data.name)
        return self.add(held)

    def replace_chain(self, weight: Weight, nodes: list[NodeProto]) -> None:
        """Replace the chain of `weight` by `nodes`."""
        *others, last = weight.chain
        self.model.replace(last, nodes, _WHY)
        for node in others:
            self.model.remove(node, _WHY)

    def transposing_matmuls(self, weight: Weight) -> list[Node]:
        """The MatMuls that read `weight`, of shape [N, K], with transpose_b; empty if it has any other reader."""
        value = Value(weight.graph, weight.result)
        if len(weight.shape) != 2 or value.is_output:
            return []
        found: list[Node] = []
        for use in value.uses():
            node = use.node
            if node.graph is not value.graph or use.index != 1 or node.op_type != "MatMul":
                return []
            if not is_openvino(node.proto):
                return []
            attributes = attributes_of(node.proto)
            if str(attributes.get("transpose_b", "false")).lower() not in ("true", "1"):
                return []
            if str(attributes.get("transpose_a", "false")).lower() in ("true", "1"):
                return []
            found.append(node)
        return found


def _since(element: int, blocks: _Blocks) -> int:
    """The first opset of ai.onnx whose DequantizeLinear supports the element type and the layout."""
    if blocks.size or element in (TensorProto.UINT4, TensorProto.INT4):
        return 21
    return 13 if element in (TensorProto.UINT8, TensorProto.INT8) else 19


def _shape_of_scales(weight: Weight) -> tuple[int, ...]:
    """Broadcast shape of scales and zero points, with 1s in front up to the rank of the data.

    Raises ValueError when the shapes do not broadcast.
    """
    zero = () if weight.zero is None else weight.zero.shape
    shape = np.broadcast_shapes(weight.scale.shape, zero)
    return (1,) * (len(weight.data.shape) - len(shape)) + shape


def _blocks_of(weight: Weight) -> _Blocks | None:
    """Layout of the scales and zero points of `weight`; None for a layout that DequantizeLinear does not support."""
    data = weight.data.shape
    try:
        scale = _shape_of_scales(weight)
    except ValueError:
        return None
    if len(scale) > len(data) or 0 in data:
        return None
    along = [axis for axis, size in enumerate(scale) if size != 1]
    if len(data) == 3 and len(weight.shape) == 2 and scale == (*data[:2], 1):
        if weight.shape == (data[0], data[1] * data[2]):
            return _Blocks(1, data[2])
        return None
    if data != weight.shape or len(along) > 1:
        return None
    if not along:
        return _Blocks(None, 0)
    return _Blocks(along[0], 0) if scale[along[0]] == data[along[0]] else None


def _layout(array: Array, weight: Weight, blocks: _Blocks) -> Array:
    """`array`, scales or zero points of `weight`, in the shape that DequantizeLinear takes.

    The shape is [N, K / size] for blocks, else a vector or a scalar.
    """
    whole = np.broadcast_to(array, _shape_of_scales(weight))
    if blocks.axis is None:
        return whole.reshape(())
    return whole.reshape(weight.data.shape[:2]) if blocks.size else whole.reshape(-1)


def _packed(rows: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """`rows` of numbers packed to `bits` bits each, 4 or 8; the first number of a byte is in the low bits.

    Each row is padded to whole bytes.
    """
    if bits == 8:
        return rows
    if rows.shape[1] % 2:
        rows = np.pad(rows, ((0, 0), (0, 1)))
    pairs: npt.NDArray[np.uint8] = rows[:, 0::2] | (rows[:, 1::2] << np.uint8(4))
    return pairs
