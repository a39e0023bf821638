"""OpenVINO's dialect: the table of all lowerings, and the function bodies built with them for inference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Final

from onnx import FunctionProto, NodeProto, helper

from gather_infer.dialect import Builder, DialectOp, LoweredBody, LoweringRefused
from gather_infer.errors import SpecViolation
from gather_infer.extensions import guarded
from gather_infer.model import ModelFile
from gather_infer.model.model_loading import ModelLike, to_model_file
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringEntry, LoweringTable
from gather_infer.openvino.lowerings.preconditions import addressed_inputs, check_preconditions
from gather_infer.openvino.lowerings.unsupported import REASONS
from gather_infer.rules import OpCall
from gather_infer.tensor import DType
from gather_infer.versioned import VersionedTable

BODY_OPSET: Final = 21
"""The ai.onnx opset of the function bodies built for inference."""

PAGE: Final = (
    "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/available-opsets/opset{opset}.html"
)
"""URL of the page that lists every operator of an OpenVINO opset; there are pages up to opset NEWEST_PAGE."""

NEWEST_PAGE: Final = 16

OF_OPSET_1: Final = frozenset({"Reverse", "Xor"})
"""Operators that OpenVINO removed after opset 1."""

READER_OPERATORS: Final = frozenset({"ConcatParts"})
"""Operators that the IR reader adds to a model; no opset of OpenVINO has them."""

_RESHAPES: Final = frozenset({"Reshape", "Squeeze", "Unsqueeze"})
_NIBBLES: Final = {DType.UINT4: DType.UINT8, DType.INT4: DType.INT8}

MODULES: Final = (
    "activation",
    "adaptive_pooling",
    "arithmetic",
    "attention",
    "blocks",
    "colour_conversion",
    "constants",
    "convolution",
    "ctc",
    "deformable_convolution",
    "detection_output",
    "embedding",
    "fourier",
    "gather",
    "interpolation",
    "concat_split",
    "linear",
    "multiclass_nms",
    "non_max_suppression",
    "normalization",
    "pooling",
    "priors",
    "proposals",
    "quantization",
    "recurrence",
    "reduction",
    "roi_pooling",
    "roi_align",
    "sampling",
    "scatter",
    "selection",
    "shapes",
    "slicing",
    "unary",
    "unsupported",
    "yolo",
)
"""Modules with lowerings, each for one family of operators."""

LOWERINGS: Final = LoweringTable.merged(
    import_module(f"gather_infer.openvino.lowerings.{name}").lowerings for name in MODULES
)


def lower(entry: LoweringEntry, layer: LayerView, builder: FunctionBuilder) -> tuple[str, ...]:
    """Add the nodes for `layer` to `builder`; returns the name of each output of the layer, "" for an unread one.

    Raises LoweringRefused when the layer cannot be lowered, and SpecViolation when it breaks its specification. Any
    other exception is an internal error.
    """
    builder.require_opset(entry.opset, layer.op_type)
    narrow = layer.tensor(0).dtype if layer.op_type in _RESHAPES else None
    if narrow in _NIBBLES:
        outputs: str | Sequence[str] = _lower_as_bytes(entry, layer, builder, narrow)
    else:
        outputs = entry.lowering(layer, builder)
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    if len(names) < layer.outputs:
        raise SpecViolation(f"{layer.op_type} has {len(names)} outputs, found {layer.outputs}", "GI107")
    return names[: layer.outputs]


def _lower_as_bytes(entry: LoweringEntry, layer: LayerView, builder: FunctionBuilder, narrow: DType) -> str:
    """Lower a layer that reshapes 4-bit elements of type `narrow`: cast to bytes, reshape, and cast back.

    Returns the name of the layer's output. onnxruntime has no kernels that reshape 4-bit elements.
    """
    wide = _NIBBLES[narrow]
    call = replace(layer.call, inputs=[replace(layer.tensor(0), dtype=wide), *layer.call.inputs[1:]])
    names = [builder.cast(layer.x(0), narrow, wide), *layer.names[1:]]
    written = entry.lowering(LayerView(call, names), builder)
    assert isinstance(written, str), "a reshaping layer has one output"
    return builder.cast(written, wide, narrow)


def _guarded(table: LoweringTable) -> LoweringTable:
    """A copy of a table of the user whose lowerings raise UsageError for an unexpected exception or result."""

    def fault(found: object, layer: LayerView, builder: FunctionBuilder) -> str:
        names = [found] if isinstance(found, str) else found
        is_correct = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
        return "" if is_correct else f"must return the names of the outputs, returns {found!r}"

    made = LoweringTable(table.domain)
    for op_type in table.op_types:
        for entry in table.versions(op_type):
            title = f"the lowering of {op_type}"
            call = guarded(entry.lowering, lambda *_, title=title: title, fault, (LoweringRefused, SpecViolation))
            made.lowers(
                op_type,
                since=entry.since,
                preserves_failures=entry.preserves_failures,
                opset=entry.opset,
                preconditions=entry.preconditions,
            )(call)
    return made


class OpenVINODialect:
    """OpenVINO's operators for inference, from a table of lowerings; implements `gather_infer.dialect.Dialect`.

    user   lowerings of the user for the same domain, which take precedence
    """

    def __init__(self, lowerings: LoweringTable, user: LoweringTable | None = None) -> None:
        self.domain = lowerings.domain
        self._lowerings = lowerings
        self._user = user

    def lookup(self, op_type: str, version: int) -> LoweringEntry | None:
        """The entry for an operator at `version` of its domain; None if it has no lowering."""
        found = None if self._user is None else self._user.lookup(op_type, version)
        return found or self._lowerings.lookup(op_type, version)

    def find(self, op_type: str, version: int) -> Builder | None:
        entry = self.lookup(op_type, version)
        return None if entry is None else lambda call: body_of(entry, call)

    def addresses(self, op_type: str, version: int) -> Mapping[int, int]:
        entry = self.lookup(op_type, version)
        return {} if entry is None else addressed_inputs(entry.preconditions)

    def operators(self) -> VersionedTable[DialectOp]:
        return VersionedTable(self.domain, "lowerings", ((one.op_type, one) for one in self._operators()))

    def _operators(self) -> Iterator[DialectOp]:
        if self._user is not None:
            for name in self._user.op_types:
                for entry in self._user.versions(name):
                    yield DialectOp(name, entry.since, entry.lowering, "", "", entry.preconditions)
        for name in self._lowerings.op_types:
            newest = 1 if name in OF_OPSET_1 else NEWEST_PAGE
            for entry in self._lowerings.versions(name):
                if self.lookup(name, entry.since) is not entry:
                    continue  # a lowering of the user replaces it
                has_page = self._lowerings.lookup(name, newest) is entry and name not in READER_OPERATORS
                page = PAGE.format(opset=newest) if has_page else ""
                yield DialectOp(name, entry.since, entry.lowering, page, REASONS.get(name, ""), entry.preconditions)
                newest = min(newest, entry.since - 1)


def with_lowerings(model: ModelLike, tables: Iterable[LoweringTable]) -> ModelFile:
    """A model whose layers are inferred and converted with lowerings of the user, before the built-in ones.

    model    an OpenVINO IR, or another model with nodes of OpenVINO, as for `infer`

    Raises ModelReadError when the model cannot be read, and ValueError when two tables have the same layer type and
    version.
    """
    file = to_model_file(model)
    by_domain: dict[str, list[LoweringTable]] = {}
    for table in tables:
        by_domain.setdefault(table.domain, []).append(table)
    made = (
        OpenVINODialect(
            LOWERINGS if domain == DIALECT.domain else LoweringTable(domain), _guarded(LoweringTable.merged(some))
        )
        for domain, some in by_domain.items()
    )
    return replace(file, dialects=tuple({each.domain: each for each in (*file.dialects, *made)}.values()))


def body_of(entry: LoweringEntry, call: OpCall) -> LoweredBody:
    """The function body that `entry` builds for the layer of `call`.

    Raises LoweringRefused when the layer cannot be lowered, and SpecViolation when it breaks its specification.
    """
    check_preconditions(call, entry.preconditions)
    names = tuple(f"x{i}" if value is not None else "" for i, value in enumerate(call.inputs))
    builder = FunctionBuilder(BODY_OPSET)
    outputs = lower(entry, LayerView(call, names), builder)
    function = FunctionProto(domain="openvino", name=call.op_type)
    function.input.extend(name or f"absent_{i}" for i, name in enumerate(names))
    for name, tensor in builder.constants.items():
        function.node.append(helper.make_node("Constant", [], [name], value=tensor))
    function.node.extend(builder.nodes)
    function.output.extend(_results(function, outputs))
    function.opset_import.extend([helper.make_opsetid("", BODY_OPSET), helper.make_opsetid("com.microsoft", 1)])
    return LoweredBody(function, entry.preserves_failures)


def _results(function: FunctionProto, outputs: Sequence[str]) -> list[str]:
    """The output names to declare for `function`: `outputs`, made distinct from each other and from the inputs.

    For an input or a repeated name, an Identity is appended to `function`; for an unread output, "", a Constant.
    """
    seen = set(function.input)
    results: list[str] = []
    for name in outputs:
        passed = name
        if not name:
            passed = f"unread_{len(results)}"
            function.node.append(helper.make_node("Constant", [], [passed], value_int=0))
        elif name in seen:
            passed = f"result_{len(results)}"
            function.node.append(NodeProto(op_type="Identity", input=[name], output=[passed]))
        seen.add(passed)
        results.append(passed)
    return results


DIALECT: Final = OpenVINODialect(LOWERINGS)

__all__ = [
    "BODY_OPSET",
    "DIALECT",
    "LOWERINGS",
    "LoweringRefused",
    "OpenVINODialect",
    "body_of",
    "lower",
    "with_lowerings",
]
