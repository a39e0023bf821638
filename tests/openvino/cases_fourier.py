"""Cases of Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.openvino.cases import Build, Case

CASES: dict[str, Case] = {}


def transform(
    opset: int,
    type_name: str,
    data: tuple[int, ...],
    axes: list[int],
    sizes: list[int] | None = None,
    dtype: str = "f4",
    run_time: bool = False,
    witness: Any = None,
) -> Case:
    def build(b: Build) -> Any:
        given = [b.param(b.floats(*data, dtype=dtype)), b.const(np.array(axes, np.int64))]
        if sizes is not None:
            given.append((b.param if run_time else b.const)(np.array(sizes, np.int64)))
        return b.op(opset, type_name, given)

    return Case(build, witness=witness, rtol=5e-3 if dtype == "f2" else 5e-5)


COMPLEX: dict[str, tuple[tuple[int, ...], list[int], list[int] | None]] = {
    "one axis": ((3, 8, 2), [1], None),
    "first axis": ((5, 3, 2), [0], None),
    "negative axis": ((3, 6, 2), [-1], None),
    "two axes": ((2, 5, 6, 2), [1, 2], None),
    "two axes reversed": ((2, 5, 6, 2), [-1, 1], None),
    "all axes": ((3, 4, 5, 2), [0, 1, 2], None),
    "longer": ((3, 6, 2), [1], [9]),
    "shorter": ((3, 8, 2), [1], [5]),
    "sizes": ((2, 5, 6, 2), [1, 2], [4, 8]),
    "some size": ((2, 5, 6, 2), [2, 1], [-1, 3]),
}


def rdft(axes: list[int], sizes: list[int] | None) -> Any:
    """numpy's transform of real data. The plugin has none of more elements than there are."""

    def witness(x: npt.NDArray[Any], *given: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        wanted = given[0].tolist() if given else sizes
        lengths = [x.shape[axis] if n == -1 else n for axis, n in zip(axes, wanted or [-1] * len(axes), strict=True)]
        made = np.fft.rfftn(x, lengths, axes)
        return [np.stack([made.real, made.imag], -1).astype(x.dtype)]

    return witness


def irdft(axes: list[int], sizes: list[int] | None) -> Any:
    """numpy's transform to real data. The plugin has none with -1 among the sizes, nor with sizes at run time."""

    def witness(x: npt.NDArray[Any], *given: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        wanted = given[0].tolist() if given else sizes
        data = x[..., 0] + 1j * x[..., 1]
        lengths = [data.shape[axis] if n == -1 else n for axis, n in zip(axes, wanted or [-1] * len(axes), strict=True)]
        if wanted is None or wanted[-1] == -1:
            lengths[-1] = 2 * (data.shape[axes[-1]] - 1)
        return [np.fft.irfftn(data, lengths, axes).astype(x.dtype)]

    return witness


WITNESSED = ("longer", "sizes", "some size")
for _name, (_data, _axes, _sizes) in COMPLEX.items():
    _witnessed = _name in WITNESSED
    CASES |= {
        f"DFT-7 {_name}": transform(7, "DFT", _data, _axes, _sizes),
        f"IDFT-7 {_name}": transform(7, "IDFT", _data, _axes, _sizes),
        f"RDFT-9 {_name}": transform(
            9, "RDFT", _data[:-1], _axes, _sizes, witness=rdft(_axes, _sizes) if _witnessed else None
        ),
        f"IRDFT-9 {_name}": transform(
            9, "IRDFT", _data, _axes, _sizes, witness=irdft(_axes, _sizes) if _name == "some size" else None
        ),
    }
RUN_TIME = {"RDFT": rdft([0], None), "IRDFT": irdft([0], None)}
for _opset, _type in ((7, "DFT"), (7, "IDFT"), (9, "RDFT"), (9, "IRDFT")):
    CASES |= {
        f"{_type}-{_opset} f16": transform(_opset, _type, (3, 8, 2), [0], None, "f2"),
        f"{_type}-{_opset} run-time sizes": transform(
            _opset, _type, (3, 8, 2), [0], [3], run_time=True, witness=RUN_TIME.get(_type)
        ),
    }


def stft(
    signal: tuple[int, ...],
    window: int,
    frame: int,
    step: int,
    transposed: bool,
    dtype: str = "f4",
    run_time: bool = False,
) -> Case:
    def build(b: Build) -> Any:
        given = [b.param(b.floats(*signal, dtype=dtype)), b.const(b.floats(window, low=0.1, high=1, dtype=dtype))]
        given += [(b.param if run_time else b.const)(np.array(one, np.int64)) for one in (frame, step)]
        return b.op(15, "STFT", given, transpose_frames=transposed)

    return Case(build, rtol=5e-3 if dtype == "f2" else 5e-5)


def istft(
    frames: int,
    window: int,
    frame: int,
    step: int,
    *,
    center: bool = False,
    normalized: bool = False,
    length: int | None = None,
    batch: tuple[int, ...] = (2,),
    dtype: str = "f4",
) -> Case:
    def build(b: Build) -> Any:
        data = b.floats(*batch, frame // 2 + 1, frames, 2, dtype=dtype)
        given = [b.param(data), b.const(b.floats(window, low=0.1, high=1, dtype=dtype))]
        given += [b.const(np.array(one, np.int64)) for one in (frame, step)]
        if length is not None:
            given.append(b.const(np.array(length, np.int64)))
        return b.op(16, "ISTFT", given, center=center, normalized=normalized)

    return Case(build, rtol=1e-2 if dtype == "f2" else 1e-4)


for _transposed in (True, False):
    CASES |= {
        f"STFT-15 transposed {_transposed}": stft((2, 48), 16, 16, 8, _transposed),
        f"STFT-15 one signal, transposed {_transposed}": stft((48,), 16, 16, 4, _transposed),
        f"STFT-15 short window, transposed {_transposed}": stft((2, 50), 9, 16, 5, _transposed),
        f"STFT-15 odd frame, transposed {_transposed}": stft((1, 33), 11, 11, 3, _transposed),
    }
CASES |= {
    "STFT-15 f16": stft((2, 48), 16, 16, 8, False, "f2"),
    "STFT-15 run-time frames": stft((2, 48), 16, 16, 8, False, run_time=True),
    "ISTFT-16": istft(6, 16, 16, 4),
    "ISTFT-16 centred": istft(6, 16, 16, 4, center=True),
    "ISTFT-16 normalised": istft(6, 16, 16, 4, normalized=True),
    "ISTFT-16 centred, normalised": istft(7, 16, 16, 4, center=True, normalized=True),
    "ISTFT-16 short window": istft(6, 9, 16, 4),
    "ISTFT-16 odd frame": istft(5, 11, 11, 3),
    "ISTFT-16 one signal": istft(5, 16, 16, 4, batch=()),
    "ISTFT-16 shorter": istft(6, 16, 16, 4, length=20),
    "ISTFT-16 longer": istft(6, 16, 16, 4, length=60),
    "ISTFT-16 centred, shorter": istft(6, 16, 16, 4, length=12, center=True),
    "ISTFT-16 centred, longer": istft(6, 16, 16, 4, length=50, center=True),
    "ISTFT-16 gaps": istft(4, 8, 8, 10),
    "STFT-15 no signals": stft((0, 48), 16, 16, 8, False),
    "ISTFT-16 no signals": istft(6, 16, 16, 4, batch=(0,)),
    "DFT-7 no rows": transform(7, "DFT", (0, 4, 2), [1]),
    "RDFT-9 no rows": transform(9, "RDFT", (0, 4), [1]),
    "IRDFT-9 no rows": transform(9, "IRDFT", (0, 4, 2), [1]),
    "ISTFT-16 f16": istft(6, 16, 16, 4, dtype="f2"),
}
