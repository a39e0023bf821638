"""The first layer of an IR that a converted model computes otherwise."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from onnx import ModelProto, ValueInfoProto

from gather_infer.model import ModelFile
from gather_infer.runtimes.process import Child, Failure
from gather_infer.verification.compare import Difference, difference
from gather_infer.verification.files import on_disk
from gather_infer.verification.tolerance import Tolerance

AT_ONCE: Final = 24
"""Layers that are looked at in one run of both models: their outputs are all in memory."""


@dataclass(slots=True)
class Halving:
    """The search.

    source      the IR, in the dialect; layers whose names are not their own alone are passed over, and those of bodies
    converted   the model that was made of it
    original, rewritten   what runs them
    feeds       inputs on which outputs differ
    """

    source: ModelFile
    converted: ModelProto
    original: Child
    rewritten: Child
    feeds: Path
    folder: Path
    tolerance: Tolerance

    def first_difference(self) -> str:
        """`layer NAME (TYPE): what is different`; empty when no single layer can be told."""
        layers = self._layers()
        below, above, found = 0, len(layers), ""
        steps = itertools.count()
        while below < above:
            step = max(1, (above - below + AT_ONCE - 1) // AT_ONCE)
            tried = range(below + step - 1, above, step)
            apart = self._compared([layers[k] for k in tried], next(steps))
            if apart is None:
                break
            wrong = next((k for k, one in zip(tried, apart, strict=True) if one is not None), None)
            if wrong is None:
                below = tried[-1] + 1
                continue
            name, kind, _ = layers[wrong]
            found = f"layer {name} ({kind}): {_text(apart[tried.index(wrong)])}"
            below, above = wrong - step + 1, wrong
        return found

    def _layers(self) -> list[tuple[str, str, str]]:
        """Name, type and output of the layers that both models have, in the order of the file."""
        made = {name for node in self.converted.graph.node for name in node.output}
        nodes = [node for node in self.source.proto.graph.node if node.domain or node.op_type == "If"]
        names = Counter(node.name for node in nodes)
        return [
            (node.name, node.op_type, node.output[0])
            for node in nodes
            if names[node.name] == 1 and node.output and node.output[0] in made
        ]

    def _compared(self, layers: Sequence[tuple[str, str, str]], step: int) -> list[Difference | None] | None:
        """Of each layer how it differs; None where one of the models does not run so."""
        part = ModelProto()
        part.CopyFrom(self.converted)
        del part.graph.output[:]
        part.graph.output.extend(ValueInfoProto(name=value) for _, _, value in layers)
        with on_disk(self.source, part, self.folder / f"part{step}") as path:
            first = self._run(self.original, Path(self.source.name).absolute(), [name for name, _, _ in layers])
            second = self._run(self.rewritten, path, ())
        if first is None or second is None:
            return None
        return [difference(one, other, self.tolerance) for one, other in zip(first, second, strict=True)]

    def _run(self, child: Child, path: Path, values: Sequence[str]) -> list[object] | None:
        if child.load(path, values) is not None:
            return None
        outputs = child.run(self.feeds)
        return None if isinstance(outputs, Failure) else outputs


def _text(found: Difference | None) -> str:
    if found is None or found.index is None:
        return "" if found is None else found.reason
    return f"element {list(found.index)} is {found.rewritten}, was {found.original}"
