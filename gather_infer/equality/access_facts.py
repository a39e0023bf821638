"""Facts about sizes that follow from accesses in bounds: they hold in every run in which the model succeeds."""

from __future__ import annotations

from collections.abc import Iterator

from gather_infer.inference import Access, Inference
from gather_infer.node_ids import MAIN
from gather_infer.symbolic import Dim, known_le
from gather_infer.tensor import SymbolicTensor
from gather_infer.validate import Condition, Outside, VerdictKind, verdict
from gather_infer.validate.condition import Elements


def access_facts(inference: Inference) -> Iterator[Dim]:
    """Dims that are >= 0 because the accesses of the main graph are in bounds.

    A run without elements reads nothing. So a fact has to hold, too, where a size is 0.
    """
    for access in inference.accesses:
        if access.node.graph != MAIN:
            continue
        found = verdict(access)
        if found.kind is VerdictKind.CONDITIONAL and found.outside is Outside.FAILS:
            facts = [fact for condition in found.conditions if (fact := _fact(condition)) is not None]
            yield from (fact for fact in facts if _holds_where_empty(inference, access, fact))


def _fact(condition: Condition) -> Dim | None:
    """The dim that is >= 0 where a necessary condition on sizes holds; None for another condition."""
    if not condition.tight or isinstance(condition.left, Elements):
        return None
    if condition.relation == ">=":
        return condition.left - condition.right
    return condition.right - condition.left - (condition.relation == "<")


def _holds_where_empty(inference: Inference, access: Access, fact: Dim) -> bool:
    """Whether a fact holds where a tensor that the node reads or computes has no elements."""
    node = inference.model.proto.graph.node[access.node.position]
    for name in (*node.input, *node.output):
        value = inference.scopes[MAIN].get(name)
        if not isinstance(value, SymbolicTensor):
            continue
        if value.shape is None:
            return False
        for size in value.shape:
            if known_le(1, size, inference.known) is True:
                continue
            empty = inference.known.child()
            empty.add_fact(-size)
            if known_le(0, fact, empty) is not True:
                return False
    return True
