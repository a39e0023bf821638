"""The walk: every node of a graph in order, its rule called with the facts of its inputs.

Control flow is in `control`, functions in `function`, what no rule can see in `follow`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto

from gather_infer.diagnostic import CODES, Diagnostic, Location, diagnostic
from gather_infer.domains import plain_domain
from gather_infer.errors import SpecViolation, UsageError
from gather_infer.inference.bodies import control, function
from gather_infer.inference.bodies import predicates as condition
from gather_infer.inference.bodies.memo import Scopes
from gather_infer.inference.cache import Key, RuleCache
from gather_infer.inference.custom import require_facts
from gather_infer.inference.dispatch import Entry, Opsets
from gather_infer.inference.fallback import onnx_inference
from gather_infer.inference.frame import Frame, labels_of
from gather_infer.inference.join import contradiction
from gather_infer.inference.limits import Budget, limited
from gather_infer.inference.lineage.follow import follow
from gather_infer.inference.proto.attributes import read_attributes
from gather_infer.inference.proto.tensors import from_tensor, payload_fault, sparse_fault
from gather_infer.inference.proto.types import DimReader, dtype_of, from_type
from gather_infer.inference.result import Evidence, GatherAccess
from gather_infer.inference.topology import captured, topological
from gather_infer.model.external import is_external
from gather_infer.rules import Assumption, Attribute, Constraint, Context, OpCall, RuleSet
from gather_infer.symbolic import DimTooLarge, Scope
from gather_infer.tensor import MAX_VALUES_RANK, SymbolicTensor, Value, holds_values

if TYPE_CHECKING:
    from gather_infer.model import ModelFile

MAX_CONSTANT_TEXT: Final = 256
"""Serialised bytes of a Constant that is looked up before it is read: each layer of a deep model repeats the small."""

MAX_CONSTANT_BYTES: Final = 64 << 20
"""Bytes of a constant index that are read to check every element."""

UNKNOWN: Final = SymbolicTensor()
_A = AttributeProto
_NO_ATTRIBUTES: Mapping[str, Attribute] = {}


@dataclass(frozen=True, slots=True)
class Mark:
    """How much had been recorded at some moment, so that a trial run of a body can be undone."""

    diagnostics: int
    accesses: int
    constraints: int
    assumptions: int


class Walker:
    """One pass over a model. The facts end up in `scopes`, by path; findings in `diagnostics`.

    constants   what small Constants stand for, by `_constant_text`; the passes of a run share it
    """

    def __init__(
        self,
        model: ModelFile,
        context: Context,
        reader: DimReader,
        rule_sets: Sequence[Mapping[str, RuleSet]],
        *,
        constants: dict[tuple[int, bytes], Value | None],
        check_types: bool = True,
    ) -> None:
        self.model = model
        self.context = context
        self.reader = reader
        self.rule_sets = rule_sets
        self.constants = constants
        self.checks_types = check_types
        self.functions: dict[tuple[str, str, str], FunctionProto] = {}
        for proto in model.proto.functions:
            self.functions.setdefault((plain_domain(proto.domain), proto.name, proto.overload), proto)
        self.scopes = Scopes()
        self.diagnostics: list[Diagnostic] = []
        self.accesses: list[GatherAccess] = []
        self.cache = RuleCache(context)
        self.calls: list[tuple[str, str, str]] = []  # functions being walked, outermost first
        self.budget = Budget(model.proto)
        self.retries = 0  # of bodies of loops, under a weaker hypothesis

    # graphs

    def opsets(self, imports: Iterable[onnx.OperatorSetIdProto]) -> Opsets:
        return Opsets(imports, self.rule_sets, self.functions)

    def walk_graph(self, graph: GraphProto, frame: Frame) -> list[Value]:
        """Walk a graph whose inputs are bound in `frame`; the facts of its outputs, in order."""
        self.scopes[frame.path] = frame.values
        for tensor in graph.initializer:
            if tensor.name not in frame.values:  # else an input with a default that a caller may override
                self.add_constant(tensor.name, tensor, frame)
        for sparse in graph.sparse_initializer:  # runtimes hand them to operators as dense tensors
            name = sparse.values.name
            if name in frame.values:
                continue
            fault = sparse_fault(sparse)
            frame.values[name] = UNKNOWN
            if fault is None:
                frame.values[name] = SymbolicTensor(dtype_of(sparse.values.data_type), tuple(sparse.dims))
            else:
                self.report("GI204", fault, Location(frame.path, value=name))
        frame.declared = {v.name: v for v in graph.value_info}
        frame.outputs = {v.name: v for v in graph.output}
        self.walk_nodes(graph.node, frame)
        outputs: list[Value] = []
        for output in graph.output:
            value = frame.find(output.name)
            if value is None:
                self.report(
                    "GI103", f"graph output {output.name} is not defined", Location(frame.path, value=output.name)
                )
                value = UNKNOWN
            outputs.append(value)
        return outputs

    def add_constant(self, name: str, tensor: TensorProto, frame: Frame) -> None:
        """Bind a constant tensor of the model; one that contradicts itself gets a diagnostic and is unknown.

        Raises ModelReadError when its external data is not there.
        """
        if is_external(tensor) and self.model.base_dir is not None:
            self.model.region(tensor)
        fault = payload_fault(tensor, self.model)
        if fault is None:
            frame.constants[name] = tensor
            frame.values[name] = from_tensor(tensor, self.model)
        else:
            self.report("GI204", fault, Location(frame.path, value=name))
            frame.values[name] = UNKNOWN

    def walk_nodes(self, nodes: Sequence[NodeProto], frame: Frame) -> None:
        """Visit nodes in an order in which every input comes before its use; theirs when that is one."""
        labels = labels_of(nodes)
        frame.paths = [f"{frame.path}/{label}" for label in labels] if frame.path else labels
        for index, node in enumerate(nodes):
            if not self.visit(node, index, frame, final=False):
                rest = range(index, len(nodes))
                break
        else:
            return
        order, blocked, cycle = topological([nodes[i] for i in rest])
        for position in order:
            self.visit(nodes[rest[position]], rest[position], frame, final=True)
        if blocked:
            names = [frame.paths[rest[i]] for i in cycle]
            shown = " -> ".join([*names[:6], *(["..."] if len(names) > 6 else []), names[0]])
            waiting = f"; {len(blocked)} nodes wait for it" if len(blocked) > len(cycle) else ""
            self.report(
                "GI102", f"{shown} is a cycle{waiting}", self.location(nodes[rest[cycle[0]]], rest[cycle[0]], frame)
            )
            for position in blocked:
                node = nodes[rest[position]]
                self.bind_outputs(node, node.output, [UNKNOWN] * len(node.output), frame, rest[position])

    # nodes

    def location(self, node: NodeProto, index: int, frame: Frame, value: str = "") -> Location:
        return self.location_at(frame.paths[index], node, frame, value)

    def location_at(self, path: str, node: NodeProto, frame: Frame, value: str = "") -> Location:
        entry = frame.opsets.entry(node.domain, node.op_type, node.overload)
        version = entry.version if entry.schema is None else entry.schema.since
        return Location(path, node.op_type, plain_domain(node.domain), version, value)

    def report(self, code: str, message: str, location: Location, *detail: str) -> None:
        self.diagnostics.append(diagnostic(code, message, location, detail=detail))

    def take_findings(self, where: Location) -> None:
        """Turn what rules have reported into diagnostics at `where`."""
        for code, message, detail, severity in self.context.findings:
            self.diagnostics.append(diagnostic(code, message, where, detail=detail, severity=severity))
        self.context.findings.clear()

    def visit(self, node: NodeProto, index: int, frame: Frame, *, final: bool) -> bool:
        """Infer one node and bind its outputs.

        Returns False, with nothing done, when an input is not defined yet; with `final` it is reported instead.
        """
        inputs: list[Value | None] = []
        names = node.input[:]  # a slice of a protobuf list takes half the time of list()
        for name in names:
            value = frame.values.get(name) if name else None
            if value is None and name:
                value = frame.find(name)
                if value is None and not frame.is_absent(name):
                    if not final:
                        return False
                    where = self.location(node, index, frame, f"input {name}")
                    self.report("GI103", f"input {name} is not defined", where)
                    value = UNKNOWN
            inputs.append(value)

        op_type = node.op_type
        entry = frame.opsets.entry(node.domain, op_type, node.overload)
        if entry.control and not final:
            missing = [name for name in captured(node) if frame.find(name) is None]
            if missing and not all(map(frame.is_absent, missing)):
                return False
        context = self.context
        context.node = frame.paths[index]
        context.op_type = op_type
        outputs = node.output[:]
        results: Sequence[Value | None]
        before = context.scope
        if entry.in_family:
            before = context.scope.snapshot()
            context.addressed.clear()
        is_inferred = True
        try:
            results = self.infer_node(node, entry, names, inputs, outputs, frame)
        except SpecViolation as violation:
            if violation.code not in CODES:
                raise UsageError(f"the rule of {op_type} gives the unknown code {violation.code}") from violation
            self.report(violation.code, violation.message, self.location(node, index, frame), *violation.detail)
            results, is_inferred = [None] * len(outputs), False
        except DimTooLarge:
            self.report("GI213", "a dim grew past the size limit", self.location(node, index, frame))
            results, is_inferred = [None] * len(outputs), False
        if context.findings:
            self.take_findings(self.location(node, index, frame))

        self.bind_outputs(node, outputs, results, frame, index)
        if entry.in_family:
            self.record_access(entry, names, inputs, outputs, node, frame, before)
        if is_inferred and entry.is_followed:
            follow(node, inputs, outputs, frame, context)
        if is_inferred and entry.op_type in condition.OPERATORS and entry.domain == "":
            negative = condition.condition(entry.op_type, names, inputs, frame)
            if negative is not None:
                frame.negative[outputs[0]] = negative
        return True

    def infer_node(
        self,
        node: NodeProto,
        entry: Entry,
        names: list[str],
        inputs: list[Value | None],
        outputs: list[str],
        frame: Frame,
    ) -> Sequence[Value | None]:
        """The facts of a node's outputs, each within the `limits`; None where nothing is known.

        Raises SpecViolation, DimTooLarge.
        """
        if entry.version <= 0 and entry.function is None:
            raise SpecViolation(f"the model imports no opset for domain {node.domain or 'ai.onnx'}", "GI104")
        schema = entry.schema
        if schema is not None:
            listed = len(inputs)
            while inputs and inputs[-1] is None:
                inputs.pop()  # trailing inputs that are left out
            if len(inputs) > schema.max_inputs and node.op_type == "Gather" and len(inputs) == 3:
                return self.misplaced_openvino_gather(node, names, inputs, frame)
            if listed < schema.min_inputs or len(inputs) > schema.max_inputs:
                raise SpecViolation(_arity("inputs", schema.min_inputs, schema.max_inputs, listed), "GI107")
            if not schema.min_outputs <= len(outputs) <= schema.max_outputs:
                raise SpecViolation(_arity("outputs", schema.min_outputs, schema.max_outputs, len(outputs)), "GI107")

        text = _constant_text(entry, node, outputs) if entry.op_type == "Constant" else None
        if text is not None and text in self.constants:
            if node.attribute[0].type == _A.TENSOR:
                frame.constants[outputs[0]] = node.attribute[0].t
            return [self.constants[text]]
        effects = self.context.effects
        attributes = read_attributes(self, node, entry, frame) if node.attribute else _NO_ATTRIBUTES
        key = None
        if entry.rule is not None:
            key = self.cache.key(entry, attributes, inputs, outputs)
            remembered = None if key is None else self.cache.get(key)
            if remembered is not None:
                if entry.in_family and key is not None:
                    self.context.addressed += self.cache.addressed.get(key, ())
                return remembered
            if entry.op_type in frame.sized_by_data and key is not None:
                sized = frame.sized_by_data[entry.op_type].get(_question(entry, names, attributes, outputs))
                if sized is not None:
                    return sized  # the same operator on the same tensors: the sizes are the same, whatever they are
        generated = len(self.context.causes)
        results = self.infer_anew(node, entry, names, inputs, attributes, outputs, frame)
        is_pure = self.context.effects == effects
        results = [None if value is None else limited(value, self.context) for value in results]
        if text is not None:
            self.constants[text] = results[0]
        if key is not None and not is_pure and entry.domain == "" and not entry.in_family:
            new = islice(reversed(self.context.causes.values()), len(self.context.causes) - generated)
            if any(cause.data_dependent for cause in new):
                asked = frame.sized_by_data.setdefault(entry.op_type, {})
                asked[_question(entry, names, attributes, outputs)] = results
        if key is not None and is_pure:
            results = self.cache.put(key, results)
            if entry.in_family:
                self.cache.addressed[key] = tuple(self.context.addressed)
        return results

    def infer_anew(
        self,
        node: NodeProto,
        entry: Entry,
        names: list[str],
        inputs: list[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: list[str],
        frame: Frame,
    ) -> Sequence[Value | None]:
        """The facts of a node's outputs by its rule, its body or onnx's inference."""
        schema = entry.schema
        if schema is not None:
            for name in schema.required:
                if name not in attributes:
                    raise SpecViolation(f"attribute {name} is missing", "GI106")
            self.check_types(entry, inputs)

        if self.context.findings:  # before a body reports its own
            self.take_findings(self.location_at(self.context.node, node, frame))
        if entry.function is not None:
            return function.call(self, entry.function, node, inputs, attributes, frame)
        if entry.control:
            return control.infer(self, node, attributes, inputs, frame)
        if entry.rule is not None:
            if node.op_type == "Constant" and len(outputs) == 1 and "value" in attributes:
                for attribute in function.resolved(node, frame).attribute:
                    if attribute.name == "value" and attribute.type == _A.TENSOR:
                        frame.constants[outputs[0]] = attribute.t
            call = OpCall(
                entry.op_type,
                inputs,
                attributes,
                tuple(map(bool, outputs)),
                entry.version,
                entry.domain,
                self.context,
                lambda i: self.load_constant(names[i], frame) if i < len(names) else None,
            )
            results: Sequence[Value | None] = entry.rule(call)
            if entry.custom:
                require_facts(entry, results, len(outputs))
            return results
        if schema is not None:
            node = function.resolved(node, frame)
            body = function.schema_body(schema, node, inputs, entry.version, frame.opsets.versions)
            if body is not None:
                onnx_inference(schema, node, names, inputs, frame.opsets.versions, self.context)  # what onnx rejects
                return function.call(self, body, node, inputs, attributes, frame)
            return onnx_inference(schema, node, names, inputs, frame.opsets.versions, self.context)
        known = f" in opset {entry.version}" if entry.version else ""
        domain = f"{node.domain}." if node.domain else ""
        self.context.report("GI105", f"operator {domain}{node.op_type} is not known{known}", (), None)
        return [None] * len(outputs)

    def check_types(self, entry: Entry, inputs: list[Value | None]) -> None:
        """Raise SpecViolation when the schema does not allow the element types; the gather rules check their own."""
        if entry.in_family or not self.checks_types:
            return
        dtypes = tuple(v.dtype if isinstance(v, SymbolicTensor) else None for v in inputs)
        if dtypes in entry.checked:
            return
        assert entry.schema is not None, "only nodes with a schema are checked"
        fault = entry.schema.type_fault(dtypes)
        if fault is not None:
            raise SpecViolation(fault, "GI211")
        entry.checked.add(dtypes)

    def misplaced_openvino_gather(
        self, node: NodeProto, names: list[str], inputs: list[Value | None], frame: Frame
    ) -> Sequence[Value | None]:
        """The facts of an OpenVINO-style Gather (axis as third input) that stands in the default domain: an error."""
        self.context.findings.append(
            ("GI309", "Gather takes 2 inputs, found 3: this is OpenVINO's Gather with the axis as an input", (
                "gather-infer convert rewrites it",), None)
        )  # fmt: skip
        entry = frame.opsets.entry("openvino", "Gather", "")
        attributes = read_attributes(self, node, entry, frame) if node.attribute else _NO_ATTRIBUTES
        assert entry.rule is not None, "the OpenVINO rules cover Gather"
        call = OpCall(
            "Gather", inputs, attributes, (True,), entry.version, entry.domain, self.context,
            lambda i: self.load_constant(names[i], frame),
        )  # fmt: skip
        return [None if value is None else limited(value, self.context) for value in entry.rule(call)]

    def load_constant(self, name: str, frame: Frame) -> np.ndarray[Any, Any] | None:
        """All elements of a constant, read from the file; None when it is none, or too large to be an index."""
        tensor = frame.constant(name)
        if tensor is None or len(tensor.dims) > MAX_VALUES_RANK or self.model.nbytes(tensor) > MAX_CONSTANT_BYTES:
            return None
        if 0 in tensor.dims and not holds_values(tensor.dims):
            return None
        return self.model.tensor(tensor)

    def stated(self, proto: onnx.TypeProto, frame: Frame, reason: str) -> Value | None:
        """The fact that a type inside the model states, None when it states nothing.

        In a body, a name that no input has is a symbol of that body; in a function every name is one, of that call.
        """
        if frame.reader is None:
            if frame.path == "":
                frame.reader = self.reader
            else:
                known = self.reader.known if frame.parameters is None else frozenset[str]()
                bound = self.reader.bound if frame.parameters is None else {}
                frame.reader = DimReader(known, bound, lambda name: self.context.fresh(f"a body declares it as {name}"))
        return from_type(proto, frame.reader, lambda _: self.context.fresh(reason))

    # results

    def bind_outputs(
        self,
        node: NodeProto,
        outputs: Sequence[str],
        results: Sequence[Value | None],
        frame: Frame,
        index: int,
    ) -> None:
        """Bind the outputs of a node to what was inferred, compared with what the model declares."""
        for name, inferred in zip_longest(outputs, results):
            if not name:
                continue
            value = UNKNOWN if inferred is None else inferred
            declared = frame.declared.get(name)
            if declared is None and name in frame.outputs and value == UNKNOWN:
                declared = frame.outputs[name]
            if declared is not None:
                value = self.compare(declared, value, node, index, frame)
            if name in frame.values:
                self.report("GI101", f"value {name} is defined more than once", self.location(node, index, frame))
                continue
            frame.values[name] = value

    def compare(
        self, declared: onnx.ValueInfoProto, inferred: Value, node: NodeProto, index: int, frame: Frame
    ) -> Value:
        """The fact to go on with: the inferred one; what is declared stands in where nothing could be inferred."""
        if isinstance(inferred, SymbolicTensor) and _states(declared, inferred):
            return inferred
        stated = self.stated(declared.type, frame, "value_info states no size")
        if stated is None:
            return inferred
        if inferred == UNKNOWN:
            self.imply_sizes(stated)
            return stated
        if contradiction(stated, inferred, self.context.scope):
            self.report(
                "GI201",
                f"value_info of {declared.name} says {stated}, the inputs imply {inferred}",
                self.location(node, index, frame, f"output {declared.name}"),
            )
            return inferred
        if isinstance(inferred, SymbolicTensor) and isinstance(stated, SymbolicTensor):
            if inferred.dtype is None:
                inferred = inferred.with_(dtype=stated.dtype)
            if inferred.shape is None:
                self.imply_sizes(stated)
                inferred = inferred.with_(shape=stated.shape)
        return inferred

    def imply_sizes(self, value: Value) -> None:
        """Learn that the dims of a declared tensor are sizes: `N - 5` is one only where N >= 5."""
        if isinstance(value, SymbolicTensor):
            for dim in value.shape or ():
                self.context.imply(dim)

    def record_access(
        self,
        entry: Entry,
        names: list[str],
        inputs: Sequence[Value | None],
        outputs: list[str],
        node: NodeProto,
        frame: Frame,
        before: Scope,
    ) -> None:
        """Remember a node of the gather family for the report and for the bounds checks."""
        if len(inputs) < 2 or not outputs:
            return
        data, indices = inputs[0] or UNKNOWN, inputs[1] or UNKNOWN
        self.accesses.append(
            GatherAccess(
                self.context.node, entry.op_type, entry.domain, entry.version, names[0], names[1], outputs[0],
                _gathered_axis(entry, node, inputs), data, indices, frame.values.get(outputs[0], UNKNOWN),
                Evidence(before, indices, tuple(self.context.addressed), frame.trace(names[1]), self.context.causes),
            )
        )  # fmt: skip

    # trial runs

    def mark(self) -> Mark:
        """What has been recorded so far; see `rollback`."""
        return Mark(
            len(self.diagnostics), len(self.accesses), len(self.context.constraints), len(self.context.assumptions)
        )

    def rollback(self, mark: Mark) -> None:
        """Forget what was recorded since `mark`."""
        self.cache.clear()
        del self.diagnostics[mark.diagnostics :]
        del self.accesses[mark.accesses :]
        constraints: dict[Constraint, None] = self.context.constraints
        while len(constraints) > mark.constraints:
            constraints.popitem()
        assumptions: dict[Any, Assumption] = self.context.assumptions
        while len(assumptions) > mark.assumptions:
            assumptions.popitem()

    def forget_conditional(self, mark: Mark, *, is_dead: bool) -> None:
        """Forget the constraints since `mark`, made by nodes that not every run reaches.

        Of nodes that no run reaches (`is_dead`) only what is wrong with the model itself stays.
        """
        constraints: dict[Constraint, None] = self.context.constraints
        while len(constraints) > mark.constraints:
            constraints.popitem()
        if is_dead:
            self.diagnostics[mark.diagnostics :] = filter(_is_structural, self.diagnostics[mark.diagnostics :])
            del self.accesses[mark.accesses :]


def _question(entry: Entry, names: list[str], attributes: Mapping[str, Attribute], outputs: list[str]) -> Key:
    """What a node computes: its operator, the tensors that it is given and its attributes."""
    return (entry, *names, *attributes.items(), *map(bool, outputs))


def _gathered_axis(entry: Entry, node: NodeProto, inputs: Sequence[Value | None]) -> int | None:
    """The axis that a node of the gather family addresses, from the front if the rank tells; None when it is open."""
    data = inputs[0]
    rank = data.rank if isinstance(data, SymbolicTensor) else None
    match entry.op_type:
        case "ArrayFeatureExtractor":
            return rank - 1 if rank else None
        case "Gather" if len(inputs) == 3 and isinstance(inputs[2], SymbolicTensor):  # OpenVINO's
            axis = inputs[2].only_element
        case "Gather" | "GatherElements" | "GatherBlockQuantized":
            key = "gather_axis" if entry.op_type == "GatherBlockQuantized" else "axis"
            axis = next((int(a.i) for a in node.attribute if a.name == key and not a.ref_attr_name), 0)
        case _:
            return None
    if not isinstance(axis, int):
        return None
    return axis + rank if axis < 0 and rank is not None else axis


def _constant_text(entry: Entry, node: NodeProto, outputs: Sequence[str]) -> tuple[int, bytes] | None:
    """All that the fact of a small Constant depends on; None when it is large, or when more has to be asked."""
    if entry.rule is None or entry.custom or entry.domain or len(node.attribute) != 1 or len(outputs) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.ref_attr_name or attribute.ByteSize() > MAX_CONSTANT_TEXT:
        return None
    return entry.version, attribute.SerializeToString()


def _is_structural(finding: Diagnostic) -> bool:
    """True for what is wrong whether or not the node ever runs; sizes and indices are wrong only if it does."""
    return finding.code < "GI200" or finding.code in ("GI204", "GI211")


def _arity(what: str, least: int, most: int, found: int) -> str:
    allowed = str(least) if least == most else f"at least {least}" if most >= 2**31 - 1 else f"{least} to {most}"
    return f"the operator takes {allowed} {what}, found {found}"


def _states(declared: onnx.ValueInfoProto, inferred: SymbolicTensor) -> bool:
    """True when the declaration says just what was inferred: the frequent case, without building a fact."""
    tensor = declared.type.tensor_type
    if inferred.shape is None or inferred.dtype != tensor.elem_type or not tensor.HasField("shape"):
        return False
    dims = tensor.shape.dim
    if len(dims) != len(inferred.shape):
        return False
    for proto, dim in zip(dims, inferred.shape, strict=True):
        if isinstance(dim, int):
            if proto.dim_value != dim or not proto.HasField("dim_value"):
                return False
        elif not dim.is_symbol or proto.dim_param != dim.name:
            return False
    return True
