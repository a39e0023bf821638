"""Each clause of each operator of the gather family, broken once: nothing that a spec forbids is accepted."""

# A case a line: the tables are read down their columns.
# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

from gather_infer.diagnostic import CODES, Severity
from gather_infer.errors import SpecViolation
from gather_infer.tensor import DType
from tests.ops.facts import known, of
from tests.ops.gather_cases import UNRANKED, UNRANKED_INDICES, N, S, f32, i64, run

GATHER, ELEMENTS, ND = (1, 11, 13), (11, 13), (11, 12, 13)
OV, MS, ML = "openvino", "com.microsoft", "ai.onnx.ml"
U8, U4, F8 = DType.UINT8, DType.UINT4, DType.FLOAT8E4M3FN
Q = {"block_size": 16}

Violation = tuple[str, str, tuple[int, ...], tuple[Any, ...], dict[str, Any], str, str]

RAISED: dict[str, Violation] = {
    # id: (domain, operator, versions, inputs, attributes, code, message)
    "Gather, scalar data": ("", "Gather", GATHER, (f32(), i64(1)), {}, "GI305", "data must have rank 1 or more, has rank 0: []"),
    "Gather, axis": ("", "Gather", GATHER, (f32(3, 4), i64(1)), {"axis": 2}, "GI304", "axis = 2 is outside [-2, 1], data has rank 2"),
    "Gather, axis below": ("", "Gather", GATHER, (f32(N, 4), i64(1)), {"axis": -3}, "GI304", "axis = -3 is outside [-2, 1], data has rank 2"),
    "Gather, axis, unranked indices": ("", "Gather", GATHER, (f32(3), UNRANKED_INDICES), {"axis": 1}, "GI304", "axis = 1 is outside [-1, 0], data has rank 1"),
    "Gather, index type": ("", "Gather", GATHER, (f32(3), of(DType.INT8, 1)), {}, "GI308", "indices must be int32 or int64, is int8"),
    "Gather, float index": ("", "Gather", GATHER, (f32(3), f32(1)), {}, "GI308", "indices must be int32 or int64, is float32"),
    "Gather, unsigned index": ("", "Gather", GATHER, (f32(3), of(DType.UINT64, 1)), {}, "GI308", "indices must be int32 or int64, is uint64"),
    "Gather, no indices": ("", "Gather", GATHER, (f32(3),), {}, "GI107", "input 1 is missing"),
    "Gather, no data": ("", "Gather", GATHER, (None, i64(1)), {}, "GI107", "input 0 is missing"),
    "Gather, axis as input": ("", "Gather", GATHER, (f32(3), i64(1), known(0)), {}, "GI309", "Gather takes 2 inputs, has 3: an axis as input is OpenVINO's"),
    "Elements, scalar": ("", "GatherElements", ELEMENTS, (f32(), i64()), {}, "GI305", "data must have rank 1 or more, has rank 0: []"),
    "Elements, scalar indices": ("", "GatherElements", ELEMENTS, (UNRANKED, i64()), {}, "GI305", "indices must have rank 1 or more, has rank 0: []"),
    "Elements, ranks": ("", "GatherElements", ELEMENTS, (f32(3, 4), i64(3)), {}, "GI305", "data and indices must have the same rank, have ranks 2 and 1"),
    "Elements, axis": ("", "GatherElements", ELEMENTS, (f32(3), i64(3)), {"axis": 1}, "GI304", "axis = 1 is outside [-1, 0], data has rank 1"),
    "Elements, axis, unranked data": ("", "GatherElements", ELEMENTS, (UNRANKED, i64(3)), {"axis": -2}, "GI304", "axis = -2 is outside [-1, 0], indices has rank 1"),
    "Elements, too long": ("", "GatherElements", ELEMENTS, (f32(3, 4), i64(5, 4)), {"axis": 1}, "GI212", "dim 0 of indices is 5, outside [0, 3]"),
    "Elements, always too long": ("", "GatherElements", ELEMENTS, (f32(N, 4), i64(N + 1, 4)), {"axis": 1}, "GI212", "dim 0 of indices is N + 1, outside [0, N]"),
    "Elements, index type": ("", "GatherElements", ELEMENTS, (f32(3), of(DType.UINT8, 3)), {}, "GI308", "indices must be int32 or int64, is uint8"),
    "Elements, three inputs": ("", "GatherElements", ELEMENTS, (f32(3), i64(3), i64()), {}, "GI107", "GatherElements takes 2 inputs, has 3"),
    "ND, scalar data": ("", "GatherND", ND, (f32(), i64(1)), {}, "GI305", "data must have rank 1 or more, has rank 0: []"),
    "ND, scalar indices": ("", "GatherND", ND, (f32(3), i64()), {}, "GI305", "indices must have rank 1 or more, has rank 0: []"),
    "ND, int32": ("", "GatherND", ND, (f32(3), of(DType.INT32, 1)), {}, "GI308", "indices must be int64, is int32"),
    "ND, tuple too long": ("", "GatherND", ND, (f32(3, 4), i64(2, 3)), {}, "GI307", "index tuples have length 3, outside [1, 2], data has rank 2 and batch_dims is 0"),
    "ND, empty tuple": ("", "GatherND", ND, (f32(3, 4), i64(2, 0)), {}, "GI307", "index tuples have length 0, outside [1, 2], data has rank 2 and batch_dims is 0"),
    "ND, empty tuple, unranked data": ("", "GatherND", ND, (UNRANKED, i64(2, 0)), {}, "GI307", "index tuples have length 0, outside [1, ...]"),
    "ND, tuple always too long": ("", "GatherND", ND, (f32(3), i64(2, S + 2)), {}, "GI307", "index tuples have length S + 2, outside [1, 1], data has rank 1 and batch_dims is 0"),
    "ND, tuple too long in a batch": ("", "GatherND", (12, 13), (f32(3, 4), i64(3, 2)), {"batch_dims": 1}, "GI307", "index tuples have length 2, outside [1, 1], data has rank 2 and batch_dims is 1"),
    "ND, negative batch_dims": ("", "GatherND", (12, 13), (f32(3, 4), i64(3, 1)), {"batch_dims": -1}, "GI306", "batch_dims = -1 is outside [0, 1], data has rank 2 and indices has rank 2"),
    "ND, batch_dims of data": ("", "GatherND", (12, 13), (f32(3), i64(3, 1)), {"batch_dims": 1}, "GI306", "batch_dims = 1 is outside [0, 0], data has rank 1 and indices has rank 2"),
    "ND, batch_dims of indices": ("", "GatherND", (12, 13), (f32(3, 4), i64(3)), {"batch_dims": 1}, "GI306", "batch_dims = 1 is outside [0, 0], data has rank 2 and indices has rank 1"),
    "ND, batch_dims, one rank": ("", "GatherND", (12, 13), (UNRANKED, i64(3)), {"batch_dims": 1}, "GI306", "batch_dims = 1 is outside [0, 0], indices has rank 1"),
    "ND, batch_dims, no rank": ("", "GatherND", (12, 13), (UNRANKED, UNRANKED_INDICES), {"batch_dims": -1}, "GI306", "batch_dims = -1 is outside [0, ...]"),
    "ND, batch dims differ": ("", "GatherND", (12, 13), (f32(3, 4), i64(2, 1)), {"batch_dims": 1}, "GI306", "batch dim 0 of data and indices must be equal, are 3 and 2"),
    "ND, batch dims never equal": ("", "GatherND", (12, 13), (f32(N, 4), i64(N + 1, 1)), {"batch_dims": 1}, "GI306", "batch dim 0 of data and indices must be equal, are N and N + 1"),
    "ND-11, batch_dims": ("", "GatherND", (11,), (f32(3, 4), i64(3, 1)), {"batch_dims": 1}, "GI106", "batch_dims is an attribute of GatherND from opset 12 on"),
    "ND-11, batch_dims 0": ("", "GatherND", (11,), (f32(3, 4), i64(3, 1)), {"batch_dims": 0}, "GI106", "batch_dims is an attribute of GatherND from opset 12 on"),
    "Features, scalar": (ML, "ArrayFeatureExtractor", (1,), (f32(), i64(1)), {}, "GI305", "X must have rank 1 or more, has rank 0: []"),
    "Features, type": (ML, "ArrayFeatureExtractor", (1,), (of(U8, 3), i64(1)), {}, "GI211", "X must be float32, float64, int32, int64 or string, is uint8"),
    "Features, index type": (ML, "ArrayFeatureExtractor", (1,), (f32(3), of(DType.INT32, 1)), {}, "GI308", "Y must be int64, is int32"),
    "Features, attribute": (ML, "ArrayFeatureExtractor", (1,), (f32(3), i64(1)), {"axis": 0}, "GI106", "axis is not an attribute of ArrayFeatureExtractor, it has none"),
    "MS ND, bfloat16": (MS, "GatherND", (1,), (of(DType.BFLOAT16, 3), i64(1)), {}, "GI211", ""),
    "MS ND, index type": (MS, "GatherND", (1,), (f32(3), of(DType.INT8, 1)), {}, "GI308", "indices must be int32 or int64, is int8"),
    "MS ND, batch_dims": (MS, "GatherND", (1,), (f32(3), i64(1)), {"batch_dims": 0}, "GI106", "batch_dims is not an attribute of GatherND, it has none"),
    "MS ND, tuple": (MS, "GatherND", (1,), (f32(3), i64(2)), {}, "GI307", "index tuples have length 2, outside [1, 1], data has rank 1 and batch_dims is 0"),
    "Block, axis": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 2)), {"axis": 0, **Q}, "GI106", "axis is not an attribute of GatherBlockQuantized, known are gather_axis, quantize_axis, block_size, bits"),
    "Block, data type": (MS, "GatherBlockQuantized", (1,), (of(DType.INT8, 3, 32), i64(1), f32(3, 2)), Q, "GI211", ""),
    "Block, scales type": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), of(DType.FLOAT64, 3, 2)), Q, "GI211", "scales must be bfloat16, float16 or float32, is float64"),
    "Block, index type": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), of(U8, 1), f32(3, 2)), Q, "GI308", "indices must be int32 or int64, is uint8"),
    "Block, zero point type": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 2), of(DType.INT4, 3, 2)), Q, "GI211", "zero_points must be uint4, is int4"),
    "Block, vector": (MS, "GatherBlockQuantized", (1,), (of(U4, 32), i64(1), f32(2)), Q, "GI305", "data must have rank 2 or more, has rank 1: [32]"),
    "Block, size": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 4)), {"block_size": 8}, "GI210", "block_size must be a power of 2 and >= 16, is 8"),
    "Block, no power of 2": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 2)), {"block_size": 24}, "GI210", "block_size must be a power of 2 and >= 16, is 24"),
    "Block, size 0": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 1)), {"block_size": 0}, "GI210", "block_size must be a power of 2 and >= 16 for uint4 data, is 0"),
    "Block, bits of uint8": (MS, "GatherBlockQuantized", (1,), (of(U8, 3, 32), i64(1), f32(3, 2)), {"bits": 3, **Q}, "GI210", "bits must be 2, 4 or 8 for uint8 data, is 3"),
    "Block, bits of uint4": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 2)), {"bits": 8, **Q}, "GI210", "bits must be 4 for uint4 data, is 8"),
    "Block, mistyped": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 2)), {"bits": 4.0, **Q}, "GI106", "attribute bits must be an integer, is 4.0"),
    "Block, gather_axis": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 2)), {"gather_axis": 2, **Q}, "GI304", "gather_axis = 2 is outside [-2, 1], data has rank 2"),
    "Block, quantize_axis": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(3, 2)), {"quantize_axis": -3, **Q}, "GI304", "quantize_axis = -3 is outside [-2, 1], data has rank 2"),
    "Block, gather_axis of uint8": (MS, "GatherBlockQuantized", (1,), (of(U8, 3, 16), i64(1), f32(3, 2)), {"gather_axis": 1, **Q}, "GI210", "gather_axis must be 0 for uint8 data, is 1"),
    "Block, quantize_axis of uint8": (MS, "GatherBlockQuantized", (1,), (of(U8, 3, 2, 16), i64(1), f32(3, 1, 32)), Q, "GI210", "quantize_axis must be 2, the last, for uint8 data, is 1"),
    "Block, blocks": (MS, "GatherBlockQuantized", (1,), (of(U8, 3, 16), i64(1), f32(3, 1)), Q, "GI212", "the blocks on axis 1 of data and dim 1 of scales must be equal, are 2 and 1"),
    "Block, rows": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(1, 2)), Q, "GI212", "dim 0 of data and scales must be equal, are 3 and 1"),
    "Block, scales rank": (MS, "GatherBlockQuantized", (1,), (of(U4, 3, 32), i64(1), f32(6)), Q, "GI305", "data and scales must have the same rank, have ranks 2 and 1"),
    "Block, zero points": (MS, "GatherBlockQuantized", (1,), (of(U8, 3, 16), i64(1), f32(3, 2), of(U8, 3, 2)), Q, "GI212", "dim 1 of packed scales and zero_points must be equal, are 1 and 2"),
    "Block, zero points of float8": (MS, "GatherBlockQuantized", (1,), (of(F8, 3, 16), i64(1), f32(3, 1), of(F8, 3, 1)), Q, "GI107", "zero_points must not be given for float8e4m3fn data"),
    "OV Gather, no axis": (OV, "Gather", (1, 7, 8), (f32(3), i64(1)), {}, "GI107", "input 2 is missing"),
    "OV Gather, scalar": (OV, "Gather", (1, 7, 8), (f32(), i64(1), known(0)), {}, "GI305", "data must have rank 1 or more, has rank 0: []"),
    "OV Gather, axis": (OV, "Gather", (1, 7, 8), (f32(3), i64(1), known(1)), {}, "GI304", "axis = 1 is outside [-1, 0], data has rank 1"),
    "OV Gather, axis type": (OV, "Gather", (1, 7, 8), (f32(3), i64(1), f32()), {}, "GI308", ""),
    "OV Gather, two axes": (OV, "Gather", (1, 7, 8), (f32(3, 4), i64(1), known([0, 1])), {}, "GI305", "axis must be a scalar or have one element, has shape [2]"),
    "OV Gather, axis matrix": (OV, "Gather", (1, 7, 8), (f32(3, 4), i64(1), known([[0]])), {}, "GI305", "axis must be a scalar or have one element, has shape [1, 1]"),
    "OV Gather, index type": (OV, "Gather", (1, 7, 8), (f32(3), f32(1), known(0)), {}, "GI308", ""),
    "OV Gather-1, batch_dims": (OV, "Gather", (1,), (f32(3, 4), i64(3, 1), known(1)), {"batch_dims": 1}, "GI106", "batch_dims is an attribute of Gather from version 7 on"),
    "OV Gather, batch_dims past axis": (OV, "Gather", (7, 8), (f32(3, 4), i64(3, 4), known(1)), {"batch_dims": 2}, "GI306", "batch_dims = 2 is outside [0, 1], axis is 1 and indices has rank 2"),
    "OV Gather, batch_dims past indices": (OV, "Gather", (7, 8), (f32(3, 4), i64(3), known(1)), {"batch_dims": 2}, "GI306", "batch_dims = 2 is outside [-1, 1], data has rank 2 and indices has rank 1"),
    "OV Gather, negative batch_dims": (OV, "Gather", (7, 8), (f32(3, 4), i64(3), known(1)), {"batch_dims": -2}, "GI306", "batch_dims = -2 is outside [-1, 1], data has rank 2 and indices has rank 1"),
    "OV Gather, batch_dims, one rank": (OV, "Gather", (7, 8), (UNRANKED, i64(), known(0)), {"batch_dims": 1}, "GI306", "batch_dims = 1 is outside [0, 0], indices has rank 0"),
    "OV Gather, batch_dims, no indices": (OV, "Gather", (7, 8), (f32(3, 4), UNRANKED_INDICES, known(0)), {"batch_dims": 1}, "GI306", "batch_dims = 1 is outside [0, 0], axis is at most 0"),
    "OV Gather, attribute": (OV, "Gather", (1, 7, 8), (f32(3, 4), i64(1), known(0)), {"axis": 1}, "GI106", "axis is not an attribute of Gather, known are batch_dims"),
    "OV Elements, inputs": (OV, "GatherElements", (6, 8), (f32(3), i64(3), known(0)), {"axis": 0}, "GI107", "GatherElements takes 2 inputs, has 3"),
    "OV ND, inputs": (OV, "GatherND", (5, 8), (f32(3), i64(1), known(0)), {}, "GI107", "GatherND takes 2 inputs, has 3"),
    "OV Tree, inputs": (OV, "GatherTree", (1,), (f32(3, 1, 2), f32(3, 1, 2), f32(1), f32(), f32()), {}, "GI107", "GatherTree takes 4 inputs, has 5"),
    "OV Gather, batch dims differ": (OV, "Gather", (7, 8), (f32(3, 4), i64(1, 2), known(1)), {"batch_dims": 1}, "GI306", "batch dim 0 of data and indices must be equal, are 3 and 1"),
    "OV Elements, dims": (OV, "GatherElements", (6, 8), (f32(3, 4), i64(2, 4)), {"axis": 1}, "GI212", "dim 0 of data and indices must be equal, are 3 and 2"),
    "OV Elements, no axis": (OV, "GatherElements", (6, 8), (f32(3), i64(3)), {}, "GI106", "attribute axis is missing"),
    "OV Elements, index type": (OV, "GatherElements", (6, 8), (f32(3), of(DType.INT8, 3)), {"axis": 0}, "GI308", "indices must be int32 or int64, is int8"),
    "OV ND, batch dims differ": (OV, "GatherND", (5, 8), (f32(3, 4), i64(1, 1)), {"batch_dims": 1}, "GI306", "batch dim 0 of data and indices must be equal, are 3 and 1"),
    "OV ND, tuple": (OV, "GatherND", (5, 8), (f32(3), i64(2)), {}, "GI307", "index tuples have length 2, outside [1, 1], data has rank 1 and batch_dims is 0"),
    "OV Tree, rank": (OV, "GatherTree", (1,), (f32(3, 1), f32(3, 1, 2), f32(1), f32()), {}, "GI305", "step_ids must have rank 3, has rank 2: [3, 1]"),
    "OV Tree, end token": (OV, "GatherTree", (1,), (f32(3, 1, 2), f32(3, 1, 2), f32(1), f32(1)), {}, "GI305", "end_token must have rank 0, has rank 1: [1]"),
    "OV Tree, types": (OV, "GatherTree", (1,), (f32(3, 1, 2), i64(3, 1, 2), f32(1), f32()), {}, "GI211", "parent_ids must be float32, is int64"),
    "OV Tree, shapes": (OV, "GatherTree", (1,), (f32(3, 1, 2), f32(3, 1, 3), f32(1), f32()), {}, "GI212", "beam of step_ids and parent_ids must be equal, are 2 and 3"),
    "OV Tree, batch": (OV, "GatherTree", (1,), (f32(3, 1, 2), f32(3, 1, 2), f32(2), f32()), {}, "GI212", "batch of step_ids and max_seq_len must be equal, are 1 and 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", RAISED)
def test_violation(case: str) -> None:
    domain, operator, versions, inputs, attributes, code, message = RAISED[case]
    for version in versions:
        with pytest.raises(SpecViolation) as caught:
            run(operator, *inputs, version=version, domain=domain, **attributes)
        assert caught.value.code == code
        assert code in CODES
        if message:
            assert str(caught.value) == message


FOREIGN_TYPES = [t for t in DType if t > DType.BFLOAT16]


@pytest.mark.parametrize("dtype", FOREIGN_TYPES, ids=str)
@pytest.mark.parametrize("operator", ["Gather", "GatherElements", "GatherND"])
def test_small_types_are_in_no_version(operator: str, dtype: DType) -> None:
    for version in (11, 13, 21, 28):
        with pytest.raises(SpecViolation, match=f"is {dtype}"):
            run(operator, of(dtype, 3), i64(1), version=version)


def test_bfloat16_says_when_it_came() -> None:
    with pytest.raises(SpecViolation) as caught:
        run("Gather", of(DType.BFLOAT16, 3), i64(1), version=12)
    assert caught.value.detail == ("bfloat16 is allowed from opset 13 on",)


Report = tuple[str, str, int, tuple[Any, ...], dict[str, Any], str, str, tuple[str, ...], Severity | None]
WARN = Severity.WARNING
F34 = "data float32[3, 4], axis 0"

REPORTED: dict[str, Report] = {
    # id: (domain, operator, version, inputs, attributes, code, message, detail, severity); the outputs stay known
    "past the end": ("", "Gather", 13, (f32(50257, 768), known([[0, 1, 2, 50257]])), {}, "GI301", "index 50257 is outside [-50257, 50256]", ("data float32[50257, 768], axis 0", "indices element [0, 3]"), None),
    "before the start": ("", "Gather", 11, (f32(3, 4), known(-4)), {}, "GI301", "index -4 is outside [-3, 2]", (F34, "indices is a scalar"), None),
    "several": ("", "Gather", 13, (f32(3, 4), known([9, 0, 8])), {}, "GI301", "index 9 is outside [-3, 2]", (F34, "indices element [0]", "2 elements are out of bounds"), None),
    "other dims empty": ("", "Gather", 13, (f32(3, 0), known([5])), {}, "GI301", "index 5 is outside [-3, 2]", ("data float32[3, 0], axis 0", "indices element [0]"), None),
    "empty axis": ("", "Gather", 13, (f32(0, 4), known([0])), {}, "GI301", "index 0 is out of bounds, the axis has length 0", ("data float32[0, 4], axis 0", "indices element [0]"), None),
    "empty axis, unknown index": ("", "Gather", 13, (f32(0, 4), i64(2)), {}, "GI301", "indices is not empty, the axis it addresses has length 0", ("data float32[0, 4], axis 0",), None),
    "symbolic": ("", "Gather", 13, (f32(N, 4), known([N])), {}, "GI301", "index N is outside [-N, N - 1]", ("data float32[N, 4], axis 0", "indices element [0]"), None),
    "opset 1, past the end": ("", "Gather", 9, (f32(3, 4), known([3])), {}, "GI301", "index 3 is outside [-3, 2]", (F34, "indices element [0]"), None),
    "opset 1, negative": ("", "Gather", 9, (f32(3, 4), known([0, -1])), {}, "GI303", "index -1 is negative, which Gather defines from opset 11 on", (F34, "indices element [1]"), None),
    "elements": ("", "GatherElements", 13, (f32(3, 4), known([[0], [4]])), {"axis": 1}, "GI301", "index 4 is outside [-4, 3]", ("data float32[3, 4], axis 1", "indices element [1, 0]"), None),
    "tuples": ("", "GatherND", 13, (f32(3, 4), known([[0, 0], [2, 4]])), {}, "GI301", "index 4 is outside [-4, 3]", ("data float32[3, 4], axis 1", "indices element [1, 1]"), None),
    "tuples in a batch": ("", "GatherND", 13, (f32(3, 4), known([[0], [4], [0]])), {"batch_dims": 1}, "GI301", "index 4 is outside [-4, 3]", ("data float32[3, 4], axis 1", "indices element [1, 0]"), None),
    "features, negative": (ML, "ArrayFeatureExtractor", 1, (f32(3, 4), known([-1])), {}, "GI301", "index -1 is outside [0, 3]", ("data float32[3, 4], axis 1", "indices element [0]"), None),
    "features, past the end": (ML, "ArrayFeatureExtractor", 1, (f32(4), known([4])), {}, "GI301", "index 4 is outside [0, 3]", ("data float32[4], axis 0", "indices element [0]"), None),
    "com.microsoft": (MS, "GatherND", 1, (f32(3, 4), known([3])), {}, "GI301", "index 3 is outside [-3, 2]", (F34, "indices element [0]"), None),
    "blocks": (MS, "GatherBlockQuantized", 1, (of(U4, 3, 32), known([3]), f32(3, 2)), Q, "GI301", "index 3 is outside [-3, 2]", ("data float32[3, 32], axis 0", "indices element [0]", "the result there is 0"), WARN),
    "OV Gather-8": (OV, "Gather", 8, (f32(3, 4), known([3, -3]), known(0)), {}, "GI301", "index 3 is outside [-3, 2]", (F34, "indices element [0]", "the result there is 0"), WARN),
    "OV Gather-7": (OV, "Gather", 7, (f32(3, 4), known([3]), known(0)), {}, "GI301", "index 3 is outside [0, 2]", (F34, "indices element [0]", "the result there is not defined"), WARN),
    "OV Gather-1, negative": (OV, "Gather", 1, (f32(3, 4), known([-1]), known(0)), {}, "GI303", "index -1 is negative, which Gather defines from version 8 on", (F34, "indices element [0]"), None),
    "OV ND-8": (OV, "GatherND", 8, (f32(3, 4), known([3])), {}, "GI301", "index 3 is outside [-3, 2]", (F34, "indices element [0]"), None),
}  # fmt: skip


@pytest.mark.parametrize("case", REPORTED)
def test_report(case: str) -> None:
    domain, operator, version, inputs, attributes, code, message, detail, severity = REPORTED[case]
    out = run(operator, *inputs, version=version, domain=domain, **attributes)
    assert out.context.findings == [(code, message, detail, severity)]
    assert out.fact.shape is not None
    assert out.fact.dtype is DType.FLOAT32
