"""`gather-infer fold`."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gather_infer.diagnostic import has_faults

from .console import Console
from .options import Command, common, facts, option, output, strict
from .target import target_of

if TYPE_CHECKING:
    from gather_infer.diagnostic import Diagnostic
    from gather_infer.passes import FoldResult


@click.command("fold", cls=Command, example="gather-infer fold fixtures/bert-torchscript.onnx -o folded.onnx")
@click.argument("model")
@facts
@output("Where to write the folded model.")
@option("--dry-run", section="Output", is_flag=True, help="Print the edits and write nothing.")
@option("--max-bytes", section="Folding", type=click.IntRange(min=0), default=1 << 20, show_default=True,
        metavar="N", help="Size of a new constant at most.")  # fmt: skip
@strict("Write nothing and exit with 1 when there are errors or warnings.")
@common(verbose="Print each folded node, and why others were left alone.")
def command(
    model: str,
    dims: tuple[str, ...],
    inputs: tuple[str, ...],
    rules: tuple[str, ...],
    output: str | None,
    external_data: str | None,
    in_place: bool,
    dry_run: bool,
    max_bytes: int,
    strict: bool,
    console: Console,
) -> int:
    """Replace the Gathers whose result is known by constants.

    MODEL is an ONNX file; - is standard input.
    """
    target = target_of(model, output, external_data, in_place)
    if target is None and not dry_run:
        raise click.UsageError("-o OUT is missing; --dry-run shows the edits and writes nothing")
    started = time.monotonic()

    from gather_infer.passes import fold

    from .rule_files import load_rules

    result = fold(model, max_bytes=max_bytes, dims=dims, inputs=inputs, rules=load_rules(rules))
    refused = strict and has_faults(result.diagnostics)
    if console.json:
        show = partial(console.result_json, _json(result, dry_run))
    else:
        show = partial(console.result, _edits(result) if dry_run else _table(result, console))
    # The report is made before anything is written: a command that fails writes nothing.
    written = None
    if target is not None and not dry_run and not refused:
        written = result.save(target.path, external_data=target.external_data, in_place=target.in_place)
    show()
    if written is not None:
        console.wrote(written, seconds=time.monotonic() - started)
        if result.folded:
            console.holds_for("what was folded", (*dims, *inputs))
    elif refused and not dry_run:
        console.message("nothing written")
    return 1 if refused else 0


def _edits(result: FoldResult) -> list[str]:
    from gather_infer.report.text import findings_text

    edits = result.journal.describe(result.source.proto) or ["nothing to fold"]
    return [*edits, *findings_text(_found(result), result.source.name)]


def _table(result: FoldResult, console: Console) -> list[str]:
    """Before and after, then what could not be folded and what is wrong with the model."""
    from gather_infer.report.layout import Column, count, size, table
    from gather_infer.report.text import findings_text

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
    left = sum(d.code == "GI401" for d in result.diagnostics)
    if left and not console.verbose:
        lines.append(f"  left alone: {left}, --verbose lists them")
    return [*lines, *findings_text(result.diagnostics if console.verbose else _found(result), result.source.name)]


def _found(result: FoldResult) -> list[Diagnostic]:
    """What the inference found; not the nodes that were left alone."""
    return [d for d in result.diagnostics if d.code != "GI401"]


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
        {"node": str(f.node), "op_type": f.op_type, "name": f.name, "bytes": f.value.nbytes, "reason": f.reason}
        for f in result.folded
    ]
    return {
        "schema": SCHEMA,
        **sizes,
        "folded": folded,
        "edits": result.journal.describe(result.source.proto) if dry_run else None,
        "diagnostics": [diagnostic_json(d) for d in result.diagnostics],
    }
