"""The abstract interpreter: visits the nodes of a graph in order and applies the transfer function of each.

A value's fact is an element of a lattice (dtype, rank, dims, value range, known elements; `tensor.UNKNOWN` is the top).
For each node the interpreter looks up the facts of the inputs in the environment and resolves the operator to a rule, a
function body or onnx's own inference. It then binds the facts of the outputs. Rules also extend the scope with
constraints that hold in every valid run. Bodies are interpreted by `bodies.control` (joins at If, iteration to a fixed
point at Loop and Scan) and `bodies.function`. Provenance and other analyses that relate elements of different tensors
are updated after each node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Final

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from gather_infer.diagnostic import CODES, Location, Severity, diagnostic
from gather_infer.dialect import Builder, LoweringRefused
from gather_infer.domains import qualified
from gather_infer.errors import SpecViolation, close_match
from gather_infer.inference.accesses import record_accesses
from gather_infer.inference.bodies import function, predicates
from gather_infer.inference.bodies.lowered import lowered
from gather_infer.inference.declarations import check_outputs, reconciled
from gather_infer.inference.environment import Environment
from gather_infer.inference.fallback import onnx_inference
from gather_infer.inference.interpreter_state import InterpreterState
from gather_infer.inference.join import fresh_dim, join
from gather_infer.inference.limits import limited
from gather_infer.inference.op_resolution import ResolvedOp
from gather_infer.inference.proto.attributes import read_attributes
from gather_infer.inference.proto.tensors import from_tensor, payload_fault, sparse_fault
from gather_infer.inference.proto.types import dtype_of
from gather_infer.inference.provenance.transfer import apply_transfer
from gather_infer.inference.result import TrustedAnnotation
from gather_infer.inference.rule_cache import Key
from gather_infer.inference.topology import captured, is_read, topological
from gather_infer.inference.unranked_inputs import UNRANKED_REASON, constrains_shape, is_unranked
from gather_infer.inference.user_rules import rule_error, rule_facts
from gather_infer.model.external import is_external
from gather_infer.model.paths import node_labels
from gather_infer.node_ids import NodePath
from gather_infer.rules import Attribute, OpCall
from gather_infer.symbolic import DimTooLarge
from gather_infer.tensor import UNKNOWN, SymbolicTensor, Value

MAX_SUGGESTIONS: Final = 8
MAX_SUGGESTION_NAMES: Final = 10_000
"""Limits for suggestions: the number of undefined names that get one, and of names in scope to compare with."""

MAX_CONSTANT_TEXT: Final = 256
"""Maximal serialized size in bytes of a Constant that is memoized: layers of deep models repeat small constants."""

_A = AttributeProto
_NO_ATTRIBUTES: Mapping[str, Attribute] = {}


class Interpreter(InterpreterState):
    """The abstract interpreter for one iteration over a model."""

    # graphs

    def interpret_graph(self, graph: GraphProto, environment: Environment) -> list[Value]:
        """Interpret a graph whose inputs are bound in `environment`; return the facts of its outputs, in order."""
        self.enter(environment)
        for tensor in graph.initializer:
            if tensor.name not in environment.values:  # otherwise an input with a default that a caller may override
                self.add_constant(tensor.name, tensor, graph, environment)
        for sparse in graph.sparse_initializer:  # runtimes pass them to operators as dense tensors
            name = sparse.values.name
            if name in environment.values:
                continue
            fault = sparse_fault(sparse)
            environment.values[name] = UNKNOWN
            if fault is None:
                environment.values[name] = SymbolicTensor(dtype_of(sparse.values.data_type), tuple(sparse.dims))
            else:
                self.report("GI204", fault, Location(graph=environment.label, value=name))
        environment.declared = {v.name: v for v in graph.value_info}
        environment.outputs = {v.name: v for v in graph.output}
        self.interpret_nodes(graph.node, environment)
        outputs: list[Value] = []
        for output in graph.output:
            value = environment.find(output.name)
            if value is None:
                self.report(
                    "GI103",
                    f"graph output {output.name} is not defined{self.name_suggestion(output.name, environment)}",
                    Location(graph=environment.label, value=output.name),
                )
                value = UNKNOWN
            outputs.append(value)
        if environment.path.steps:
            check_outputs(self, graph, outputs, environment)
        return outputs

    def name_suggestion(self, name: str, environment: Environment) -> str:
        """`; did you mean 'x'?` if a name in scope is close and no suggestion limit is reached; else an empty text."""
        names: dict[str, Value] = {}
        around: Environment | None = environment
        while around is not None:
            names |= around.values
            around = around.parent
        self.undefined_names += 1
        return (
            close_match(name, names)
            if self.undefined_names <= MAX_SUGGESTIONS and len(names) <= MAX_SUGGESTION_NAMES
            else ""
        )

    def add_constant(self, name: str, tensor: TensorProto, graph: GraphProto, environment: Environment) -> None:
        """Bind a constant tensor of a graph.

        An inconsistent tensor is reported and its fact is unknown; the severity is a warning if no node reads it, since
        onnxruntime then checks only its element type. A tensor with missing external data keeps its type and shape.

        Raises ModelReadError when the data of a lazily read tensor in the file has the wrong number of bytes.
        """
        is_elsewhere = is_external(tensor)
        if is_elsewhere and self.model.payload(tensor) is not None:
            self.model.region(tensor)
        fault = payload_fault(tensor, self.model)
        if fault is not None:
            is_unseen = dtype_of(tensor.data_type) is not None and not is_read(name, graph)
            severity = Severity.WARNING if is_unseen else Severity.ERROR
            self.trail.add(diagnostic("GI204", fault, Location(graph=environment.label, value=name), severity=severity))
            environment.values[name] = UNKNOWN
        elif is_elsewhere and self.is_missing(tensor, Location(graph=environment.label, value=name)):
            environment.values[name] = SymbolicTensor(dtype_of(tensor.data_type), tuple(tensor.dims))
        else:
            environment.constants[name] = tensor
            environment.values[name] = from_tensor(tensor, self.model)

    def interpret_nodes(self, nodes: Sequence[NodeProto], environment: Environment, start: int = 0) -> None:
        """Visit the nodes from `start` on, in the given order if it is topological, else in a topological order."""
        labels = node_labels(nodes)
        environment.labels = [f"{environment.label}/{label}" for label in labels] if environment.label else labels
        for index, node in enumerate(islice(nodes, start, None), start):
            if not self.visit(node, index, environment, final=False):
                rest = range(index, len(nodes))
                break
            if self.until is not None and not environment.path.steps and self.until():
                return
        else:
            return
        self.is_in_order = False
        order, blocked, cycle = topological([nodes[i] for i in rest])
        for position in order:
            self.visit(nodes[rest[position]], rest[position], environment, final=True)
        if blocked:
            names = [environment.labels[rest[i]] for i in cycle]
            shown = " -> ".join([*names[:6], *(["..."] if len(names) > 6 else []), names[0]])
            waiting = f"; {len(blocked)} nodes wait for it" if len(blocked) > len(cycle) else ""
            self.report(
                "GI102",
                f"{shown} is a cycle{waiting}",
                self.location(nodes[rest[cycle[0]]], rest[cycle[0]], environment),
            )
            for position in blocked:
                node = nodes[rest[position]]
                self.bind_outputs(node, node.output, [UNKNOWN] * len(node.output), environment, rest[position])

    # nodes

    def visit(self, node: NodeProto, index: int, environment: Environment, *, final: bool) -> bool:
        """Infer one node and bind its outputs.

        Returns False without side effects when an input is not defined yet; with `final` the input is reported instead.
        """
        # The fast path reads this environment's dict: most names are local, and `find` also searches enclosing graphs.
        inputs: list[Value | None] = []
        names = node.input[:]  # slicing a protobuf list takes half the time of list()
        for name in names:
            value = environment.values.get(name) if name else None
            if value is None and name:
                value = environment.find(name)
                if value is None and not environment.is_absent(name):
                    if not final:
                        return False
                    where = self.location(node, index, environment, f"input {name}")
                    self.report("GI103", f"input {name} is not defined{self.name_suggestion(name, environment)}", where)
                    value = UNKNOWN
            inputs.append(value)

        op_type = node.op_type
        op = environment.opsets.resolve(node.domain, op_type, node.overload)
        if op.is_control_flow and not final:
            missing = [name for name in captured(node) if environment.find(name) is None]
            if missing and not all(map(environment.is_absent, missing)):
                return False
        context = self.context
        context.graph, context.labels, context.position, context.op_type = (
            environment.path,
            environment.labels,
            index,
            op_type,
        )
        outputs = node.output[:]
        results: Sequence[Value | None]
        # Bounds of an access are checked against the facts before the node, which itself implies that it is in bounds.
        before = context.scope
        if op.traits.addresses:
            before = context.scope.snapshot()
        is_inferred = True
        try:
            results = self.infer_node(node, op, names, inputs, outputs, environment)
        except SpecViolation as violation:
            if violation.code not in CODES:
                raise rule_error(op, context, f"raises the unknown code {violation.code}") from violation
            self.report(violation.code, violation.message, self.location(node, index, environment), *violation.detail)
            results, is_inferred = [None] * len(outputs), False
        except DimTooLarge:
            self.report("GI213", "a dim grew past the size limit", self.location(node, index, environment))
            results, is_inferred = [None] * len(outputs), False
        if context.findings:
            self.take_findings(self.location(node, index, environment))

        self.bind_outputs(node, outputs, results, environment, index)
        if op.traits.addresses:
            record_accesses(self, op, names, inputs, outputs[0] if outputs else "", environment, before)
            context.addressed.clear()
        elif context.addressed:
            axes = ", ".join(sorted({f"{a.input}: ..." for a in context.addressed}))
            raise rule_error(op, context, f"addresses by index without declaring it: addresses={{{axes}}}")
        if is_inferred and op.provenance is not None:
            apply_transfer(node, op.provenance, inputs, outputs, environment, context, self.load_constant)
        if is_inferred and op.op_type in predicates.OPERATORS and op.domain == "":
            negative = predicates.sign_predicate_of(op.op_type, names, inputs, environment)
            if negative is not None:
                environment.sign_predicates[outputs[0]] = negative
            choice = predicates.input_predicate_of(op.op_type, names, inputs, environment)
            if choice is not None:
                environment.input_predicates[outputs[0]] = choice
        return True

    def infer_node(
        self,
        node: NodeProto,
        op: ResolvedOp,
        names: list[str],
        inputs: list[Value | None],
        outputs: list[str],
        environment: Environment,
    ) -> Sequence[Value | None]:
        """The facts of a node's outputs, cut to the limits of module `limits`; None for an unknown output.

        Raises SpecViolation when the node breaks its specification, DimTooLarge when a dim grows past the size limit.
        """
        if op.version <= 0 and op.function is None:
            raise SpecViolation(f"the model imports no opset for domain {node.domain or 'ai.onnx'}", "GI104")
        schema = op.schema
        if schema is not None:
            listed = len(inputs)
            for position, value in enumerate(inputs):
                if value is None and not schema.may_be_left_out(position):
                    raise SpecViolation(f"input {position} is missing", "GI107")
            while inputs and inputs[-1] is None:
                inputs.pop()  # omitted trailing inputs
            if len(inputs) > schema.max_inputs and node.op_type == "Gather" and len(inputs) == 3:
                return self.misplaced_openvino_gather(node, names, inputs, environment)
            if listed < schema.min_inputs or len(inputs) > schema.max_inputs:
                raise SpecViolation(_arity("inputs", schema.min_inputs, schema.max_inputs, listed), "GI107")
            if not schema.min_outputs <= len(outputs) <= schema.max_outputs:
                raise SpecViolation(_arity("outputs", schema.min_outputs, schema.max_outputs, len(outputs)), "GI107")

        text = _constant_text(op, node) if op.op_type == "Constant" else None
        if text is not None and text in self.constants:
            if node.attribute[0].type == _A.TENSOR:
                environment.constants[outputs[0]] = node.attribute[0].t
            return [self.constants[text]]
        # A call that leaves this count unchanged had no side effect, so its results may be cached.
        trail_size = self.trail.total_added
        attributes = read_attributes(self, node, op, environment) if node.attribute else _NO_ATTRIBUTES
        key = None
        if op.rule is not None or op.builder is not None:
            key = self.cache.key(op, attributes, inputs, outputs)
            # Facts alone do not determine the results of a lowered body: its nodes also read provenance.
            if key is not None and op.rule is None:
                key = (*key, *map(environment.provenance_of, names))
            cached = None if key is None else self.cache.get(key)
            if cached is not None:
                assert key is not None, "only keyed results are cached"
                self.context.addressed += self.cache.addressed.get(key, ())
                return cached
            if op.op_type in environment.data_dependent_results and key is not None:
                sized = environment.data_dependent_results[op.op_type].get(
                    _computation_key(op, names, attributes, outputs)
                )
                if sized is not None:
                    return sized  # an equal node has the same unknown sizes: reuse their symbols
        generated = len(self.context.causes)
        results = self.infer_uncached(node, op, names, inputs, attributes, outputs, environment)
        is_pure = self.trail.total_added == trail_size
        results = [None if value is None else limited(value, self.context) for value in results]
        if text is not None:
            self.constants[text] = results[0]
        traits = op.traits
        if key is not None and not is_pure and op.domain == "" and traits.deterministic and not traits.addresses:
            new = islice(reversed(self.context.causes.values()), len(self.context.causes) - generated)
            if any(cause.data_dependent for cause in new):
                results_by_key = environment.data_dependent_results.setdefault(op.op_type, {})
                results_by_key[_computation_key(op, names, attributes, outputs)] = results
        if key is not None and is_pure:
            results = self.cache.put(key, results)
            if op.traits.addresses:
                self.cache.addressed[key] = tuple(self.context.addressed)
        return results

    def infer_uncached(
        self,
        node: NodeProto,
        op: ResolvedOp,
        names: list[str],
        inputs: list[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: list[str],
        environment: Environment,
    ) -> Sequence[Value | None]:
        """As `infer_node`, without the cache: infer by a rule, a function body or onnx's inference."""
        schema = op.schema
        if schema is not None:
            for name in schema.required:
                if name not in attributes:
                    raise SpecViolation(f"attribute {name} is missing", "GI106")
            self.check_types(op, inputs)

        if self.context.findings:  # before the body reports its own
            self.take_findings(self.location_at(self.context.node, node, environment))
        if op.overridden_op is not None:
            return self.infer_both(node, op, op.overridden_op, names, inputs, outputs, environment)
        if op.function is not None:
            return function.call(self, op.function, node, inputs, attributes, environment)
        if op.is_control_flow:
            from gather_infer.inference.bodies import control  # here, because few models have control flow

            return control.infer(self, node, attributes, inputs, environment)
        if op.rule is not None:
            if op.op_type == "Constant" and not op.domain and "value" in attributes:
                for attribute in function.with_bound_attributes(node, environment).attribute:
                    if attribute.name == "value" and attribute.type == _A.TENSOR:
                        environment.constants[outputs[0]] = attribute.t
            call = self.call_of(op, names, inputs, attributes, outputs, environment)
            if op.traits.operands or op.traits.unchecked_sizes:
                call.check_operands(op.traits)
            if any(map(is_unranked, inputs)) and (op.is_user_rule or constrains_shape(op.rule, call)):
                self.context.add_unchecked(UNRANKED_REASON)
            return rule_facts(op, call)
        if op.builder is not None:
            return self.infer_lowered(op.builder, node, op, names, inputs, attributes, outputs, environment)
        if schema is not None:
            node = function.with_bound_attributes(node, environment)
            body = function.schema_body(schema, node, inputs, op.version, environment.opsets.versions)
            if body is not None:
                # only for the SpecViolation where onnx rejects the node
                onnx_inference(schema, node, names, inputs, environment.opsets.versions, self.context)
                return function.call(self, body, node, inputs, attributes, environment)
            return onnx_inference(schema, node, names, inputs, environment.opsets.versions, self.context)
        self.context.add_unchecked(f"the requirements of {qualified(node.domain, node.op_type)} are unknown")
        known = f" in opset {op.version}" if op.version else ""
        domain = f"{node.domain}." if node.domain else ""
        self.context.report("GI105", f"operator {domain}{node.op_type} is not known{known}", (), None)
        return [None] * len(outputs)

    def call_of(
        self,
        op: ResolvedOp,
        names: list[str],
        inputs: list[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: list[str],
        environment: Environment,
    ) -> OpCall:
        """A node as rules and lowerings see it."""
        return OpCall(
            op.op_type,
            inputs,
            attributes,
            tuple(map(bool, outputs)),
            op.version,
            op.domain,
            self.context,
            lambda i: self.load_constant(names[i], environment) if i < len(names) else None,
        )

    def infer_lowered(
        self,
        builder: Builder,
        node: NodeProto,
        op: ResolvedOp,
        names: list[str],
        inputs: list[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: list[str],
        environment: Environment,
    ) -> Sequence[Value | None]:
        """The facts of a dialect node, inferred from its lowered body; unknown, with a finding, when it has no body."""
        try:
            body = builder(self.call_of(op, names, inputs, attributes, outputs, environment))
        except LoweringRefused as refusal:
            self.context.report("GI105", f"{op.op_type} cannot be inferred: {refusal}", (), None)
            return [None] * len(outputs)
        if self.context.findings:  # before the body reports its own
            self.take_findings(self.location_at(self.context.node, node, environment))
        return lowered(self, body, node, inputs, environment)

    def infer_both(
        self,
        node: NodeProto,
        op: ResolvedOp,
        operator: ResolvedOp,
        names: list[str],
        inputs: list[Value | None],
        outputs: list[str],
        environment: Environment,
    ) -> Sequence[Value | None]:
        """The facts that hold for both implementations of a node: the model's function and the operator of that name.

        onnx.proto leaves the choice to the runtime (ModelProto.functions); onnxruntime runs the operator.
        """
        name = qualified(node.domain, node.op_type)
        message = f"{name} is an operator and a function of the model; which of them runs is up to the runtime"
        self.report("GI109", message, self.location_at(self.context.node, node, environment))
        found: list[list[Value]] = []
        for one in (replace(op, overridden_op=None), operator):
            checkpoint = self.checkpoint()
            with self.context.preserved():
                self.context.scope = self.context.scope.child()
                try:
                    attributes = read_attributes(self, node, one, environment) if node.attribute else _NO_ATTRIBUTES
                    results = self.infer_uncached(node, one, names, list(inputs), attributes, outputs, environment)
                    found.append([value or UNKNOWN for value in results])
                except SpecViolation:
                    pass  # a runtime that chooses this one fails
            self.context.addressed.clear()
            self.drop_conditional(checkpoint, is_dead=False, where=None)
        for output in outputs:
            environment.provenance.pop(output, None)  # provenance was recorded for the function only
        if not found:
            raise SpecViolation(f"{name} fails as an operator and as a function of the model")
        first, *others = found
        fresh = fresh_dim(self.context, "which body runs is up to the runtime")
        return [join(a, b, fresh) for a, b in zip(first, others[0], strict=False)] if others else first

    def check_types(self, op: ResolvedOp, inputs: list[Value | None]) -> None:
        """Raise SpecViolation when the schema forbids the inputs' element types, unless the rule checks them itself."""
        if op.traits.checks_types or not self.checks_types:
            return
        dtypes = tuple(v.dtype if isinstance(v, SymbolicTensor) else None for v in inputs)
        if dtypes in op.legal_types:
            return
        assert op.schema is not None, "only nodes with a schema are checked"
        fault = op.schema.type_fault(dtypes)
        if fault is not None:
            raise SpecViolation(fault, "GI211")
        op.legal_types.add(dtypes)

    def misplaced_openvino_gather(
        self, node: NodeProto, names: list[str], inputs: list[Value | None], environment: Environment
    ) -> Sequence[Value | None]:
        """The facts of an OpenVINO-style Gather (axis as third input) in the default domain, which is an error."""
        message = "Gather takes 2 inputs, found 3: this is OpenVINO's Gather with the axis as an input"
        self.context.report("GI309", message, ("gather-infer convert rewrites it",), None)
        op = environment.opsets.resolve("openvino", "Gather", "")
        attributes = read_attributes(self, node, op, environment) if node.attribute else _NO_ATTRIBUTES
        call = OpCall(
            "Gather", inputs, attributes, (True,), op.version, op.domain, self.context,
            lambda i: self.load_constant(names[i], environment),
        )  # fmt: skip
        return [None if value is None else limited(value, self.context) for value in rule_facts(op, call)]

    # results

    def bind_outputs(
        self,
        node: NodeProto,
        outputs: Sequence[str],
        results: Sequence[Value | None],
        environment: Environment,
        index: int,
    ) -> None:
        """Bind the outputs of a node to the inferred facts, reconciled with the declared types."""
        for name, inferred in zip_longest(outputs, results):
            if not name:
                continue
            value = known = UNKNOWN if inferred is None else inferred
            declared, hint = environment.declared.get(name), None
            if declared is None and value == UNKNOWN:
                hint = environment.hint(name)
                declared = environment.outputs.get(name) if hint is None else hint
            if declared is not None:
                value = reconciled(self, declared, value, node, index, environment)
                if value is not known and value != known:
                    if self.context.may_assume:
                        self.context.taint()  # trusts the declaration of the file
                    else:
                        value = self.with_declared_dtype(known, value, with_rank=hint is not None)
            if name in environment.values:
                self.report("GI101", f"value {name} is defined more than once", self.location(node, index, environment))
                continue
            environment.values[name] = value
            if declared is not None and value != known:
                place = NodePath(environment.path, index, environment.labels[index])
                self.trail.add(TrustedAnnotation(name, environment.label, place, value))

    def with_declared_dtype(self, known: Value, declared: Value, *, with_rank: bool) -> Value:
        """`known` with the declared element type, but not the declared shape.

        A runtime fails on a wrong declared element type, but may accept a wrong shape.

        with_rank   also take over the declared rank, with unknown dims: for an unknown operator nothing else gives it
        """
        if not isinstance(declared, SymbolicTensor):
            return known
        value = (known if isinstance(known, SymbolicTensor) else SymbolicTensor()).with_(dtype=declared.dtype)
        if not with_rank or value.shape is not None or declared.shape is None:
            return value
        why = "only the file declares it, and declared sizes are not trusted here"
        return value.with_(shape=tuple(self.context.fresh(why) for _ in declared.shape))


def _computation_key(op: ResolvedOp, names: list[str], attributes: Mapping[str, Attribute], outputs: list[str]) -> Key:
    """A key that is equal for nodes of one graph that compute the same: operator, input names, attributes, outputs."""
    return (op, *names, *attributes.items(), *map(bool, outputs))


def _constant_text(op: ResolvedOp, node: NodeProto) -> tuple[int, bytes] | None:
    """Cache key for the fact of a Constant; None when it is large or depends on more than its one attribute."""
    if op.rule is None or op.is_user_rule or op.domain or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.ref_attr_name or attribute.ByteSize() > MAX_CONSTANT_TEXT or is_external(attribute.t):
        return None
    return op.version, attribute.SerializeToString()


def _arity(what: str, lower: int, upper: int, found: int) -> str:
    """`the operator takes 1 input, found 2`; `what` is the plural noun."""
    if lower == 1 and upper in (1, 2**31 - 1):
        what = what.removesuffix("s")
    allowed = str(lower) if lower == upper else f"at least {lower}" if upper >= 2**31 - 1 else f"{lower} to {upper}"
    return f"the operator takes {allowed} {what}, found {found}"
