"""The matched node of a rewrite rule, with the builders of its replacement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

from gather_infer.domains import plain_domain
from gather_infer.errors import SpecViolation, UsageError
from gather_infer.inference.proto.schema import schema_of
from gather_infer.ir.constant import Constant, from_integers
from gather_infer.passes.evaluate import Evaluator, evaluator_of
from gather_infer.passes.mutable_model import Graph
from gather_infer.passes.node_view import NodeView
from gather_infer.passes.rewrite import Rewrite, Unavailable


@dataclass(slots=True, eq=False)
class Match(NodeView):
    """The node that a rule examines, with its facts and neighbours, and the builders of its replacement."""

    _nodes: list[NodeProto] = field(default_factory=list)
    _constants: dict[str, Constant] = field(default_factory=dict)
    has_built: bool = False
    """Whether a builder has been called, so that the match may hold new nodes or constants."""

    def enqueue(self) -> None:
        """Have the driver run the rules on the node again, because one of their dependencies has changed."""
        self.context.enqueue(self.node)

    def evaluator(self) -> Evaluator | None:
        """The evaluator of the operator on constants; None if there is none."""
        return evaluator_of(self.domain, self.op_type, self.version)

    def report_not_folded(self, reason: str) -> None:
        """Report to the user why the node is not folded."""
        self.context.note(self, "GI401", f"not folded: {reason}")

    def report(self, violation: SpecViolation) -> None:
        """Report to the user that the node fails in every run."""
        self.context.note(self, violation.code, violation.message, violation.detail)

    def replace_with_constants(self, law: str, results: Sequence[Constant], *, needed_only: bool = False) -> Rewrite:
        """A rewrite that replaces the outputs by `results`. Raises Unavailable if the model cannot hold a constant of a
        type.
        """
        names = []
        for index, result in enumerate(results):
            if not self.output(index) or (needed_only and not self.is_needed(index)):
                names.append("")
            elif self.is_graph_output(index):
                self.has_built = True
                names.append(self.context.constants.add_new(self.graph, result, self.output(index), self._constants))
            else:
                names.append(self.add_constant(result, self.output(index)))
        return self.replace_with(law, *names, *[""] * (len(self.node.outputs) - len(names)))

    # the replacement

    def replace_with(self, law: str, *values: str) -> Rewrite:
        """A rewrite that replaces the outputs of the node by `values`, in order; "" for an output that is dead.

        A value is one that the node could read, or comes from `new` and the other builders.
        """
        if len(values) != len(self.node.outputs):
            raise UsageError(f"{len(values)} values for the {len(self.node.outputs)} outputs of {self.op_type}")
        pairs = zip(self.node.outputs, values, strict=True)
        replaced = {old: new for old, new in pairs if old and new}
        return Rewrite(law=law, values=replaced, nodes=tuple(self._nodes), constants=dict(self._constants))

    def replace_values(self, law: str, values: Mapping[str, str]) -> Rewrite:
        """As `replace_with`, for outputs of several nodes of the graph, among them the matched node.

        values   output -> its replacement: a new value that does not depend on any of these outputs
        """
        others = frozenset(values.keys() - set(self.node.outputs))
        replaced = dict(values)
        return Rewrite(
            law=law, values=replaced, siblings=others, nodes=tuple(self._nodes), constants=dict(self._constants)
        )

    def body(self, name: str) -> Graph | None:
        """The subgraph in the attribute `name` of the node; None if there is none."""
        at = next((i for i, a in enumerate(self.node.proto.attribute) if a.name == name), None)
        return next((body for body in self.node.bodies if body.path.steps[-1].attribute == at), None)

    def replace_with_body(self, law: str, body: Graph, values: Sequence[str], bound: Mapping[str, str]) -> Rewrite:
        """A rewrite that replaces the node by the nodes of one of its subgraphs (inlining).

        values   the names in the body, or of new values, that replace the outputs of the node, in order
        bound    input of the body -> the value of the enclosing graph, or new value, that replaces it
        """
        replaced = {old: new for old, new in zip(self.node.outputs, values, strict=True) if old and new}
        return Rewrite(
            law=law, values=replaced, body=body, bound=bound, nodes=tuple(self._nodes), constants=dict(self._constants)
        )

    def new(self, op_type: str, inputs: Sequence[str], *, domain: str = "", **attributes: Any) -> str:
        """Build a node with one output. Returns the name of the output. Attributes that are None are left out."""
        return self.new_outputs(op_type, inputs, 1, domain=domain, **attributes)[0]

    def new_outputs(
        self, op_type: str, inputs: Sequence[str], count: int, *, domain: str = "", **attributes: Any
    ) -> list[str]:
        """As `new`, for a node with `count` outputs. Raises Unavailable if the opset has no such operator."""
        domain = plain_domain(domain)
        version = self.graph.versions.get(domain, 0)
        if not version or (not domain and schema_of(op_type, version, domain) is None):
            raise Unavailable
        base = self.output() or op_type
        made = [self.context.fresh(f"{base}_{op_type}") for _ in range(count)]
        given = {name: value for name, value in attributes.items() if value is not None}
        self.has_built = True
        self._nodes.append(helper.make_node(op_type, list(inputs), made, domain=domain or None, **given))
        return made

    def copy(self, node: Match, inputs: Sequence[str]) -> list[str]:
        """Build a copy of a node, with its attributes and the given `inputs`. Returns the names of its outputs."""
        proto = NodeProto()
        proto.CopyFrom(node.node.proto)
        base = self.output() or node.op_type
        made = [self.context.fresh(f"{base}_{node.op_type}") if name else "" for name in node.node.outputs]
        del proto.input[:]
        del proto.output[:]
        proto.input.extend(inputs)
        proto.output.extend(made)
        self.has_built = True
        self._nodes.append(proto)
        return made

    def add_constant(self, constant: Constant, base: str = "") -> str:
        """Add a constant, or reuse a small one of the graph that equals it bit for bit. Returns its name.

        Raises Unavailable if the model cannot hold a constant of its type.
        """
        self.has_built = True
        return self.context.constants.get_or_add(
            self.graph, constant, base or self.output() or self.op_type, self._constants
        )

    def vector(self, elements: Iterable[int], dtype: int = TensorProto.INT64) -> str:
        """Add a constant integer vector, as `add_constant`. Returns its name."""
        values = np.array(list(elements), dtype=object).reshape(-1)
        return self.add_constant(from_integers(dtype, values))

    def scalar(self, element: int, dtype: int = TensorProto.INT64) -> str:
        """Add a constant integer of rank 0, as `add_constant`. Returns its name."""
        values = np.empty((), dtype=object)
        values[()] = element
        return self.add_constant(from_integers(dtype, values))

    def squeeze(self, data: str, axes: Sequence[int]) -> str:
        """Build a Squeeze for the opset version of the model. Returns its output, or `data` if there are no axes.

        A Squeeze without axes would remove every axis of size 1.
        """
        if not axes:
            return data
        if self.opset < 13:
            return self.new("Squeeze", [data], axes=list(axes))
        return self.new("Squeeze", [data, self.vector(axes)])

    def unsqueeze(self, data: str, axes: Sequence[int]) -> str:
        """Build an Unsqueeze for the opset version of the model. Returns its output, or `data` if there are no axes."""
        if not axes:
            return data
        if self.opset < 13:
            return self.new("Unsqueeze", [data], axes=list(axes))
        return self.new("Unsqueeze", [data, self.vector(axes)])

    def slice(
        self, data: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] = ()
    ) -> str:
        """Build a Slice for the opset version of the model. Returns its output, or `data` if there are no axes.

        Raises Unavailable for steps before version 10.
        """
        if not axes:
            return data
        plain = all(step == 1 for step in steps)
        if self.opset < 10:
            if not plain:
                raise Unavailable
            return self.new("Slice", [data], starts=list(starts), ends=list(ends), axes=list(axes))
        given = [data, self.vector(starts), self.vector(ends), self.vector(axes)]
        return self.new("Slice", given if plain else [*given, self.vector(steps)])

    def reshape(self, data: str, target: Sequence[int]) -> str:
        """Build a Reshape to a constant target, in which 0 copies a dim. Returns its output.

        Raises Unavailable before version 5.
        """
        if self.opset < 5:
            raise Unavailable
        return self.new("Reshape", [data, self.vector(target)])
