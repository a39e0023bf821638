"""Passes for onnx-ir: types of values of an `onnx_ir.Model`, and rewrites of it.

    >>> from gather_infer.compat.onnx_ir import OptimizePass, ShapeInferencePass
    >>> onnx_ir.passes.Sequential(OptimizePass(), ShapeInferencePass())(model)

https://onnx.ai/ir-py/api/ir_passes.html
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from onnx import TypeProto

from gather_infer.diagnostic import Severity
from gather_infer.errors import UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.proto.types import to_dim_param, to_type
from gather_infer.model import ModelFile
from gather_infer.node_ids import MAIN, GraphPath, Step
from gather_infer.passes import fold, optimize
from gather_infer.passes.result import PassResult
from gather_infer.rules import RuleSet
from gather_infer.symbolic import Dim, Expr, substitute, symbol
from gather_infer.symbolic.printing import is_plain_name
from gather_infer.tensor import SymbolicTensor, Value

try:
    import onnx_ir as ir
except ImportError as error:  # also for a version that is too old
    raise UsageError(f"passes for onnx-ir need onnx-ir: pip install 'gather-infer[onnx-ir]' ({error})") from error

FACT: Final = "gather_infer"
"""Key in the `meta` of a value of its fact: type, shape, known elements and their range. It is not written to files."""

CAUSE: Final = "gather_infer.cause"
"""Key in the `metadata_props` of a value of the reason why its type or a dim is unknown."""

_SMALL_BYTES: Final = 1 << 10
_INTEGER_BYTES: Final = 1 << 20
"""Sizes up to which inference reads the elements of a tensor, of any type or of int32 and int64."""

logger = logging.getLogger(__name__)


class ShapeInferencePass(ir.passes.InPlacePass):
    """Set type and shape of every value of a model whose type is inferred, in place.

    A value of unknown type keeps its type, and an unknown dim its name if no other dim has it. `meta` of the value
    holds the fact under `FACT`, and `metadata_props` the reason for an unknown dim under `CAUSE`. Weights are not
    read. Values in functions stay as they are, since each call gives them other types.

    dims, inputs, ranges, rules, assume   as for `gather_infer.infer`
    inference                             the last inference, with its diagnostics; None before the first call

    Errors and warnings of the model are logged. Calls raise UsageError as `gather_infer.infer`.
    """

    def __init__(
        self,
        *,
        dims: Mapping[str, object] | Iterable[str] = (),
        inputs: Mapping[str, str] | Iterable[str] = (),
        ranges: Mapping[str, object] | Iterable[str] = (),
        rules: Sequence[RuleSet] = (),
        assume: bool = True,
    ) -> None:
        super().__init__()
        self.options: dict[str, Any] = {
            "dims": dims if isinstance(dims, (str, Mapping)) else tuple(dims),
            "inputs": inputs if isinstance(inputs, (str, Mapping)) else tuple(inputs),
            "ranges": ranges if isinstance(ranges, (str, Mapping)) else tuple(ranges),
            "rules": tuple(rules),
            "assume": assume,
        }
        self.inference: Inference | None = None

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Infer `model` and set the types of its values."""
        with _without_weights(model):
            proto = ir.serde.serialize_model(model)
        self.inference = infer(ModelFile.from_proto(proto), **self.options)
        for finding in self.inference.diagnostics:
            if finding.severity is not Severity.NOTE:
                logger.warning("%s: [%s] %s", finding.location, finding.code, finding.message)
        setter = _TypeSetter(model, self.inference)
        setter.set_types()
        return ir.passes.PassResult(model, setter.is_modified)


class _Rewriting(ir.passes.FunctionalPass):
    """A pass that returns a new model; the model that it is given stays as it was."""

    def __init__(self, rewrite: Callable[[ModelFile], PassResult]) -> None:
        super().__init__()
        self._rewrite = rewrite

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Rewrite `model`; `modified` is False, and the result an equal copy, if there is nothing to rewrite."""
        before = ir.serde.serialize_model(model)
        folder = _data_folder(model)
        proto = self._rewrite(ModelFile.from_proto(before, folder)).proto
        rewritten = ir.serde.deserialize_model(proto)
        if folder is not None:
            for graph in rewritten.graphs():
                ir.external_data.set_base_dir(graph, folder)
        return ir.passes.PassResult(rewritten, proto != before)


class FoldPass(_Rewriting):
    """Replace nodes whose outputs are the same in every run by constants; `options` are those of `gather_infer.fold`.

    Raises ModelStructureError and UsageError as `fold`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(lambda file: fold(file, **options))


class OptimizePass(_Rewriting):
    """Rewrite to fewer or cheaper nodes with the same outputs; `options` are those of `gather_infer.optimize`.

    Raises ModelStructureError and UsageError as `optimize`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(lambda file: optimize(file, **options))


class _TypeSetter:
    """Sets the types of the values of a model to inferred types.

    is_modified   whether a type, a shape or a cause changed
    """

    def __init__(self, model: ir.Model, inference: Inference) -> None:
        self.inference = inference
        self.values = list(self._values(model.graph, MAIN))
        self.causes = {(row.scope, row.name): row.cause for row in _rows(inference)}
        self.renamed = dict(self._renamings())
        self.is_modified = False

    def set_types(self) -> None:
        """Set types, shapes and metadata of the values."""
        for value, fact, label in self.values:
            value.meta[FACT] = fact
            cause = self.causes.get((label, value.name), "")
            for name, dim in self.renamed.items():
                cause = re.sub(rf"\b{re.escape(name)}\b", str(dim), cause)
            self._set_cause(value, cause)
            proto = to_type(fact, self._render)
            if proto is not None:
                self._set_type(value, proto)

    def _values(self, graph: ir.Graph, path: GraphPath) -> Iterator[tuple[ir.Value, Value, str]]:
        """The values of the graph at `path` and of its subgraphs, with their facts and the label of their graph."""
        facts = self.inference.scopes.get(path)
        if facts is None:
            return
        label = self.inference.labels[path]
        made = (value for node in graph for value in node.outputs)
        for value in (*graph.inputs, *graph.initializers.values(), *made):
            fact = facts.get(value.name or "")
            if fact is not None:
                yield value, fact, label
        for position, node in enumerate(graph):
            for at, attribute in enumerate(node.attributes.values()):
                if attribute.type == ir.AttributeType.GRAPH:
                    yield from self._values(attribute.as_graph(), path.below(Step(position, at)))
                elif attribute.type == ir.AttributeType.GRAPHS:
                    for item, inner in enumerate(attribute.as_graphs()):
                        yield from self._values(inner, path.below(Step(position, at, item)))

    def _renamings(self) -> Iterator[tuple[str, Dim]]:
        """The generated symbols for which a value has a name that no other dim has, and this name."""
        taken = {name for value, _, _ in self.values if value.is_graph_input() for name in _names(value)}
        taken |= self.inference.causes.keys()
        found: set[str] = set()
        for value, fact, _ in self.values:
            dims = fact.shape if isinstance(fact, SymbolicTensor) else None
            names = _names(value)
            for name, dim in zip(names, dims or (), strict=False) if len(names) == len(dims or ()) else ():
                if not isinstance(dim, Expr) or not dim.is_symbol or not self.inference.is_generated(dim):
                    continue
                if is_plain_name(name) and name not in taken and dim.name not in found:
                    found.add(dim.name)
                    taken.add(name)
                    yield dim.name, symbol(name)

    def _set_cause(self, value: ir.Value, cause: str) -> None:
        if value.metadata_props.get(CAUSE, "") != cause:
            self.is_modified = True
            value.metadata_props.pop(CAUSE, None)
            if cause:
                value.metadata_props[CAUSE] = cause

    def _set_type(self, value: ir.Value, proto: TypeProto) -> None:
        kind = ir.serde.deserialize_type_proto_for_type(proto)
        if value.type != kind:
            value.type = kind
            self.is_modified = True
        shape = ir.serde.deserialize_type_proto_for_shape(proto)
        if shape is not None and (value.shape is None or list(value.shape) != list(shape)):
            value.shape = shape
            self.is_modified = True

    def _render(self, dim: Expr) -> str:
        """The text of a dim, which onnx-ir reads as the same expression; "" if it has none."""
        renamed = substitute(dim, self.renamed)
        if isinstance(renamed, int) or not (renamed.is_symbol or all(map(is_plain_name, renamed.symbols))):
            return ""
        return to_dim_param(renamed)


def _names(value: ir.Value) -> list[str]:
    """The declared dims of `value` as texts, "" for numbers and unknown dims."""
    return [(dim.value or "") if isinstance(dim, ir.SymbolicDim) else "" for dim in value.shape or ()]


def _data_folder(model: ir.Model) -> str | None:
    """The folder of the external data of `model`; None if it has none. Raises UsageError for several folders."""
    tensors = (value.const_value for graph in model.graphs() for value in graph.initializers.values())
    found = {os.path.abspath(tensor.base_dir) for tensor in tensors if isinstance(tensor, ir.ExternalTensor)}
    if len(found) > 1:
        raise UsageError(f"external data in several folders: {', '.join(sorted(found))}")
    return found.pop() if found else None


def _rows(inference: Inference) -> Iterable[Any]:
    return inference.tensors() if any(inference.scopes.values()) else ()


@contextmanager
def _without_weights(model: ir.Model) -> Iterator[None]:
    """`model` with references to nowhere in the place of large tensors, so that serializing it does not read them."""
    replaced: list[tuple[ir.Value, Any]] = []
    try:
        for graph in model.graphs():
            for value in graph.initializers.values():
                tensor = value.const_value
                if tensor is None or _is_read(tensor):
                    continue
                replaced.append((value, tensor))
                shape = ir.Shape(tensor.shape.numpy())
                value.const_value = ir.ExternalTensor(
                    "elsewhere", None, None, tensor.dtype, shape=shape, name=value.name or ""
                )
        yield
    finally:
        for value, tensor in replaced:
            value.const_value = tensor


def _is_read(tensor: Any) -> bool:
    """Whether inference reads the elements of `tensor`."""
    if tensor.dtype in (ir.DataType.INT32, ir.DataType.INT64):
        return bool(tensor.nbytes <= _INTEGER_BYTES)
    return tensor.dtype == ir.DataType.STRING or bool(tensor.nbytes <= _SMALL_BYTES)
