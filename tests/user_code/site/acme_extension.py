"""An example of a package with an extension: operators of com.acme, and a layer of an OpenVINO extension."""

from __future__ import annotations

from collections.abc import Iterator

from gather_infer import (
    CheckSet,
    Extension,
    Inference,
    Match,
    OpCall,
    Problem,
    Rewrite,
    RewriteSet,
    RuleSet,
    Severity,
    SymbolicTensor,
)
from gather_infer.cost import Work
from gather_infer.openvino.lowerings.function_builder import FunctionBuilder
from gather_infer.openvino.lowerings.layer_view import LayerView
from gather_infer.openvino.lowerings.lowering_table import LoweringTable
from gather_infer.symbolic import Dim

rules = RuleSet("com.acme")
costs = RuleSet("com.acme")
rewrites = RewriteSet("com.acme")
lowerings = LoweringTable("openvino.extension")
checks = CheckSet("acme")


@rules.rule("Twice")
def twice(op: OpCall) -> list[SymbolicTensor]:
    """x [N, ...] followed by itself: [2*N, ...]."""
    x = op.tensor(0)
    return [SymbolicTensor(x.dtype, None if x.shape is None else (2 * x.shape[0], *x.shape[1:]))]


@rules.rule("Same")
def same(op: OpCall) -> list[SymbolicTensor]:
    """x, unchanged."""
    return [op.tensor(0)]


@costs.macs("Twice", text="N * D")
def macs_of_twice(work: Work) -> Dim:
    """One for each element of x."""
    rows, width = work.shape(0, 2)
    return rows * width


@rewrites.rewrites("Same")
def no_same(match: Match) -> Rewrite | None:
    """Same(x) == x"""
    return match.replace_with("Same(x) == x", match.input(0))


@lowerings.lowers("AcmeScale")
def scale(op: LayerView, g: FunctionBuilder) -> str:
    """x + factor * x, the factor an integer."""
    return g.Add(op.x(0), g.Mul(op.x(0), g.CastLike(g.i64(op.integer("factor", 1)), op.x(0))))


@checks.check("no-twice", severity=Severity.ERROR)
def no_twice(inference: Inference) -> Iterator[Problem]:
    """Twice is too slow."""
    for position, node in enumerate(inference.model.proto.graph.node):
        if node.op_type == "Twice":
            yield Problem("Twice is too slow, use Concat", node=position, detail=("measured in 2026",))


extension = Extension(rules=[rules], rewrites=[rewrites], lowerings=[lowerings], checks=[checks], costs=[costs])
