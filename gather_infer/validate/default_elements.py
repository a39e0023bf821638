"""Elements of defaults, the initializers of inputs that feeds may omit, in the lines of a contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from onnx import TensorProto

from gather_infer.contract import ElementsLine, Open
from gather_infer.errors import ModelReadError
from gather_infer.model import ModelFile
from gather_infer.symbolic import Scope, known_le

MAX_BYTES: Final = 64 << 20
"""Largest default that is read."""


def open_defaults(model: ModelFile, lines: Iterable[ElementsLine], scope: Scope) -> Iterator[Open]:
    """Open points of inputs that feeds may omit: the default is not known to satisfy a line about its elements.

    scope   the facts that hold if all lines on dims do
    """
    defaults = {tensor.name: tensor for tensor in model.proto.graph.initializer}
    for line in lines:
        default = defaults.get(line.input)
        if default is not None and not _satisfies(model, default, line, scope):
            yield Open(line.nodes[0], f"the default of {line.input} may not satisfy {line.text}")


def _satisfies(model: ModelFile, default: TensorProto, line: ElementsLine, scope: Scope) -> bool:
    """Whether the elements of a default are known to satisfy a line."""
    if model.nbytes(default) > MAX_BYTES:
        return False
    try:
        array = model.tensor(default)
    except ModelReadError:  # its external data is missing
        return False
    column = array if line.column is None else array[..., line.column]
    if not column.size:
        return True
    low, high = int(column.min()), int(column.max())
    return (line.lower is None or known_le(line.lower, low, scope) is True) and (
        line.upper is None or known_le(high, line.upper, scope) is True
    )
