"""Table of the index accesses of a model, each with the verdict of its bounds check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from gather_infer.report.layout import Column, printable, table
from gather_infer.report.row_groups import RowGroup, group_rows
from gather_infer.tensor import SymbolicTensor, Value

if TYPE_CHECKING:
    from gather_infer.inference.result import Access
    from gather_infer.node_ids import NodePath
    from gather_infer.validate.verdict import Verdict

Verdicts: TypeAlias = "Mapping[tuple[NodePath, int, int | None], Verdict]"
"""Verdicts by `Access.key`."""

KINDS: Final = ("proved", "conditional", "violated", "undecided")
"""The kinds of verdicts, in output order."""

MAX_SCANNED: Final = 2000
"""Maximal number of rows that are searched for repetitions."""

_WORDS: Final = {
    # reason for which rows are left out -> text for one row, text for several
    "more": ("{} more", "{} more"),
    "sizes": ("{} that picks sizes", "{} that pick sizes"),
    "behind": ("{} downstream of errors", "{} downstream of errors"),
}
_URGENT: Final = {"violated": 0, "undecided": 1, "conditional": 2, "proved": 3}


def accesses_text(
    accesses: Sequence[Access],
    verdicts: Verdicts,
    limit: int | None,
    width: int | None,
    affected: Collection[NodePath] = (),
) -> list[str]:
    """The lines of the table: a row for each node and index input; the last line counts omitted rows.

    limit     maximum number of rows, None for all. With a limit, accesses that only select sizes and undecided accesses
              of `affected` nodes are left out, and rows that differ in numbers only are grouped
    width     characters per line; None for no limit
    affected  nodes that read a tensor which is unknown because of an error or warning
    """
    left_out = Counter[str]()
    found: list[tuple[str, ...]] = []
    for _, components in groupby(accesses, key=lambda access: (access.node, access.input)):
        group = list(components)
        node_verdicts = [verdicts[access.key] for access in group if access.key in verdicts]
        why = "" if limit is None else _omission_reason(group, _kind(node_verdicts), affected)
        if not why and limit is not None and len(found) == MAX_SCANNED:
            why = "more"
        if why:
            left_out[why] += 1
        else:
            found.append(_row(group, node_verdicts))
    rows = [RowGroup(row) for row in found] if limit is None else group_rows(found)
    if limit is not None and len(rows) > limit + 1:
        kept = _most_urgent([row.cells[-1] for row in rows], limit)
        left_out["more"] += sum(row.count for at, row in enumerate(rows) if at not in kept)
        rows = [row for at, row in enumerate(rows) if at in kept]
    lines = _table(rows, width, with_verdicts=bool(verdicts)) if rows else []
    parts = [_WORDS[why][left_out[why] > 1].format(left_out[why]) for why in _WORDS if left_out[why]]
    return [*lines, f"  ... {', '.join(parts)}: --all"] if parts else lines


def accesses_count(number: Mapping[str, int]) -> str:
    """The number of accesses by verdict as text: `16 accesses: 13 proved, 3 undecided`; empty if there are none."""
    total = sum(number.values())
    if not total:
        return ""
    parts = [f"{number[kind]} {kind}" for kind in KINDS if number.get(kind)]
    return f"{total} {'access' if total == 1 else 'accesses'}: {', '.join(parts)}"


def verdict_text(verdicts: Sequence[Verdict]) -> str:
    """The worst of `verdicts` as text: `proved`, `if -101 <= input_ids < 101`, `violated`, `undecided`.

    A condition that is sufficient but not necessary begins with `surely if`.

    verdicts   verdicts of the components of one index tuple
    """
    kind = _kind(verdicts)
    if kind != "conditional":
        return kind
    relevant = [v for v in verdicts if v.kind.value == kind]
    texts = dict.fromkeys(v.condition for v in relevant)
    return f"{'if' if all(v.tight for v in relevant) else 'surely if'} {' and '.join(texts)}"


def _kind(verdicts: Sequence[Verdict]) -> str:
    return min((v.kind.value for v in verdicts), key=_URGENT.__getitem__, default="")


def _omission_reason(group: Sequence[Access], kind: str, affected: Collection[NodePath]) -> str:
    if kind == "undecided" and group[0].node in affected:
        return "behind"
    return "sizes" if kind in ("proved", "") and all(map(_picks_sizes, group)) else ""


def _picks_sizes(access: Access) -> bool:
    """Whether an access selects known integers from known integers, mostly in a Gather of a Shape."""
    return _is_known(access.data_type) and _is_known(access.result_type)


def _is_known(value: Value) -> bool:
    if not isinstance(value, SymbolicTensor) or value.dtype is None or not value.dtype.is_integer:
        return False
    return value.values is not None and None not in value.values.flat


def _row(group: Sequence[Access], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    first = group[0]
    return (
        printable(str(first.node) if first.op_type == "Gather" else f"{first.node} ({first.op_type})"),
        operand_text(first.data_type),
        operand_text(first.indices_type),
        ", ".join(str(each.axis) for each in group if each.axis is not None),
        operand_text(first.result_type),
        printable(verdict_text(verdicts)),
    )


def _most_urgent(texts: Sequence[str], limit: int) -> set[int]:
    """The positions of the `limit` most urgent verdicts in `texts`: violated ones first, proved ones last."""

    def weight(text: str) -> int:
        return _URGENT.get(text, _URGENT["conditional"] if text else _URGENT["proved"])

    return set(sorted(range(len(texts)), key=lambda at: weight(texts[at]))[:limit])


def _table(rows: Sequence[RowGroup], width: int | None, *, with_verdicts: bool) -> list[str]:
    columns = [Column("access"), Column("data"), Column("indices"), Column("axis", right=True), Column("result")]
    columns += [Column("verdict")] if with_verdicts else []
    cells = [row.cells[: len(columns)] for row in rows]
    if any(row.numbers for row in rows):
        columns.append(Column(""))
        cells = [(*cells, f"({row.count})" if row.numbers else "") for cells, row in zip(cells, rows, strict=True)]
    return table(columns, cells, width=width)


def operand_text(value: Value) -> str:
    """A type as text, with the elements if they are few. Float elements are left out: they do not affect shapes."""
    if isinstance(value, SymbolicTensor) and value.dtype is not None and value.dtype.is_float:
        value = value.with_(values=None)
    return printable(str(value))
