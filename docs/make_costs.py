"""Writes docs/cost-formulas.md from the tables of formulas: `python docs/make_costs.py`. A test compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gather_infer.cost.formulas import tables
from gather_infer.openvino.lowerings import LOWERINGS
from gather_infer.ops import standard_rules

PAGE = Path(__file__).with_name("cost-formulas.md")

HEAD = """\
<!-- made by docs/make_costs.py -->

# How multiply-adds are counted

What `gather-infer cost` counts for each operator, in the letters of its page; [the command](cost.md) says what a
multiply-add is. An operator that stands in neither list, as those that are not known, is counted as a node without a
number, and named; [your own](custom-rules.md#what-it-costs) can have formulas.
"""


def page() -> str:
    """The text of docs/cost-formulas.md."""
    return "\n".join([HEAD, *_tables()]) + "\n"


def _tables() -> Iterator[str]:
    for domain, table in tables().items():
        yield f"## {domain or 'ai.onnx'}\n"
        formulas = [(op_type, formula) for op_type in table.op_types if (formula := table.find(op_type)) is not None]
        if formulas:
            yield "| operator | multiply-adds |"
            yield "|---|---|"
            yield from (f"| [{op_type}]({formula.source}) | {formula.text} |" for op_type, formula in formulas)
            yield ""
        if table.zero_cost:
            yield f"None: {', '.join(sorted(table.zero_cost))}.\n"
        left_out = _known(domain) - {*table.op_types} - table.zero_cost
        if left_out:
            yield f"Not known: {', '.join(sorted(left_out))}.\n"


def _known(domain: str) -> set[str]:
    """The operators of a domain that have a rule or a lowering."""
    rules = standard_rules().get(domain)
    found = set() if rules is None else {op_type for op_type, _, _ in rules.entries()}
    return found | set(LOWERINGS.op_types) if domain == "openvino" else found


if __name__ == "__main__":
    PAGE.write_text(page())
