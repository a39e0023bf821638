"""IRs that were changed at random: each is read, or refused with one clear line, and none takes much memory."""

from __future__ import annotations

import random
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import AttributeProto

from gather_infer.errors import ModelReadError
from gather_infer.openvino.ir import read_ir
from tests.openvino.ir_made import Layer, const, net, parameter, relu, result, written

ODD = [
    "", "-1", "0", "1", "2", "3", "7", "65536", "2147483648", "4294967296", "9223372036854775807",
    "9223372036854775808", "18446744073709551615", "-9223372036854775808", "9" * 300, "1e9", "0x10", "1.5", "?", "...",
    "1..10", "10..1", "a,b", "\\", "&#x10FFFF;", "&amp;", "é",
]  # fmt: skip
WORDS = [
    "Parameter",
    "Result",
    "Const",
    "If",
    "Loop",
    "TensorIterator",
    "Assign",
    "ReadValue",
    "Gather",
    "layer",
    "port",
]
TYPES = ["f32", "u1", "u3", "nf4", "i4", "i64", "string", "boolean", "dynamic", "FP32", "BIN"]
MODELS = ["mlp", "branches", "counted", "forward", "pairs_backward", "nested", "shapes", "by hand"]


def flip(text: bytearray, rng: random.Random) -> None:
    if text:
        text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)


def cut(text: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(text) + 1)
    del text[start : start + rng.choice([1, 2, 8, 60, 400])]


def truncate(text: bytearray, rng: random.Random) -> None:
    del text[rng.randrange(len(text) + 1) :]


def repeat(text: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(text) + 1)
    text[start:start] = text[start : start + rng.choice([1, 8, 60, 400])]


def _values(text: bytearray) -> list[re.Match[bytes]]:
    return list(re.finditer(rb'="([^"]*)"', text))


def change_attribute(text: bytearray, rng: random.Random) -> None:
    """Another value of the file, or an odd one."""
    found = _values(text)
    if found:
        chosen, other = rng.choice(found), rng.choice(found)
        text[slice(*chosen.span(1))] = rng.choice([other[1], *(t.encode() for t in (*ODD, *WORDS, *TYPES))])


def change_number(text: bytearray, rng: random.Random) -> None:
    found = list(re.finditer(rb"(?<=[\">])-?[0-9]+(?=[\"<])", text))
    if found:
        chosen = rng.choice(found)
        number = int(chosen[0]) + rng.choice([-2, -1, 1, 2, 1000]) if len(chosen[0]) < 15 else 0
        text[slice(*chosen.span())] = rng.choice([str(number), *ODD]).encode()


def drop_attribute(text: bytearray, rng: random.Random) -> None:
    found = list(re.finditer(rb' [a-z_-]+="[^"]*"', text))
    if found:
        del text[slice(*rng.choice(found).span())]


def move_lines(text: bytearray, rng: random.Random) -> None:
    """Lines dropped, repeated, or put somewhere else."""
    lines = bytes(text).split(b"\n")
    start, place = rng.randrange(len(lines)), rng.randrange(len(lines))
    taken = lines[start : start + rng.choice([1, 1, 3, 10])]
    kind = rng.randrange(3)
    if kind < 2:
        del lines[start : start + len(taken)]
    if kind:
        lines[place:place] = taken
    text[:] = b"\n".join(lines)


def drop_element(text: bytearray, rng: random.Random) -> None:
    """A whole edge, port or layer."""
    found = list(
        re.finditer(rb"<(edge|port|input|output)\b[^>]*/>|<(layer|data|port_map|body)\b.*?</\2>", text, re.DOTALL)
    )
    if found:
        del text[slice(*rng.choice(found).span())]


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
    flip, cut, truncate, repeat, *[change_attribute] * 8, *[change_number] * 8, *[drop_attribute] * 3, move_lines,
    *[drop_element] * 2,
]  # fmt: skip


def original(name: str) -> tuple[bytes, bytes]:
    if name != "by hand":
        path = written(name)
        return path.read_bytes(), path.with_suffix(".bin").read_bytes()
    ports = ("0:U1:", "0:NF4:", "0:U3:", "0:STRING:", "0:FP32:")
    constants = [
        const("1", "3,5", 0, 2, "u1"), const("2", "1500", 4, 750, "nf4"), const("3", "8", 1, 3, "u3"),
        const("4", "1", 8, 12, "string"), const("5", "600", 0, 2400, "f32"),
    ]  # fmt: skip
    concat = Layer("6", "Concat", tuple(f"{k}:{port[2:]}" for k, port in enumerate(ports)), ("9:FP32:2:a,b",))
    layers = [parameter("0", "1..4,?"), *constants, concat, relu("7"), result("8"), result("9")]
    xml = net(
        layers, "1.0>6.0 2.0>6.1 3.0>6.2 4.0>6.3 5.0>6.4 6.9>7.0 7.1>8.0 0.0>9.0", rest="<rt_info><a><b/></a></rt_info>"
    )
    return xml.encode(), bytes(8) + b"\1\0\0\0\0\0\0\0\0\0\0\0" + bytes(range(256)) * 10


def mutated(seed: int) -> tuple[bytes, bytes | None]:
    """Some model with one to four changes; None for a .bin that is not there."""
    rng = random.Random(seed)
    xml, weights = map(bytearray, original(rng.choice(MODELS)))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if rng.random() < 0.1:
            rng.choice([flip, cut, truncate])(weights, rng)
        else:
            rng.choice(MUTATIONS)(xml, rng)
    return bytes(xml), None if rng.random() < 0.02 else bytes(weights)


def check_names(graph: onnx.GraphProto, outer: frozenset[str], seen: set[str]) -> None:
    """Every value has one name of its own in the model, and is there before it is read."""
    known = set(outer)

    def add(name: str) -> None:
        assert name and name not in seen
        seen.add(name)
        known.add(name)

    for held in (*graph.input, *graph.initializer):
        add(held.name)
    for node in graph.node:
        assert {name for name in node.input if name} <= known
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                check_names(attribute.g, frozenset(known), seen)
        for name in node.output:
            add(name)
    assert len({value.name for value in graph.output}) == len(graph.output)
    assert all(value.name in known - outer for value in graph.output)


def judge(seeds: range, folder: Path) -> int:
    """How many of the models were read; the others were refused."""
    path, read = folder / "m.xml", 0
    tracemalloc.start()
    try:
        for seed in seeds:
            xml, weights = mutated(seed)
            path.write_bytes(xml)
            path.with_suffix(".bin").unlink(missing_ok=True)
            if weights is not None:
                path.with_suffix(".bin").write_bytes(weights)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            try:
                proto = read_ir(path).model.proto
            except ModelReadError as error:
                text = str(error)
                assert text.startswith(str(folder)) and "\n" not in text and len(text) < 1000, seed
            else:
                read += 1
                check_names(proto.graph, frozenset(), set())
                size = len(xml) + len(weights or b"")
                assert len(proto.SerializeToString()) < 4 * size + (16 << 10), seed
            assert tracemalloc.get_traced_memory()[1] - before < 8 << 20, seed
    finally:
        tracemalloc.stop()
    return read


def test_what_is_not_changed_is_read(tmp_path: Path) -> None:
    for name in MODELS:
        xml, weights = original(name)
        (tmp_path / "m.xml").write_bytes(xml)
        (tmp_path / "m.bin").write_bytes(weights)
        check_names(read_ir(tmp_path / "m.xml").model.proto.graph, frozenset(), set())


def test_mutations(tmp_path: Path) -> None:
    assert 25 < judge(range(300), tmp_path) < 275


@pytest.mark.oracle
def test_more_mutations(tmp_path: Path) -> None:
    assert 60 < judge(range(300, 1000), tmp_path) < 640
