"""Bisection: the first layer of an IR that a converted model computes differently, and why it does."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper

from gather_infer.ir import Model, Node
from gather_infer.model import ModelFile
from gather_infer.runtimes.process import Failure, RuntimeProcess
from gather_infer.verification.files import on_disk
from gather_infer.verification.output_comparison import ValueDifference, difference, dtype_of
from gather_infer.verification.tolerance import Tolerance

LAYERS_PER_RUN: Final = 24
"""Maximum number of layers that one run of both models compares: all their outputs are in memory."""


class ComparedLayer(NamedTuple):
    """A layer that both models have, with the name of its first output."""

    name: str
    kind: str
    value: str

    def __str__(self) -> str:
        return f"layer {self.name} ({self.kind})"


@dataclass(slots=True)
class Bisection:
    """The search for the first differing layer.

    source      the IR, in the dialect; layers in bodies and those without a unique name are skipped
    converted   the conversion
    original, rewritten   the runtimes of `source` and `converted`; a search leaves other models loaded in them
    feeds       the file of inputs for which outputs differ
    folder      where temporary files are written
    """

    source: ModelFile
    converted: ModelProto
    original: RuntimeProcess
    rewritten: RuntimeProcess
    feeds: Path
    folder: Path
    tolerance: Tolerance
    layers: list[ComparedLayer] = field(init=False)
    _nodes: dict[str, Node] = field(init=False)
    _steps: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        made = Model(self.converted).main.producers
        nodes = [node for node in Model.of(self.source).main.file_nodes if node.domain or node.op_type == "If"]
        names = Counter(node.proto.name for node in nodes)
        alone = [node for node in nodes if names[node.proto.name] == 1 and node.outputs and node.outputs[0] in made]
        self._nodes = {node.proto.name: node for node in alone}
        self.layers = [ComparedLayer(name, node.op_type, node.outputs[0]) for name, node in self._nodes.items()]

    def first_difference(self) -> tuple[ComparedLayer, ValueDifference] | None:
        """The first layer whose output differs, with the difference; None when no such layer is found."""
        below, above = 0, len(self.layers)
        found: tuple[ComparedLayer, ValueDifference] | None = None
        while below < above:
            step = max(1, (above - below + LAYERS_PER_RUN - 1) // LAYERS_PER_RUN)
            tried = range(below + step - 1, above, step)
            apart = self._compared([self.layers[k] for k in tried])
            if apart is None:
                break
            wrong = next(((k, one) for k, one in zip(tried, apart, strict=True) if one is not None), None)
            if wrong is None:
                below = tried[-1] + 1
                continue
            found = self.layers[wrong[0]], wrong[1]
            below, above = wrong[0] - step + 1, wrong[0]
        return found

    def is_decided_by_rounding(self, layer: ComparedLayer) -> bool:
        """Whether a differing layer is discontinuous: its inputs differ by rounding only, and equal inputs give equal
        outputs.

        An example is the order of boxes with almost equal scores.
        """
        node = self._nodes[layer.name]
        read = self._read(node)
        if not read:
            return False
        names = [each.value for each in read]
        first = self._run(self.original, Path(self.source.name).absolute(), self.feeds, [*read, layer])
        second = self._run_converted(self.converted, names, self.feeds)
        if first is None or second is None:
            return False
        *given, wanted = first
        if any(difference(one, other, self.tolerance) for one, other in zip(given, second, strict=True)):
            return False
        feeds = self.folder / f"feeds{next(self._steps)}.pickle"
        with open(self.feeds, "rb") as file:
            inputs = pickle.load(file)
        feeds.write_bytes(pickle.dumps({**inputs, **dict(zip(names, given, strict=True))}))
        again = self._run_converted(
            _with_fed_values(self.converted, dict(zip(names, given, strict=True))), [layer.value], feeds
        )
        return again is not None and difference(wanted, again[0], self.tolerance) is None

    def is_past_int32(self, layer: ComparedLayer) -> bool:
        """Whether a layer differs only in 64-bit integers that OpenVINO's CPU plugin wraps to 32 bits."""
        first = self._run(self.original, Path(self.source.name).absolute(), self.feeds, [layer])
        second = self._run_converted(self.converted, [layer.value], self.feeds)
        if first is None or second is None:
            return False
        wrapped, array = np.asarray(first[0]), np.asarray(second[0])
        if array.dtype.kind not in "iu" or array.dtype.itemsize != 8 or array.shape != wrapped.shape:
            return False
        return bool((array.astype(np.int32) == wrapped.astype(np.int32)).all())

    def _read(self, node: Node) -> list[ComparedLayer]:
        """The compared layers that a node reads; empty if it also reads other computed values, or has subgraphs."""
        layers = {layer.value: layer for layer in self.layers}
        names = dict.fromkeys(name for name in node.inputs if _is_computed(node.graph.producer(name)))
        return [layers[name] for name in names] if not node.bodies and names.keys() <= layers.keys() else []

    def _compared(self, layers: Sequence[ComparedLayer]) -> list[ValueDifference | None] | None:
        """The difference of each layer, None for equal outputs; None instead of the list if a model does not run."""
        second = self._run_converted(self.converted, [layer.value for layer in layers], self.feeds)
        first = self._run(self.original, Path(self.source.name).absolute(), self.feeds, layers)
        if first is None or second is None:
            return None
        return [difference(one, other, self.tolerance) for one, other in zip(first, second, strict=True)]

    def _run_converted(self, proto: ModelProto, values: Sequence[str], feeds: Path) -> list[Any] | None:
        """The `values`, by name, in a run of `proto`, the converted model or an edit of it; None if it does not run."""
        part = ModelProto()
        part.CopyFrom(proto)
        del part.graph.output[:]
        part.graph.output.extend(ValueInfoProto(name=value) for value in values)
        with on_disk(self.source, part, self.folder / f"part{next(self._steps)}") as path:
            return self._run(self.rewritten, path, feeds, ())

    def _run(self, child: RuntimeProcess, path: Path, feeds: Path, layers: Sequence[ComparedLayer]) -> list[Any] | None:
        if child.load(path, [layer.name for layer in layers]) is not None:
            return None
        outputs = child.run(feeds)
        return None if isinstance(outputs, Failure) else outputs


def _is_computed(producer: tuple[Node, int] | None) -> bool:
    """Whether a node that reads values produces a value."""
    return producer is not None and bool(producer[0].inputs)


def _with_fed_values(proto: ModelProto, values: Mapping[str, Any]) -> ModelProto:
    """The model with the tensors named in `values` as inputs instead of computed ones."""
    fed = ModelProto()
    fed.CopyFrom(proto)
    for node in fed.graph.node:
        for at, name in enumerate(node.output):
            if name in values:
                node.output[at] = f"{name}_computed"
    kept = [info for info in fed.graph.value_info if info.name not in values]
    del fed.graph.value_info[:]
    fed.graph.value_info.extend(kept)
    for name, value in values.items():
        array = np.asarray(value)
        data_type = int(dtype_of(array))
        fed.graph.input.append(helper.make_tensor_value_info(name, data_type, [None] * array.ndim))
    return fed


def described(layer: ComparedLayer, found: ValueDifference) -> str:
    """A differing layer as text: `layer NAME (TYPE): difference`."""
    if found.index is None:
        return f"{layer}: {found.reason}"
    return f"{layer}: element {list(found.index)} is {found.rewritten}, was {found.original}"
