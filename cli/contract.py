"""`gather-infer contract`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from gather_infer.report.output_formats import CONTRACT, MODELS

from .console import Console, announce
from .facts import Facts, facts_options, ranges_option
from .options import Command, FileName, common_options, model_argument, option
from .parallel import Parallel, parallel_options, require_no_cache, run_many
from .saving import Target, are_several, output_options, write_and_print, write_texts

_TARGETS = ("triton", "trtexec", "polygraphy", "ort-trt", "openvino", "torch", "ort", "pydantic")
"""`gather_infer.serving.TARGETS`, whose import would be slow."""


@click.command(
    "contract",
    cls=Command,
    example="""gather-infer contract fixtures/bert-torchscript.onnx --range input_ids=0..150
gather-infer contract fixtures/bert-torchscript.onnx --emit pydantic""",
)
@model_argument("models", nargs=-1, required=True)
@facts_options
@ranges_option
@option("--embed", section="Output", is_flag=True, help="Store the contract in the metadata of OUT.")
@option(
    "--emit",
    section="Output",
    metavar="TARGET",
    type=click.Choice(_TARGETS),
    help=f"Write the contract for another program, to OUT or standard output: {', '.join(_TARGETS)}.",
)
@output_options("With --embed, write the model with its contract to OUT; with --emit, the emitted text.", several=True)
@option(
    "--opt",
    section="Output",
    multiple=True,
    metavar="NAME=SIZE",
    help="With --emit trtexec, polygraphy, ort-trt: optimize for this size.",
)
@option(
    "--profiles",
    section="Output",
    type=click.IntRange(1),
    default=4,
    show_default=True,
    metavar="N",
    help="With the same: write at most N profiles.",
)
@option(
    "--dependent-axes",
    section="Output",
    is_flag=True,
    help="With the same: give axes such as past + seq a range, with sizes that are not legal.",
)
@option(
    "--python",
    "guard",
    section="Output",
    type=FileName(),
    metavar="FILE.py",
    help="Write a Python module that checks feeds and needs numpy only; - is standard output.",
)
@option(
    "--json-schema",
    "schema",
    section="Output",
    type=FileName(),
    metavar="FILE",
    help="Write a JSON Schema of requests with nested arrays; - is standard output.",
)
@option(
    "--strict",
    section="Output",
    is_flag=True,
    help="Make these two and --emit pydantic also enforce lines that are not tight.",
)
@option(
    "--require-proved",
    section="Report",
    is_flag=True,
    help="Exit with 1 if --dim and --range do not prove every line.",
)
@parallel_options("Process")
@common_options(CONTRACT, MODELS, verbose="Print all nodes and the reason of every line.")
def command(
    models: tuple[str, ...],
    facts: Facts,
    ranges: tuple[str, ...],
    embed: bool,
    emit: str | None,
    opt: tuple[str, ...],
    profiles: int,
    dependent_axes: bool,
    target: Target | None,
    guard: str | None,
    schema: str | None,
    strict: bool,
    require_proved: bool,
    parallel: Parallel,
    console: Console,
) -> int:
    """Derive what inputs must satisfy for a run to succeed.

    With such inputs no index is out of bounds and no shapes clash.

    MODELS are ONNX files (- is standard input), .xml files of OpenVINO IRs, or folders. The command exits with 1 and
    writes nothing if the model has an error, or if --dim or --range exceed the contract.
    """
    if embed and target is None:
        raise click.UsageError("--embed needs -o or --in-place")
    if embed and emit is not None:
        raise click.UsageError("--embed and --emit exclude each other")
    if target is not None and not (embed or emit is not None):
        raise click.UsageError("a model is written with --embed only, and a text with --emit")
    if emit is not None and target is not None and (target.in_place or target.external_data is not None):
        raise click.UsageError("--in-place and --external-data need --embed")
    if emit is None and (opt or dependent_axes):
        raise click.UsageError(f"{'--opt' if opt else '--dependent-axes'} needs --emit")
    if strict and guard is None and schema is None and emit != "pydantic":
        raise click.UsageError("--strict needs --python, --json-schema or --emit pydantic")
    emitted_to = None if emit is None else "-" if target is None else target.path
    model_to = target if embed else None
    written_to = {"--python": guard, "--json-schema": schema, "--emit": emitted_to}
    streams = [name for name, path in written_to.items() if path == "-"]
    if len(streams) + (model_to is not None and model_to.is_stdout) > 1:
        raise click.UsageError("only one of --python, --json-schema, --emit and -o can go to standard output")
    if streams:
        console = replace(console, results_to_stderr=True)

    from gather_infer.many.contract import ContractJob
    from gather_infer.report.guard import guard_source
    from gather_infer.report.requests import request_schema

    sizes = dict(map(_size, opt))
    job = ContractJob(
        **facts.job_options(target, console, ranges=ranges),
        require_proved=require_proved,
        with_interface=emit is not None,
    )
    if are_several(models):
        if guard is not None or schema is not None or emit is not None:
            raise click.UsageError("--python, --json-schema and --emit write the contract of one model")
        return run_many(job, models, target, parallel, console, doing="deriving")
    require_no_cache(parallel)
    with console.progress() as progress:
        found = job.alone(models[0], progress)
        lines = console.lines_of(found.kind, found.report)
    assert found.save is not None, "the command may write a model"
    contract, refused = found.report.contract, found.exit_code != 0
    texts: dict[str, str] = {}
    if guard is not None:
        texts[guard] = guard_source(contract, strict=strict)
    if schema is not None:
        texts[schema] = json.dumps(request_schema(contract, strict=strict), indent=1) + "\n"
    notes: tuple[str, ...] = ()
    if emit is not None and emitted_to is not None and not refused:
        from gather_infer.serving import emit as emission_of

        emission = emission_of(
            contract,
            emit,
            interface=found.report.interface,
            opt=sizes,
            profiles=profiles,
            dependent_axes=dependent_axes,
            strict=strict and emit == "pydantic",
        )
        texts[emitted_to], notes = emission.text, emission.notes
    streamed = texts.pop("-", "")
    if not refused:
        write_texts({Path(path): text for path, text in texts.items()})
        click.echo(streamed, nl=False)
    written = write_and_print(lines, found.save, model_to, console, refused=refused)
    for note in notes:
        announce(f"note: {note}", colour=console.colour)
    if refused and any(written_to.values()) and model_to is None:
        console.message("nothing written")
    for path in () if refused else texts:
        console.message(f"wrote {path}")
    if written is not None:
        console.wrote(written)
    return 1 if refused else 0


def _size(text: str) -> tuple[str, int]:
    """Name and size in a value of --opt. Raises click.UsageError if it does not read NAME=SIZE."""
    name, _, size = text.rpartition("=")
    if not name.strip() or not size.strip().isdecimal():
        raise click.UsageError(f"--opt must read NAME=SIZE, found {text!r}")
    return name.strip(), int(size)
