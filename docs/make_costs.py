"""Writes docs/cost-formulas.md from the tables of formulas: `python docs/make_costs.py`. A test compares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gather_infer.cost.formulas import tables

PAGE = Path(__file__).with_name("cost-formulas.md")

HEAD = """\
<!-- made by docs/make_costs.py -->

# How multiply-adds are counted

What `gather-infer cost` counts for each operator, in the letters of its page; [the command](cost.md) says what a
multiply-add is. An operator that stands in neither list is counted as a node whose cost is not known, and named.
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
        if table.nothing:
            yield f"None: {', '.join(sorted(table.nothing))}.\n"


if __name__ == "__main__":
    PAGE.write_text(page())
