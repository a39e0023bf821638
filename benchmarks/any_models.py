"""Models from files and folders: those that are not too large, one of each graph structure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

LEAST_NODES = 3
"""Graphs of fewer nodes are tests of an operator."""


@dataclass(frozen=True)
class Chosen:
    """Models by name, and what is left out, as path and reason."""

    models: dict[str, Path]
    left_out: list[tuple[Path, str]]


def choose(folders: Iterable[Path], lists: Iterable[Path], most_megabytes: float) -> Chosen:
    """The .onnx files below folders, and those that a list names, one path a line; names are paths below a folder."""
    paths = {}
    for folder in folders:
        paths |= {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.onnx")) if path.is_file()}
    for listed in lists:
        paths |= {name: Path(name) for name in listed.read_text().split("\n") if name.strip()}
    chosen = Chosen({}, [])
    known: dict[object, str] = {}
    for name, path in paths.items():
        size = path.stat().st_size
        if size > most_megabytes * 1e6:
            chosen.left_out.append((path, f"{size / 1e6:.0f} MB"))
            continue
        try:
            model = onnx.load(str(path), load_external_data=False)
        except DecodeError:
            chosen.left_out.append((path, "not readable"))
            continue
        if len(model.graph.node) < LEAST_NODES:
            chosen.left_out.append((path, f"fewer than {LEAST_NODES} nodes"))
            continue
        key = structure(model.graph)
        if key in known:
            chosen.left_out.append((path, f"the same structure as {known[key]}"))
            continue
        known[key] = name
        chosen.models[name] = path
    return chosen


def structure(graph: onnx.GraphProto) -> tuple[object, ...]:
    """The operators of a graph, each with the nodes that its inputs come from, names and weights aside."""
    producers: dict[str, int] = {}
    found: list[object] = []
    for number, node in enumerate(graph.node):
        bodies = [structure(a.g) for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        found.append((node.op_type, tuple(producers.get(name, -1) for name in node.input), *bodies))
        producers |= dict.fromkeys(node.output, number)
    return tuple(found)


def file_name(name: str) -> str:
    """A name that a folder may have, of the name of a model."""
    return re.sub(r"[^\w.=-]+", "+", name)
