"""Records the accesses of a node: the axes that its rule addresses by index, with the facts known before."""

from __future__ import annotations

from collections.abc import Sequence

from gather_infer.access import Addressing
from gather_infer.inference.dispatch import Entry
from gather_infer.inference.frame import Frame
from gather_infer.inference.result import Access, Evidence
from gather_infer.inference.state import State
from gather_infer.symbolic import Scope
from gather_infer.tensor import UNKNOWN, Value


def record_accesses(
    state: State,
    entry: Entry,
    names: Sequence[str],
    inputs: Sequence[Value | None],
    result: str,
    frame: Frame,
    before: Scope,
) -> None:
    """Record an access for each axis that the node addresses; one without an axis where the rule could not determine
    it.

    before   facts known when the run reached the node
    """
    context = state.context
    for index_input, data_input in entry.traits.addresses.items():
        if index_input >= len(inputs) or not names[index_input]:
            continue
        data = inputs[data_input] if data_input < len(inputs) else None
        indices = inputs[index_input] or UNKNOWN
        addressed: list[Addressing | None] = [a for a in context.addressed if a.input == index_input]
        for axis in addressed or [None]:
            state.record.add(
                Access(
                    context.node, entry.op_type, entry.domain, entry.version, index_input,
                    names[data_input] if data_input < len(names) else "", names[index_input], result, axis,
                    data or UNKNOWN, indices, frame.values.get(result, UNKNOWN),
                    Evidence(before, indices, frame.trace(names[index_input]), context.causes, frame.all_meanings()),
                )
            )  # fmt: skip
