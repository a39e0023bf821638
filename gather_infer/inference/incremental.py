"""Incremental inference: facts of nodes that a rewrite pass adds to a model after its inference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from onnx import NodeProto, OperatorSetIdProto

from gather_infer.context import Context
from gather_infer.errors import SpecViolation
from gather_infer.inference.environment import Environment
from gather_infer.inference.interpreter import Interpreter
from gather_infer.inference.limits import proof_fuel
from gather_infer.inference.op_resolution import Opsets
from gather_infer.inference.proto.types import DimReader
from gather_infer.inference.result import Inference
from gather_infer.inference.result_simplifier import ResultSimplifier
from gather_infer.ops import standard_rules
from gather_infer.symbolic import Dim, DimTooLarge, Expr, Scope, free_symbols, known_eq
from gather_infer.tensor import UNKNOWN, Value

MAX_EQUALITY_SIZE: Final = 16
"""Maximal number of expression nodes in both sides of an equality that is added as a fact."""


class IncrementalInference:
    """Infers single new nodes under the facts of a finished run.

    Constraints of a new node are dropped: it replaces existing nodes, which already imply them. User rules are not
    called, since passes only add built-in operators.
    """

    def __init__(self, inference: Inference) -> None:
        self._inference = inference
        self.scope = inference.known.child()
        self.scope.fuels = (proof_fuel(inference.model.proto),)
        demanded = dict.fromkeys((c.left, c.right) for c in inference.constraints if c.relation == "==")
        self.relies_on_constraints = add_equalities(self.scope, demanded)
        """Whether facts rely on equalities that nodes of the model imply; a pass may remove such a node later."""
        taken = set(inference.causes)
        for values in inference.scopes.values():
            for value in values.values():
                for dim in getattr(value, "shape", None) or ():
                    taken |= free_symbols(dim)
        self._context = Context(self.scope, reserved=taken, may_assume=False)
        self._walker = Interpreter(
            inference.model, self._context, DimReader(frozenset(), {}), [standard_rules()], constants={}
        )
        self._opsets: dict[tuple[tuple[str, int], ...], Opsets] = {}

    def generated_symbols(self, dim: Dim) -> frozenset[str]:
        """The generated symbols in a dim, whether the original inference or a new node generated them."""
        return frozenset(
            name for name in free_symbols(dim) if name in self._inference.causes or name in self._context.causes
        )

    def facts(self, node: NodeProto, inputs: Sequence[Value | None], versions: Mapping[str, int]) -> list[Value]:
        """A fact for each output of a node with input facts `inputs`; unknown when no rule exists or the rule fails.

        versions   opset version by domain
        """
        key = tuple(versions.items())
        opsets = self._opsets.get(key)
        if opsets is None:
            imports = [OperatorSetIdProto(domain=domain, version=version) for domain, version in versions.items()]
            opsets = self._opsets[key] = self._walker.opsets(imports)
        environment = Environment(opsets)
        environment.labels = [node.op_type]
        environment.values = {
            name: value for name, value in zip(node.input, inputs, strict=True) if name and value is not None
        }
        context = self._context
        outputs = list(node.output)
        mark = self._walker.checkpoint()
        found: Sequence[Value | None] = ()
        with context.preserved():
            context.scope = self.scope.child()
            context.graph, context.labels, context.position = environment.path, environment.labels, 0
            context.op_type = node.op_type
            op = opsets.resolve(node.domain, node.op_type, node.overload)
            with suppress(SpecViolation, DimTooLarge):
                found = self._walker.infer_node(node, op, list(node.input), list(inputs), outputs, environment)
        context.findings.clear()
        context.addressed.clear()
        self._walker.rollback(mark)
        settled = ResultSimplifier(context)
        return [UNKNOWN if value is None else settled.value(value) for value in (*found, *[None] * len(outputs))][
            : len(outputs)
        ]


def add_equalities(scope: Scope, equalities: Iterable[tuple[Dim, Dim]]) -> bool:
    """Add equalities to `scope` that hold in every valid run; return whether any of them was new.

    Equalities that contradict known facts are skipped, since a contradiction would prove anything. Long equalities are
    skipped too, since they slow down proofs.
    """
    version = scope.version
    for left, right in equalities:
        if sum(side.size for side in (left, right) if isinstance(side, Expr)) > MAX_EQUALITY_SIZE:
            continue
        with suppress(DimTooLarge):
            if known_eq(left, right, scope) is None:
                scope.add_fact(left - right)
                scope.add_fact(right - left)
    return scope.version != version
