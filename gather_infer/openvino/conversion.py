"""Conversion to plain ONNX, of IRs and of nodes of OpenVINO that stand in an ONNX file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from onnx import ModelProto, TensorProto, defs
from onnx.defs import OpSchema

from gather_infer.dialect import LoweringRefused
from gather_infer.domains import canonical_domain
from gather_infer.errors import ConversionRefused, UsageError
from gather_infer.inference import Inference, infer
from gather_infer.inference.interface import declare
from gather_infer.inference.proto.types import to_type
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply
from gather_infer.model.edits import ImportOpset, InsertNodes, Journal
from gather_infer.model.given import GivenModel, as_given, to_model_file
from gather_infer.model.names import Names
from gather_infer.model.paths import bodies
from gather_infer.model.tensors import iter_tensors
from gather_infer.openvino.beams import without_reorderings
from gather_infer.openvino.nodes import is_openvino
from gather_infer.openvino.plan import Converted, Plan, Policy, plan
from gather_infer.openvino.state import Variable, without_state
from gather_infer.openvino.weights import Compression, Form, with_weights
from gather_infer.passes.result import PassResult
from gather_infer.places import Root
from gather_infer.rules import RuleSet

_OPSET = 21
"""The ai.onnx opset that a model gets which imports none."""
_LEAST_FOREIGN = 13
"""Of an IR, whose Loops and Ifs are read in operators that are the same from there on."""
_TYPES_SINCE: dict[int, int] = {
    TensorProto.FLOAT8E4M3FN: 19, TensorProto.FLOAT8E5M2: 19, TensorProto.UINT4: 21, TensorProto.INT4: 21,
    TensorProto.FLOAT4E2M1: 23,
}  # fmt: skip
"""The opsets of ai.onnx whose Cast takes element types first that are not in all."""
_MICROSOFT = "com.microsoft"
_POLICIES = ("guard", "assume-valid", "refuse")
_BEAMS = ("keep", "drop")
_FORMS = ("dequantize", "contrib", "float")


Beams: TypeAlias = Literal["keep", "drop"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ConversionResult(PassResult):
    """A converted model.

    inference   of the model before, without assumptions

    converted   the nodes that were rewritten; those with `indices == "assumed"` were not proved in bounds
    weights     what became of the compressed weights
    variables   the state of the model, with the inputs and outputs that stand for it
    dropped     the inputs that only reordered state, which are gone
    """

    inference: Inference
    converted: tuple[Converted, ...]
    variables: tuple[Variable, ...] = ()
    weights: tuple[Compression, ...] = ()
    dropped: tuple[str, ...] = ()


def convert(
    model: GivenModel,
    *,
    gather_oob: Policy = "guard",
    weights: Form = "dequantize",
    beam_idx: Beams = "keep",
    opset: int | None = None,
    dims: Mapping[str, object] | Iterable[str] = (),
    inputs: Mapping[str, str] | Iterable[str] = (),
    rules: Sequence[RuleSet] = (),
) -> ConversionResult:
    """A model of OpenVINO, or one with nodes of its operators, in operators of ONNX; `gather_infer.convert`.

    model        a path (also of an IR), a ModelProto, a ModelFile or an onnx_graphsurgeon Graph; never changed
    gather_oob   OpenVINO gives zeros for an index out of bounds where ONNX fails. Where the indices are not proved in
                 bounds, "guard" gives zeros too, "assume-valid" takes them for it, "refuse" does not convert
    weights      of compressed weights of an IR: "dequantize" has DequantizeLinear multiply them out, "contrib"
                 com.microsoft.MatMulNBits where it can, "float" plain operators as in the file
    beam_idx     "keep" the input that only says which rows of the state are read, "drop" it: then they stay where they
                 are. A Gather by such an input has no guard, and is among those that are assumed to be in bounds
    opset        of ai.onnx in the result; that of an ONNX file by default, and 21 for an IR. Nodes that stay are not
                 rewritten: another one is refused where it has other versions of their operators
    dims, inputs, rules   as for `infer`; the result is right for such inputs only, and declares them so

    Raises ConversionRefused, naming every node that cannot be converted; ModelReadError and ModelStructureError as
    `fold`; UsageError for another `gather_oob` or `opset` and as `infer`.
    """
    if gather_oob not in _POLICIES:
        raise UsageError(f"gather_oob is one of {', '.join(_POLICIES)}, not {gather_oob!r}")
    if weights not in _FORMS:
        raise UsageError(f"weights is one of {', '.join(_FORMS)}, not {weights!r}")
    if beam_idx not in _BEAMS:
        raise UsageError(f"beam_idx is one of {', '.join(_BEAMS)}, not {beam_idx!r}")
    source = to_model_file(model)
    source.require_data()
    target = _target(source, opset)
    dropped: tuple[str, ...] = ()
    if beam_idx == "drop":
        source, dropped = without_reorderings(source)
        if not dropped:
            raise ConversionRefused(f"{source.name}: no input only reorders rows of the state, so none can be dropped")
    compressed: tuple[Compression, ...] = ()
    if source.foreign:
        source, compressed = with_weights(source, weights, target)
    inference = infer(source, dims=dims, inputs=inputs, rules=rules, assume=False)
    made = plan(inference, gather_oob=gather_oob, opset=target)
    if made.refused:
        raise ConversionRefused(_refusal(source.name, made))
    journal = Journal()
    journal.add(*made.edits)
    journal.add(*made.dead)
    if made.converted or source.foreign:
        microsoft = any(n.domain == _MICROSOFT for e in made.edits if isinstance(e, InsertNodes) for n in e.nodes)
        wanted = {"": target, **({_MICROSOFT: 1} if microsoft else {})}
        present = {canonical_domain(o.domain): o.version for o in source.proto.opset_import}
        for domain, version in wanted.items():
            if present.get(domain) != version:
                why = "for the converted nodes"
                journal.add(ImportOpset(by="openvino", reason=why, domain=domain, version=version))
    declared, interface = declare(source.proto, inference, rests=bool(journal.edits))
    proto = apply(journal, declared)
    try:
        variables = without_state(proto, source, inference)
    except LoweringRefused as refusal:
        raise ConversionRefused(f"{source.name}: {refusal}") from refusal
    if source.foreign:
        _state_outputs(proto, inference)
        _check_types(proto, source.name, target)
        _name_apart(proto)
    if made.converted or variables or source.foreign:
        _drop_unused_imports(proto)
    return ConversionResult(
        model=as_given(model, proto),
        inference=inference,
        converted=tuple(made.converted),
        variables=variables,
        weights=compressed,
        dropped=dropped,
        diagnostics=inference.diagnostics,
        journal=journal,
        source=source,
        proto=proto,
        interface=interface,
    )


def _target(source: ModelFile, opset: int | None) -> int:
    """The opset of ai.onnx in the result.

    Raises UsageError for one that there is not, ConversionRefused where nodes that stay would be other operators in it.
    """
    imported = next((o.version for o in source.proto.opset_import if canonical_domain(o.domain) == ""), None)
    least, most = (_LEAST_FOREIGN if source.foreign else 1), defs.onnx_opset_version()
    if opset is None:
        return imported or _OPSET
    if not least <= opset <= most:
        raise UsageError(f"opset is in [{least}, {most}], not {opset}")
    if imported is None or opset == imported or source.foreign:
        return opset
    changed = {
        node.op_type
        for path, body in bodies(source.proto)
        for node in body.node
        if path.root is not Root.FUNCTION and canonical_domain(node.domain) == "" and not is_openvino(node)
        and _since(node.op_type, imported) != _since(node.op_type, opset)
    }  # fmt: skip
    if changed:
        names = ", ".join(sorted(changed))
        raise ConversionRefused(f"{source.name}: opset {opset} has other versions of {names} than opset {imported}")
    return opset


def _since(op_type: str, opset: int) -> int:
    """The version of an operator that an opset has; 0 when it has none."""
    try:
        schema: OpSchema = defs.get_schema(op_type, opset, "")
    except defs.SchemaError:
        return 0
    return 0 if schema.deprecated else schema.since_version


def _state_outputs(proto: ModelProto, inference: Inference) -> None:
    """Say of the outputs what is known of their sizes in names of the inputs: an IR says nothing of that."""
    dims = (dim for value in proto.graph.input for dim in value.type.tensor_type.shape.dim)
    names = {dim.dim_param for dim in dims if dim.dim_param}
    for output in proto.graph.output:
        fact = inference.get(output.name)
        known = None if fact is None else to_type(fact, lambda dim: str(dim) if str(dim) in names else "")
        if known is not None and not output.type.tensor_type.HasField("shape"):
            output.type.CopyFrom(known)


def _check_types(proto: ModelProto, name: str, opset: int) -> None:
    """Raises ConversionRefused where a value has an element type that an opset does not have, or ONNX not at all."""
    for kind, values in (("input", proto.graph.input), ("output", proto.graph.output)):
        for value in values:
            if not value.type.tensor_type.elem_type:
                raise ConversionRefused(f"{name}: {kind} {value.name} is of no element type that ONNX has")
    wanted: dict[int, str] = {}
    for tensor in iter_tensors(proto):
        wanted.setdefault(tensor.data_type, tensor.name)
    for value in proto.graph.input:
        wanted.setdefault(value.type.tensor_type.elem_type, value.name)
    for _, body in bodies(proto):
        for node in body.node:
            for attribute in node.attribute if node.op_type == "Cast" else ():
                if attribute.name == "to":
                    wanted.setdefault(attribute.i, node.output[0])
    for number, value in wanted.items():
        since = _TYPES_SINCE.get(number, 1)
        if opset < since:
            text = TensorProto.DataType.Name(number).lower()
            raise ConversionRefused(f"{name}: {value} is {text}, which needs opset {since}, the result has {opset}")


def _name_apart(proto: ModelProto) -> None:
    """Names that nodes of a graph share in the file get numbers: onnxruntime refuses a graph where two are equal."""
    names = Names(proto)
    for _, body in bodies(proto):
        seen: set[str] = set()
        for node in body.node:
            if node.name in seen:
                node.name = names.fresh(node.name)
            if node.name:
                seen.add(node.name)


def _refusal(name: str, made: Plan) -> str:
    """One error that names every node that cannot be converted."""
    total = len(made.refused)
    nodes = f"{total} nodes" if total > 1 else "1 node"
    which = f"{made.unproved} of them" if made.unproved < total else "them" if total > 1 else "it"
    hint = f"; --gather-oob guard converts {which}" if made.unproved else ""
    lines = [f"{node} ({op}): {reason}" for node, op, reason in made.refused]
    return "\n  ".join([f"{name}: {nodes} cannot be converted{hint}", *lines])


def _drop_unused_imports(proto: ModelProto) -> None:
    """Remove the opset imports of OpenVINO's domains that no node of the graph is in."""
    used = {node.domain for _, body in bodies(proto) for node in body.node}
    used |= {function.domain for function in proto.functions}
    kept = [o for o in proto.opset_import if canonical_domain(o.domain) != "openvino" or o.domain in used]
    if len(kept) < len(proto.opset_import):
        del proto.opset_import[:]
        proto.opset_import.extend(kept)
