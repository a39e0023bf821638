"""`gather-infer fold`."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from .console import Console
from .options import Command, common, option, output

if TYPE_CHECKING:
    from gather_infer.folding import FoldResult


@click.command("fold", cls=Command, example="gather-infer fold fixtures/bert-torchscript.onnx -o folded.onnx")
@click.argument("model")
@output(required=False, help="Where to write the folded model.")
@option("--dry-run", section="Output", is_flag=True, help="Print the edits and write nothing.")
@option("--max-bytes", section="Folding", type=click.IntRange(min=0), default=1 << 20, show_default=True,
        metavar="N", help="Size of a new constant at most.")  # fmt: skip
@common
def command(
    model: str, output: str | None, external_data: str | None, dry_run: bool, max_bytes: int, console: Console
) -> int:
    """Replace the Gathers whose result is known by constants."""
    if output is None and not dry_run:
        raise click.UsageError("-o OUT is missing; --dry-run shows the edits and writes nothing")
    started = time.monotonic()

    from gather_infer.folding import fold

    result = fold(model, max_bytes=max_bytes)
    if console.json:
        show = partial(console.result_json, _json(result, dry_run))
    elif dry_run:
        show = partial(console.result, result.journal.describe(result.source.proto) or ["nothing to fold"])
    else:
        show = partial(console.result, _table(result, console))
    # The report is made before anything is written: a command that fails writes nothing.
    written = None if dry_run or output is None else result.save(output, external_data=external_data)
    show()
    if written is not None:
        console.wrote(written)
        console.message(f"{time.monotonic() - started:.2f} s")
    return 0


def _table(result: FoldResult, console: Console) -> list[str]:
    """Before and after, then what could not be folded."""
    from gather_infer.diagnostic import Severity
    from gather_infer.report.layout import Column, count, size, table
    from gather_infer.report.text import diagnostics_text

    before, after = result.before, result.after
    changed = [op for op, n in before.operators.most_common() if after.operators[op] != n or "Gather" in op]
    largest = max((f.value.nbytes for f in result.folded), default=None)
    remark = "" if largest is None else f"largest folded {size(largest)}"
    rows = [
        ("nodes", str(before.nodes), str(after.nodes), ""),
        *((op, str(before.operators[op]), str(after.operators[op]), "") for op in changed),
        ("initializers", str(before.initializers), str(after.initializers), ""),
        ("constant bytes", size(before.weight_bytes), size(after.weight_bytes), remark),
    ]
    columns = (Column(""), Column("before", right=True), Column("after", right=True), Column(""))
    lines = table(columns, rows, width=console.width)
    lines.append(f"  folded {count(len(result.folded), 'node')}")
    if console.verbose:
        lines += [f"    {f.node}: {f.reason}" for f in result.folded]
    left = [d for d in result.diagnostics if d.code == "GI401"]
    if left and not console.verbose:
        lines.append(f"  left alone: {len(left)}, --verbose lists them")
    shown = [d for d in result.diagnostics if d.code.startswith("GI3") and d.severity is Severity.ERROR]
    return [*lines, *diagnostics_text([*shown, *(left if console.verbose else ())], result.source.name)]


def _json(result: FoldResult, dry_run: bool) -> dict[str, Any]:
    from gather_infer.report import SCHEMA
    from gather_infer.report.json import diagnostic_json

    sizes = {
        name: {
            "nodes": size.nodes,
            "operators": dict(sorted(size.operators.items())),
            "initializers": size.initializers,
            "bytes": size.weight_bytes,
        }
        for name, size in (("before", result.before), ("after", result.after))
    }
    folded = [
        {"node": f.node, "op_type": f.op_type, "name": f.name, "bytes": f.value.nbytes, "reason": f.reason}
        for f in result.folded
    ]
    return {
        "schema": SCHEMA,
        **sizes,
        "folded": folded,
        "edits": result.journal.describe(result.source.proto) if dry_run else None,
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }
