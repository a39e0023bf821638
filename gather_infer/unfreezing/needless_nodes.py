"""Nodes that a result does not need, removed by the rewrites of `optimize`.

An edit may leave an Expand to the sizes that its data have, a Reshape of what another one reshapes, and an index of
numbers of rows that takes each row as it is. Nodes that `unfreeze` has not edited stay as they are, but for sizes: what
nodes compute from shapes is computed once, or is a number.

This is done for sizes that count rows alone, since the check of rows runs the result. At sizes that the result does not
take, a run has to fail still: if the contract of the rewritten model lacks a line, it is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from onnx import ModelProto

from gather_infer.inference import Inference, infer
from gather_infer.ir.write_back import journal_of
from gather_infer.model import ModelFile
from gather_infer.model.apply import apply
from gather_infer.model.edits import AddInitializer, InsertNodes, Journal, RemoveNode
from gather_infer.passes.loadability import ProtectedValues
from gather_infer.passes.mutable_model import Graph, MutableModel
from gather_infer.passes.node_view import RewriteContext
from gather_infer.passes.optimizing import faulty_nodes
from gather_infer.passes.pass_input import PassInput
from gather_infer.passes.region_driver import RegionDriver
from gather_infer.passes.rewrite import GraphRewrite
from gather_infer.passes.rewrites import GATHER, common_subexpressions, identity_elimination, pair_fusion
from gather_infer.passes.rewrites.shape_computations import canonical_dims
from gather_infer.passes.rule_table import RewriteSet, RuleTable
from gather_infer.rules import RuleSet
from gather_infer.unfreezing.declared_types import open_sizes
from gather_infer.unfreezing.result_edits import NAME, edited_nodes
from gather_infer.validate.contract_builder import contract

_sizes: Final = RewriteSet()


@_sizes.graph_pass
def fewer_dims(context: RewriteContext, graph: Graph) -> GraphRewrite | None:
    """Each size of a graph is computed once, where that takes fewer nodes."""
    found = canonical_dims(context, graph)
    return found if found is not None and found.cost.nodes < 0 else None


_RULES: Final = RuleTable(
    (identity_elimination.rewrites, pair_fusion.rewrites, *GATHER, common_subexpressions.rewrites, _sizes),
    lambda name: name != "common-constants",
)


class Smaller(NamedTuple):
    """A model with fewer nodes, its inference, and why nodes were removed or added, by output."""

    proto: ModelProto
    inference: Inference
    reasons: dict[str, str]


def inferred(file: ModelFile, proto: ModelProto, rules: Sequence[RuleSet], *, assume: bool = True) -> Inference:
    """The inference of an edited model, which reads no sizes that the file declares for other values than inputs."""
    return infer(replace(file, proto=_untyped(proto)), rules=rules, assume=assume)


def without_needless_nodes(
    file: ModelFile, proto: ModelProto, inference: Inference, rules: Sequence[RuleSet]
) -> Smaller | None:
    """The model with fewer nodes; None if there is none.

    file        before the edits
    proto       after them
    inference   that of `proto`
    """
    region = frozenset(name for node in edited_nodes(file.proto, proto) for name in node.output if name)
    if not region:
        return None
    proved = inferred(file, proto, rules, assume=False)
    model = MutableModel(PassInput(proved), proto)
    driver = RegionDriver(model, _RULES, removes_dead_code=False, faulty=faulty_nodes(proved), region=region)
    driver.run()
    if not driver.applied:
        return None
    journal = journal_of(model, NAME)
    found = apply(journal, proto)
    if ProtectedValues(proved).extend_for(_untyped(found), model):
        return None  # a runtime may not load it
    after = inferred(file, found, rules)
    if after.errors or not _conditions(inference) <= _conditions(after):
        return None
    return Smaller(found, after, _reasons(journal, proto))


def _untyped(proto: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(proto)
    open_sizes(copy)
    return copy


def _conditions(inference: Inference) -> set[str]:
    """The conditions under which a model runs, and the nodes that may fail although they hold."""
    found = contract(inference).contract
    return {line.text for line in found.lines} | {str(each) for each in found.open}


def _reasons(journal: Journal, before: ModelProto) -> dict[str, str]:
    """Why values are gone, or made by other nodes; without the label of a node, which is one of `before`."""
    found: dict[str, str] = {}
    for edit in journal.edits:
        law = edit.reason.rpartition(" (")[0] or edit.reason
        if edit.path.steps:
            continue
        if isinstance(edit, RemoveNode):
            found.update(dict.fromkeys(before.graph.node[edit.node].output, law))
        elif isinstance(edit, InsertNodes):
            found.update(dict.fromkeys((name for node in edit.nodes for name in node.output), law))
        elif isinstance(edit, AddInitializer):
            found[edit.tensor.name] = law
    return found
