"""The `config.pbtxt` of a model for Triton's onnxruntime backend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gather_infer.contract import Contract, DeclaredTensor, ModelInterface
from gather_infer.errors import EmissionRefused, UsageError
from gather_infer.serving.bounded import BoundedSizes
from gather_infer.serving.emission import Emission, Notes
from gather_infer.serving.profiles import DEFAULT_BATCH
from gather_infer.symbolic import Dim, Expr, Interval, free_symbols, symbol

_MAX_INT32: Final = 2**31 - 1

_TYPES: Final = {
    "bool": "TYPE_BOOL",
    "uint8": "TYPE_UINT8",
    "uint16": "TYPE_UINT16",
    "uint32": "TYPE_UINT32",
    "uint64": "TYPE_UINT64",
    "int8": "TYPE_INT8",
    "int16": "TYPE_INT16",
    "int32": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float16": "TYPE_FP16",
    "bfloat16": "TYPE_BF16",
    "float32": "TYPE_FP32",
    "float64": "TYPE_FP64",
    "string": "TYPE_STRING",
}


@dataclass(frozen=True, slots=True)
class Batch:
    """The size of the first axis of each input and output.

    name   its symbol
    most   its largest value, `max_batch_size`
    """

    name: str
    most: int


def triton_config(contract: Contract, interface: ModelInterface | None) -> Emission:
    """The text of config.pbtxt, with all inputs and outputs, so that Triton completes nothing by itself.

    If the first axis of each input and output is the same symbol, and no other axis depends on it, it is the batch:
    `max_batch_size` is its upper bound, and `dims` leave it out. Without `dynamic_batching` Triton does not join
    requests, for the contract does not prove that the rows of a batch are independent.

    https://github.com/triton-inference-server/server/blob/main/docs/user_guide/model_configuration.md
    Raises EmissionRefused for what Triton cannot describe: a rank that is unknown, a dim of 0, an element type.
    """
    if interface is None:
        raise UsageError("a configuration for Triton needs the interface of the model, ContractResult.interface")
    sizes = BoundedSizes(contract)
    batch, reason, chosen = _batch(contract, interface, sizes)
    remarks = [*_changed_outputs(interface)]
    if batch is None:
        remarks.append(f"max_batch_size is 0: {reason}")
    else:
        remarks.append(f"the batch is {batch.name}; no dynamic_batching: the rows of a batch may depend on each other")
    kept = {} if batch is None else {batch.name: Interval(1, batch.most)}
    ties = frozenset(kept)
    body = "".join(f"{line}\n" for line in _config(contract, interface, sizes, batch))
    return Notes(sizes.inexpressible(kept, ties=ties), chosen, tuple(remarks)).emission("triton", contract, body)


def _config(contract: Contract, interface: ModelInterface, sizes: BoundedSizes, batch: Batch | None) -> Iterator[str]:
    yield f"name: {_quoted(Path(contract.model).stem)}"
    yield 'platform: "onnxruntime_onnx"'
    yield 'backend: "onnxruntime"'
    yield f"default_model_filename: {_quoted(contract.model)}"
    yield f"max_batch_size: {0 if batch is None else batch.most}"
    axes = {(axis.input, axis.number): axis for axis in sizes.system.axes}
    for spec in contract.inputs:
        intervals = [
            Interval(dim, dim) if isinstance(dim, int) else sizes.of_axis(axes[spec.name, number])
            for number, dim in enumerate(spec.shape or ())
        ]
        dims = [interval.lo if interval.is_point and interval.lo is not None else -1 for interval in intervals]
        yield from _tensor("input", spec.name, spec.dtype, dims, batch, is_optional=spec.optional)
    for output in interface.outputs:
        if output.dims is None:
            raise EmissionRefused(f"the file declares no shape of output {output.name}")
        dims = [dim if isinstance(dim, int) else -1 for dim in output.dims]
        yield from _tensor("output", output.name, output.dtype, dims, batch)


def _tensor(
    kind: str, name: str, dtype: str | None, dims: list[int], batch: Batch | None, *, is_optional: bool = False
) -> Iterator[str]:
    if dtype not in _TYPES:
        raise EmissionRefused(f"Triton has no element type for {kind} {name}, of {dtype or 'an unknown type'}")
    inner = dims[1:] if batch is not None else dims
    if 0 in inner:
        raise EmissionRefused(f"{kind} {name} has a dim of 0, which Triton does not accept")
    yield f"{kind} {{"
    yield f"  name: {_quoted(name)}"
    yield f"  data_type: {_TYPES[dtype]}"
    yield f"  dims: [{', '.join(map(str, inner or [1]))}]"
    if batch is not None and not inner:
        yield "  reshape: { shape: [] }"
    if is_optional:
        yield "  optional: true"
    yield "}"


def _batch(
    contract: Contract, interface: ModelInterface, sizes: BoundedSizes
) -> tuple[Batch | None, str, tuple[str, ...]]:
    """The batch, else the reason why there is none; and a text on `most` if the contract does not give it."""
    shapes: dict[str, tuple[Dim, ...]] = {f"input {spec.name}": spec.shape or () for spec in contract.inputs}
    shapes |= {f"output {output.name}": interface.output_shapes.get(output.name) or () for output in interface.outputs}
    declared = {f"input {tensor.name}": tensor for tensor in interface.inputs}
    declared |= {f"output {tensor.name}": tensor for tensor in interface.outputs}
    name = ""
    for tensor, shape in shapes.items():
        first = shape[0] if shape else None
        if not isinstance(first, Expr) or not first.is_symbol or not _is_free(declared[tensor]):
            return None, f"the first axis of {tensor} is no free size", ()
        name = name or first.name
        if first.name != name:
            return None, f"the first axis of {tensor} is {first}, not {symbol(name)}", ()
    for tensor, shape in shapes.items():
        if any(name in free_symbols(dim) for dim in shape[1:]):
            return None, f"another axis of {tensor} depends on {symbol(name)}", ()
    if name not in sizes.bounds:
        return None, "an equation of the contract fixes the first axis" if name else "there is no input", ()
    most = sizes.bounds[name].hi
    if most == 0:
        raise EmissionRefused(f"{symbol(name)} is 0, which Triton does not accept")
    chosen = () if most is not None else (f"max_batch_size {DEFAULT_BATCH}",)
    return Batch(name, DEFAULT_BATCH if most is None else min(most, _MAX_INT32)), "", chosen


def _is_free(tensor: DeclaredTensor) -> bool:
    """Whether onnxruntime reports -1 for the first axis, as Triton requires of a model with a batch."""
    return bool(tensor.dims) and not isinstance(tensor.dims[0] if tensor.dims else 0, int)


def _changed_outputs(interface: ModelInterface) -> Iterator[str]:
    """Yield the outputs for which the file declares a size that the model does not have; Triton compares both."""
    for output in interface.outputs:
        for number, (dim, derived) in enumerate(
            zip(output.dims or (), interface.output_shapes.get(output.name) or (), strict=False)
        ):
            if isinstance(dim, int) and dim != derived:
                yield f"output {output.name}.{number}: the file declares {dim}, the model has {derived}"


def _quoted(text: str) -> str:
    """A string of protobuf's text format, with bytes outside ASCII as octal escapes."""
    shown = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03o}" for b in text.encode())
    return f'"{"".join(shown)}"'
