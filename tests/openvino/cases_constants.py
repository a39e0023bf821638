"""Element types of OpenVINO: constants of each, Convert between them, gathers on tables of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case, Engine

PLAIN = {
    "f32": "f4", "f16": "f2", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2",
    "u32": "u4", "u64": "u8", "boolean": "?",
}  # fmt: skip
FOREIGN = ("u1", "u2", "u3", "u6", "nf4", "f4e2m1", "f8e8m0")
PACKED = (*FOREIGN, "u4", "i4", "f8e4m3", "f8e5m2", "bf16")
BITS = {"u1": 1, "u2": 2, "u3": 3, "u6": 6, "u4": 4, "i4": 4, "nf4": 4, "f4e2m1": 4, "bf16": 16}
DIMS = {"Reshape": [0, 2, -1], "Squeeze": [1], "Unsqueeze": [0], "Transpose": [2, 1, 0]}
COUNTS = (1, 3, 8, 29)
AT = np.array([0, 23, -1, 24, 5])
"""Of tables with 24 rows."""

FLOATS = np.array(
    [0, -0.0, 0.4, 0.5, 1.5, -1.5, 2.5, 127.6, 100.25, 7, -7, 1e-3, 0.001953, 448, 464, 465, 500, -1, 250, 15.5], "f8"
)
"""In the range of all integers but those of 4 and 8 bits."""

WIDE = np.array([128.4, 255.7, 256.2, -128.9, -129.5, 300.5, -70000, 3e9, -1e19, np.inf, -np.inf, np.nan])
NEAR_F4 = np.array(
    [0, -0.0, 0.25, 0.26, 0.5, 0.75, 0.74, 1, 1.25, 1.5, 1.75, 1.76, 2, 2.5, 2.51, 3, 3.5, 3.49, 4, 5, 5.01, 6, 7, 99,
     -0.3, -0.75, -2.5, -5, -9, 1e-3, np.inf, -np.inf, np.nan]
)  # fmt: skip
"""The numbers of f4e2m1, those in the middle of two, and beyond."""

NEAR_POWERS = np.array(
    [0, 1, 0.5, 0.75, 0.76, 1.25, 1.5, 1.49, 2.5, 3, 3.01, 5, 6, 5.99, 12, 48, 300, 1e-3, 2.0**-14, 3 * 2.0**-14, 65504,
     -1, -300, np.inf, -np.inf, np.nan]
)  # fmt: skip
"""The numbers of f8e8m0 are powers of two."""

INTEGERS = np.array([0, 1, -1, 2, 127, 128, 255, 256, 300, -128, -129, 32767, 32768, 65535, 70000, -(2**31), 7, -8, 9])


def of_plain(source: str) -> npt.NDArray[Any]:
    if source.startswith("f"):
        return FLOATS.astype(PLAIN[source])
    return (INTEGERS > 0) if source == "boolean" else INTEGERS.astype(PLAIN[source])


def convert(source: npt.NDArray[Any], target: str) -> Callable[[Build], Any]:
    return lambda b: b.op(1, "Convert", [b.param(source)], destination_type=target)


def packed(b: Build, element: str, count: int) -> Any:
    """A constant of every code, as far as it has so many elements; 8-bit floats without those that are no numbers."""
    size = -(-count * BITS.get(element, 8) // 8)
    size = -(-size // 3) * 3 if element in ("u3", "u6") else size
    data = b.integers(size, low=0, high=256).astype("u1")
    if element in ("f8e4m3", "f8e5m2"):
        data &= 0xBB
    if element == "bf16":
        data[1::2] &= 0xBF
    return b.packed(element, (count,), data.tobytes())


def unpack(element: str, target: str, count: int) -> Callable[[Build], Any]:
    """A constant through Convert, added to an input so that no output is a constant."""

    def make(b: Build) -> Any:
        made = b.op(1, "Convert", [packed(b, element, count)], destination_type=target)
        zero = b.param(np.zeros(count, PLAIN[target]))
        return b.op(1, "Add", [made, zero], auto_broadcast="numpy")

    return make


def gather(element: str, index: npt.NDArray[Any]) -> Callable[[Build], Any]:
    """Elements of a table of a type that has no plain bytes, as f32."""

    def make(b: Build) -> Any:
        table = packed(b, element, 24)
        rows = b.op(8, "Gather", [table, b.param(index), b.const(np.array(0, "i8"))], batch_dims=0)
        return b.op(1, "Convert", [rows], destination_type="f32")

    return make


def decoded_first(element: str, index: npt.NDArray[Any]) -> Callable[[Build], Any]:
    """The same by a Convert before the Gather, which OpenVINO does right."""

    def make(b: Build) -> Any:
        table = b.op(1, "Convert", [packed(b, element, 24)], destination_type="f32")
        return b.op(8, "Gather", [table, b.param(index), b.const(np.array(0, "i8"))], batch_dims=0)

    return make


def engine_of(source: str, target: str) -> Engine:
    """`evaluate` where the plugin is wrong: it takes u32 and u64 for i32, some integers for 0 when it makes booleans,
    and at dynamic shapes, there alone, saturates floats in 8 bits.
    """
    narrow = source.startswith("f") and target in ("i8", "u8")
    return "evaluate" if source in ("u32", "u64") or target == "boolean" or narrow else "plugin"


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for source in PLAIN:
        for target in PLAIN:
            if source != target:
                found[f"{source} to {target}"] = Case(
                    convert(of_plain(source), target), engine=engine_of(source, target)
                )
        for target in ("f8e4m3", "f8e5m2", "bf16"):  # their bytes come out as f32
            rtol = 2**-7 if target == "bf16" else None  # OpenVINO rounds to bf16, or cuts, as it runs
            found[f"{source} to {target}"] = Case(
                there_and_back(of_plain(source), target), engine=engine_of(source, target), rtol=rtol
            )
        for target in ("u4", "i4", "u2"):
            if not source.startswith("f"):
                found[f"{source} to {target}"] = Case(there_and_back(of_plain(source), target), engine="evaluate")
    for source in ("f32", "f16"):  # OpenVINO has no Convert of other types to these
        for target, numbers in (("f4e2m1", NEAR_F4), ("f8e8m0", NEAR_POWERS)):
            found[f"{source} to {target}"] = Case(there_and_back(numbers.astype(PLAIN[source]), target))
    for source in ("f32", "f16", "f64"):
        for target in ("i8", "u8"):
            wide = WIDE[: 8 if source != "f16" else 6].astype(PLAIN[source])
            found[f"{source} to {target}, out of range"] = Case(convert(wide, target), engine="evaluate")
    for element in PACKED:
        for count in COUNTS:
            found[f"{count} of {element}"] = Case(unpack(element, "f32", count), ("static",))
        for target in ("f16", "i32", "i64", "u8", "i8"):
            # powers of two leave the range; OpenVINO has no Convert of nf4 and f4e2m1 to i32 and i64
            if element in ("f8e8m0", "bf16") or (element in ("nf4", "f4e2m1") and target in ("i32", "i64")):
                continue
            engine: Engine = "plugin" if element in ("nf4", "f4e2m1") else "evaluate"
            found[f"{element} to {target}"] = Case(unpack(element, target, 16), ("static",), engine=engine)
        found[f"{element} table"] = Case(decoded_first(element, AT))
        # a Gather of codes: OpenVINO's own gives garbage, and the Convert before it does not
        found[f"{element} table as it is"] = Case(gather(element, AT), instead=decoded_first(element, AT))
    for element in ("u4", "i4"):
        for kind, given in DIMS.items():
            found[f"{kind} of {element}"] = Case(dims_given(element, kind, given))
    found |= {
        "like i32": Case(lambda b: b.op(1, "ConvertLike", [b.param(of_plain("f32")), b.param(np.array([1], "i4"))])),
        "like f16": Case(lambda b: b.op(1, "ConvertLike", [b.param(of_plain("i32")), b.param(np.array([1], "f2"))])),
        "a scalar": Case(convert(np.array(2.5, "f4"), "i32")),
        "no elements": Case(convert(np.zeros((2, 0), "f4"), "i32"), ("dynamic",)),
        "no rank": Case(convert(np.array([[1.5]], "f4"), "i64"), ("unranked",), engine="evaluate"),
    }
    return found


def dims_given(element: str, kind: str, given: list[int]) -> Callable[[Build], Any]:
    """Other dims of [3, 1, 4] elements of 4 bits, which OpenVINO cannot give out as they are."""
    attributes = {"special_zero": True} if kind == "Reshape" else {}

    def make(b: Build) -> Any:
        whole = b.op(1, "Convert", [b.param(np.arange(12, dtype="f4").reshape(3, 1, 4) % 8)], destination_type="i32")
        narrow = b.op(1, "Convert", [whole], destination_type=element)
        moved = b.op(1, kind, [narrow, b.const(np.array(given, "i8"))], **attributes)
        return b.op(1, "Convert", [moved], destination_type="f32")

    return make


def there_and_back(source: npt.NDArray[Any], target: str) -> Callable[[Build], Any]:
    def make(b: Build) -> Any:
        narrow = b.op(1, "Convert", [b.param(source)], destination_type=target)
        return b.op(1, "Convert", [narrow], destination_type="f32")

    return make


CASES: dict[str, Case] = cases()
