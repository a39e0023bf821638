"""`gather-infer contract`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from gather_infer.report.output_formats import CONTRACT, ContractReport

from .console import Console
from .facts import Facts, facts_options, ranges_option
from .options import Command, common_options, model_argument, option
from .saving import Target, output_options, write_and_print, write_texts


@click.command(
    "contract", cls=Command, example="gather-infer contract fixtures/bert-torchscript.onnx --range input_ids=0..150"
)
@model_argument()
@facts_options
@ranges_option
@option("--embed", section="Output", is_flag=True, help="Store the contract in the metadata of OUT.")
@output_options("With --embed, write the model with its contract to OUT.")
@option(
    "--python",
    "guard",
    section="Output",
    metavar="FILE.py",
    help="Write a Python module that checks feeds and needs numpy only; - is standard output.",
)
@option(
    "--json-schema",
    "schema",
    section="Output",
    metavar="FILE",
    help="Write a JSON Schema of requests with nested arrays; - is standard output.",
)
@option(
    "--strict",
    section="Output",
    is_flag=True,
    help="Make both also enforce lines that are not tight.",
)
@option(
    "--require-proved",
    section="Report",
    is_flag=True,
    help="Exit with 1 if --dim and --range do not prove every line.",
)
@common_options(CONTRACT, verbose="Print all nodes and the reason of every line.")
def command(
    model: str,
    facts: Facts,
    ranges: tuple[str, ...],
    embed: bool,
    target: Target | None,
    guard: str | None,
    schema: str | None,
    strict: bool,
    require_proved: bool,
    console: Console,
) -> int:
    """Derive what inputs must satisfy for a run to succeed.

    With such inputs no index is out of bounds and no shapes clash.

    MODEL is an ONNX file (- is standard input) or the .xml of an OpenVINO IR. The command exits with 1 and writes
    nothing if the model has an error, or if --dim or --range exceed the contract.
    """
    if embed and target is None:
        raise click.UsageError("--embed needs -o or --in-place")
    if target is not None and not embed:
        raise click.UsageError("a model is written with --embed only")

    if strict and guard is None and schema is None:
        raise click.UsageError("--strict needs --python or --json-schema")
    streams = [name for name, path in (("--python", guard), ("--json-schema", schema)) if path == "-"]
    if len(streams) + (target is not None and target.is_stdout) > 1:
        raise click.UsageError("only one of --python, --json-schema and -o can go to standard output")
    if streams:
        console = replace(console, results_to_stderr=True)

    from gather_infer.diagnostic import Severity
    from gather_infer.report.guard import guard_source
    from gather_infer.report.requests import request_schema
    from gather_infer.validate.contract_builder import contract_of

    with console.progress() as progress:
        result = contract_of(
            model,
            dims=facts.dims,
            inputs=facts.inputs,
            ranges=ranges,
            rules=facts.rules(),
            initializers_as_constants=facts.constants,
            progress=progress,
        )
        findings = (*result.diagnostics, *(result.undischarged if require_proved else ()))
        lines = console.lines_of(CONTRACT, ContractReport(result.contract, findings, result.source.name))
    refused = any(finding.severity is Severity.ERROR for finding in findings)
    texts: dict[str, str] = {}
    if guard is not None:
        texts[guard] = guard_source(result.contract, strict=strict)
    if schema is not None:
        texts[schema] = json.dumps(request_schema(result.contract, strict=strict), indent=1) + "\n"
    streamed = texts.pop("-", "")
    if not refused:
        write_texts({Path(path): text for path, text in texts.items()})
        click.echo(streamed, nl=False)
    written = write_and_print(lines, result.save, target, console, refused=refused)
    if refused and (texts or streamed) and target is None:
        console.message("nothing written")
    for path in () if refused else texts:
        console.message(f"wrote {path}")
    if written is not None:
        console.wrote(written)
    return 1 if refused else 0
