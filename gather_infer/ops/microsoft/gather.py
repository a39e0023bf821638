"""Rules of GatherND, GatherBlockQuantized, GatherPacked and TorchEmbedding of com.microsoft."""

from __future__ import annotations

from gather_infer.access import Indexing
from gather_infer.errors import SpecViolation
from gather_infer.ops.microsoft.signature import NUMBERS, Inferred, contrib
from gather_infer.ops.onnx.gather import TYPES_1, gather, gather_nd
from gather_infer.ops.semantics.indices import INDEX_TYPES, check_call, integer, require_type
from gather_infer.ops.semantics.preconditions import normalize_axis, require_min_rank, require_rank
from gather_infer.rules import OpCall, RuleSet
from gather_infer.symbolic import Dim, ceildiv
from gather_infer.tensor import DType, Shape, SymbolicTensor

rules = RuleSet("com.microsoft")

PACKED_INTEGERS = frozenset({DType.INT4, DType.UINT4, DType.UINT8})
SMALL_FLOATS = frozenset(
    {DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ, DType.FLOAT4E2M1}
)
SCALES = frozenset({DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16})
ZERO_FILL = Indexing(strict=False, fill=0)
ROW_0 = Indexing(strict=False, from_end=False)
FROM_FRONT = Indexing(negative_note="which TorchEmbedding does not define")


@rules.rule("GatherND", since=1, addresses={1: 0}, checks_types=True, moves=0, gathers=True)
def gather_nd_microsoft(op: OpCall) -> list[SymbolicTensor]:
    """https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GatherND

    As GatherND of ai.onnx 11, but indices may also be int32.
    """
    check_call(op, inputs=2, attributes=())
    data, indices = op.tensor(0), op.tensor(1)
    require_type(data, TYPES_1, "data")
    require_type(indices, INDEX_TYPES, "indices", code="GI308")
    return [gather_nd(op, data, indices)]


@contrib(
    rules, "TorchEmbedding", "weight:T indices:int64 padding_idx?:int64 scale_grad_by_freq?:bool -> Y:T",
    addresses={1: 0}, moves=0, gathers=True, T=NUMBERS,
)  # fmt: skip
def torch_embedding(op: OpCall) -> Inferred:
    """Rows of `weight` [N, M] selected by `indices` [...] of any rank -> Y [..., M]"""
    require_rank(op.tensor(0).shape, 2, "weight")
    return [gather(op, op.tensor(0), op.tensor(1), indexing=FROM_FRONT)]


@contrib(
    rules, "GatherPacked", "data:B indices:I -> output:T", "K:int! output_dtype:int packed_type:int!",
    addresses={1: 0}, gathers=True, B=frozenset({DType.UINT8}), I=INDEX_TYPES, T=SCALES, unchecked_sizes=(0,)
)  # fmt: skip
def gather_packed(op: OpCall) -> Inferred:
    """Dequantized rows of a table of packed weights; an index out of bounds selects row 0.

    data     [N, bytes of a row]
    indices  any rank; indices in [0, N - 1] are in bounds
    output   [*indices.shape, K]; `output_dtype` is its element type, bfloat16 by default

    Raises SpecViolation when `K` is below 1, `data` does not have rank 2, or `output_dtype` is not one of `SCALES`.
    """
    table, k = require_rank(op.tensor(0).shape, 2, "data"), op.attr("K")
    if k < 1:
        raise SpecViolation(f"K must be >= 1, is {k}")
    rows = SymbolicTensor(_output_type(op), None if table is None else (table[0], k))
    return [gather(op, rows, op.tensor(1), indexing=ROW_0)]


def _output_type(op: OpCall) -> DType:
    number = op.attr("output_dtype", DType.BFLOAT16)
    found = next((dtype for dtype in SCALES if dtype == number), None)
    if found is None:
        raise SpecViolation(f"output_dtype must be 1 (float32), 10 (float16) or 16 (bfloat16), is {number}")
    return found


@rules.rule("GatherBlockQuantized", since=1, addresses={1: 0}, checks_types=True, gathers=True)
def gather_block_quantized(op: OpCall) -> list[SymbolicTensor]:
    """https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GatherBlockQuantized

    A Gather whose result is dequantized: blocks of `block_size` elements along `quantize_axis` share a scale and a zero
    point. uint8 data packs 8/bits elements per byte along the last axis. An index out of bounds selects zeros.

    data         [d0, ..., dr-1] after unpacking, r >= 2; int4, uint4, uint8, or a float of 8 or 4 bits
    indices      any rank
    scales       shape of unpacked data, but ceil(d / block_size) in place of the dim d at quantize_axis
    zero_points  shape of scales, packed like data
    result       Gather of unpacked data at gather_axis, element type of scales
    """
    check_call(op, inputs=4, attributes=("gather_axis", "quantize_axis", "block_size", "bits"))
    data, indices, scales = op.tensor(0), op.tensor(1), op.tensor(2)
    zero_points = op.optional_tensor(3)
    require_type(data, PACKED_INTEGERS | SMALL_FLOATS, "data")
    require_type(indices, INDEX_TYPES, "indices", code="GI308")
    require_type(scales, SCALES, "scales")
    require_min_rank(data.shape, 2, "data")
    bits = integer(op, "bits", 4)
    block_size = integer(op, "block_size", 128)
    _check_blocks(data.dtype, bits, block_size)
    if zero_points is not None:
        if data.dtype in SMALL_FLOATS:
            raise SpecViolation(f"zero_points must not be given for {data.dtype} data", "GI107")
        if data.dtype is not None:
            require_type(zero_points, frozenset({data.dtype}), "zero_points")
    gather_axis = integer(op, "gather_axis", 0)
    if data.shape is None:
        return [SymbolicTensor(scales.dtype)]
    rank = len(data.shape)
    gather_axis = normalize_axis(gather_axis, rank, name="gather_axis")
    quantize_axis = normalize_axis(integer(op, "quantize_axis", 1), rank, name="quantize_axis")
    components = 8 // bits if data.dtype is DType.UINT8 else 1
    if data.dtype is DType.UINT8:
        if gather_axis != 0:
            raise SpecViolation(f"gather_axis must be 0 for uint8 data, is {gather_axis}")
        if quantize_axis != rank - 1:
            raise SpecViolation(f"quantize_axis must be {rank - 1}, the last, for uint8 data, is {quantize_axis}")
    unpacked = (*data.shape[:-1], data.shape[-1] * components)
    _check_scales(op, data.dtype, unpacked, scales, quantize_axis, block_size)
    if zero_points is not None:
        _check_zero_points(op, scales, zero_points, quantize_axis, components)
    dequantized = SymbolicTensor(scales.dtype, unpacked)
    taken = gather(op, dequantized, indices, axis=gather_axis, indexing=ZERO_FILL)
    # Without the element type of data it is unknown whether data is packed.
    if data.dtype is None and taken.shape is not None:
        last = op.fresh("uint8 data are packed, the type is not known")
        return [SymbolicTensor(scales.dtype, (*taken.shape[:-1], last))]
    return [taken]


def _check_blocks(dtype: DType | None, bits: int, block_size: int) -> None:
    if dtype is DType.UINT8 and bits not in (2, 4, 8):
        raise SpecViolation(f"bits must be 2, 4 or 8 for uint8 data, is {bits}")
    if dtype in (DType.INT4, DType.UINT4) and bits != 4:
        raise SpecViolation(f"bits must be 4 for {dtype} data, is {bits}")
    if dtype is not None and dtype not in SMALL_FLOATS and block_size == 0:
        raise SpecViolation(f"block_size must be a power of 2 and >= 16 for {dtype} data, is 0")
    if block_size != 0 and (block_size < 16 or block_size & (block_size - 1)):
        raise SpecViolation(f"block_size must be a power of 2 and >= 16, is {block_size}")


def _check_scales(
    op: OpCall, dtype: DType | None, unpacked: Shape, scales: SymbolicTensor, quantize_axis: int, block_size: int
) -> None:
    if scales.shape is None:
        return
    if len(scales.shape) != len(unpacked):
        ranks = f"{len(unpacked)} and {len(scales.shape)}"
        raise SpecViolation(f"data and scales must have the same rank, have ranks {ranks}", "GI305")
    for j, (length, found) in enumerate(zip(unpacked, scales.shape, strict=True)):
        if j == quantize_axis:
            if dtype is None:
                continue
            blocks = _blocks(op, length, block_size)
            if blocks is not None:
                op.require_equal(blocks, found, f"the blocks on axis {j} of data and dim {j} of scales")
        elif dtype in SMALL_FLOATS and not (isinstance(found, int) and found != 1):
            continue  # 1 broadcasts
        elif dtype is not None:
            op.require_equal(length, found, f"dim {j} of data and scales")


def _blocks(op: OpCall, length: Dim, block_size: int) -> Dim | None:
    if block_size:
        return ceildiv(length, block_size, op.scope)
    return min(length, 1) if isinstance(length, int) else None  # block_size 0 means one block for the whole axis


def _check_zero_points(
    op: OpCall, scales: SymbolicTensor, zero_points: SymbolicTensor, quantize_axis: int, components: int
) -> None:
    if scales.shape is None or zero_points.shape is None:
        return
    if len(scales.shape) != len(zero_points.shape):
        ranks = f"{len(scales.shape)} and {len(zero_points.shape)}"
        raise SpecViolation(f"scales and zero_points must have the same rank, have ranks {ranks}", "GI305")
    for j, (length, found) in enumerate(zip(scales.shape, zero_points.shape, strict=True)):
        packed = ceildiv(length, components, op.scope) if j == quantize_axis else length
        if packed is not None:
            op.require_equal(packed, found, f"dim {j} of packed scales and zero_points")
