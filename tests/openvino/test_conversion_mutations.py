"""IRs that were changed at random where a conversion looks: each is converted, or refused with one clear error."""

from __future__ import annotations

import random
import re
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
import pytest

from gather_infer import convert
from gather_infer.errors import ConversionRefused, ModelReadError
from tests.openvino.ir_made import written
from tests.openvino.test_ir_mutations import ODD, TYPES, mutated
from tests.openvino.whole import made

SECONDS = 20
"""For one file."""
BYTES = 64 << 20
"""Of Python's memory for one file, all of which are small."""
WHOLE = (
    "two variables that change places", "beams, plain", "a variable that begins with f16 converted", "layers in a loop",
    "a branch that is a constant", "names of fragments", "an unread output", "weights u4 blocks f16 NK",
    "weights u8 rows f32 KN", "weights nf4 no zero f16 NK", "weights u8 of a Convolution", "weights i4 of a Gather",
)  # fmt: skip
READ = ("mlp", "branches", "counted", "forward", "pairs_backward", "nested", "shapes")
VALUES = [*ODD, *TYPES, "0", "1", "-3", "0,0", "1,2,3", "true", "false", "100000", "-2147483649"]


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="whole-")


@cache
def sources() -> list[tuple[bytes, bytes]]:
    paths = [*made(WHOLE, Path(_folder().name)).values(), *map(written, READ)]
    return [(path.read_bytes(), path.with_suffix(".bin").read_bytes()) for path in paths]


def replaced(text: bytearray, pattern: bytes, rng: random.Random, choose: Callable[[list[bytes]], bytes]) -> None:
    """Replace the group of one match of the pattern."""
    found = list(re.finditer(pattern, bytes(text)))
    if found:
        text[slice(*rng.choice(found).span(1))] = choose([one[1] for one in found])


def change(text: bytearray, rng: random.Random) -> None:
    """Another value of an attribute, type, opset, element type or edge; or an attribute less."""
    data = rb'(?<=[a-z0-9_])="([^"<>]*)"(?=[^<>]*/>\s*(?:<input|<output|</layer))'
    match rng.randrange(10):
        case 0 | 1 | 2 | 3 | 4:
            replaced(text, data, rng, lambda known: rng.choice([rng.choice(VALUES).encode(), rng.choice(known)]))
        case 5:
            replaced(text, rb"<data [^>]*?( [a-z_]+=\"[^\"]*\")", rng, lambda _: b"")
        case 6:
            replaced(text, rb' type="([A-Za-z]+)"', rng, rng.choice)
        case 7:
            replaced(text, rb' version="(opset[0-9]+)"', rng, lambda _: b"opset%d" % rng.randrange(1, 17))
        case 8:
            replaced(
                text, rb'precision="([A-Z0-9]+)"', rng, lambda known: rng.choice([*known, b"U4", b"STRING", b"dynamic"])
            )
        case _:
            replaced(text, rb'(from-layer="[0-9]+" from-port="[0-9]+")', rng, rng.choice)


def changed(seed: int) -> tuple[bytes, bytes]:
    rng = random.Random(seed)
    xml, weights = map(bytearray, rng.choice(sources()))
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.15 and weights:
            weights[rng.randrange(len(weights))] = rng.choice([0, 1, 2, 3, 5, 127, 128, 255])
        else:
            change(xml, rng)
    return bytes(xml), bytes(weights)


@contextmanager
def limited() -> Iterator[None]:
    def expire(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(SECONDS)
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()
        signal.alarm(0)


def judge(seeds: range, make: Callable[[int], tuple[bytes, bytes | None]], folder: Path) -> tuple[int, int]:
    """How many were converted, and how many read and refused; a model that is converted passes onnx's checker."""
    path = folder / "m.xml"
    converted = refused = 0
    for seed in seeds:
        xml, weights = make(seed)
        path.write_bytes(xml)
        path.with_suffix(".bin").unlink(missing_ok=True)
        if weights is not None:
            path.with_suffix(".bin").write_bytes(weights)
        with limited():
            try:
                result = convert(path)
            except ModelReadError as error:
                assert "\n" not in str(error), seed
                continue
            except ConversionRefused:
                refused += 1
                continue
        converted += 1
        target = folder / "m.onnx"
        result.save(target)
        onnx.checker.check_model(str(target))
    return converted, refused


@pytest.mark.oracle
def test_conversions(tmp_path: Path) -> None:
    converted, refused = judge(range(150), changed, tmp_path)
    assert converted > 30 and refused > 10


@pytest.mark.oracle
def test_more_conversions(tmp_path: Path) -> None:
    converted, refused = judge(range(150, 4000), changed, tmp_path)
    assert converted > 800 and refused > 250


@pytest.mark.oracle
def test_conversions_of_the_mutated_irs(tmp_path: Path) -> None:
    judge(range(1000), mutated, tmp_path)
